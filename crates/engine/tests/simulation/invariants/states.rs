//! What the world looks like between two commands.

use std::collections::{BTreeMap, BTreeSet};

use baton_protocol::agent::Role;
use baton_protocol::handoff::{Handoff, Kind, Matter, State};
use baton_protocol::id::{AgentId, Fence, WorkflowId};
use baton_protocol::lock::LockMode;
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::Workflow;
use baton_protocol::{Timer, World};

use super::receivers::{fits, waiting};
use super::{Checked, Facts, ends, must};

/// Judges the world between two commands.
pub(super) fn judge(facts: &Facts, world: &World) -> Checked {
    for (id, workflow) in &world.workflows {
        holders(*id, workflow)?;
        suspended(workflow)?;
        counters(facts, world, workflow)?;
        decided(facts, workflow)?;
    }
    loads(world)?;
    locks(world, facts.last_at)?;
    timers(world)
}

/// One owner, and one holder for each piece of work that is held.
fn holders(id: WorkflowId, workflow: &Workflow) -> Checked {
    must(workflow.owning().is_some(), "I1", || format!("nobody holds {id}"))?;
    let mut held: BTreeMap<Fence, &Handoff> = BTreeMap::new();
    for handoff in workflow.handoffs.values() {
        let Some(fence) = handoff.state.fence() else { continue };
        let twice = held.insert(fence, handoff);
        must(twice.is_none(), "I2", || format!("fence {fence} holds two handoffs"))?;
        let holder = workflow.holds.get(&fence);
        let right = holder
            .is_some_and(|hold| hold.agent == handoff.to && hold.handoff == Some(handoff.terms.id));
        must(right, "I2", || format!("{} as {fence}: {holder:?}", handoff.terms.id))?;
    }
    for (fence, hold) in &workflow.holds {
        must(*fence <= workflow.fence, "I3", || format!("fence {fence} was never given"))?;
        let known = held.contains_key(fence) || *fence == workflow.owner;
        must(known, "I2", || format!("fence {fence} of {} holds nothing", hold.agent))?;
        must(workflow.readers.contains(&hold.agent), "I2", || {
            format!("{} holds what it may not read", hold.agent)
        })?;
    }
    for handoff in workflow.open().filter(|open| workflow.blocks(open)) {
        let waits = workflow.holds.get(&handoff.terms.parent);
        let right = waits.is_some_and(|hold| hold.agent == handoff.terms.from_agent);
        must(right, "I29", || format!("{} is waited for by {waits:?}", handoff.terms.id))?;
    }
    Ok(())
}

/// A hold waits for its question exactly as long as that is open.
fn suspended(workflow: &Workflow) -> Checked {
    for (fence, hold) in &workflow.holds {
        let handoff = hold.handoff.and_then(|id| workflow.handoffs.get(&id));
        let open = handoff.filter(|handoff| !handoff.state.is_over());
        let asked = match open.map(|handoff| &handoff.state) {
            Some(State::Suspended { escalation, .. }) => Some(*escalation),
            Some(_) => None,
            None => hold.suspended.map(|on| on.escalation),
        };
        let on = hold.suspended.map(|on| on.escalation);
        must(asked == on, "I15", || format!("fence {fence} waits for {on:?}, not {asked:?}"))?;
        let Some(question) = on.and_then(|id| workflow.handoffs.get(&id)) else {
            must(on.is_none(), "I15", || format!("fence {fence} waits for nothing known"))?;
            continue;
        };
        let right = !question.state.is_over() && question.terms.parent == *fence;
        must(right, "I15", || {
            format!("fence {fence} waits for {}: {:?}", question.terms.id, question.state)
        })?;
    }
    for question in workflow.open() {
        let Kind::Escalation(asked) = &question.terms.kind else { continue };
        let hold = workflow.holds.get(&question.terms.parent).and_then(|hold| hold.suspended);
        let waits = hold.is_some_and(|on| on.escalation == question.terms.id);
        let should = asked.matter == Matter::Question;
        must(waits == should, "I15", || {
            format!("{} has its asker at {hold:?}", question.terms.id)
        })?;
    }
    Ok(())
}

/// What a handoff counts of itself is what the records tell, and its receiver is one it may have.
fn counters(facts: &Facts, world: &World, workflow: &Workflow) -> Checked {
    for (id, handoff) in &workflow.handoffs {
        let Some(tale) = facts.tales.get(id) else {
            return must(false, "I26", || format!("{id} is in no record"));
        };
        let (found, told) = (handoff.attempts.reroutes, tale.reroutes);
        must(found == told, "I12", || format!("{id} counts {found} reroutes, there were {told}"))?;
        let (found, told) = (handoff.attempts.resends, tale.resends);
        must(found == told, "I13", || format!("{id} counts {found} resends, there were {told}"))?;
        let asked = matches!(handoff.state, State::Initiated { .. } | State::Queued { .. });
        // Whoever has become another since it was asked may still say no itself.
        let changed = facts.changed.get(&handoff.to).copied().unwrap_or(0);
        let fresh = changed < tale.asked_by && !tale.reassigned;
        if let Some(agent) = world.agents.get(&handoff.to).filter(|_| asked && fresh) {
            must(fits(agent, &handoff.terms), "I25", || {
                format!("{id} is with {}, who does not fit", handoff.to)
            })?;
        }
    }
    Ok(())
}

/// A broadcast whose tally decides it is decided.
fn decided(facts: &Facts, workflow: &Workflow) -> Checked {
    for (id, group) in &workflow.groups {
        let Some(tally) = facts.groups.get(id) else {
            return must(false, "I17", || format!("{id} is in no record"));
        };
        must(group.outcome.map(|outcome| outcome.success) == tally.outcome, "I17", || {
            format!("{id} is {:?}, recorded as {:?}", group.outcome, tally.outcome)
        })?;
        // What is called off together with whoever sent it is decided for nobody.
        let sender = |h: &&Handoff| h.terms.kind.group() == Some(*id);
        let parent = workflow.handoffs.values().find(sender).map(|h| h.terms.parent);
        if parent.is_some_and(|parent| !workflow.holds.contains_key(&parent)) {
            continue;
        }
        let found = ends::count(facts, tally);
        let right = ends::reference(tally, found);
        must(tally.outcome.is_some() || right.is_none(), "I17", || {
            format!("{id} is not decided although {found:?} come to {right:?}")
        })?;
    }
    Ok(())
}

/// What an agent holds is what workflows say it holds.
fn loads(world: &World) -> Checked {
    let mut held: BTreeMap<&AgentId, BTreeSet<(WorkflowId, Fence)>> = BTreeMap::new();
    for (id, workflow) in &world.workflows {
        for (fence, hold) in &workflow.holds {
            held.entry(&hold.agent).or_default().insert((*id, *fence));
        }
    }
    for (id, agent) in &world.agents {
        let found = held.remove(id).unwrap_or_default();
        must(agent.holds == found, "I6", || {
            format!("{id} counts {:?}, not {found:?}", agent.holds)
        })?;
    }
    must(held.is_empty(), "I6", || format!("agents nobody knows hold {held:?}"))
}

/// Locks end with the hold they were taken under, and an exclusive one stands alone.
fn locks(world: &World, now: Timestamp) -> Checked {
    for (path, lock) in world.locks.iter() {
        let hold = world.workflows.get(&lock.workflow).and_then(|w| w.holds.get(&lock.fence));
        let right = hold.is_some_and(|hold| hold.agent == lock.by && hold.locks.contains(path));
        must(right, "I8", || format!("{path} is locked by {} under {:?}", lock.by, lock.fence))?;
        let live = world.locks.on(path).iter().filter(|lock| lock.until > now).count();
        let alone = lock.mode == LockMode::Shared || lock.until <= now || live == 1;
        must(alone, "I9", || format!("{path} is locked by {} and {} more", lock.by, live - 1))?;
    }
    Ok(())
}

/// The timers are those that the states ask for, and those in the queue that have room.
fn timers(world: &World) -> Checked {
    let far = Timestamp::from_micros(i64::MAX);
    let mut expected = BTreeSet::new();
    for (id, workflow) in &world.workflows {
        for handoff in workflow.handoffs.values() {
            let waits = handoff.state.wake_at().is_some();
            expected.extend(waits.then_some(Timer::Handoff(handoff.terms.id)));
        }
        for (fence, hold) in &workflow.holds {
            let waits = hold.due.is_some() && hold.suspended.is_none();
            expected.extend(waits.then_some(Timer::Hold(*id, *fence)));
        }
    }
    let mut called = BTreeSet::new();
    for id in world.agents.keys() {
        let mut queue: Vec<_> = waiting(world, id).collect();
        queue.sort_by_key(|h| (h.terms.priority, h.initiated_at, h.terms.id));
        let turns = queue.into_iter().enumerate();
        let next = turns.take_while(|(before, handoff)| has_turn(world, id, handoff, *before));
        called.extend(next.map(|(_, handoff)| Timer::Handoff(handoff.terms.id)));
    }
    let found: BTreeSet<Timer> = world.due(Timestamp::default()).collect();
    must(found == called, "I10", || format!("{found:?} are called, not {called:?}"))?;
    expected.extend(called);
    let found: BTreeSet<Timer> = world.due(far).collect();
    must(found == expected, "I21", || format!("timers {found:?}\nexpected {expected:?}"))
}

/// Whether `handoff`, which waits for `agent` behind `before` others, has room there. Room is kept
/// for those that were called and did not answer, but not from the more urgent.
pub(super) fn has_turn(world: &World, agent: &AgentId, handoff: &Handoff, before: usize) -> bool {
    let Some(known) = world.agents.get(agent) else { return false };
    let all = world.workflows.values().flat_map(|workflow| workflow.handoffs.values());
    let called = all.filter(|other| {
        let called = matches!(other.state, State::Initiated { called: true, .. });
        other.to == *agent && called && other.terms.priority <= handoff.terms.priority
    });
    let most = known.profile.max_concurrent_tasks as usize;
    before + called.count() < most.saturating_sub(known.holds.len())
}

/// After one look at the timers nothing is due, and nobody waits for room that is there.
pub(super) fn at_rest(world: &World, now: Timestamp) -> Checked {
    for id in world.agents.keys() {
        let could = waiting(world, id).find(|handoff| has_turn(world, id, handoff, 0));
        let could = could.map(|handoff| handoff.terms.id);
        must(could.is_none(), "I11", || format!("{could:?} waits for {id}, who has room"))?;
    }
    let all = world.workflows.values().flat_map(|workflow| workflow.handoffs.values());
    for handoff in all {
        let due = handoff.state.wake_at().is_some_and(|at| at <= now);
        must(!due, "I21", || format!("{} is still due: {:?}", handoff.terms.id, handoff.state))?;
    }
    let person = world.agents.get(&AgentId::operator()).map(|agent| agent.profile.role);
    must(person == Some(Role::Human), "I14", || "the last stop is no person".to_owned())
}
