//! Cycles of waiting: the edge that would close one is refused, and the cycle is spelled out.
//!
//! A hold waits for what it passed on and must have back before it goes on, for the decision it
//! asked for, and for files that others have locked. A handoff that nobody has taken waits until
//! its receiver has room, and so for any one of what fills the receiver's hands.

use std::collections::{BTreeMap, BTreeSet};

use super::Begins;
use crate::agent::{Agent, Role};
use crate::handoff::{Handoff, State};
use crate::id::{AgentId, Fence, WorkflowId};
use crate::lock::{FilePath, Lock};
use crate::refusal::{Deadlock, Refusal, Step};
use crate::time::Timestamp;
use crate::workflow::Hold;
use crate::world::World;

type Key = (WorkflowId, Fence);

/// One thing that a hold waits for: it goes on once any of these holds does.
#[derive(Clone, Debug)]
struct Wait {
    any: Vec<Key>,
    file: Option<FilePath>,
}

/// Refuses a handoff that its sender would wait for, if its receiver in the end waits for the
/// sender.
pub(super) fn of_handoff(world: &World, begins: &Begins<'_>, to: &Agent) -> Result<(), Refusal> {
    if to.profile.role == Role::Human {
        return Ok(());
    }
    lineage(begins, &to.profile.id)?;
    let sender = (begins.id, begins.fence);
    match for_room(to) {
        Some(wait) => closes(world, sender, begins.agent, vec![wait], begins.now),
        None => Ok(()),
    }
}

/// Refuses files that an asker would wait for, if whoever has them in the end waits for the asker.
pub(in crate::decide) fn of_locks(
    world: &World,
    asker: (WorkflowId, Fence, &Hold),
    held: &[(&FilePath, &Lock)],
    now: Timestamp,
) -> Result<(), Refusal> {
    let (id, fence, hold) = asker;
    let waits = held.iter().map(|(path, held)| for_lock(path, held)).collect();
    closes(world, (id, fence), &hold.agent, waits, now)
}

/// Whoever waits, link by link, for what the sender does cannot be asked by it to do something
/// first, however many hands it has.
fn lineage(begins: &Begins<'_>, to: &AgentId) -> Result<(), Refusal> {
    let workflow = begins.workflow;
    let mut waiting = Vec::new();
    let mut fence = begins.fence;
    while let Some(handoff) = workflow
        .holds
        .get(&fence)
        .and_then(|hold| workflow.handoffs.get(&hold.handoff?))
        .filter(|handoff| handoff.terms.kind.is_blocking() && !handoff.state.is_over())
    {
        waiting.push(handoff.terms.from_agent.clone());
        if handoff.terms.from_agent == *to {
            let agents = waiting.into_iter().rev().chain([begins.agent.clone()]);
            let steps = agents.map(|agent| Step { agent, file: None }).collect();
            return Err(Refusal::DeadlockDetected(Deadlock::Cycle { steps }));
        }
        fence = handoff.terms.parent;
    }
    Ok(())
}

/// What a handoff to an agent without room waits for.
fn for_room(to: &Agent) -> Option<Wait> {
    let full = to.room() == 0 && to.profile.role != Role::Human;
    full.then(|| Wait { any: to.holds.iter().copied().collect(), file: None })
}

fn for_lock(path: &FilePath, held: &Lock) -> Wait {
    Wait { any: vec![(held.workflow, held.fence)], file: Some(path.clone()) }
}

/// Refuses if `first`, waiting for these too, would wait for ever.
fn closes(
    world: &World,
    first: Key,
    agent: &AgentId,
    more: Vec<Wait>,
    now: Timestamp,
) -> Result<(), Refusal> {
    let mut waits: BTreeMap<Key, Vec<Wait>> = BTreeMap::new();
    let mut found = vec![first];
    while let Some(key) = found.pop() {
        if waits.contains_key(&key) {
            continue;
        }
        let mut its = waits_of(world, key, now);
        if key == first {
            its.extend(more.iter().cloned());
        }
        found.extend(its.iter().flat_map(|wait| wait.any.iter().copied()));
        waits.insert(key, its);
    }
    let stuck = stuck(&waits);
    match stuck.contains(&first) {
        false => Ok(()),
        true => {
            let steps = spelled(world, &waits, &stuck, first, agent);
            Err(Refusal::DeadlockDetected(Deadlock::Cycle { steps }))
        }
    }
}

/// Those that wait for ever. Whoever waits for nothing goes on, and so does whoever waits for those
/// only.
fn stuck(waits: &BTreeMap<Key, Vec<Wait>>) -> BTreeSet<Key> {
    let mut waited_for_by: BTreeMap<Key, Vec<Key>> = BTreeMap::new();
    for (key, its) in waits {
        for other in its.iter().flat_map(|wait| &wait.any) {
            waited_for_by.entry(*other).or_default().push(*key);
        }
    }
    let mut stuck: BTreeSet<Key> = waits.keys().copied().collect();
    let mut look: Vec<Key> = stuck.iter().copied().collect();
    // Somebody is looked at again only when one that it waits for goes on.
    while let Some(key) = look.pop() {
        let goes_on = |wait: &Wait| wait.any.iter().any(|other| !stuck.contains(other));
        if stuck.contains(&key) && waits[&key].iter().all(goes_on) {
            stuck.remove(&key);
            look.extend(waited_for_by.get(&key).into_iter().flatten());
        }
    }
    stuck
}

/// Follows those that wait for ever until one comes again.
fn spelled(
    world: &World,
    waits: &BTreeMap<Key, Vec<Wait>>,
    stuck: &BTreeSet<Key>,
    first: Key,
    agent: &AgentId,
) -> Vec<Step> {
    let named = |key: Key| match world.workflows.get(&key.0).and_then(|w| w.holds.get(&key.1)) {
        Some(hold) if key != first => hold.agent.clone(),
        Some(_) | None => agent.clone(),
    };
    let mut walked: Vec<(Key, Step)> = Vec::new();
    let mut at = first;
    while !walked.iter().any(|(key, _)| *key == at) {
        // The edge that would close the cycle comes last, and is the one to follow from there.
        let next = waits[&at].iter().rev().find_map(|wait| {
            let dead = wait.any.iter().all(|key| stuck.contains(key));
            Some((*wait.any.first().filter(|_| dead)?, wait.file.clone()))
        });
        let Some((next, file)) = next else { break };
        walked.push((at, Step { agent: named(at), file }));
        at = next;
    }
    let begins = walked.iter().position(|(key, _)| *key == at).unwrap_or(0);
    walked.into_iter().skip(begins).map(|(_, step)| step).collect()
}

/// What a hold waits for.
fn waits_of(world: &World, (id, fence): Key, now: Timestamp) -> Vec<Wait> {
    let Some(workflow) = world.workflows.get(&id) else { return Vec::new() };
    let Some(hold) = workflow.holds.get(&fence) else { return Vec::new() };
    let passed = workflow
        .open_under(fence)
        .filter(|handoff| handoff.terms.kind.is_blocking() && workflow.blocks(handoff));
    let asked = hold.suspended.and_then(|on| workflow.handoffs.get(&on.escalation));
    let mut waits: Vec<Wait> =
        passed.chain(asked).filter_map(|handoff| for_handoff(world, id, handoff)).collect();
    let wanted = hold.wants.iter().filter(|wants| wants.until > now);
    let paths = wanted.flat_map(|wants| wants.paths.iter().map(|path| (path, wants.mode)));
    for (path, mode) in paths {
        let others = world.locks.on(path).iter();
        let others = others.filter(|held| held.lasts(now) && !held.is_of(id, fence));
        let others = others.filter(|held| held.excludes(mode));
        waits.extend(others.map(|held| for_lock(path, held)));
    }
    waits
}

/// What must go on before a handoff comes to its end, if anything that is here.
fn for_handoff(world: &World, id: WorkflowId, handoff: &Handoff) -> Option<Wait> {
    match &handoff.state {
        State::Accepted { fence, .. }
        | State::Suspended { fence, .. }
        | State::Returned { fence, .. } => Some(Wait { any: vec![(id, *fence)], file: None }),
        State::Queued { .. } | State::Initiated { .. } | State::Deferred { .. } => {
            for_room(world.agents.get(&handoff.to)?)
        }
        // A person decides.
        State::AwaitingApproval { .. } | State::Completed { .. } | State::Failed { .. } => None,
    }
}
