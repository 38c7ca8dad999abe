//! Taking a handoff. Of any number who ask, exactly one gets it.

use crate::command::{Accept, Submission};
use crate::decide::news;
use crate::effect::News;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Kind, State};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// Decides whether the asker may take the handoff, and under which number.
///
/// Asking again with the same command id is answered before any decision, so whoever reaches the
/// `Accepted` arm is another claimant, even if it goes by the same name.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    accept: &Accept,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let (id, workflow, handoff) = world.handoff(accept.handoff)?;
    let handoff_id = accept.handoff;
    let by = ask.actor.agent();
    match &handoff.state {
        State::Initiated { .. } | State::Deferred { .. } => (),
        State::AwaitingApproval => {
            return Err(Refusal::NotApproved { handoff: handoff_id });
        }
        State::Queued { .. } => {
            return Err(Refusal::NotSent { handoff: handoff_id });
        }
        State::Accepted { .. } | State::Suspended { .. } | State::Returned { .. } => {
            return Err(Refusal::AlreadyAccepted { handoff: handoff_id, by: handoff.to.clone() });
        }
        // A sequential handoff is over once it is accepted; a rival should hear by whom.
        State::Completed { .. } if handoff.terms.kind == Kind::Sequential => {
            return Err(Refusal::AlreadyAccepted { handoff: handoff_id, by: handoff.to.clone() });
        }
        State::Completed { .. } => {
            return Err(Refusal::HandoffOver { handoff: handoff_id, ending: "completed" });
        }
        State::Failed { detail, .. } => {
            return Err(Refusal::HandoffOver { handoff: handoff_id, ending: detail.word() });
        }
    }
    if handoff.to != by {
        let to = handoff.to.clone();
        return Err(Refusal::ForAnother { handoff: handoff_id, to, asker: by });
    }
    let agent = world.agent(&by)?;
    let most = agent.profile.max_concurrent_tasks;
    let load = agent.holds.len();
    if load >= usize::try_from(most).unwrap_or(usize::MAX) {
        return Err(Refusal::AtCapacity { agent: by, load, most });
    }

    let (return_by, completes) = match &handoff.terms.kind {
        Kind::Sequential => (None, true),
        Kind::Delegation(terms) => (Some(terms.timeout.after(now)), false),
    };
    let mut events = vec![Event::Accepted {
        handoff: handoff_id,
        by,
        fence: workflow.fence.next(),
        return_by,
        estimated_completion: accept.estimated_completion,
    }];
    if completes {
        // Ownership moves with the acceptance: the sender's hold ends here, with its locks.
        let released = workflow.owning().map(|hold| hold.locks.iter().cloned().collect());
        events.push(Event::Completed {
            handoff: handoff_id,
            result: None,
            variables: Default::default(),
            artifacts: Vec::new(),
            released: released.unwrap_or_default(),
        });
    }
    let sender = &handoff.terms.from_agent;
    let effects = news::tell(world, sender, id, handoff_id, News::Accepted).into_iter().collect();
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}
