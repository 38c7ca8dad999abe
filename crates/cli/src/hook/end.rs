//! The end of a turn, and of a session: what the agent still holds.
//!
//! At the end of a turn the agent is asked once about work that it holds and never spoke of. At the
//! end of a session, what it accepted and did not begin goes back to whoever passed it, so that
//! nobody waits for it; what it began is kept, with a packet from which its next session goes on.
//! docs/hooks.md says why.

use std::collections::BTreeMap;

use baton_engine::view::{HandoffLine, HoldView, Inbox};
use baton_protocol::artifact::Artifact;
use baton_protocol::command::{Command, GiveBack, ReturnAudit};
use baton_protocol::handoff::ReturnStatus;
use baton_protocol::id::AgentId;
use baton_protocol::text::Text;
use baton_protocol::time::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::client::{End, Said};
use super::holds::{self, Held};
use super::scene::Scene;
use super::wire::Wire;
use crate::prime::{self, Size};
use crate::show::time::now;

/// Holds that are looked after at once.
const LOOKED_AT_MAX: usize = 5;
const SIZE: Size = Size { entries: LOOKED_AT_MAX, chars: 100 };
/// Why work goes back.
const NOT_BEGUN: &str = "the session that accepted it ended before it began; nothing was done";

impl Scene {
    /// The agent wants to stop.
    pub(super) fn stop(&self) -> Said {
        if self.told.goes_on {
            self.beat();
            return Said::Nothing;
        }
        let inbox = self.talk(async |wire| wire.read::<Inbox>("/v1/inbox").await);
        let Some(inbox) = inbox else { return Said::Nothing };
        let mut memory = self.notebook.read();
        let key = |hold: &HoldView| format!("{} {}", hold.workflow, hold.fence);
        let mut idle: Vec<_> =
            inbox.holding.iter().filter(|hold| is_silent(hold, &inbox)).collect();
        idle.retain(|hold| !memory.asked_about.contains(&key(hold)));
        if idle.is_empty() {
            return Said::Nothing;
        }
        memory.asked_about.extend(idle.iter().map(|hold| key(hold)));
        self.notebook.write(&memory);
        let suffix = prime::suffix(&self.identity.agent);
        let mut text = format!("Baton: {} holds work without a word on it:\n", inbox.agent);
        for hold in idle.iter().take(LOOKED_AT_MAX) {
            text.push_str(&format!("- {}\n", prime::held(hold, now(), SIZE)));
        }
        if idle.len() > LOOKED_AT_MAX {
            text.push_str(&format!("- and {} more\n", idle.len() - LOOKED_AT_MAX));
        }
        text.push_str(&format!(
            "If it is done, return_handoff (`baton return HANDOFF --fence N{suffix}`) or, for the \
             whole, `baton complete WORKFLOW --fence N{suffix}`; if it goes on, report_progress; \
             if it cannot be done, return it as failed. If it is meant to wait, stop again."
        ));
        Said::GoOn(text)
    }

    /// The session is over.
    pub(super) fn end(&self, end: End) -> Said {
        match end {
            // The same person goes on in the same window, as the same agent. What was begun stays
            // known as begun.
            End::GoesOn if self.notebook.read().begun => return Said::Nothing,
            End::GoesOn => {
                self.notebook.forget();
                return Said::Nothing;
            }
            End::Left => (),
        }
        let agent = &self.identity.agent;
        let accepted = holds::accepted(&self.workspace, agent);
        let untouched = !self.notebook.read().begun && !self.notebook.has_company();
        let kept = self.talk(async |wire| {
            let inbox: Inbox = wire.read("/v1/inbox").await?;
            let mut kept = inbox.holding.len();
            let is_ours = |hold: &&HoldView| accepted.iter().any(|held: &Held| held.is(hold));
            let mine = inbox.holding.iter().filter(|hold| untouched && is_idle(hold, &inbox));
            for hold in mine.filter(is_ours).take(LOOKED_AT_MAX) {
                kept -= usize::from(give_back(wire, agent, hold).await);
            }
            Some(kept)
        });
        self.notebook.forget();
        if kept.is_some_and(|kept| kept > 0) {
            self.save();
        }
        Said::Nothing
    }
}

/// Whether nobody will hear of it unless the agent speaks: no progress, no lock, nobody it waits
/// for. What it passed on and got back is over.
fn is_silent(hold: &HoldView, inbox: &Inbox) -> bool {
    let about = |line: &HandoffLine| line.workflow == hold.workflow;
    hold.progress.is_none()
        && hold.waits_for.is_none()
        && hold.verification.is_none()
        && hold.locks.is_empty()
        && !inbox.passed.iter().any(about)
}

/// Whether nobody heard of it since it was taken, either.
fn is_idle(hold: &HoldView, inbox: &Inbox) -> bool {
    let about = |line: &HandoffLine| line.workflow == hold.workflow;
    is_silent(hold, inbox) && !inbox.results.iter().any(about)
}

/// Gives a hold back to whoever passed it, if that does no harm. Returns whether it went.
async fn give_back(wire: &mut Wire, agent: &AgentId, hold: &HoldView) -> bool {
    let Some(handoff) = hold.handoff else { return false };
    let Some(brought) = wire.read::<Brought>(&format!("/v1/handoffs/{handoff}")).await else {
        return false;
    };
    // Where rules decide, a failure would be an answer that nobody gave.
    if brought.step.is_some() || has_written(wire, agent, hold).await {
        return false;
    }
    let Ok(reason) = NOT_BEGUN.parse::<Text>() else { return false };
    let (workflow, fence) = (hold.workflow, hold.fence);
    let command = match brought.line.kind.as_str() {
        "delegation" | "broadcast" => Command::Return(Box::new(GiveBack {
            handoff,
            fence,
            status: ReturnStatus::Failed,
            result: None,
            context_updates: Default::default(),
            audit: ReturnAudit { notes: Some(reason), ..ReturnAudit::default() },
        })),
        "sequential" => {
            let pass = json!({
                "workflow": workflow,
                "fence": fence,
                "to_agent": brought.line.from_agent,
                "type": "sequential",
                "reason": reason,
            });
            match serde_json::from_value(pass) {
                Ok(pass) => Command::Pass(Box::new(pass)),
                Err(_) => return false,
            }
        }
        // A question that goes back unanswered would be a no.
        _ => return false,
    };
    wire.command(&command, &format!("session-end {workflow} {fence}")).await
}

/// How a hold came to the agent.
#[derive(Deserialize)]
struct Brought {
    #[serde(flatten)]
    line: HandoffLine,
    step: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Made {
    artifacts: Vec<Artifact>,
}

#[derive(Deserialize)]
struct Written {
    by: AgentId,
    at: Timestamp,
}

/// Whether the agent left a variable or an artifact since it took the work. What cannot be told
/// counts as written.
async fn has_written(wire: &mut Wire, agent: &AgentId, hold: &HoldView) -> bool {
    let path = format!("/v1/workflows/{}", hold.workflow);
    let made = wire.read::<Made>(&path).await;
    let written = wire.read::<BTreeMap<String, Written>>(&format!("{path}/variables")).await;
    let (Some(made), Some(written)) = (made, written) else { return true };
    let made =
        made.artifacts.iter().any(|one| one.created_by == *agent && one.created_at >= hold.since);
    made || written.values().any(|one| one.by == *agent && one.at >= hold.since)
}
