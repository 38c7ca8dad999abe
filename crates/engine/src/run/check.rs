//! Acceptance checks: commands that Baton runs in the workspace when work comes back.
//!
//! At least once: checks that were under way when the coordinator went away are ended and begun
//! again.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use baton_protocol::command::{Actor, Checked, Command, Submission};
use baton_protocol::handoff::{Check, CheckEnd, CheckRun, Evidence, State};
use baton_protocol::id::{CommandId, Fence, HandoffId, WorkflowId};
use baton_protocol::text::Text;
use baton_store::{LedgerError, Loan, Scope};
use tokio::sync::Mutex;

use super::Outside;
use super::child::Child;
use super::listen::{self, Listen};
use super::orphan;
use super::outcome::words;
use super::output::{self, Log, Said};
use crate::engine::{Engine, SubmitError};

/// How long git may take to say which commit this is.
const GIT_TIME_MAX: Duration = Duration::from_secs(10);

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Returned {
    pub(super) workflow: WorkflowId,
    pub(super) handoff: HandoffId,
    pub(super) fence: Fence,
}

/// Runs the checks of a return and says what they came to. Returns what to note; nothing when the
/// coordinator ends first.
pub(super) async fn run(
    engine: &Engine,
    outside: &Outside,
    loan: &Loan,
    what: Returned,
    from_before: bool,
) -> Result<Option<String>, LedgerError> {
    if from_before {
        orphan::end(&trace(outside, what), &marks(outside, what)).await;
    }
    let over = || Ok(Some("what was returned is over".to_owned()));
    // Each may be a whole build: a few at once, and the others wait their turn.
    let _turn = tokio::select! {
        turn = engine.runs.checks.turn() => turn,
        cut = engine.not_wanted(what) => match cut? {
            Cut::Stopping => return Ok(None),
            Cut::TimeIsUp | Cut::Gone => return over(),
        },
    };
    let Some(checks) = engine.to_check(what).await? else { return over() };
    // The commit is that of before: whatever a check does to the workspace came after.
    let (commit, uncommitted) = commit(outside).await;
    let mut runs = Vec::with_capacity(checks.len());
    for check in &checks {
        match once(engine, outside, what, check).await? {
            Came::Ended(run) => runs.push(*run),
            Came::Gone => return over(),
            Came::Stopping => return Ok(None),
        }
    }
    let evidence = Evidence { checks: runs, commit, uncommitted, refused: None };
    let note = match evidence.passed() {
        true => "the checks passed",
        false => "a check failed",
    };
    let Returned { handoff, fence, .. } = what;
    let id = CommandId::from_key("coordinator", &format!("checked {}", loan.id));
    let command = Command::Checked(Box::new(Checked { handoff, fence, evidence }));
    match engine.submit(Submission { id, actor: Actor::Coordinator, command }).await {
        Ok(_) => Ok(Some(note.to_owned())),
        Err(SubmitError::Refused(refusal)) => Ok(Some(refusal.to_string())),
        Err(SubmitError::Failed(failure)) => Err(failure),
    }
}

/// How one check came out.
enum Came {
    Ended(Box<CheckRun>),
    /// Nobody waits for it any more.
    Gone,
    /// The coordinator ends.
    Stopping,
}

/// Why a check is not waited for any longer.
enum Cut {
    TimeIsUp,
    Gone,
    Stopping,
}

async fn once(
    engine: &Engine,
    outside: &Outside,
    what: Returned,
    check: &Check,
) -> Result<Came, LedgerError> {
    let begun = Instant::now();
    let ended = |ended: CheckEnd, tail: &str| {
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (run, output_tail) = (check.run.clone(), words(tail));
        Ok(Came::Ended(Box::new(CheckRun { run, ended, duration_ms, output_tail })))
    };
    let started = async {
        let log = output::path(&outside.data(), what.handoff);
        let log = Log::open(&log, engine.runs.grown.clone()).await?;
        log.title(&format!("[baton: check `{}`]\n", check.run)).await;
        let mut facts = marks(outside, what);
        facts.push(("BATON_WORKFLOW", what.workflow.to_string()));
        let child = Child::start(&check.run, &outside.workspace, &facts, Vec::new())?;
        orphan::leave_trace(&trace(outside, what), child.pid())?;
        Ok::<_, io::Error>((log, child))
    };
    let (log, mut child) = match started.await {
        Ok(started) => started,
        Err(error) => return ended(CheckEnd::NotStarted { why: reason(&error.to_string()) }, ""),
    };
    let said = Mutex::new(Said::default());
    let hear = std::pin::pin!(listen::to(child.output(), &log, &said));
    let mut listen = Listen::new(hear);
    let finished = listen.during(async {
        tokio::select! {
            status = child.ended() => Ok(Ok(status)),
            () = tokio::time::sleep(check.timeout.as_duration()) => Ok(Err(Cut::TimeIsUp)),
            cut = engine.not_wanted(what) => cut.map(Err),
        }
    });
    let finished = finished.await;
    // Whatever it left running must not go on behind our back.
    listen.during(child.end()).await;
    listen.until_the_end().await;
    orphan::end(&trace(outside, what), &marks(outside, what)).await;
    let tail = log.tail().await;
    match finished? {
        Ok(Ok(status)) => ended(how(status), &tail),
        Ok(Err(error)) => ended(CheckEnd::NotStarted { why: reason(&error.to_string()) }, &tail),
        Err(Cut::TimeIsUp) => ended(CheckEnd::TimedOut, &tail),
        Err(Cut::Gone) => Ok(Came::Gone),
        Err(Cut::Stopping) => Ok(Came::Stopping),
    }
}

impl Engine {
    /// The checks of what was returned, if it still waits for them.
    async fn to_check(&self, what: Returned) -> Result<Option<Vec<Check>>, LedgerError> {
        self.look(Scope::Workflow(what.workflow), move |world| {
            let (_, _, handoff) = world.handoff(what.handoff).ok()?;
            let waits = match &handoff.state {
                State::Returned { fence, .. } => *fence == what.fence,
                _ => false,
            };
            waits.then(|| handoff.terms.checks.clone())
        })
        .await
    }

    /// Returns once nobody waits for the checks any more.
    async fn not_wanted(&self, what: Returned) -> Result<Cut, LedgerError> {
        let mut changes = self.changes();
        loop {
            changes.mark_unchanged();
            if self.to_check(what).await?.is_none() {
                return Ok(Cut::Gone);
            }
            if !self.changed(&mut changes).await {
                return Ok(Cut::Stopping);
            }
        }
    }
}

fn how(status: ExitStatus) -> CheckEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => CheckEnd::Exited { code },
        (None, signal) => CheckEnd::Signalled { signal: signal.unwrap_or_default() },
    }
}

/// The commit of the workspace, and whether there is something that it does not have.
async fn commit(outside: &Outside) -> (Option<Text>, bool) {
    let Some(head) = git(outside, &["rev-parse", "--verify", "HEAD"]).await else {
        return (None, false);
    };
    let changed = git(outside, &["status", "--porcelain", "--untracked-files=normal"]).await;
    // A commit is evidence only with what it does not have.
    match changed {
        Some(changed) => (head.trim().parse().ok(), !changed.is_empty()),
        None => (None, false),
    }
}

async fn git(outside: &Outside, arguments: &[&str]) -> Option<String> {
    let mut command = tokio::process::Command::new("git");
    command
        // A repository must not make us run what it likes.
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .current_dir(&outside.workspace)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(GIT_TIME_MAX, command.output()).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn reason(why: &str) -> Text {
    words(why).unwrap_or_else(|| "no reason was given".parse().expect("a fixed text"))
}

fn trace(outside: &Outside, what: Returned) -> PathBuf {
    orphan::path(&outside.data(), &format!("{}-{}-check", what.handoff, what.fence))
}

/// What tells the processes of these checks from all others, and from the operator's.
fn marks(outside: &Outside, what: Returned) -> Vec<(&'static str, String)> {
    vec![
        ("BATON_WORKSPACE", outside.workspace.display().to_string()),
        ("BATON_HANDOFF", what.handoff.to_string()),
        ("BATON_FENCE", what.fence.to_string()),
        ("BATON_AGENT", "check".to_owned()),
    ]
}
