//! `baton wait`: until a handoff or a workflow is over.

use std::time::{Duration, Instant};

use baton_engine::view::{BroadcastView, Found, HandoffView, WorkflowView};
use baton_protocol::id::{GroupId, HandoffId, WorkflowId};
use baton_protocol::time::Allowance;
use clap::Args;

use crate::client::{Query, Reply};
use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::show::Page;
use crate::value::Id;
use crate::verbs::rows;

/// How long one question stays open: short enough that a dead coordinator is soon noticed.
pub(crate) const SLICE: Duration = Duration::from_secs(20);
/// How often a workflow is looked at, at most.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Wait until a handoff, a workflow or a broadcast is over
///
/// Exits with 5 when it is not over in time. How it ended is in the output, not in the exit code:
/// waiting for something that failed has succeeded.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton wait 7be1 --timeout 30m
  baton wait 7be1 --json | jq -r .state")]
pub(crate) struct Wait {
    /// A workflow, a handoff or a broadcast
    #[arg(value_name = "ID")]
    id: Id,
    /// How long at most [default: for ever]
    #[arg(long, value_name = "DURATION")]
    timeout: Option<Allowance>,
}

impl Wait {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let limit = Limit { begun: Instant::now(), most: self.timeout };
        match session.find(&self.id)? {
            Found::Handoff(handoff) => {
                let (reply, view) = over(session, handoff, &limit)?;
                session.out.answer(&reply, |page| {
                    ended(page, &view);
                    Ok(())
                })
            }
            Found::Broadcast(workflow, group) => {
                let (reply, view) = decided(session, (workflow, group), &limit)?;
                session.out.answer(&reply, |page| {
                    page.line(rows::broadcast(&view));
                    Ok(())
                })
            }
            Found::Workflow(workflow) => {
                let (reply, view) = closed(session, workflow, &limit)?;
                session.out.answer(&reply, |page| {
                    page.line(format!("workflow {} is {}", workflow.short(), view.line.status));
                    if let Some(ending) = &view.ending {
                        rows::ending(page, ending);
                    }
                    Ok(())
                })
            }
        }
    }
}

/// How long to wait, counted from the beginning.
struct Limit {
    begun: Instant,
    most: Option<Allowance>,
}

impl Limit {
    fn left(&self) -> Duration {
        self.most.map_or(Duration::MAX, |most| {
            let whole = most.as_duration();
            whole.saturating_sub(self.begun.elapsed())
        })
    }

    /// Goes on, or fails when the time is up.
    fn check(&self, what: &str, state: &str) -> Result<(), Failure> {
        match self.most {
            Some(most) if self.left().is_zero() => Err(Failure::new(
                Exit::NoAnswer,
                "no-answer",
                format!("{what} is still {state} after {most}"),
                "wait longer, or leave out --timeout",
            )),
            Some(_) | None => Ok(()),
        }
    }
}

fn over(
    session: &Session,
    handoff: HandoffId,
    limit: &Limit,
) -> Result<(Reply, HandoffView), Failure> {
    loop {
        let slice = limit.left().clamp(Duration::from_millis(1), SLICE);
        let wait = Some(format!("{}ms", slice.as_millis()));
        let path = Query::new(format!("/v1/handoffs/{handoff}")).with("wait", wait);
        let reply = session.client.read_waiting(path, slice)?;
        let view: HandoffView = reply.read()?;
        if matches!(view.line.state.as_str(), "completed" | "failed") {
            return Ok((reply, view));
        }
        limit.check(&format!("handoff {}", handoff.short()), &view.line.state)?;
    }
}

fn closed(
    session: &Session,
    workflow: WorkflowId,
    limit: &Limit,
) -> Result<(Reply, WorkflowView), Failure> {
    let mut pause = Duration::from_millis(20);
    loop {
        let reply = session.client.read(format!("/v1/workflows/{workflow}"))?;
        let view: WorkflowView = reply.read()?;
        if view.line.status != "open" {
            return Ok((reply, view));
        }
        limit.check(&format!("workflow {}", workflow.short()), &view.line.status)?;
        std::thread::sleep(pause.min(limit.left()));
        pause = (pause * 2).min(LOOK_EVERY);
    }
}

fn decided(
    session: &Session,
    (workflow, group): (WorkflowId, GroupId),
    limit: &Limit,
) -> Result<(Reply, BroadcastView), Failure> {
    let mut pause = Duration::from_millis(20);
    loop {
        let reply = session.client.read(format!("/v1/workflows/{workflow}"))?;
        let view: WorkflowView = reply.read()?;
        let found = view.broadcasts.into_iter().find(|broadcast| broadcast.group == group);
        let Some(broadcast) = found else {
            let sentence = format!("there is no broadcast {group}");
            return Err(Failure::new(Exit::NotFound, "not-found", sentence, "`baton list`"));
        };
        if broadcast.outcome.is_some() {
            return Ok((reply, broadcast));
        }
        limit.check("the broadcast", "not decided")?;
        std::thread::sleep(pause.min(limit.left()));
        pause = (pause * 2).min(LOOK_EVERY);
    }
}

/// Tells how a handoff ended and what came back.
pub(crate) fn ended(page: &mut Page, view: &HandoffView) {
    let line = &view.line;
    let how = line.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
    page.line(format!("handoff {} to {} is {}{how}", line.id.short(), line.to_agent, line.state));
    if let Some(result) = &view.result {
        rows::result(page, result);
    }
    if let Some(known) = view.verification.as_ref().filter(|known| known.evidence.is_some()) {
        rows::verification(page, known);
    }
}
