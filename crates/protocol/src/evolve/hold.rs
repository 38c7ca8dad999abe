//! Holds: who has work in hand, until when, and what ends with it.

use std::collections::BTreeSet;

use super::handoff::set_state;
use crate::agent::Health;
use crate::handoff::State;
use crate::id::{AgentId, Fence, HandoffId, WorkflowId};
use crate::planted::{Bug, planted};
use crate::time::Timestamp;
use crate::workflow::{Hold, Waiting};
use crate::world::{Timer, World};

pub(super) fn hold(
    agent: &AgentId,
    handoff: Option<HandoffId>,
    seen: u64,
    since: Timestamp,
) -> Hold {
    let agent = agent.clone();
    Hold {
        agent,
        handoff,
        since,
        seen,
        locks: BTreeSet::new(),
        progress: None,
        suspended: None,
        due: None,
        account: None,
        wants: None,
    }
}

pub(super) fn take_load(world: &mut World, agent: &AgentId, id: WorkflowId, fence: Fence) {
    if let Some(agent) = world.agents.get_mut(agent) {
        agent.holds.insert((id, fence));
    }
}

/// An agent did something, so it is there.
pub(super) fn answered(world: &mut World, agent: &AgentId) {
    if let Some(agent) = world.agents.get_mut(agent) {
        agent.health = Health::default();
    }
}

/// Ends a holding: its number is no longer in force, its locks and its slot are free.
pub(super) fn end_hold(world: &mut World, id: WorkflowId, fence: Fence) {
    let Some(workflow) = world.workflows.get_mut(&id) else {
        return;
    };
    workflow.settle(fence);
    let Some(hold) = workflow.holds.remove(&fence) else {
        return;
    };
    for path in hold.locks.iter().filter(|_| !planted(Bug::LockNotReleased)) {
        world.locks.free(path, id, fence);
    }
    if let Some(at) = hold.due {
        world.timers.remove(&(at, Timer::Hold(id, fence)));
    }
    if let Some(agent) = world.agents.get_mut(&hold.agent) {
        agent.holds.remove(&(id, fence));
    }
}

/// Changes when the time of a hold is up.
pub(super) fn set_hold_due(
    world: &mut World,
    id: WorkflowId,
    fence: Fence,
    due: Option<Timestamp>,
) {
    let hold = world.workflows.get_mut(&id).and_then(|workflow| workflow.holds.get_mut(&fence));
    let Some(hold) = hold else { return };
    let timer = Timer::Hold(id, fence);
    if let Some(at) = std::mem::replace(&mut hold.due, due) {
        world.timers.remove(&(at, timer));
    }
    world.timers.extend(due.map(|at| (at, timer)));
}

/// A holder waits for a decision: its number stays, what was due waits with it.
pub(super) fn suspended(
    world: &mut World,
    id: WorkflowId,
    fence: Fence,
    handoff: Option<HandoffId>,
    escalation: HandoffId,
    at: Timestamp,
) {
    let hold = world.workflows.get_mut(&id).and_then(|workflow| workflow.holds.get_mut(&fence));
    let Some(hold) = hold else { return };
    // A question that climbs is still the same waiting.
    let since = hold.suspended.map_or(at, |waiting| waiting.since);
    hold.suspended = Some(Waiting { escalation, since });
    if let Some(at) = hold.due {
        world.timers.remove(&(at, Timer::Hold(id, fence)));
    }
    let Some(handoff) = handoff else { return };
    set_state(world, id, handoff, |handoff| match &handoff.state {
        State::Accepted { fence, since, due, .. } => {
            State::Suspended { fence: *fence, escalation, at, since: *since, due: *due }
        }
        State::Suspended { fence, at, since, due, .. } => {
            State::Suspended { fence: *fence, escalation, at: *at, since: *since, due: *due }
        }
        other => other.clone(),
    });
}

/// The decision is there, or will not come: the holder that waited for it goes on.
pub(super) fn resumed(world: &mut World, id: WorkflowId, escalation: HandoffId, at: Timestamp) {
    let Some(workflow) = world.workflows.get_mut(&id) else { return };
    let waits = |hold: &Hold| hold.suspended.is_some_and(|on| on.escalation == escalation);
    let Some((fence, hold)) = workflow.holds.iter_mut().find(|(_, hold)| waits(hold)) else {
        return;
    };
    let Some(waiting) = hold.suspended.take() else { return };
    let (fence, handoff, due) = (*fence, hold.handoff, hold.due);
    set_hold_due(world, id, fence, due.map(|due| due.shifted(waiting.since, at)));
    let Some(handoff) = handoff else { return };
    set_state(world, id, handoff, |handoff| match &handoff.state {
        State::Suspended { fence, at: waits, since, due, .. } => State::Accepted {
            fence: *fence,
            since: *since,
            estimated_completion: None,
            due: due.map(|due| due.shifted(*waits, at)),
        },
        other => other.clone(),
    });
}

pub(super) fn reclaimed(
    world: &mut World,
    id: WorkflowId,
    by: &AgentId,
    fence: Fence,
    at: Timestamp,
) {
    let Some(workflow) = world.workflows.get_mut(&id) else { return };
    let seen = workflow.variables.clock();
    workflow.fence = fence;
    workflow.holds.insert(fence, hold(by, None, seen, at));
    workflow.readers.insert(by.clone());
    let before = std::mem::replace(&mut workflow.owner, fence);
    end_hold(world, id, before);
    take_load(world, by, id, fence);
}
