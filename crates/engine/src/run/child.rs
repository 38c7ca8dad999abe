//! A process group that works for an agent: started without a shell, ended as a whole.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use baton_protocol::limits::RUN_GRACE;
use baton_protocol::reach::Argv;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStderr, ChildStdout, Command};

/// The longest pause between two looks at a group that is to end.
const LOOK_MAX: Duration = Duration::from_millis(100);

/// A process that leads a group of its own.
pub(super) struct Child {
    process: tokio::process::Child,
    group: Pid,
}

impl Child {
    /// Starts `argv` in `folder`, with `input` on its standard input.
    pub(super) fn start(
        argv: &Argv,
        folder: &Path,
        facts: &[(&str, String)],
        input: Vec<u8>,
    ) -> io::Result<Self> {
        let mut command = Command::new(argv.program());
        command
            .args(argv.arguments())
            .current_dir(folder)
            // Verbs inside speak to this coordinator and no other, and not by its own credential.
            .env_remove("BATON_URL")
            .env_remove("BATON_CA")
            .env_remove("BATON_TOKEN")
            .envs(facts.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut process = command.spawn()?;
        let number = process.id().and_then(|id| i32::try_from(id).ok());
        let group = number.and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("the process has no number"))?;
        if let Some(mut stdin) = process.stdin.take() {
            // A process that does not read its input is no failure.
            tokio::spawn(async move { drop(stdin.write_all(&input).await) });
        }
        Ok(Self { process, group })
    }

    pub(super) fn pid(&self) -> i32 {
        self.group.as_raw_nonzero().get()
    }

    /// Its standard output and its errors; they can be taken once.
    pub(super) fn output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.process.stdout.take(), self.process.stderr.take())
    }

    /// Waits until the process that was started has ended. Others of its group may live on.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// Ends the whole group: asked first, then killed. Returns how the process that was started
    /// ended, if that can be told.
    pub(super) async fn end(&mut self) -> Option<ExitStatus> {
        let group = self.group;
        let gone = end_group(group);
        // Collected meanwhile, or else its name would stay in the group.
        let (_, collected) = tokio::join!(gone, self.process.wait());
        let warn = |error: &io::Error| {
            tracing::warn!(%error, "could not wait for a process that was ended");
        };
        collected.inspect_err(warn).ok()
    }
}

/// Ends a group, whoever started it. Returns when nothing of it runs any more.
pub(super) async fn end_group(group: Pid) {
    let begun = Instant::now();
    let grace = RUN_GRACE.as_duration();
    // A failure means that it is gone already.
    let _ = kill_process_group(group, Signal::TERM);
    let mut pause = Duration::from_millis(5);
    let mut killed = false;
    while is_alive(group) {
        if begun.elapsed() > grace && !killed {
            let _ = kill_process_group(group, Signal::KILL);
            killed = true;
        }
        if begun.elapsed() > grace * 2 {
            tracing::warn!(?group, "a process group does not end");
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LOOK_MAX);
    }
}

/// Whether anything of the group still runs. Where nobody collects ended processes their names
/// stay, yet they do nothing any more.
fn is_alive(group: Pid) -> bool {
    let named = test_kill_process_group(group).is_ok();
    named && (!cfg!(target_os = "linux") || processes().any(|pid| runs_in(pid, group)))
}

fn runs_in(pid: i32, group: Pid) -> bool {
    let stat = Stat::of(pid);
    stat.is_some_and(|stat| stat.group == group.as_raw_nonzero().get() && !stat.is_over)
}

/// All processes that there are.
pub(super) fn processes() -> impl Iterator<Item = i32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What the system says of a process.
pub(super) struct Stat {
    pub(super) group: i32,
    /// When it started, in ticks since the machine did. With its number it is one process only.
    pub(super) started: u64,
    /// It has ended, and nobody has asked how.
    pub(super) is_over: bool,
}

impl Stat {
    pub(super) fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in brackets and may hold anything, brackets and spaces among it.
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let is_over = matches!(*fields.first()?, "Z" | "X");
        let (group, started) = (fields.get(2)?.parse().ok()?, fields.get(19)?.parse().ok()?);
        Some(Self { group, started, is_over })
    }
}
