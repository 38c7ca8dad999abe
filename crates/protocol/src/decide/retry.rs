//! What comes after an attempt that nobody took: another agent, a person, or the end.

use std::collections::BTreeSet;

use crate::agent::{Agent, Role};
use crate::decide::route::{self, Wanted};
use crate::decide::{arrival, group, machine, news};
use crate::effect::{Effect, News};
use crate::event::Event;
use crate::handoff::{AtCapacity, Cause, Detail, Handoff, Kind, OnRejection, Priority};
use crate::id::WorkflowId;
use crate::limits::REROUTES_MAX;
use crate::text::Text;
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// Why an attempt ended without an acceptance, for programs and for people.
#[derive(Clone, Debug)]
pub(super) struct Why {
    pub(super) cause: Cause,
    pub(super) reason: Text,
}

type Outcome = (Vec<Event>, Vec<Effect>);

/// The events and effects after `handoff`, whose receiver did not take it.
pub(super) fn after(
    world: &World,
    (id, workflow): (WorkflowId, Option<&Workflow>),
    handoff: &Handoff,
    why: Why,
    now: Timestamp,
) -> Outcome {
    let untaken = workflow.and_then(|workflow| {
        let (kind, why) = ("handoff_not_accepted", &why.reason);
        let error = machine::Untaken { kind, why, again: true };
        machine::untaken(world, (id, workflow), handoff, error, now)
    });
    let next = next(world, workflow, handoff, why.cause, now).filter(|_| untaken.is_none());
    if let Some(next) = next {
        return rerouted(world, id, handoff, next, why, now);
    }
    let handoff_id = handoff.terms.id;
    let detail = match why.cause {
        Cause::Answer | Cause::CapabilityMismatch | Cause::Risk | Cause::AtCapacity => {
            Detail::Rejected { reason: why.reason.clone() }
        }
        Cause::Unavailable | Cause::Unwell => Detail::Unavailable,
    };
    let mut events = vec![
        rejected(handoff, &why),
        Event::Failed { handoff: handoff_id, detail, released: Vec::new() },
    ];
    let told = news::tell(world, &handoff.terms.from_agent, id, handoff_id, News::Failed);
    let mut effects: Vec<_> = told.into_iter().collect();
    if let Some((more, brought)) = untaken {
        events.extend(more);
        effects.extend(brought);
    }
    if let Some(decided) = workflow.and_then(|workflow| group::ended(workflow, handoff, false)) {
        events.push(decided);
        effects.extend(group::told(world, id, handoff));
    }
    (events, effects)
}

/// The events and effects of a handoff whose receiver holds as much as it can: it waits, or goes
/// to another that has room, as its terms say.
pub(super) fn full(world: &World, id: WorkflowId, handoff: &Handoff, now: Timestamp) -> Outcome {
    let workflow = world.workflows.get(&id);
    match next(world, workflow, handoff, Cause::AtCapacity, now) {
        Some(next) => {
            let why = Why { cause: Cause::AtCapacity, reason: at_capacity(world, handoff) };
            rerouted(world, id, handoff, next, why, now)
        }
        None => {
            let profile = world.agents.get(&handoff.to).map(|to| &to.profile);
            let give_up =
                profile.and_then(|to| arrival::give_up(workflow, to, &handoff.terms, now));
            let (handoff, by) = (handoff.terms.id, handoff.to.clone());
            (vec![Event::Queued { handoff, by, give_up }], Vec::new())
        }
    }
}

/// Why a receiver that is full does not take it.
pub(super) fn at_capacity(world: &World, handoff: &Handoff) -> Text {
    let most = world.agents.get(&handoff.to).map_or(0, |to| to.profile.max_concurrent_tasks);
    let words = format!("at_capacity: {} can hold {most} at once", handoff.to);
    words.parse().expect("a name of limited length makes a text")
}

fn rejected(handoff: &Handoff, why: &Why) -> Event {
    Event::Rejected {
        handoff: handoff.terms.id,
        by: handoff.to.clone(),
        reason: why.reason.clone(),
        cause: why.cause,
    }
}

fn rerouted(
    world: &World,
    id: WorkflowId,
    handoff: &Handoff,
    next: &Agent,
    why: Why,
    now: Timestamp,
) -> Outcome {
    let (handoff_id, from) = (handoff.terms.id, handoff.to.clone());
    let to = next.profile.id.clone();
    let workflow = world.workflows.get(&id);
    let arrival = arrival::at(world, workflow, next, &handoff.terms, now);
    let gap = next.profile.gap(&handoff.terms.required_capabilities);
    let mut events = vec![rejected(handoff, &why)];
    events.push(Event::Rerouted {
        handoff: handoff_id,
        from,
        to: to.clone(),
        reason: why.reason,
        trigger: why.cause.trigger(),
        gap,
        answer_by: arrival.answer_by,
        approval: None,
    });
    if arrival.queued {
        let give_up = arrival.answer_by;
        events.push(Event::Queued { handoff: handoff_id, by: to, give_up });
        return (events, Vec::new());
    }
    (events, news::arrived(world, &to, id, handoff_id))
}

/// Who is asked instead, if anybody.
pub(super) fn next<'a>(
    world: &'a World,
    workflow: Option<&Workflow>,
    handoff: &Handoff,
    cause: Cause,
    now: Timestamp,
) -> Option<&'a Agent> {
    let terms = &handoff.terms;
    let to = world.agents.get(&handoff.to);
    let role = to.map_or(Role::Worker, |agent| agent.profile.role);
    let counts = Some(&handoff.to).filter(|_| role != Role::Human);
    let only = workflow.and_then(|workflow| workflow.only_members(counts));
    let wanted = Wanted { only, ..Wanted::by(terms, now) };
    let mut except: BTreeSet<_> = handoff.tried.clone();
    except.insert(handoff.to.clone());
    except.insert(terms.from_agent.clone());
    let above = || route::above(world, role, &wanted, &except);
    let instead = || route::instead(world, handoff, &wanted);
    let human = || route::above(world, Role::Architect, &wanted, &except);
    let often = handoff.attempts.reroutes >= REROUTES_MAX;
    let routing = match &terms.kind {
        // Each copy of a broadcast is for one agent and nobody else.
        Kind::Broadcast(_) => return None,
        // A question only ever climbs, so the chain bounds it. It does not wait for room: whoever
        // is full may be full with the very work that waits for the answer.
        Kind::Escalation(_) => return above(),
        Kind::Sequential | Kind::Delegation(_) => terms.routing,
    };
    if cause == Cause::AtCapacity {
        let elsewhere = routing.at_capacity == AtCapacity::Reroute && !often;
        let free = |agent: &&Agent| world.has_room(agent, terms.priority);
        return instead().filter(free).filter(|_| elsewhere);
    }
    if routing.on_rejection == OnRejection::Fail {
        return None;
    }
    if often {
        // The person is the last stop, and is asked once.
        return human().filter(|_| role != Role::Human);
    }
    match cause {
        Cause::Unavailable | Cause::Unwell if terms.priority == Priority::Critical => {
            above().or_else(instead)
        }
        Cause::Risk => above().or_else(instead),
        Cause::Answer
        | Cause::CapabilityMismatch
        | Cause::AtCapacity
        | Cause::Unavailable
        | Cause::Unwell => instead().or_else(human),
    }
}
