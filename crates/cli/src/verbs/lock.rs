//! `baton lock` and `unlock`: who may write which file, until when.

use std::time::{Duration, Instant};

use baton_engine::view::{Answer, LockView};
use baton_protocol::command::{self, Command};
use baton_protocol::event::Event;
use baton_protocol::id::Fence;
use baton_protocol::lock::{FilePath, LockMode};
use baton_protocol::time::Allowance;
use clap::Args;

use crate::client::Reply;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::table::Table;
use crate::show::time::{both, now, relative};
use crate::value::Id;
use crate::verbs::told::told;

/// How often a lock that somebody has is asked for again.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Lock files before you write to them, all of them or none
///
/// A lock is on exactly the file that is named, by whichever path or link it is reached; a lock on
/// a folder does not cover what is in it. It lasts for its lease, is renewed by `baton progress`
/// and by asking again, and ends with your hold. A refusal names the holder.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton lock 3f2a src/login.rs src/session.rs --fence 2
  baton lock 3f2a README.md --shared --for 30m --fence 2
  baton lock 3f2a Cargo.lock --wait 5m --fence 2
  baton lock --list")]
pub(crate) struct Lock {
    /// Under which work
    #[arg(value_name = "WORKFLOW", required_unless_present = "list")]
    workflow: Option<Id>,
    /// Which files
    #[arg(value_name = "PATH", required_unless_present = "list")]
    paths: Vec<String>,
    /// Let others share them
    #[arg(long)]
    shared: bool,
    /// For how long, unless renewed; at most 30d [default: 10m]
    #[arg(long = "for", value_name = "DURATION")]
    lease: Option<Allowance>,
    /// Wait so long for files that others have; if whoever has them waits for you, it is refused
    #[arg(long, value_name = "DURATION")]
    wait: Option<Allowance>,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
    /// Show who has which file
    #[arg(long, conflicts_with_all = ["workflow", "paths", "shared", "lease", "wait"])]
    list: bool,
}

impl Lock {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let Some(workflow) = self.workflow else { return list(session) };
        let workflow = session.workflow(&workflow)?;
        let lock = command::LockFiles {
            workflow,
            fence: self.fence.map(Fence),
            paths: files(session, &self.paths)?,
            mode: if self.shared { LockMode::Shared } else { LockMode::Exclusive },
            lease: self.lease,
            wait: self.wait.is_some(),
        };
        let (reply, answer) = match self.wait {
            None => session.submit(Command::Lock(lock))?,
            Some(most) => waiting(session, lock, most)?,
        };
        let workflow = answer.workflow.unwrap_or(workflow);
        told(session, (&reply, &answer), workflow, |event| match event {
            Event::Locked { paths, until, .. } => {
                let sentence = format!("locked {} until {}", count(paths), both(*until, now()));
                Some((workflow.to_string(), sentence))
            }
            _ => None,
        })
    }
}

/// Asks until the files are free. Each asking is a command of its own, because time has passed.
fn waiting(
    session: &Session,
    mut lock: command::LockFiles,
    most: Allowance,
) -> Result<(Reply, Answer), Failure> {
    let begun = Instant::now();
    let most = most.as_duration();
    loop {
        let left = most.saturating_sub(begun.elapsed());
        // The last asking does not wait, so it says who has them.
        lock.wait = !left.is_zero();
        let (reply, answer) = session.submit(Command::Lock(lock.clone()))?;
        let waits = |event: &Event| matches!(event, Event::LockWanted { .. });
        if !answer.events.is_empty() && !answer.events.iter().any(waits) {
            return Ok((reply, answer));
        }
        std::thread::sleep(LOOK_EVERY.min(left));
    }
}

fn list(session: &Session) -> Result<(), Failure> {
    let out = session.out;
    let reply = session.client.read("/v1/locks")?;
    out.answer(&reply, |page| {
        let locks: Vec<LockView> = reply.read()?;
        if locks.is_empty() && !out.quiet {
            page.line("no file is locked");
            return Ok(());
        }
        if out.quiet {
            locks.iter().for_each(|lock| page.line(&lock.path));
            return Ok(());
        }
        let header = ["PATH", "BY", "MODE", "WORKFLOW", "FENCE", "LAPSES"];
        let mut table = Table::new(&header, &[0]);
        let unknown = || "-".to_owned();
        for lock in &locks {
            table.row([
                lock.path.to_string(),
                lock.by.to_string(),
                lock.mode.to_string(),
                lock.workflow.map_or_else(unknown, |workflow| workflow.short()),
                lock.fence.map_or_else(unknown, |fence| fence.to_string()),
                relative(lock.until, page.now),
            ]);
        }
        page.table(table);
        Ok(())
    })
}

/// Give locks back
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton unlock 3f2a src/login.rs --fence 2
  baton unlock 3f2a --fence 2")]
pub(crate) struct Unlock {
    /// Under which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// Which files; none means all that your hold has locked
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
}

impl Unlock {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let (reply, answer) = session.submit(Command::Unlock(command::UnlockFiles {
            workflow,
            fence: self.fence.map(Fence),
            paths: files(session, &self.paths)?,
        }))?;
        let workflow = answer.workflow.unwrap_or(workflow);
        told(session, (&reply, &answer), workflow, |event| match event {
            Event::Unlocked { paths, .. } => {
                Some((workflow.to_string(), format!("unlocked {}", count(paths))))
            }
            _ => None,
        })
    }
}

fn files(session: &Session, paths: &[String]) -> Result<Vec<FilePath>, Failure> {
    let place = session.place();
    paths.iter().map(|path| place.file(path)).collect()
}

fn count(paths: &[FilePath]) -> String {
    match paths {
        [one] => one.to_string(),
        many => format!("{} files", many.len()),
    }
}
