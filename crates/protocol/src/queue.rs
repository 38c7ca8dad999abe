//! Queues: handoffs that wait until an agent has room, and those called from there.
//!
//! They follow from the states of handoffs, so they are never stored.

use std::collections::{BTreeMap, BTreeSet};

use crate::handoff::{Handoff, Priority, State};
use crate::id::{AgentId, HandoffId};
use crate::planted::{Bug, planted};
use crate::time::Timestamp;

/// All queues, by whose room is waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Queues(BTreeMap<AgentId, Queue>);

/// The queue of one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Queue {
    /// Those that wait, the most urgent first, then first in first out.
    waiting: BTreeSet<(u8, Timestamp, HandoffId)>,
    /// Those that were called and are not answered yet. Room is kept for them, or else one free
    /// slot would empty the whole queue.
    called: BTreeSet<(u8, HandoffId)>,
}

impl Queues {
    /// Gives a handoff its place, if it waits or was called.
    pub(crate) fn enter(&mut self, handoff: &Handoff) {
        let (rank, at, id) = place(handoff);
        if waits(handoff) {
            self.0.entry(handoff.to.clone()).or_default().waiting.insert((rank, at, id));
        } else if was_called(handoff) {
            self.0.entry(handoff.to.clone()).or_default().called.insert((rank, id));
        }
    }

    /// Takes a handoff from its place, if it has one.
    pub(crate) fn leave(&mut self, handoff: &Handoff) {
        if !waits(handoff) && !was_called(handoff) {
            return;
        }
        let Some(queue) = self.0.get_mut(&handoff.to) else { return };
        let (rank, at, id) = place(handoff);
        queue.waiting.remove(&(rank, at, id));
        queue.called.remove(&(rank, id));
        if *queue == Queue::default() {
            self.0.remove(&handoff.to);
        }
    }

    /// The queue of `agent`, if anything waits or was called.
    pub(crate) fn of(&self, agent: &AgentId) -> Option<&Queue> {
        self.0.get(agent)
    }

    /// All queues that are not empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&AgentId, &Queue)> {
        self.0.iter()
    }
}

impl Queue {
    /// Those that are called when there is room for `room` more.
    pub(crate) fn next(&self, room: usize) -> impl Iterator<Item = HandoffId> {
        let turns = self.waiting.iter().enumerate();
        let has_turn = move |(before, (rank, ..)): &(usize, &(u8, Timestamp, HandoffId))| {
            before + self.kept(*rank) < room
        };
        turns.take_while(has_turn).map(|(_, (_, _, handoff))| *handoff)
    }

    /// Whether something new that is so urgent goes out at once when there is room for `room` more,
    /// past nobody that waits and is as urgent.
    pub(crate) fn lets_pass(&self, priority: Priority, room: usize) -> bool {
        let rank = priority.rank();
        let waits = self.waiting.first().is_some_and(|(first, ..)| *first <= rank);
        !waits && self.kept(rank) < room
    }

    /// How much room is kept for those that were called. It is not kept from the more urgent: an
    /// agent that leaves its call unanswered must not keep them waiting.
    fn kept(&self, rank: u8) -> usize {
        self.called.iter().take_while(|(called, _)| *called <= rank).count()
    }
}

fn place(handoff: &Handoff) -> (u8, Timestamp, HandoffId) {
    let rank = if planted(Bug::QueueIgnoresPriority) { 0 } else { handoff.terms.priority.rank() };
    (rank, handoff.initiated_at, handoff.terms.id)
}

fn waits(handoff: &Handoff) -> bool {
    matches!(handoff.state, State::Queued { until: None, .. })
}

fn was_called(handoff: &Handoff) -> bool {
    matches!(handoff.state, State::Initiated { called: true, .. })
}

#[cfg(test)]
mod properties;
