//! What each event changes. It never refuses: whatever was recorded has happened.

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::Agent;
use crate::artifact::Artifact;
use crate::event::{Event, StreamId};
use crate::handoff::{Attempts, Detail, Due, Handoff, Kind, Return, State, Terms};
use crate::id::{AgentId, Fence, HandoffId, WorkflowId};
use crate::lock::{FilePath, Lock};
use crate::time::Timestamp;
use crate::variables::{Changes, Variables};
use crate::workflow::{Hold, Progress, Workflow};
use crate::world::World;

/// Applies an event of `stream`, recorded `at`, to every state it names.
pub fn evolve(world: &mut World, stream: &StreamId, event: &Event, at: Timestamp) {
    match stream {
        StreamId::Workflow(id) => evolve_workflow(world, *id, event, at),
        StreamId::Agent(id) => evolve_agent(world, id, event, at),
        StreamId::Workspace => {
            if let Event::Settled { effect, .. } = event {
                world.outbox.remove(effect);
            }
        }
    }
}

fn evolve_agent(world: &mut World, id: &AgentId, event: &Event, at: Timestamp) {
    if let Event::Registered { profile } = event {
        match world.agents.get_mut(id) {
            Some(agent) => agent.profile = (**profile).clone(),
            None => {
                world.agents.insert(id.clone(), Agent::new((**profile).clone(), at));
            }
        }
    }
    let Some(agent) = world.agents.get_mut(id) else {
        return;
    };
    match event {
        Event::TokenIssued { token } => agent.tokens.push(token.clone()),
        Event::TokenRevoked { token } => agent.tokens.retain(|held| held.id != *token),
        _ => (),
    }
}

fn evolve_workflow(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    match event {
        Event::Started { .. } => started(world, id, event, at),
        Event::Closed { .. } => closed(world, id),
        Event::Progressed { fence, note, percent, locks_until } => {
            progressed(
                world,
                id,
                *fence,
                *locks_until,
                Progress { at, note: note.clone(), percent: *percent },
            );
        }
        Event::VariablesSet { fence, by, changes } => {
            with_workflow(world, id, |workflow| write(workflow, *fence, changes, by, at));
        }
        Event::ArtifactAdded { artifact } => {
            with_workflow(world, id, |workflow| keep(workflow, std::slice::from_ref(artifact)));
        }
        Event::ArtifactMarked { artifact, status } => with_workflow(world, id, |workflow| {
            if let Some(artifact) = workflow.artifacts.get_mut(artifact) {
                artifact.produced.status = *status;
            }
        }),
        Event::Locked { fence, by, paths, mode, until } => {
            let lock =
                Lock { workflow: id, fence: *fence, by: by.clone(), mode: *mode, until: *until };
            locked(world, id, &lock, paths, at);
        }
        Event::Unlocked { fence, paths } => unlocked(world, id, *fence, paths),
        Event::Initiated { .. }
        | Event::Accepted { .. }
        | Event::Rejected { .. }
        | Event::Deferred { .. }
        | Event::Resent { .. }
        | Event::Reminded { .. }
        | Event::TimedOut { .. }
        | Event::Completed { .. }
        | Event::Failed { .. } => evolve_handoff(world, id, event, at),
        // These belong to other streams.
        Event::Registered { .. }
        | Event::TokenIssued { .. }
        | Event::TokenRevoked { .. }
        | Event::Settled { .. }
        | Event::Pruned { .. } => (),
    }
}

/// Applies an event about one handoff.
fn evolve_handoff(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    match event {
        Event::Initiated { terms, variables, artifacts, answer_by } => {
            initiated(world, id, terms, *answer_by, at);
            with_workflow(world, id, |workflow| {
                write(workflow, terms.parent, variables, &terms.from_agent, at);
                keep(workflow, artifacts);
            });
        }
        Event::Accepted { handoff, by, fence, return_by, estimated_completion } => {
            accepted(world, id, (*handoff, by, *fence), at);
            set_state(world, id, *handoff, |_| State::Accepted {
                fence: *fence,
                since: at,
                estimated_completion: *estimated_completion,
                due: return_by.map(Due::Return),
            });
        }
        // The attempt is over; what becomes of the handoff follows in the next event.
        Event::Rejected { .. } => (),
        Event::Deferred { handoff, reason, until, .. } => {
            set_state(world, id, *handoff, |_| State::Deferred {
                until: *until,
                reason: reason.clone(),
            });
        }
        Event::Resent { handoff, answer_by } => {
            set_state(world, id, *handoff, |_| State::Initiated { answer_by: *answer_by });
        }
        Event::Reminded { handoff, due } => set_state(world, id, *handoff, |handoff| {
            let mut state = handoff.state.clone();
            if let State::Accepted { due: next, .. } = &mut state {
                *next = Some(*due);
            }
            state
        }),
        Event::TimedOut { handoff, fence, resend_at, .. } => {
            end_hold(world, id, *fence);
            if let Some(until) = resend_at {
                set_state(world, id, *handoff, |handoff| {
                    handoff.attempts.resends += 1;
                    State::Queued { until: *until }
                });
            }
        }
        Event::Completed { handoff, result, variables, artifacts, .. } => {
            with_workflow(world, id, |workflow| {
                apply_result(workflow, *handoff, result.as_deref(), variables, at);
                keep(workflow, artifacts);
            });
            completed(world, id, *handoff, result.as_deref(), at);
        }
        Event::Failed { handoff, detail, .. } => failed(world, id, *handoff, detail, at),
        // These are about the workflow, or belong to other streams.
        Event::Started { .. }
        | Event::Progressed { .. }
        | Event::VariablesSet { .. }
        | Event::ArtifactAdded { .. }
        | Event::ArtifactMarked { .. }
        | Event::Locked { .. }
        | Event::Unlocked { .. }
        | Event::Closed { .. }
        | Event::Registered { .. }
        | Event::TokenIssued { .. }
        | Event::TokenRevoked { .. }
        | Event::Settled { .. }
        | Event::Pruned { .. } => (),
    }
}

fn with_workflow(world: &mut World, id: WorkflowId, change: impl FnOnce(&mut Workflow)) {
    if let Some(workflow) = world.workflows.get_mut(&id) {
        change(workflow);
    }
}

/// Changes where a handoff stands, and when the coordinator must look at it again.
fn set_state(
    world: &mut World,
    id: WorkflowId,
    handoff_id: HandoffId,
    next: impl FnOnce(&mut Handoff) -> State,
) {
    let Some(workflow) = world.workflows.get_mut(&id) else {
        return;
    };
    let Some(handoff) = workflow.handoffs.get_mut(&handoff_id) else {
        return;
    };
    let slept_until = handoff.state.wake_at();
    handoff.state = next(handoff);
    let sleeps_until = handoff.state.wake_at();
    if slept_until != sleeps_until {
        if let Some(at) = slept_until {
            world.timers.remove(&(at, handoff_id));
        }
        world.timers.extend(sleeps_until.map(|at| (at, handoff_id)));
    }
}

fn started(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    let Event::Started { title, by, priority, constraints, variables } = event else {
        return;
    };
    let fence = Fence::default().next();
    let mut workflow = Workflow {
        title: title.clone(),
        priority: *priority,
        started_at: at,
        started_by: by.clone(),
        constraints: constraints.clone(),
        owner: fence,
        fence,
        holds: BTreeMap::new(),
        variables: Variables::default(),
        artifacts: BTreeMap::new(),
        handoffs: BTreeMap::new(),
        readers: BTreeSet::from([by.clone()]),
        tokens_consumed: 0,
    };
    workflow.variables.write(variables, by, at);
    let seen = workflow.variables.clock();
    workflow.holds.insert(fence, hold(by, None, seen, at));
    world.workflows.insert(id, workflow);
    take_load(world, by, id, fence);
}

fn hold(agent: &AgentId, handoff: Option<HandoffId>, seen: u64, since: Timestamp) -> Hold {
    let agent = agent.clone();
    Hold { agent, handoff, since, seen, locks: BTreeSet::new(), progress: None }
}

fn take_load(world: &mut World, agent: &AgentId, id: WorkflowId, fence: Fence) {
    if let Some(agent) = world.agents.get_mut(agent) {
        agent.holds.insert((id, fence));
    }
}

fn initiated(
    world: &mut World,
    id: WorkflowId,
    terms: &Terms,
    answer_by: Option<Timestamp>,
    at: Timestamp,
) {
    let handoff = Handoff {
        to: terms.to_agent.clone(),
        terms: terms.clone(),
        initiated_at: at,
        attempts: Attempts::default(),
        state: State::Initiated { answer_by },
    };
    world.homes.insert(terms.id, id);
    world.timers.extend(answer_by.map(|at| (at, terms.id)));
    with_workflow(world, id, |workflow| {
        workflow.handoffs.insert(terms.id, handoff);
    });
}

fn accepted(
    world: &mut World,
    id: WorkflowId,
    (handoff_id, by, fence): (HandoffId, &AgentId, Fence),
    at: Timestamp,
) {
    let Some(workflow) = world.workflows.get_mut(&id) else {
        return;
    };
    let seen = workflow.variables.clock();
    workflow.fence = fence;
    workflow.holds.insert(fence, hold(by, Some(handoff_id), seen, at));
    workflow.readers.insert(by.clone());
    let sequential =
        workflow.handoffs.get(&handoff_id).is_some_and(|h| h.terms.kind == Kind::Sequential);
    if sequential {
        let before = std::mem::replace(&mut workflow.owner, fence);
        end_hold(world, id, before);
    }
    take_load(world, by, id, fence);
}

/// Ends a holding: its number is no longer in force, its locks and its slot are free.
fn end_hold(world: &mut World, id: WorkflowId, fence: Fence) {
    let Some(workflow) = world.workflows.get_mut(&id) else {
        return;
    };
    let Some(hold) = workflow.holds.remove(&fence) else {
        return;
    };
    for path in &hold.locks {
        world.locks.free(path, id, fence);
    }
    if let Some(agent) = world.agents.get_mut(&hold.agent) {
        agent.holds.remove(&(id, fence));
    }
}

fn completed(
    world: &mut World,
    id: WorkflowId,
    handoff_id: HandoffId,
    result: Option<&Return>,
    at: Timestamp,
) {
    // A sequential handoff is over when it is accepted, and its receiver goes on holding the work.
    let ends = result.is_some();
    finish(world, id, handoff_id, ends, |_| State::Completed {
        at,
        result: result.cloned().map(Box::new),
    });
}

fn failed(
    world: &mut World,
    id: WorkflowId,
    handoff_id: HandoffId,
    detail: &Detail,
    at: Timestamp,
) {
    if let Detail::Error { result } = detail {
        with_workflow(world, id, |workflow| {
            workflow.tokens_consumed += result.tokens_consumed.unwrap_or(0);
        });
    }
    finish(world, id, handoff_id, true, |_| State::Failed { at, detail: detail.clone() });
}

fn finish(
    world: &mut World,
    id: WorkflowId,
    handoff_id: HandoffId,
    ends_hold: bool,
    next: impl FnOnce(&mut Handoff) -> State,
) {
    let held = world.workflows.get(&id).and_then(|w| w.handoffs.get(&handoff_id)?.state.fence());
    if let Some(fence) = held.filter(|_| ends_hold) {
        end_hold(world, id, fence);
    }
    set_state(world, id, handoff_id, next);
}

fn apply_result(
    workflow: &mut Workflow,
    handoff_id: HandoffId,
    result: Option<&Return>,
    variables: &Changes,
    at: Timestamp,
) {
    let Some(result) = result else { return };
    workflow.tokens_consumed += result.tokens_consumed.unwrap_or(0);
    let Some(handoff) = workflow.handoffs.get(&handoff_id) else {
        return;
    };
    let by = handoff.to.clone();
    write(workflow, result.fence, variables, &by, at);
}

fn write(workflow: &mut Workflow, fence: Fence, changes: &Changes, by: &AgentId, at: Timestamp) {
    let before = workflow.variables.clock();
    workflow.variables.write(changes, by, at);
    // A holder has seen its own write; it has seen the rest only if it was up to date before.
    if let Some(hold) = workflow.holds.get_mut(&fence)
        && hold.seen == before
    {
        hold.seen = workflow.variables.clock();
    }
}

fn keep(workflow: &mut Workflow, artifacts: &[Artifact]) {
    workflow.artifacts.extend(artifacts.iter().map(|artifact| (artifact.id, artifact.clone())));
}

fn progressed(
    world: &mut World,
    id: WorkflowId,
    fence: Fence,
    locks_until: Timestamp,
    progress: Progress,
) {
    let Some(hold) = world.workflows.get_mut(&id).and_then(|w| w.holds.get_mut(&fence)) else {
        return;
    };
    hold.progress = Some(progress);
    world.locks.renew(hold.locks.iter().cloned(), id, fence, locks_until);
}

fn locked(world: &mut World, id: WorkflowId, lock: &Lock, paths: &[FilePath], at: Timestamp) {
    let Some(workflow) = world.workflows.get_mut(&id) else {
        return;
    };
    let Some(hold) = workflow.holds.get_mut(&lock.fence) else {
        return;
    };
    for path in paths {
        hold.locks.insert(path.clone());
        world.locks.take(path, lock.clone(), at);
    }
}

fn unlocked(world: &mut World, id: WorkflowId, fence: Fence, paths: &[FilePath]) {
    for path in paths {
        world.locks.free(path, id, fence);
    }
    let hold = world.workflows.get_mut(&id).and_then(|w| w.holds.get_mut(&fence));
    if let Some(hold) = hold {
        hold.locks.retain(|path| !paths.contains(path));
    }
}

fn closed(world: &mut World, id: WorkflowId) {
    let fences: Vec<Fence> =
        world.workflows.get(&id).map(|w| w.holds.keys().copied().collect()).unwrap_or_default();
    for fence in fences {
        end_hold(world, id, fence);
    }
    let Some(workflow) = world.workflows.remove(&id) else {
        return;
    };
    for handoff in workflow.handoffs.values() {
        world.homes.remove(&handoff.terms.id);
        if let Some(at) = handoff.state.wake_at() {
            world.timers.remove(&(at, handoff.terms.id));
        }
    }
}
