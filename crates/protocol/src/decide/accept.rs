//! Taking a handoff. Of any number who ask, exactly one gets it.

use crate::account::Limits;
use crate::agent::Role;
use crate::command::{Accept, Submission};
use crate::decide::arrival::{self, earliest};
use crate::decide::guard::{approval, limits};
use crate::decide::news;
use crate::effect::News;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Handoff, Kind, State};
use crate::id::AgentId;
use crate::planted::{Bug, planted};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::workflow::Workflow;
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
    let (handoff_id, by) = (accept.handoff, ask.actor.agent());
    takeable(handoff)?;
    if handoff.to != by {
        let to = handoff.to.clone();
        return Err(Refusal::ForAnother { handoff: handoff_id, to, asker: by });
    }
    let agent = world.agent(&by)?;
    // Whoever waits does nothing, so it takes no room.
    let waits = handoff.terms.step.as_ref().is_some_and(|step| step.waits);
    if !waits && agent.room() + usize::from(planted(Bug::CapacityReadBeforeLock)) == 0 {
        let (load, most) = (agent.holds.len(), agent.profile.max_concurrent_tasks);
        return Err(Refusal::AtCapacity { agent: by, load, most });
    }
    approval::still_approved(workflow, handoff)?;
    let slice = limits::slice(workflow, handoff)?;
    let kind = &handoff.terms.kind;
    let limit =
        arrival::time_up(&agent.profile, arrival::deadline(Some(workflow), &handoff.terms), now);
    let step = handoff.terms.step.as_ref();
    let limit = earliest(limit, step.and_then(|step| step.timeout).map(|span| span.after(now)));
    let events = if kind.returns() {
        // A person that is asked takes the time it takes.
        let person = matches!(kind, Kind::Escalation(_)) && agent.profile.role == Role::Human;
        let back = kind.back().filter(|_| !person).map(|back| back.timeout.after(now));
        vec![accepted(workflow, accept, by, (earliest(back, limit), None), slice)]
    } else {
        // Without a return, acceptance completes it. Ownership of a sequential handoff moves with
        // it: the sender's hold ends here, with its locks.
        let sequential = *kind == Kind::Sequential;
        let ends = workflow.owning().filter(|_| sequential);
        let released = ends.map(|hold| hold.locks.iter().cloned().collect());
        vec![
            accepted(workflow, accept, by, (None, limit.filter(|_| sequential)), slice),
            Event::Completed {
                handoff: handoff_id,
                result: None,
                variables: Default::default(),
                artifacts: Vec::new(),
                late: false,
                released: released.unwrap_or_default(),
            },
        ]
    };
    let sender = &handoff.terms.from_agent;
    let mut effects = match waits {
        // Nobody works while it waits.
        true => Vec::new(),
        false => news::runs(&agent.profile, id, handoff_id, workflow.fence.next()),
    };
    effects.extend(news::tell(world, sender, id, handoff_id, News::Accepted));
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}

/// Refuses a handoff that nobody can take, or not any more.
fn takeable(handoff: &Handoff) -> Result<(), Refusal> {
    let handoff_id = handoff.terms.id;
    match &handoff.state {
        State::Initiated { .. } | State::Deferred { .. } => Ok(()),
        State::AwaitingApproval { .. } => Err(Refusal::NotApproved { handoff: handoff_id }),
        State::Queued { .. } => Err(Refusal::NotSent { handoff: handoff_id }),
        State::Accepted { .. } | State::Suspended { .. } | State::Returned { .. } => {
            Err(Refusal::AlreadyAccepted { handoff: handoff_id, by: handoff.to.clone() })
        }
        // Without a return a handoff is over once it is accepted; a rival should hear by whom.
        State::Completed { .. } if !handoff.terms.kind.returns() => {
            Err(Refusal::AlreadyAccepted { handoff: handoff_id, by: handoff.to.clone() })
        }
        State::Completed { .. } => {
            Err(Refusal::HandoffOver { handoff: handoff_id, ending: "completed" })
        }
        State::Failed { detail, .. } => {
            Err(Refusal::HandoffOver { handoff: handoff_id, ending: detail.word() })
        }
    }
}

fn accepted(
    workflow: &Workflow,
    accept: &Accept,
    by: AgentId,
    (return_by, done_by): (Option<Timestamp>, Option<Timestamp>),
    slice: Limits,
) -> Event {
    Event::Accepted {
        handoff: accept.handoff,
        by,
        fence: workflow.fence.next(),
        return_by,
        estimated_completion: accept.estimated_completion,
        done_by,
        traceparent: accept.traceparent,
        slice,
    }
}
