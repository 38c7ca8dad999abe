//! What events change in work with a definition.

use super::hold::{end_hold, hold, set_hold_due, take_load};
use super::{keep, with_workflow, write};
use crate::agent::{Agent, Profile};
use crate::course::WorkflowState;
use crate::definition::{Definition, StateName};
use crate::event::{Event, Moved};
use crate::id::{AgentId, Fence, WorkflowId};
use crate::machine::{Failure, Machine};
use crate::open::Label;
use crate::time::Timestamp;
use crate::world::World;

/// A definition became known. All versions stay: nobody can tell from the records alone which of
/// them somebody still asks for.
pub(super) fn defined(world: &mut World, definition: &Definition, at: Timestamp) {
    let monitor = AgentId::error_monitor();
    world.agents.entry(monitor).or_insert_with(|| Agent::new(Profile::error_monitor(), at));
    world.definitions.insert(definition.id(), definition.clone());
}

/// Work began that may follow a definition.
pub(super) fn begun(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    let Event::Started { follows: Some(follows), .. } = event else { return };
    let machine = Machine::begun(follows, at);
    with_workflow(world, id, |workflow| workflow.machine = Some(Box::new(machine)));
    course(world, id);
}

/// Work went on to its next state.
pub(super) fn moved(world: &mut World, id: WorkflowId, moved: &Moved, at: Timestamp) {
    let Some(workflow) = world.workflows.get_mut(&id) else { return };
    let owner = workflow.owner;
    if let Some(usage) = &moved.usage {
        workflow.used(owner, usage);
    }
    write(workflow, owner, &moved.variables, &moved.by, at);
    keep(workflow, &moved.artifacts);
    workflow.reported(moved.report.as_deref());
    if let Some(machine) = &mut workflow.machine {
        machine.moved((*moved.step).clone(), moved.completes, at);
    }
    // What was due was due in the state before.
    set_hold_due(world, id, owner, None);
    match moved.fence {
        Some(fence) => goes_on(world, id, fence, moved, at),
        // Whoever is done has room for other work, also while the next one has none.
        None => free_slot(world, id, owner),
    }
    course(world, id);
}

fn free_slot(world: &mut World, id: WorkflowId, fence: Fence) {
    let hold = world.workflows.get(&id).and_then(|workflow| workflow.holds.get(&fence));
    let Some(agent) = hold.map(|hold| hold.agent.clone()) else { return };
    if let Some(agent) = world.agents.get_mut(&agent) {
        agent.holds.remove(&(id, fence));
    }
}

/// The same holder goes on, under a new number: whatever still runs for the state before is late.
fn goes_on(world: &mut World, id: WorkflowId, fence: Fence, moved: &Moved, at: Timestamp) {
    let Some(workflow) = world.workflows.get_mut(&id) else { return };
    let Some(before) = workflow.owning() else { return };
    let (agent, handoff) = (before.agent.clone(), before.handoff);
    let seen = workflow.variables.clock();
    workflow.fence = fence;
    workflow.holds.insert(fence, hold(&agent, handoff, seen, at));
    let before = std::mem::replace(&mut workflow.owner, fence);
    end_hold(world, id, before);
    // Whoever waits does nothing, so it takes no room.
    if !moved.waits {
        take_load(world, &agent, id, fence);
    }
    set_hold_due(world, id, fence, moved.until);
}

/// A step failed.
pub(super) fn failed(world: &mut World, id: WorkflowId, failure: &Failure) {
    let mut with_monitor = None;
    with_workflow(world, id, |workflow| {
        if failure.retry_at.is_some() {
            let retries = &mut workflow.course.metrics.retry_count;
            *retries = retries.saturating_add(1);
        }
        if let Some(machine) = &mut workflow.machine {
            machine.failed(failure.clone());
        }
        let monitor = AgentId::error_monitor();
        with_monitor =
            workflow.owning().filter(|hold| hold.agent == monitor).map(|_| workflow.owner);
    });
    // The monitor had it already: it was the second try that failed.
    if let Some(fence) = with_monitor {
        set_hold_due(world, id, fence, failure.retry_at);
    }
}

/// How far the work is follows from where it stands.
fn course(world: &mut World, id: WorkflowId) {
    let Some(workflow) = world.workflows.get_mut(&id) else { return };
    let Some(machine) = &workflow.machine else { return };
    let label = |state: &StateName| state.as_str().parse::<Label>().ok();
    // Whoever reads old records may not have the definition at hand.
    let definition = world.definitions.get(&machine.definition);
    let ahead = definition.map(|definition| machine.ahead(definition)).unwrap_or_default();
    workflow.course.workflow_state = WorkflowState {
        phase: label(&machine.state),
        next_phase: ahead.first().and_then(label),
        completed_steps: machine.path.iter().filter_map(label).collect(),
        remaining_steps: ahead.iter().filter_map(label).collect(),
    };
}
