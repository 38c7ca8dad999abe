//! What time brings: an answer that did not come, a deferral that ends, a return that is late.
//!
//! A deadline has passed when its event is recorded, not when some clock says so. Whoever accepts
//! or returns before that event wins, so there is no race between an answer and its timeout.

use crate::command::{Submission, Wake};
use crate::decide::cancel::Ended;
use crate::decide::pass::answer_within;
use crate::decide::{holder, news};
use crate::effect::{Effect, News};
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Delegation, Detail, Due, Handoff, Kind, OnTimeout, State};
use crate::id::{Fence, WorkflowId};
use crate::limits::{REMINDER_GRACE, RESEND_BACKOFF, RESENDS_MAX};
use crate::refusal::Refusal;
use crate::text::Text;
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// Decides what the time that has come means for a handoff; nothing, if it has not come.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    wake: &Wake,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    holder::coordinator_only(ask)?;
    let (id, workflow, handoff) = world.handoff(wake.handoff)?;
    let stream = StreamId::Workflow(id);
    if handoff.state.wake_at().is_none_or(|at| at > now) {
        return Ok(Decision { stream, events: Vec::new(), effects: Vec::new() });
    }
    let (events, effects) = match &handoff.state {
        State::Queued { .. } | State::Deferred { .. } => sent_again(world, id, handoff, now),
        State::Initiated { .. } => unanswered(world, id, handoff),
        State::Accepted { fence, due, .. } => match (due, &handoff.terms.kind) {
            (Some(Due::Return(_)), Kind::Delegation(terms)) => {
                reminded(world, id, handoff, terms, now)
            }
            (Some(Due::Timeout(_)), Kind::Delegation(terms)) => {
                timed_out(world, (id, workflow, handoff), terms, *fence, now)
            }
            (None, Kind::Delegation(_)) | (_, Kind::Sequential) => (Vec::new(), Vec::new()),
        },
        State::AwaitingApproval
        | State::Suspended { .. }
        | State::Returned { .. }
        | State::Completed { .. }
        | State::Failed { .. } => (Vec::new(), Vec::new()),
    };
    Ok(Decision { stream, events, effects })
}

type Outcome = (Vec<Event>, Vec<Effect>);

fn sent_again(world: &World, id: WorkflowId, handoff: &Handoff, now: Timestamp) -> Outcome {
    let to = world.agents.get(&handoff.to);
    let within = to.and_then(|agent| answer_within(&agent.profile, &handoff.terms.kind));
    let answer_by = within.map(|span| span.after(now));
    let event = Event::Resent { handoff: handoff.terms.id, answer_by };
    let told = news::tell(world, &handoff.to, id, handoff.terms.id, News::Arrived);
    (vec![event], told.into_iter().collect())
}

fn unanswered(world: &World, id: WorkflowId, handoff: &Handoff) -> Outcome {
    let handoff_id = handoff.terms.id;
    let reason = words("unavailable: no answer in time");
    let rejected = Event::Rejected { handoff: handoff_id, by: handoff.to.clone(), reason };
    let failed =
        Event::Failed { handoff: handoff_id, detail: Detail::Unavailable, released: Vec::new() };
    let told = news::tell(world, &handoff.terms.from_agent, id, handoff_id, News::Failed);
    (vec![rejected, failed], told.into_iter().collect())
}

fn reminded(
    world: &World,
    id: WorkflowId,
    handoff: &Handoff,
    terms: &Delegation,
    now: Timestamp,
) -> Outcome {
    // Nobody gets more grace than time.
    let grace = REMINDER_GRACE.min(terms.timeout);
    let due = Due::Timeout(grace.after(now));
    let event = Event::Reminded { handoff: handoff.terms.id, due };
    let told = news::tell(world, &handoff.to, id, handoff.terms.id, News::Reminder);
    (vec![event], told.into_iter().collect())
}

fn timed_out(
    world: &World,
    (id, workflow, handoff): (WorkflowId, &Workflow, &Handoff),
    terms: &Delegation,
    fence: Fence,
    now: Timestamp,
) -> Outcome {
    let handoff_id = handoff.terms.id;
    let resends = handoff.attempts.resends;
    let resend_at = match terms.on_timeout {
        OnTimeout::Retry if resends < RESENDS_MAX => {
            Some(RESEND_BACKOFF.doubled(resends).after(now))
        }
        OnTimeout::Retry | OnTimeout::Fail => None,
    };
    // What the late holder passed on hangs in the air: nobody will take its results.
    let reason = words("the holder that asked for it timed out");
    let by = handoff.to.clone();
    let (mut events, mut effects) = Ended { world, id, workflow, by, reason }.all_under(fence);
    let hold = workflow.holds.get(&fence);
    let released = hold.map(|hold| hold.locks.iter().cloned().collect()).unwrap_or_default();
    events.push(Event::TimedOut { handoff: handoff_id, fence, resend_at, released });
    if resend_at.is_none() {
        let detail = Detail::TimedOut;
        events.push(Event::Failed { handoff: handoff_id, detail, released: Vec::new() });
        let sender = &handoff.terms.from_agent;
        effects.extend(news::tell(world, sender, id, handoff_id, News::Failed));
    }
    (events, effects)
}

fn words(text: &'static str) -> Text {
    text.parse().expect("a fixed text within its limits")
}
