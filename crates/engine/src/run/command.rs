//! Agents that are commands: Baton runs them while they hold something, and ends them when they do
//! not.
//!
//! At least once: a run that was under way when the coordinator went away is ended and begun again
//! under the same hold.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use baton_protocol::command::Actor;
use baton_protocol::id::HandoffId;
use baton_protocol::reach::Argv;
use baton_protocol::trace::TraceParent;
use baton_store::LedgerError;
use serde_json::json;
use tokio::sync::Mutex;

use super::Outside;
use super::child::Child;
use super::listen::{self, Listen};
use super::orphan;
use super::outcome::{Held, Look, Outcome, Standing, Told};
use super::output::{self, Log, Said};
use crate::engine::Engine;
use crate::query::QueryError;

/// How long a run may take to end by itself once what it held is over: it may just have said so.
const LEAVE: Duration = Duration::from_secs(5);

/// How one process ended.
enum Ended {
    /// By itself.
    Exit(ExitStatus, Said, String),
    /// It never began.
    NotStarted(String),
    /// What it worked on is over, or another has it.
    Gone(Last),
    /// It has returned by itself, and that is checked.
    Reported,
    /// Its time was up.
    Overdue(Last),
    /// The coordinator ends.
    Stopping,
}

/// Why a process is ended.
enum Reason {
    Gone,
    Reported,
    Overdue,
    Stopping,
}

/// How a process ended that was told to, or that nobody waited for any more.
struct Last(Option<ExitStatus>, String);

impl Last {
    /// Why it was ended, and what is known of its end.
    fn note(&self, why: &str) -> String {
        match self {
            Self(Some(status), _) if status.success() => why.to_owned(),
            Self(Some(status), tail) => format!("{why}; {}", ending(*status, tail)),
            Self(None, _) => why.to_owned(),
        }
    }
}

/// Runs the command of an agent for what it holds. Returns what to note when that is over; nothing
/// when the coordinator ends first, and another one is to go on.
pub(super) async fn run(
    engine: &Engine,
    outside: &Outside,
    argv: &Argv,
    held: &Held,
    from_before: bool,
) -> Result<Option<String>, LedgerError> {
    if from_before {
        orphan::end(&trace(outside, held), &marks(outside, held)).await;
    }
    let mut answered: Option<HandoffId> = None;
    loop {
        match ready(engine, held, &mut answered).await? {
            Ready::Now => (),
            Ready::Gone => {
                // Whoever was killed while it ran has left it.
                drop(std::fs::remove_file(package_file(outside, held)));
                return Ok(Some("what it held is over".to_owned()));
            }
            Ready::Stopping => return Ok(None),
        }
        let round = engine.round(held).await?;
        // Nobody else works on it until the last run for it has gone.
        let turn = engine.runs.turn(held.handoff);
        let _turn = turn.lock().await;
        if !matches!(engine.standing(held).await?, Standing::Held { .. }) {
            continue;
        }
        let outcome = match once(engine, outside, argv, (held, round), answered).await? {
            Ended::Stopping => return Ok(None),
            Ended::Reported => continue,
            Ended::Gone(last) => return Ok(Some(last.note("ended: what it held is over"))),
            Ended::Overdue(last) => {
                let why = last.note("its run was ended: its time is up");
                engine.noted(held, &Outcome::failed(&why, json!({}))).await?;
                match engine.looked_at(held).await? {
                    Some(_) => continue,
                    // There is nobody to ask.
                    None => return Ok(Some(why)),
                }
            }
            Ended::NotStarted(why) => {
                Outcome::failed(&format!("could not start: {why}"), json!({}))
            }
            Ended::Exit(status, said, tail) => came_to(status, &said, &tail),
        };
        match engine.tell(held, round, outcome).await? {
            Told::Done(note) => return Ok(Some(note)),
            Told::Stopping => return Ok(None),
            Told::Asked | Told::WentOn | Told::Reported => (),
        }
    }
}

/// Whether there is something to run for.
enum Ready {
    Now,
    /// What it held is over.
    Gone,
    /// The coordinator ends.
    Stopping,
}

/// Waits until what is held is to be worked on; `answered` becomes what was asked meanwhile.
async fn ready(
    engine: &Engine,
    held: &Held,
    answered: &mut Option<HandoffId>,
) -> Result<Ready, LedgerError> {
    let mut changes = engine.changes();
    loop {
        changes.mark_unchanged();
        match engine.standing(held).await? {
            Standing::Gone => return Ok(Ready::Gone),
            Standing::Waits(escalation) => *answered = Some(escalation),
            // It has returned. Should its checks fail, it goes on with what they showed.
            Standing::Checked => (),
            // It said where the work goes next, and goes on when that comes back to it.
            Standing::Held { .. } if engine.is_out(held).await? => (),
            Standing::Held { .. } => match engine.looked_at(held).await? {
                // Its time was up and its last run was ended; it goes on when somebody has looked.
                Some((look, Look::Open)) => *answered = Some(look),
                Some((look, Look::Over)) => {
                    *answered = answered.or(Some(look));
                    return Ok(Ready::Now);
                }
                None => return Ok(Ready::Now),
            },
        }
        if !engine.changed(&mut changes).await {
            return Ok(Ready::Stopping);
        }
    }
}

/// How a process ended that did not end well, and what it said last.
fn ending(status: ExitStatus, tail: &str) -> String {
    let ending = match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    };
    match tail.trim() {
        "" => ending,
        tail => format!("{ending}; its output ends with:\n{tail}"),
    }
}

fn came_to(status: ExitStatus, said: &Said, tail: &str) -> Outcome {
    if status.success() {
        return Outcome::of(&said.bytes, said.cut);
    }
    let why = ending(status, tail);
    // An agent at a step of a definition may say itself what went wrong.
    let said = serde_json::from_slice::<serde_json::Value>(&said.bytes).ok();
    if let Some(error) = said.filter(super::step::is_error) {
        return Outcome::failed(&why, error);
    }
    let (code, signal) = (status.code(), status.signal());
    Outcome::failed(&why, json!({ "exit_code": code, "signal": signal, "output_tail": tail }))
}

/// Runs the process once, for as long as what it works on is held.
async fn once(
    engine: &Engine,
    outside: &Outside,
    argv: &Argv,
    (held, round): (&Held, u8),
    answered: Option<HandoffId>,
) -> Result<Ended, LedgerError> {
    let (package, (span, returned)) = match engine.package_for(held).await {
        Ok(package) => package,
        Err(QueryError::Failed(failure)) => return Err(failure),
        Err(why) => return Ok(Ended::NotStarted(why.to_string())),
    };
    let file = package_file(outside, held);
    let token = match engine.runs.lend_token(&held.agent) {
        Ok(token) => token,
        Err(why) => return Ok(Ended::NotStarted(why)),
    };
    let mut facts = marks(outside, held);
    facts.extend([
        ("BATON_AGENT", held.agent.to_string()),
        ("BATON_WORKFLOW", held.workflow.to_string()),
        ("BATON_TOKEN", token.secret().to_owned()),
        ("BATON_PACKAGE", file.display().to_string()),
        ("TRACEPARENT", span.to_string()),
    ]);
    facts.extend(answered.map(|id| ("BATON_ANSWER", id.to_string())));
    facts.extend((!returned.is_empty()).then_some(("BATON_RETURNED", returned)));
    let begun = async {
        super::private_file(&file, &package).await?;
        let log = output::path(&outside.data(), held.handoff);
        let log = Log::open(&log, engine.runs.grown.clone()).await?;
        let child = Child::start(argv, &outside.workspace, &facts, package)?;
        orphan::leave_trace(&trace(outside, held), child.pid())?;
        Ok::<_, io::Error>((log, child))
    };
    let ended = match begun.await {
        Ok((log, child)) => watch(engine, (held, round), child, &log).await,
        Err(error) => Ok(Ended::NotStarted(error.to_string())),
    };
    // What remains of a run that was ended, outside its group, too, must not go on under a token
    // and a hold that are no more.
    match ended {
        Ok(Ended::Gone(_) | Ended::Reported | Ended::Overdue(_) | Ended::Stopping) | Err(_) => {
            orphan::end(&trace(outside, held), &marks(outside, held)).await;
        }
        Ok(Ended::Exit(..) | Ended::NotStarted(_)) => {
            drop(std::fs::remove_file(trace(outside, held)));
        }
    }
    drop(std::fs::remove_file(&file));
    ended
}

/// Waits for the process to end, or for a reason to end it.
async fn watch(
    engine: &Engine,
    (held, round): (&Held, u8),
    mut child: Child,
    log: &Log,
) -> Result<Ended, LedgerError> {
    let said = Mutex::new(Said::default());
    let hear = std::pin::pin!(listen::to(child.output(), log, &said));
    let mut listen = Listen::new(hear);
    let ended = listen.during(async {
        tokio::select! {
            status = child.ended() => Ok(status),
            why = reason_to_end(engine, held, round) => Err(why),
        }
    });
    let status = match ended.await {
        Ok(status) => status,
        Err(why) => {
            if let Ok(Reason::Gone | Reason::Reported) = &why {
                let _ = listen.during(tokio::time::timeout(LEAVE, child.ended())).await;
            }
            let status = listen.during(child.end()).await;
            listen.until_the_end().await;
            return Ok(match why? {
                Reason::Gone => Ended::Gone(Last(status, log.tail().await)),
                Reason::Overdue => Ended::Overdue(Last(status, log.tail().await)),
                Reason::Reported => Ended::Reported,
                Reason::Stopping => Ended::Stopping,
            });
        }
    };
    listen.until_the_end().await;
    child.end().await;
    let tail = log.tail().await;
    let said = std::mem::take(&mut *said.lock().await);
    Ok(match status {
        Ok(status) => Ended::Exit(status, said, tail),
        Err(error) => Ended::NotStarted(format!("cannot tell how it ended: {error}")),
    })
}

/// Returns once the run has no reason to go on.
async fn reason_to_end(engine: &Engine, held: &Held, round: u8) -> Result<Reason, LedgerError> {
    let mut changes = engine.changes();
    let mut timed = false;
    loop {
        changes.mark_unchanged();
        match engine.standing(held).await? {
            Standing::Gone => return Ok(Reason::Gone),
            Standing::Checked => return Ok(Reason::Reported),
            // It was checked, and failed, between two looks.
            Standing::Held { .. } if engine.round(held).await? != round => {
                return Ok(Reason::Reported);
            }
            // A deadline that was there and is not: it has passed, and that is recorded.
            Standing::Held { due: None, .. } if timed => return Ok(Reason::Overdue),
            Standing::Held { due, .. } => timed = due.is_some(),
            Standing::Waits(_) => (),
        }
        if !engine.changed(&mut changes).await {
            return Ok(Reason::Stopping);
        }
    }
}

impl Engine {
    /// What the holder gets, as JSON; the span that its own hang from; and the ids of what came
    /// back of what it passed on.
    async fn package_for(
        &self,
        held: &Held,
    ) -> Result<(Vec<u8>, (TraceParent, String)), QueryError> {
        let mut package = self.package(Actor::Agent(held.agent.clone()), held.handoff).await?;
        package.fence = Some(held.fence);
        let bytes = serde_json::to_vec(&package).map_err(crate::query::unreadable)?;
        let returned: Vec<_> = package.returned.iter().map(|one| one.line.id.to_string()).collect();
        Ok((bytes, (package.traceparent, returned.join(" "))))
    }
}

fn name(held: &Held) -> String {
    format!("{}-{}", held.handoff, held.fence)
}

fn trace(outside: &Outside, held: &Held) -> PathBuf {
    orphan::path(&outside.data(), &name(held))
}

fn package_file(outside: &Outside, held: &Held) -> PathBuf {
    outside.data().join("run").join("runs").join(format!("{}.package.json", name(held)))
}

/// What tells the processes of this run from all others.
fn marks(outside: &Outside, held: &Held) -> Vec<(&'static str, String)> {
    vec![
        ("BATON_WORKSPACE", outside.workspace.display().to_string()),
        ("BATON_HANDOFF", held.handoff.to_string()),
        ("BATON_FENCE", held.fence.to_string()),
        // The checks of what it returns carry all the others, and outlive it.
        ("BATON_RUN", name(held)),
    ]
}
