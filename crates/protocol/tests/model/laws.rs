//! What may never be, and what must be possible, in every state.

use baton_protocol::agent::Role;
use baton_protocol::command::{Actor, Command, Progress};
use baton_protocol::handoff::{Handoff, Kind, State};
use baton_protocol::id::{AgentId, Fence};
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::Workflow;
use baton_protocol::{Timer, World};
use stateright::Property;

use crate::Small;
use crate::deeds::{accept, cancel, complete, reassign, reject, wake};
use crate::scene::{Scene, actor, agent, decided, handoff, happens, workflow_id};

/// So many steps are enough for whatever must come to an end.
const STEPS: usize = 60;

type Is = fn(&Small, &Scene) -> bool;

/// What must be so in every state.
const ALWAYS: [(&str, Is); 11] = [
    ("no record breaks what was recorded before", |_, scene| scene.broken.is_none()),
    ("each piece of work has at most one holder", one_holder),
    ("a stale fence changes nothing", stale_fences_are_refused),
    ("a fence serves nobody but its holder", fences_of_others_are_refused),
    ("whoever waits for a decision changes nothing", waiting_holders_wait),
    ("what is over stays over, and no time comes early", over_is_over),
    ("a question climbs three levels, and the last is a person", climbs_to_a_person),
    ("whoever waits, waits for something that is open", waits_for_what_is_open),
    ("a crash loses nothing", survives_a_crash),
    ("with good will everything comes to its end", can_end),
    ("in silence everything comes to a person, or to its end", silence_ends),
];

/// What must be so in some state, or the walk has shown nothing.
const SOMETIMES: [(&str, Is); 2] = [
    ("somebody believes in a fence that was taken from it", |_, scene| {
        scene.workflow().is_some() && scene.told.iter().any(|told| !scene.is_alive(told))
    }),
    ("the work is over", |_, scene| scene.workflow().is_none()),
];

/// All laws.
pub(crate) fn all() -> Vec<Property<Small>> {
    let always = ALWAYS.map(|(name, is)| Property::always(name, is));
    let sometimes = SOMETIMES.map(|(name, is)| Property::sometimes(name, is));
    always.into_iter().chain(sometimes).collect()
}

/// Whether a law must hold in every state.
pub(crate) fn is_always(law: &str) -> bool {
    ALWAYS.iter().any(|(name, _)| *name == law)
}

fn one_holder(_: &Small, scene: &Scene) -> bool {
    let Some(workflow) = scene.workflow() else { return true };
    let holders = |id| workflow.holds.values().filter(|hold| hold.handoff == Some(id)).count();
    let matches = |of: &Handoff| match of.state.fence() {
        Some(fence) => workflow.holds.get(&fence).is_some_and(|hold| hold.agent == of.to),
        None => true,
    };
    // A number that two believe in would let both act.
    let alive = scene.told.iter().chain(&scene.unheard).filter(|told| scene.is_alive(told));
    let mut fences: Vec<_> = alive.map(|told| told.fence).collect();
    fences.sort();
    let apart = fences.windows(2).all(|pair| pair[0] != pair[1]);
    workflow.owning().is_some()
        && apart
        && workflow.handoffs.iter().all(|(id, of)| holders(*id) <= 1 && matches(of))
}

/// Whether nothing comes of it.
fn nothing(scene: &Scene, actor: Actor, command: Command) -> bool {
    let decision = decided(&scene.world, actor, command, scene.now);
    decision.map_or(true, |decision| decision.events.is_empty())
}

/// Whatever can be asked under a fence.
fn asks(small: &Small, fence: Fence, handoff: Option<usize>) -> Vec<Command> {
    let progress = Progress { workflow: workflow_id(), fence, note: None, percent: None };
    let mut asks = vec![
        Command::Progress(progress),
        complete(fence),
        small.forms.escalate(fence),
        small.forms.begin(None, fence),
        small.forms.write(fence),
    ];
    let gives = handoff.map(|n| [true, false].map(|success| small.forms.give(n, fence, success)));
    asks.extend(gives.into_iter().flatten());
    asks
}

fn stale_fences_are_refused(small: &Small, scene: &Scene) -> bool {
    let mut stale = scene.told.iter().filter(|told| !scene.is_alive(told));
    stale.all(|told| {
        let mut asks = asks(small, told.fence, told.handoff).into_iter();
        asks.all(|ask| nothing(scene, actor(&told.agent), ask))
    })
}

fn fences_of_others_are_refused(small: &Small, scene: &Scene) -> bool {
    let Some(workflow) = scene.workflow() else { return true };
    let others = ["planner", "builder", "reviewer"].map(agent);
    workflow.holds.iter().all(|(fence, hold)| {
        let n = numbered(workflow).find(|(_, of)| hold.handoff == Some(of.terms.id));
        let n = n.map(|(n, _)| n);
        others.iter().filter(|other| **other != hold.agent).all(|other| {
            let mut asks = asks(small, *fence, n).into_iter();
            asks.all(|ask| nothing(scene, actor(other), ask))
        })
    })
}

fn waiting_holders_wait(small: &Small, scene: &Scene) -> bool {
    let Some(workflow) = scene.workflow() else { return true };
    let mut waiting = workflow.holds.iter().filter(|(_, hold)| hold.suspended.is_some());
    waiting.all(|(fence, hold)| {
        let n = numbered(workflow).find(|(_, of)| hold.handoff == Some(of.terms.id));
        let asks = asks(small, *fence, n.map(|(n, _)| n)).into_iter();
        // It may say that it is there.
        let mut asks = asks.filter(|ask| !matches!(ask, Command::Progress(_)));
        asks.all(|ask| nothing(scene, actor(&hold.agent), ask))
    })
}

fn numbered(workflow: &Workflow) -> impl Iterator<Item = (usize, &Handoff)> {
    let all = 0..workflow.handoffs.len();
    all.filter_map(|n| Some((n, workflow.handoffs.get(&handoff(n))?)))
}

fn over_is_over(_: &Small, scene: &Scene) -> bool {
    let Some(workflow) = scene.workflow() else { return true };
    numbered(workflow).all(|(n, of)| {
        let nothing = |by: Actor, ask| nothing(scene, by, ask);
        let to = || actor(&of.to);
        if of.state.is_over() {
            return nothing(to(), accept(n))
                && nothing(to(), reject(n))
                && nothing(Actor::Operator, cancel(n))
                && nothing(Actor::Operator, reassign(n, agent("architect")))
                && nothing(Actor::Coordinator, wake(Timer::Handoff(handoff(n))));
        }
        // Held or not, a handoff is for the one that is asked, once; and no time comes early.
        let asked = matches!(of.state, State::Initiated { .. } | State::Deferred { .. });
        let due = scene.world.due(scene.now).any(|timer| timer == Timer::Handoff(handoff(n)));
        let others = ["planner", "builder", "reviewer", "architect", "boss"].map(agent);
        others.iter().filter(|other| **other != of.to).all(|other| nothing(actor(other), accept(n)))
            && (asked || nothing(to(), accept(n)) && nothing(to(), reject(n)))
            && (due || nothing(Actor::Coordinator, wake(Timer::Handoff(handoff(n)))))
    })
}

fn role(world: &World, id: &AgentId) -> Option<Role> {
    world.agents.get(id).map(|agent| agent.profile.role)
}

fn climbs_to_a_person(_: &Small, scene: &Scene) -> bool {
    let Some(workflow) = scene.workflow() else { return true };
    workflow.handoffs.values().all(|of| match &of.terms.kind {
        Kind::Escalation(asked) => {
            let last = asked.level < 3 || role(&scene.world, &of.to) == Some(Role::Human);
            let above = asked.trail.iter().all(|below| below.by != of.to);
            let counted = asked.trail.len().min(3) == usize::from(asked.level);
            (1..=3).contains(&asked.level) && counted && last && above
        }
        Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => true,
    })
}

fn waits_for_what_is_open(_: &Small, scene: &Scene) -> bool {
    let Some(workflow) = scene.workflow() else { return true };
    let is_open = |id| workflow.handoffs.get(&id).is_some_and(|of| !of.state.is_over());
    let held = workflow.holds.values().filter_map(|hold| hold.suspended);
    held.map(|waiting| waiting.escalation).all(is_open)
        && workflow.handoffs.values().all(|of| match &of.state {
            State::Suspended { escalation, fence, .. } => {
                let hold = workflow.holds.get(fence).and_then(|hold| hold.suspended);
                hold.is_some_and(|waiting| waiting.escalation == *escalation)
            }
            _ => true,
        })
}

fn survives_a_crash(_: &Small, scene: &Scene) -> bool {
    let written = serde_json::to_vec(&*scene.world).expect("a world is plain data");
    let read: World = serde_json::from_slice(&written).expect("and comes back");
    read.restored() == *scene.world
}

/// Lets everybody do their best: what is asked is taken, what is held is returned, and only where
/// nobody can do anything time passes. At last the owner says that the work is done.
fn can_end(small: &Small, scene: &Scene) -> bool {
    let (mut world, mut now) = ((*scene.world).clone(), scene.now);
    for _ in 0..STEPS {
        let Some(workflow) = world.workflows.get(&workflow_id()) else { return true };
        let owner = workflow.owning().map(|hold| (actor(&hold.agent), complete(workflow.owner)));
        let best = numbered(workflow).filter_map(|(n, of)| match &of.state {
            State::Initiated { .. } | State::Deferred { .. } => Some((actor(&of.to), accept(n))),
            State::Accepted { fence, .. } => {
                Some((actor(&of.to), small.forms.give(n, *fence, true)))
            }
            _ => None,
        });
        let mut best: Vec<_> = best.chain(owner).collect();
        let moves = best.drain(..).any(|(by, ask)| happens(&mut world, by, ask, now).is_some());
        if moves {
            continue;
        }
        match pass_time(&mut world, now) {
            Some(later) => now = later,
            None => return false,
        }
    }
    false
}

/// Lets time pass to the next thing that is due, and records it.
fn pass_time(world: &mut World, now: Timestamp) -> Option<Timestamp> {
    let now = world.next_wake()?.max(now);
    for timer in world.due(now).collect::<Vec<_>>() {
        happens(world, Actor::Coordinator, wake(timer), now);
    }
    Some(now)
}

/// Nobody says anything any more. What has a clock must end, or come to somebody who has none.
fn silence_ends(_: &Small, scene: &Scene) -> bool {
    let (mut world, mut now) = ((*scene.world).clone(), scene.now);
    for _ in 0..STEPS {
        if let Some(later) = pass_time(&mut world, now) {
            now = later;
            continue;
        }
        let Some(workflow) = world.workflows.get(&workflow_id()) else { return true };
        return workflow.open().all(|of| match &of.state {
            State::Suspended { .. } => true,
            _ => role(&world, &of.to) == Some(Role::Human),
        });
    }
    false
}
