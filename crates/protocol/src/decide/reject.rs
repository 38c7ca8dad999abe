//! Turning a handoff away, with the reason.

use crate::command::{Reject, Submission};
use crate::decide::news;
use crate::effect::News;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Detail, Handoff, State};
use crate::id::AgentId;
use crate::refusal::Refusal;
use crate::world::World;

/// Decides whether the asker may turn the handoff away. The work stays with its sender.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    reject: &Reject,
) -> Result<Decision, Refusal> {
    let (id, _, handoff) = world.handoff(reject.handoff)?;
    let by = ask.actor.agent();
    answerable(handoff, &by)?;
    let handoff_id = reject.handoff;
    let reason = reject.reason.clone();
    let events = vec![
        Event::Rejected { handoff: handoff_id, by, reason: reason.clone() },
        Event::Failed {
            handoff: handoff_id,
            detail: Detail::Rejected { reason },
            released: Vec::new(),
        },
    ];
    let sender = &handoff.terms.from_agent;
    let effects = news::tell(world, sender, id, handoff_id, News::Failed).into_iter().collect();
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
        State::AwaitingApproval => Err(Refusal::NotApproved { handoff: id }),
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
