//! Who acts, and under which hold.

use crate::command::{Actor, Submission};
use crate::handoff::State;
use crate::id::{AgentId, Fence, WorkflowId};
use crate::planted::{Bug, planted};
use crate::refusal::Refusal;
use crate::workflow::{Hold, Workflow};

/// Returns the hold under which `ask` acts in `workflow`.
///
/// An agent shows its fence. A person need not: the operator's own hold is found, because a
/// person at a terminal is not a process that may have been replaced.
pub(super) fn hold<'a>(
    id: WorkflowId,
    workflow: &'a Workflow,
    ask: &Submission,
    fence: Option<Fence>,
) -> Result<(Fence, &'a Hold), Refusal> {
    let (fence, hold) = alive(id, workflow, ask, fence)?;
    let brought = hold.handoff.and_then(|handoff| workflow.handoffs.get(&handoff));
    if let Some(handoff) = brought.filter(|brought| matches!(brought.state, State::Returned { .. }))
    {
        // What is checked must be what was returned.
        return Err(Refusal::BeingChecked { handoff: handoff.terms.id });
    }
    match hold.suspended {
        None => Ok((fence, hold)),
        Some(_) if planted(Bug::SuspendedMayWrite) => Ok((fence, hold)),
        Some(waiting) => {
            let (agent, handoff) = (hold.agent.clone(), waiting.escalation);
            Err(Refusal::Suspended { agent, handoff })
        }
    }
}

/// The same, also for a holder that waits for a decision: it may still say that it is there.
pub(super) fn alive<'a>(
    id: WorkflowId,
    workflow: &'a Workflow,
    ask: &Submission,
    fence: Option<Fence>,
) -> Result<(Fence, &'a Hold), Refusal> {
    let agent = ask.actor.agent();
    let Some(fence) = fence else {
        return unshown(id, workflow, ask, agent);
    };
    match workflow.holds.get(&fence) {
        Some(hold) if hold.agent == agent || planted(Bug::NoFenceCheck) => Ok((fence, hold)),
        Some(hold) => {
            let holder = hold.agent.clone();
            Err(Refusal::FenceOfAnother { given: fence, holder, agent })
        }
        None => Err(stale(workflow, fence)),
    }
}

fn unshown<'a>(
    id: WorkflowId,
    workflow: &'a Workflow,
    ask: &Submission,
    agent: AgentId,
) -> Result<(Fence, &'a Hold), Refusal> {
    match &ask.actor {
        Actor::Agent(_) => Err(Refusal::FenceRequired { agent }),
        Actor::Viewer => Err(Refusal::ViewOnly),
        Actor::Operator | Actor::OperatorAs(_) | Actor::Coordinator => {
            // The newest hold is what a person who names none means.
            let held = workflow.holds.iter().rev().find(|(_, hold)| hold.agent == agent);
            match held {
                Some((fence, hold)) => Ok((*fence, hold)),
                None => Err(Refusal::NotHolder { agent, workflow: id }),
            }
        }
    }
}

/// Says that `given` is not in force, and who holds the work instead.
pub(super) fn stale(workflow: &Workflow, given: Fence) -> Refusal {
    if given > workflow.fence || given == Fence::default() {
        return Refusal::UnknownFence { given };
    }
    let current = workflow.owning().map(|hold| (hold.agent.clone(), workflow.owner));
    Refusal::StaleFence { given, current }
}

/// Refuses agents what only a person may do.
pub(super) fn operator_only(ask: &Submission, what: &'static str) -> Result<(), Refusal> {
    match &ask.actor {
        Actor::Operator => Ok(()),
        Actor::Agent(agent) | Actor::OperatorAs(agent) => {
            Err(Refusal::OperatorOnly { what, agent: agent.clone() })
        }
        Actor::Viewer => Err(Refusal::ViewOnly),
        Actor::Coordinator => Err(Refusal::CoordinatorOnly),
    }
}

/// Refuses everybody what only Baton itself asks.
pub(super) fn coordinator_only(ask: &Submission) -> Result<(), Refusal> {
    match &ask.actor {
        Actor::Coordinator => Ok(()),
        Actor::Operator | Actor::Agent(_) | Actor::OperatorAs(_) | Actor::Viewer => {
            Err(Refusal::CoordinatorOnly)
        }
    }
}
