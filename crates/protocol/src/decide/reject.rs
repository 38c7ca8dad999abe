//! Turning a handoff away, with the reason.

use crate::command::{Reject, Submission};
use crate::decide::retry::{self, Why};
use crate::event::{Decision, StreamId};
use crate::handoff::{Cause, Handoff, State};
use crate::id::AgentId;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// Decides whether the asker may turn the handoff away. Another is asked, as the terms say.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    reject: &Reject,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let (id, workflow, handoff) = world.handoff(reject.handoff)?;
    answerable(handoff, &ask.actor.agent())?;
    let why = Why { cause: Cause::Answer, reason: reject.reason.clone() };
    let (events, effects) = retry::after(world, (id, Some(workflow)), handoff, why, now);
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}

/// Refuses an answer by anyone but the receiver, and at any time but while one is awaited.
pub(super) fn answerable(handoff: &Handoff, by: &AgentId) -> Result<(), Refusal> {
    let id = handoff.terms.id;
    if handoff.to != *by {
        let to = handoff.to.clone();
        return Err(Refusal::ForAnother { handoff: id, to, asker: by.clone() });
    }
    match &handoff.state {
        State::Initiated { .. } | State::Deferred { .. } => Ok(()),
        State::AwaitingApproval { .. } => Err(Refusal::NotApproved { handoff: id }),
        State::Queued { .. } => Err(Refusal::NotSent { handoff: id }),
        State::Accepted { .. } | State::Suspended { .. } | State::Returned { .. } => {
            Err(Refusal::AlreadyAccepted { handoff: id, by: handoff.to.clone() })
        }
        State::Completed { .. } => Err(Refusal::HandoffOver { handoff: id, ending: "completed" }),
        State::Failed { detail, .. } => {
            Err(Refusal::HandoffOver { handoff: id, ending: detail.word() })
        }
    }
}
