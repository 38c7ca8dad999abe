//! Who is drawn alone and who together, when there are more agents than there is room for.

use std::collections::{BTreeMap, BTreeSet};

use baton_protocol::id::AgentId;

use crate::model::{Flow, FlowKind, Party};
use crate::standing::Standing;

/// Agents that share one place in the picture; mostly it is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) agents: Vec<AgentId>,
}

/// What an agent did, as far as a picture tells it: twins are drawn as one.
type Deeds = BTreeMap<(AgentId, bool, FlowKind, Standing), usize>;

/// Puts every agent of `flow` in one of about `most` places.
///
/// Those who did the same with the same agents go together first, then those who did least. Whoever
/// began, ended or holds the work stands alone as long as that is possible.
pub(crate) fn slots(flow: &Flow, most: usize) -> Vec<Slot> {
    let alone = |agent: &AgentId| Slot { agents: vec![agent.clone()] };
    let all: Vec<&AgentId> = flow.agents.iter().map(|agent| &agent.id).collect();
    if all.len() <= most {
        return all.into_iter().map(alone).collect();
    }
    let deeds = deeds(flow);
    let kept = main_parts(flow);
    let mut classes: BTreeMap<Vec<_>, Vec<AgentId>> = BTreeMap::new();
    for agent in all.iter().filter(|agent| !kept.contains(**agent)) {
        let key = deeds.get(*agent).map(|deeds| deeds.iter().collect()).unwrap_or_default();
        classes.entry(key).or_default().push((*agent).clone());
    }
    let busy = |agent: &AgentId| deeds.get(agent).map_or(0, |deeds| deeds.values().sum::<usize>());
    let mut classes: Vec<Vec<AgentId>> = classes.into_values().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.iter().map(busy).sum::<usize>()));
    let room = most.saturating_sub(kept.len()).max(1);
    if classes.len() > room {
        // Even as twins they are too many: those who did least go together.
        let others = classes.split_off(room - 1).concat();
        classes.push(others);
    }
    let mut slots: Vec<Slot> = kept.iter().map(alone).collect();
    slots.extend(classes.into_iter().map(|agents| Slot { agents }));
    in_order(&all, slots)
}

/// Whoever began, ended or holds the work; the first of them if there are many.
fn main_parts(flow: &Flow) -> BTreeSet<AgentId> {
    let ended = flow.ended.iter().map(|end| &end.by);
    let holding = flow.agents.iter().filter(|agent| agent.holds.is_some()).map(|agent| &agent.id);
    std::iter::once(&flow.started_by).chain(ended).chain(holding.take(1)).cloned().collect()
}

fn deeds(flow: &Flow) -> BTreeMap<AgentId, Deeds> {
    let mut deeds: BTreeMap<AgentId, Deeds> = BTreeMap::new();
    let mut note = |agent: &AgentId, other: &AgentId, sent, kind, standing| {
        let of = deeds.entry(agent.clone()).or_default();
        *of.entry((other.clone(), sent, kind, standing)).or_default() += 1;
    };
    for handoff in &flow.handoffs {
        let (from, to) = (&handoff.from_agent, &handoff.to_agent);
        note(from, to, true, handoff.kind, handoff.standing);
        note(to, from, false, handoff.kind, handoff.standing);
        for tried in &handoff.tries {
            note(&tried.agent, from, false, handoff.kind, Standing::Rejected);
        }
    }
    deeds
}

/// By whoever of each came first.
fn in_order(all: &[&AgentId], mut slots: Vec<Slot>) -> Vec<Slot> {
    let place: BTreeMap<&AgentId, usize> =
        all.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let at = |agent: &AgentId| place.get(agent).copied().unwrap_or(usize::MAX);
    for slot in &mut slots {
        slot.agents.sort_by_key(&at);
    }
    slots.retain(|slot| !slot.agents.is_empty());
    slots.sort_by_key(|slot| slot.agents.first().map(&at));
    slots
}

impl Slot {
    /// Whether it is one person.
    pub(crate) fn is_person(&self, flow: &Flow) -> bool {
        let person = |id: &AgentId| {
            flow.agents.iter().any(|agent| agent.id == *id && agent.party == Party::Person)
        };
        matches!(self.agents.as_slice(), [only] if person(only))
    }
}
