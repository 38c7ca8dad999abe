//! A handoff that did not get to its receiver: it is sent again, a little later each time, and then
//! it goes the way of one that nobody answered.

use crate::command::{Submission, Undelivered};
use crate::decide::holder;
use crate::decide::retry::{self, Why};
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Cause, State};
use crate::limits::{RESEND_BACKOFF, RESENDS_MAX};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// Decides when it is sent again, if it still waits for that receiver.
///
/// The pauses are counted with those after a late return: layers of retrying never multiply.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    lost: &Undelivered,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    holder::coordinator_only(ask)?;
    let (id, workflow, handoff) = world.handoff(lost.handoff)?;
    let stream = StreamId::Workflow(id);
    let waits = match &handoff.state {
        State::Initiated { .. } => handoff.to == lost.agent,
        State::AwaitingApproval { .. }
        | State::Queued { .. }
        | State::Deferred { .. }
        | State::Accepted { .. }
        | State::Suspended { .. }
        | State::Returned { .. }
        | State::Completed { .. }
        | State::Failed { .. } => false,
    };
    if !waits {
        return Ok(Decision { stream, events: Vec::new(), effects: Vec::new() });
    }
    let (by, reason) = (lost.agent.clone(), lost.reason.clone());
    let resends = handoff.attempts.resends;
    // In work with a definition the error monitor owns every second try.
    if resends < RESENDS_MAX && handoff.terms.step.is_none() {
        let resend_at = RESEND_BACKOFF.doubled(resends).after(now);
        let event = Event::Undelivered { handoff: lost.handoff, by, reason, resend_at };
        return Ok(Decision { stream, events: vec![event], effects: Vec::new() });
    }
    let why = Why { cause: Cause::Unavailable, reason };
    let (events, effects) = retry::after(world, (id, Some(workflow)), handoff, why, now);
    Ok(Decision { stream, events, effects })
}
