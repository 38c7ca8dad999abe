//! What time brings: an answer that did not come, a deferral that ends, a return that is late.
//!
//! A deadline has passed when its event is recorded, not when some clock says so. Whoever accepts
//! or returns before that event wins, so there is no race between an answer and its timeout.

use crate::agent::Role;
use crate::command::{Submission, Wake, WakeHold};
use crate::decide::cancel::Ended;
use crate::decide::guard::approval;
use crate::decide::raise::{Raise, Raised};
use crate::decide::retry::{self, Why};
use crate::decide::{arrival, group, holder, news};
use crate::effect::{Effect, News};
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{
    Cause, Delegation, Detail, Due, Handoff, Kind, Matter, OnTimeout, State, Terms,
};
use crate::id::{Fence, WorkflowId};
use crate::limits::{REMINDER_GRACE, RESEND_BACKOFF, RESENDS_MAX};
use crate::planted::{Bug, planted};
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
    let to = world.agents.get(&handoff.to);
    let due = match &handoff.state {
        State::Queued { until: None, give_up } => {
            let called = to.is_some_and(|to| world.is_called(to, wake.handoff));
            called || give_up.is_some_and(|at| at <= now)
        }
        // Somebody looks because the receiver was full when it wanted to accept.
        State::Initiated { .. } if to.is_some_and(|agent| agent.room() == 0) => true,
        other => other.wake_at().is_some_and(|at| at <= now || planted(Bug::TimerFiresEarly)),
    };
    if !due {
        return Ok(Decision { stream, events: Vec::new(), effects: Vec::new() });
    }
    let (events, effects) = match &handoff.state {
        State::Queued { until: None, .. } => match to {
            Some(to) if !world.is_called(to, wake.handoff) => {
                given_up(world, (id, workflow), handoff, now)
            }
            Some(_) | None => sent_again(world, id, workflow, handoff, now),
        },
        State::Queued { .. } | State::Deferred { .. } => {
            sent_again(world, id, workflow, handoff, now)
        }
        State::Initiated { .. } if approval::is_void(workflow, handoff) => {
            not_to_blame(world, id, handoff)
        }
        State::Initiated { .. } => unanswered(world, id, workflow, handoff, now),
        State::Accepted { .. } if planted(Bug::TimeoutAfterAccept) => {
            unanswered(world, id, workflow, handoff, now)
        }
        State::Accepted { fence, due, .. } => match (due, handoff.terms.kind.back()) {
            (Some(Due::Return(_)), back) => reminded(world, id, handoff, back, now),
            (Some(Due::Timeout(_)), back) => {
                let policy = back.map_or(OnTimeout::Fail, |back| back.on_timeout);
                timed_out(world, ask, (id, workflow, handoff), policy, *fence, now)
            }
            (None, _) => (Vec::new(), Vec::new()),
        },
        State::AwaitingApproval { matched, .. } => {
            approval::unanswered(world, (id, workflow, handoff), matched, now)
        }
        State::Suspended { .. }
        | State::Returned { .. }
        | State::Completed { .. }
        | State::Failed { .. } => (Vec::new(), Vec::new()),
    };
    Ok(Decision { stream, events, effects })
}

/// Decides what the time that has come means for a hold whose handoff is over: somebody above is
/// asked to look. The holder keeps the work and may still finish it.
pub(super) fn hold(
    world: &World,
    ask: &Submission,
    wake: &WakeHold,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    holder::coordinator_only(ask)?;
    let (id, fence) = (wake.workflow, wake.fence);
    let workflow = world.workflow(id)?;
    let stream = StreamId::Workflow(id);
    let nothing = Decision { stream: stream.clone(), events: Vec::new(), effects: Vec::new() };
    let Some(hold) = workflow.holds.get(&fence) else { return Ok(nothing) };
    if hold.due.is_none_or(|at| at > now) {
        return Ok(nothing);
    }
    let raise = Raise {
        world,
        id,
        workflow,
        handoff: ask.id.handoff(),
        late: &hold.agent,
        from: (hold.agent.clone(), fence),
        matter: Matter::Overdue,
        about: None,
        reason: words("over its time: the deadline or the agent's max_execution_time has passed"),
    };
    let mut events = vec![Event::Overdue { fence }];
    let (more, told) = raise.decide(now).unwrap_or_default();
    events.extend(more);
    Ok(Decision { stream, events, effects: told })
}

type Outcome = (Vec<Event>, Vec<Effect>);

/// There was no room in time.
fn given_up(
    world: &World,
    home: (WorkflowId, &Workflow),
    handoff: &Handoff,
    now: Timestamp,
) -> Outcome {
    let why = Why { cause: Cause::AtCapacity, reason: retry::at_capacity(world, handoff) };
    retry::after(world, (home.0, Some(home.1)), handoff, why, now)
}

fn sent_again(
    world: &World,
    id: WorkflowId,
    workflow: &Workflow,
    handoff: &Handoff,
    now: Timestamp,
) -> Outcome {
    let to = world.agents.get(&handoff.to);
    if to.is_some_and(|agent| agent.room() == 0) {
        return retry::full(world, id, handoff, now);
    }
    let answer_by = to
        .and_then(|agent| arrival::answer_by(Some(workflow), &agent.profile, &handoff.terms, now));
    let event = Event::Resent { handoff: handoff.terms.id, answer_by };
    (vec![event], news::arrived(world, &handoff.to, id, handoff.terms.id))
}

/// Nobody answered in time. An agent that is full is busy, not gone.
fn unanswered(
    world: &World,
    id: WorkflowId,
    workflow: &Workflow,
    handoff: &Handoff,
    now: Timestamp,
) -> Outcome {
    if world.agents.get(&handoff.to).is_some_and(|agent| agent.room() == 0) {
        return retry::full(world, id, handoff, now);
    }
    let why = Why { cause: Cause::Unavailable, reason: words("unavailable: no answer in time") };
    retry::after(world, (id, Some(workflow)), handoff, why, now)
}

/// A receiver that may not accept, because what was approved has changed, is not late. It has as
/// long as the person takes who must look again.
fn not_to_blame(world: &World, id: WorkflowId, handoff: &Handoff) -> Outcome {
    let event = Event::Resent { handoff: handoff.terms.id, answer_by: None };
    let terms = Terms { to_agent: handoff.to.clone(), ..handoff.terms.clone() };
    (vec![event], approval::announced(world, id, &terms))
}

fn reminded(
    world: &World,
    id: WorkflowId,
    handoff: &Handoff,
    back: Option<&Delegation>,
    now: Timestamp,
) -> Outcome {
    // Nobody gets more grace than time.
    let grace = back.map_or(REMINDER_GRACE, |back| REMINDER_GRACE.min(back.timeout));
    let due = Due::Timeout(grace.after(now));
    let event = Event::Reminded { handoff: handoff.terms.id, due };
    let told = news::tell(world, &handoff.to, id, handoff.terms.id, News::Reminder);
    (vec![event], told.into_iter().collect())
}

fn timed_out(
    world: &World,
    ask: &Submission,
    (id, workflow, handoff): (WorkflowId, &Workflow, &Handoff),
    policy: OnTimeout,
    fence: Fence,
    now: Timestamp,
) -> Outcome {
    let handoff_id = handoff.terms.id;
    let resends = handoff.attempts.resends;
    let resend_at = match policy {
        OnTimeout::Retry if resends < RESENDS_MAX => {
            Some(RESEND_BACKOFF.doubled(resends).after(now))
        }
        OnTimeout::Retry | OnTimeout::Escalate | OnTimeout::Fail => None,
    };
    // What the late holder passed on hangs in the air: nobody will take its results.
    let reason = words("the holder that asked for it timed out");
    let by = handoff.to.clone();
    let (mut events, mut effects) = Ended { world, id, workflow, by, reason }.all_under(fence);
    let hold = workflow.holds.get(&fence);
    let released = hold.map(|hold| hold.locks.iter().cloned().collect()).unwrap_or_default();
    events.push(Event::TimedOut { handoff: handoff_id, fence, resend_at, released });
    if resend_at.is_some() {
        return (events, effects);
    }
    let raised = raised(world, ask, (id, workflow, handoff), policy, now);
    let (before, after, detail) = match raised {
        // A person is asked about what has failed; what goes on is linked before this one ends.
        Some((Matter::Failure, (raised, told))) => (Vec::new(), (raised, told), Detail::TimedOut),
        Some((_, (raised, told))) => {
            let detail = Detail::PassedOn { to: ask.id.handoff() };
            (raised, (Vec::new(), told), detail)
        }
        None => (Vec::new(), (Vec::new(), Vec::new()), Detail::TimedOut),
    };
    events.extend(before);
    events.push(Event::Failed { handoff: handoff_id, detail, released: Vec::new() });
    let sender = &handoff.terms.from_agent;
    effects.extend(news::tell(world, sender, id, handoff_id, News::Failed));
    if let Some(decided) = group::ended(workflow, handoff, false) {
        events.push(decided);
        effects.extend(group::told(world, id, handoff));
    }
    events.extend(after.0);
    effects.extend(after.1);
    (events, effects)
}

/// What goes on above after a holder was late for good.
fn raised(
    world: &World,
    ask: &Submission,
    (id, workflow, handoff): (WorkflowId, &Workflow, &Handoff),
    policy: OnTimeout,
    now: Timestamp,
) -> Option<(Matter, Raised)> {
    let (from, parent) = (&handoff.terms.from_agent, handoff.terms.parent);
    let raise = |matter| {
        let raise = Raise {
            world,
            id,
            workflow,
            handoff: ask.id.handoff(),
            late: &handoff.to,
            from: (from.clone(), parent),
            matter,
            about: Some(handoff),
            reason: words("timed out: the holder did not return in time"),
        };
        raise.decide(now).map(|raised| (matter, raised))
    };
    // A person that passed it on is told already.
    let sender = world.agents.get(from).map(|agent| agent.profile.role);
    let ask_a_person = || raise(Matter::Failure).filter(|_| sender != Some(Role::Human));
    match (&handoff.terms.kind, policy) {
        (Kind::Escalation(asked), _) if asked.matter == Matter::Failure => None,
        // A question, or a look, that is late with one goes to the next. There is nothing to look
        // at any more once the holder has gone.
        (Kind::Escalation(asked), _) if asked.matter != Matter::Takeover => {
            raise(asked.matter).filter(|_| workflow.holds.contains_key(&parent))
        }
        (Kind::Escalation(_) | Kind::Delegation(_), OnTimeout::Escalate) => {
            raise(Matter::Takeover).or_else(ask_a_person)
        }
        (Kind::Escalation(_) | Kind::Delegation(_), OnTimeout::Retry | OnTimeout::Fail) => {
            ask_a_person()
        }
        // Copies of a broadcast are for one agent each; the aggregate says what one that is late
        // comes to.
        (Kind::Broadcast(_) | Kind::Sequential, _) => None,
    }
}

fn words(text: &'static str) -> Text {
    text.parse().expect("a fixed text within its limits")
}
