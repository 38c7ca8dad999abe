//! Queues: handoffs that wait until an agent has room, and those called from there.
//!
//! They follow from the states of handoffs, so they are never stored.

use std::collections::{BTreeMap, BTreeSet};

use crate::handoff::{Handoff, State};
use crate::id::{AgentId, HandoffId};
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
    called: BTreeSet<HandoffId>,
}

impl Queues {
    /// Gives a handoff its place, if it waits or was called.
    pub(crate) fn enter(&mut self, handoff: &Handoff) {
        let id = handoff.terms.id;
        if waits(handoff) {
            self.0.entry(handoff.to.clone()).or_default().waiting.insert(place(handoff));
        } else if was_called(handoff) {
            self.0.entry(handoff.to.clone()).or_default().called.insert(id);
        }
    }

    /// Takes a handoff from its place, if it has one.
    pub(crate) fn leave(&mut self, handoff: &Handoff) {
        if !waits(handoff) && !was_called(handoff) {
            return;
        }
        let Some(queue) = self.0.get_mut(&handoff.to) else { return };
        queue.waiting.remove(&place(handoff));
        queue.called.remove(&handoff.terms.id);
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
        let free = self.free(room);
        self.waiting.iter().take(free).map(|(_, _, handoff)| *handoff)
    }

    /// How much of `room` is not kept for those that were called.
    pub(crate) fn free(&self, room: usize) -> usize {
        room.saturating_sub(self.called.len())
    }

    /// Whether something waits.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

fn place(handoff: &Handoff) -> (u8, Timestamp, HandoffId) {
    (handoff.terms.priority.rank(), handoff.initiated_at, handoff.terms.id)
}

fn waits(handoff: &Handoff) -> bool {
    matches!(handoff.state, State::Queued { until: None })
}

fn was_called(handoff: &Handoff) -> bool {
    matches!(handoff.state, State::Initiated { called: true, .. })
}
