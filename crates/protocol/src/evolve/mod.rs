//! What each event changes. It never refuses: whatever was recorded has happened.

mod guard;
mod handoff;
mod hold;
mod machine;

use std::collections::{BTreeMap, BTreeSet};

use crate::account::Account;
use crate::agent::{Agent, Health};
use crate::artifact::{Artifact, ArtifactStatus};
use crate::course::Course;
use crate::event::{Event, StreamId};
use crate::id::{AgentId, ArtifactId, Fence, WorkflowId};
use crate::lock::{FilePath, Lock};
use crate::policy::{ApprovalRule, Breaker};
use crate::time::Timestamp;
use crate::variables::{Changes, Variables};
use crate::workflow::{Group, Outcome, Progress, Workflow};
use crate::world::{Timer, World};

use handoff::evolve_handoff;
use hold::{answered, end_hold, hold, reclaimed, set_hold_due, suspended, take_load};

/// Applies an event of `stream`, recorded `at`, to every state it names.
pub fn evolve(world: &mut World, stream: &StreamId, event: &Event, at: Timestamp) {
    match stream {
        StreamId::Workflow(id) => evolve_workflow(world, *id, event, at),
        StreamId::Agent(id) => evolve_agent(world, id, event, at),
        StreamId::Workspace => {
            if let Event::Settled { effect, .. } = event {
                world.outbox.remove(effect);
            }
            if let Event::Pruned { health, breakers, .. } = event {
                for (id, agent) in &mut world.agents {
                    agent.health = health.get(id).copied().unwrap_or_default();
                    agent.breaker = breakers.get(id).copied().unwrap_or_default();
                }
            }
            if let Event::Defined(definition) = event {
                machine::defined(world, definition, at);
            }
            if let Event::PolicySet { policy } = event {
                let before = std::mem::replace(&mut world.policy, (**policy).clone());
                // What a person said of a rule that is gone, or says something else now, says
                // nothing of a new one.
                let kept: Vec<&ApprovalRule> =
                    before.approval.iter().filter(|rule| policy.approval.contains(rule)).collect();
                world.standing.retain(|name, _| kept.iter().any(|rule| rule.name == *name));
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
        Event::BreakerReset => agent.breaker = Breaker::default(),
        Event::HealthReported { healthy: true, .. } => agent.health = Health::default(),
        Event::HealthReported { healthy: false, .. } => {
            agent.health.failures = agent.health.failures.saturating_add(1);
        }
        _ => (),
    }
}

fn evolve_workflow(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    match event {
        Event::Started { .. } => started(world, id, event, at),
        Event::Closed { .. } => closed(world, id, at),
        Event::LimitsSet { .. } | Event::FellBack { .. } | Event::LockWanted { .. } => {
            guard::guarded(world, id, event);
        }
        Event::Progressed { fence, note, percent, locks_until } => {
            let said = Progress { at, note: note.clone(), percent: *percent };
            progressed(world, id, *fence, *locks_until, said);
        }
        Event::VariablesSet { fence, by, changes } => {
            with_workflow(world, id, |workflow| write(workflow, *fence, changes, by, at));
        }
        Event::ArtifactAdded { artifact } => {
            with_workflow(world, id, |workflow| keep(workflow, std::slice::from_ref(artifact)));
        }
        Event::ArtifactMarked { artifact, status } => marked(world, id, *artifact, *status),
        Event::Locked { fence, by, paths, mode, until } => {
            let lock =
                Lock { workflow: id, fence: *fence, by: by.clone(), mode: *mode, until: *until };
            locked(world, id, &lock, paths, at);
        }
        Event::Unlocked { fence, paths } => unlocked(world, id, *fence, paths),
        Event::GroupOpened { group, aggregation, expected } => {
            let expected = expected.clone();
            let opened = Group { aggregation: *aggregation, expected, outcome: None };
            with_workflow(world, id, |workflow| drop(workflow.groups.insert(*group, opened)));
        }
        Event::Aggregated { .. } => aggregated(world, id, event),
        Event::Reclaimed { by, fence, .. } => reclaimed(world, id, by, *fence, at),
        Event::Overdue { fence } => set_hold_due(world, id, *fence, None),
        Event::Moved(moved) => machine::moved(world, id, moved, at),
        Event::StepFailed(failure) => machine::failed(world, id, failure),
        Event::Escalated { fence, handoff, escalation } => {
            suspended(world, id, *fence, *handoff, *escalation, at);
        }
        Event::Initiated { .. }
        | Event::Approved { .. }
        | Event::Accepted { .. }
        | Event::Rejected { .. }
        | Event::Deferred { .. }
        | Event::Queued { .. }
        | Event::Rerouted { .. }
        | Event::Reassigned { .. }
        | Event::Undelivered { .. }
        | Event::Resent { .. }
        | Event::Reminded { .. }
        | Event::TimedOut { .. }
        | Event::Returned { .. }
        | Event::Unverified { .. }
        | Event::Completed { .. }
        | Event::Failed { .. } => evolve_handoff(world, id, event, at),
        // These belong to other streams.
        Event::Registered { .. }
        | Event::TokenIssued { .. }
        | Event::TokenRevoked { .. }
        | Event::HealthReported { .. }
        | Event::PolicySet { .. }
        | Event::TagMoved(_)
        | Event::Defined(_)
        | Event::BreakerReset
        | Event::Settled { .. }
        | Event::Pruned { .. } => (),
    }
}

fn aggregated(world: &mut World, id: WorkflowId, event: &Event) {
    let Event::Aggregated { group, success, successes, failures } = event else { return };
    let (success, successes, failures) = (*success, *successes, *failures);
    let outcome = Some(Outcome { success, successes, failures });
    with_workflow(world, id, |workflow| {
        workflow.groups.entry(*group).and_modify(|group| group.outcome = outcome);
    });
}

fn marked(world: &mut World, id: WorkflowId, artifact: ArtifactId, status: ArtifactStatus) {
    with_workflow(world, id, |workflow| {
        workflow.artifacts.entry(artifact).and_modify(|one| one.produced.status = status);
    });
}

fn with_workflow(world: &mut World, id: WorkflowId, change: impl FnOnce(&mut Workflow)) {
    if let Some(workflow) = world.workflows.get_mut(&id) {
        change(workflow);
    }
}

fn started(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    let (Some(workflow), Event::Started { by, done_by, .. }) = (Workflow::begun(event, at), event)
    else {
        return;
    };
    let fence = workflow.owner;
    world.workflows.insert(id, workflow);
    machine::begun(world, id, event, at);
    guard::joined(world, id, by);
    take_load(world, by, id, fence);
    set_hold_due(world, id, fence, *done_by);
}

impl Workflow {
    /// The work as it is once the event that begins it is recorded; nothing for another event.
    pub(crate) fn begun(event: &Event, at: Timestamp) -> Option<Self> {
        let Event::Started { title, by, priority, constraints, variables, .. } = event else {
            return None;
        };
        let Event::Started { limits, independent, .. } = event else { return None };
        let fence = Fence::default().next();
        let mut workflow = Self {
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
            groups: BTreeMap::new(),
            readers: BTreeSet::from([by.clone()]),
            tokens_consumed: 0,
            course: Course::default(),
            account: Account { limits: *limits, ..Account::default() },
            members: BTreeSet::new(),
            hops: Vec::new(),
            independent: *independent,
            machine: None,
        };
        workflow.variables.write(variables, by, at);
        let seen = workflow.variables.clock();
        workflow.holds.insert(fence, hold(by, None, seen, at));
        Some(workflow)
    }
}

fn closed(world: &mut World, id: WorkflowId, at: Timestamp) {
    let fences: Vec<Fence> =
        world.workflows.get(&id).map(|w| w.holds.keys().copied().collect()).unwrap_or_default();
    for fence in fences {
        end_hold(world, id, fence);
    }
    let Some(workflow) = world.workflows.remove(&id) else {
        return;
    };
    guard::over(world, &workflow, at);
    for handoff in workflow.handoffs.values() {
        let handoff_id = handoff.terms.id;
        world.homes.remove(&handoff_id);
        if let Some(at) = handoff.state.wake_at() {
            world.timers.remove(&(at, Timer::Handoff(handoff_id)));
        }
        world.queues.leave(handoff);
    }
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
    let agent = hold.agent.clone();
    answered(world, &agent);
}

fn locked(world: &mut World, id: WorkflowId, lock: &Lock, paths: &[FilePath], at: Timestamp) {
    let Some(workflow) = world.workflows.get_mut(&id) else {
        return;
    };
    let Some(hold) = workflow.holds.get_mut(&lock.fence) else {
        return;
    };
    hold.wants = None;
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
