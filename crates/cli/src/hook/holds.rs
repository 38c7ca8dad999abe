//! What a session believes it holds, and whether it still does.
//!
//! The MCP server notes what was accepted through it; it is only read here. What is listed there
//! and is in force no longer was taken away: by a person, by time, or with the whole work. What the
//! agent itself returned or passed on is over and not gone.

use baton_engine::view::{HandoffLine, HoldView, Inbox};
use baton_protocol::id::{AgentId, Fence, HandoffId, WorkflowId};
use serde::Deserialize;

use super::wire::Wire;
use crate::noted;
use crate::workspace::Workspace;

/// Holds that are looked after at once.
const LOOKED_AT_MAX: usize = 5;

/// A hold that was accepted in a session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Held {
    pub(super) workflow: WorkflowId,
    pub(super) handoff: Option<HandoffId>,
    pub(super) fence: Fence,
}

impl Held {
    /// What it is remembered by.
    pub(super) fn key(&self) -> String {
        format!("{} {}", self.workflow, self.fence)
    }

    pub(super) fn is(&self, hold: &HoldView) -> bool {
        (hold.workflow, hold.fence) == (self.workflow, self.fence)
    }

    /// Whether it is in force, or the agent has the same work again under another number.
    fn stands(&self, inbox: &Inbox) -> bool {
        let again = |hold: &HoldView| self.handoff.is_some() && hold.handoff == self.handoff;
        inbox.holding.iter().any(|hold| self.is(hold) || again(hold))
    }
}

/// What this session of the agent accepted; nothing if that is not written down.
pub(super) fn accepted(workspace: &Workspace, agent: &AgentId) -> Vec<Held> {
    noted::own(workspace, agent)
}

/// A hold that was taken from the session, and what became of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gone {
    pub(super) held: Held,
    pub(super) title: String,
    pub(super) fate: Fate,
}

/// What became of work that was taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Another has it.
    With(AgentId),
    /// Its time was up, and it waits for the agent to take it anew.
    WaitsAgain,
    /// Its time was up, and it is over.
    TimedOut,
    /// It was called off.
    CalledOff,
}

/// Which of `held` are gone, as far as the coordinator tells.
pub(super) async fn gone(
    wire: &mut Wire,
    agent: &AgentId,
    inbox: &Inbox,
    held: Vec<Held>,
) -> Vec<Gone> {
    let mut gone = Vec::new();
    for held in held.into_iter().filter(|held| !held.stands(inbox)).take(LOOKED_AT_MAX) {
        let fate = match held.handoff {
            Some(handoff) => of_handoff(wire, agent, &held, handoff).await,
            None => of_workflow(wire, agent, &held).await,
        };
        if let Some((title, fate)) = fate {
            gone.push(Gone { held, title, fate });
        }
    }
    gone
}

async fn of_handoff(
    wire: &mut Wire,
    agent: &AgentId,
    held: &Held,
    handoff: HandoffId,
) -> Option<(String, Fate)> {
    let line: HandoffLine = wire.read(&format!("/v1/handoffs/{handoff}")).await?;
    let title = line.title.clone();
    if line.to_agent != *agent {
        return Some((title, Fate::With(line.to_agent)));
    }
    let detail = line.detail.unwrap_or_default();
    match line.state.as_str() {
        "initiated" | "queued" | "deferred" => Some((title, Fate::WaitsAgain)),
        "failed" if detail.starts_with("timed_out") => Some((title, Fate::TimedOut)),
        "failed" if detail.starts_with("cancelled") => Some((title, Fate::CalledOff)),
        // The whole work was passed for good: whether that stands, only the work tells.
        "completed" if line.kind == "sequential" => of_workflow(wire, agent, held).await,
        // It was returned, or is held under another number.
        _ => None,
    }
}

/// What is needed of a workflow.
#[derive(Deserialize)]
struct Work {
    title: String,
    status: String,
    owner: Option<AgentId>,
    handoffs: Vec<Passed>,
}

#[derive(Deserialize)]
struct Passed {
    id: HandoffId,
    from_agent: AgentId,
    #[serde(rename = "type")]
    kind: String,
}

async fn of_workflow(wire: &mut Wire, agent: &AgentId, held: &Held) -> Option<(String, Fate)> {
    let work: Work = wire.read(&format!("/v1/workflows/{}", held.workflow)).await?;
    let owner = match (work.status.as_str(), work.owner) {
        ("cancelled", _) => return Some((work.title, Fate::CalledOff)),
        ("open", Some(owner)) if owner != *agent => owner,
        _ => return None,
    };
    // What came after the handoff that brought it: its own pass is its own doing.
    let brought = |passed: &Passed| Some(passed.id) == held.handoff;
    let from = work.handoffs.iter().position(brought).map_or(0, |at| at + 1);
    let own = |passed: &Passed| passed.from_agent == *agent && passed.kind == "sequential";
    let by_itself = work.handoffs[from..].iter().any(own);
    (!by_itself).then_some((work.title, Fate::With(owner)))
}
