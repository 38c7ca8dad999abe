//! What the records alone say of each handoff: told by their words, not by our states, so that a
//! rule and its state cannot be wrong together.

use std::collections::BTreeMap;
use std::hash::Hash;

use baton_protocol::event::Event;
use baton_protocol::handoff::{Cause, Due};
use baton_protocol::id::{AgentId, Fence, HandoffId};
use baton_protocol::time::Timestamp;

/// A rule that was broken.
pub(crate) type Broken = &'static str;

/// How far a handoff has come, as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Somebody is asked, until then.
    Sent(Option<Timestamp>),
    /// Somebody has it, and something is due.
    Held(Fence, Option<Timestamp>),
    /// Its holder asked above; what was due then, and when that was.
    Asks(Fence, HandoffId, Option<Timestamp>, Timestamp),
    /// Nobody is asked and nobody has it.
    Lapsed,
    Over,
}

/// What was recorded of all handoffs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Monitor {
    seen: BTreeMap<HandoffId, (AgentId, Phase)>,
    /// The highest number that a holder got.
    highest: Fence,
}

impl Monitor {
    pub(crate) fn begin(fence: Fence) -> Self {
        Self { seen: BTreeMap::new(), highest: fence }
    }

    /// The words of it that tell worlds apart; moments are told by the world itself.
    pub(crate) fn hash(&self, hasher: &mut impl std::hash::Hasher) {
        self.highest.hash(hasher);
        for (id, (to, phase)) in &self.seen {
            id.hash(hasher);
            to.hash(hasher);
            std::mem::discriminant(phase).hash(hasher);
        }
    }

    /// Takes note of a record, and says which rule it breaks, if it does.
    pub(crate) fn note(&mut self, event: &Event, at: Timestamp) -> Result<(), Broken> {
        match event {
            Event::Initiated { terms, answer_by, queued, .. } => {
                let phase = if *queued { Phase::Lapsed } else { Phase::Sent(*answer_by) };
                let before = self.seen.insert(terms.id, (terms.to_agent.clone(), phase));
                before.map_or(Ok(()), |_| Err("a handoff began twice"))
            }
            Event::Accepted { handoff, by, fence, return_by, .. } => {
                self.accepted(*handoff, by, *fence, *return_by)
            }
            Event::Rejected { handoff, cause, .. } => self.rejected(*handoff, *cause, at),
            Event::Rerouted { handoff, to, answer_by, .. } => match self.phase(*handoff)? {
                Phase::Lapsed => self.sent(*handoff, to, *answer_by),
                _ => Err("rerouted although nobody had let go of it"),
            },
            Event::Reassigned { handoff, to, answer_by, .. } => {
                self.phase(*handoff)?;
                self.sent(*handoff, to, *answer_by)
            }
            Event::Resent { handoff, answer_by } => match self.phase(*handoff)? {
                Phase::Lapsed => self.set(*handoff, Phase::Sent(*answer_by)),
                _ => Err("sent again although somebody is asked or has it"),
            },
            Event::Queued { handoff, .. } => self.set(*handoff, Phase::Lapsed),
            Event::Reminded { handoff, due: Due::Timeout(next) | Due::Return(next) } => {
                let fence = self.late(*handoff, at)?;
                self.set(*handoff, Phase::Held(fence, Some(*next)))
            }
            Event::TimedOut { handoff, fence, .. } => match self.late(*handoff, at)? {
                held if held == *fence => self.set(*handoff, Phase::Lapsed),
                _ => Err("the timeout names another holder"),
            },
            Event::Escalated { fence, handoff, escalation } => {
                handoff.map_or(Ok(()), |id| self.asks(id, *fence, *escalation, at))
            }
            Event::Completed { handoff, .. } => match self.phase(*handoff)? {
                Phase::Held(..) | Phase::Asks(..) => self.over(*handoff, at),
                _ => Err("completed although nobody has it"),
            },
            Event::Failed { handoff, .. } => self.over(*handoff, at),
            Event::Reclaimed { fence, .. } => self.grow(*fence),
            Event::Closed { .. } => {
                self.seen.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn phase(&self, id: HandoffId) -> Result<&Phase, Broken> {
        match self.seen.get(&id) {
            Some((_, Phase::Over)) => Err("something happened to a handoff that is over"),
            Some((_, phase)) => Ok(phase),
            None => Err("something happened to a handoff that never began"),
        }
    }

    fn set(&mut self, id: HandoffId, next: Phase) -> Result<(), Broken> {
        self.phase(id)?;
        if let Some((_, phase)) = self.seen.get_mut(&id) {
            *phase = next;
        }
        Ok(())
    }

    fn sent(&mut self, id: HandoffId, to: &AgentId, by: Option<Timestamp>) -> Result<(), Broken> {
        self.seen.insert(id, (to.clone(), Phase::Sent(by)));
        Ok(())
    }

    fn grow(&mut self, fence: Fence) -> Result<(), Broken> {
        let grown = fence > self.highest;
        self.highest = self.highest.max(fence);
        if grown { Ok(()) } else { Err("a fence was given that is not above all others") }
    }

    fn accepted(
        &mut self,
        id: HandoffId,
        by: &AgentId,
        fence: Fence,
        due: Option<Timestamp>,
    ) -> Result<(), Broken> {
        self.grow(fence)?;
        match self.phase(id)? {
            Phase::Sent(_) if self.seen.get(&id).is_some_and(|(to, _)| to == by) => {
                self.set(id, Phase::Held(fence, due))
            }
            Phase::Sent(_) => Err("accepted by somebody that was not asked"),
            Phase::Held(..) | Phase::Asks(..) => Err("accepted although somebody has it"),
            Phase::Lapsed | Phase::Over => Err("accepted after a recorded timeout"),
        }
    }

    fn rejected(&mut self, id: HandoffId, cause: Cause, at: Timestamp) -> Result<(), Broken> {
        match self.phase(id)? {
            Phase::Sent(by) if cause != Cause::Unavailable || by.is_some_and(|by| by <= at) => {
                self.set(id, Phase::Lapsed)
            }
            Phase::Sent(_) => Err("unavailable before its time to answer was over"),
            Phase::Held(..) | Phase::Asks(..) => Err("no answer although it was accepted"),
            Phase::Lapsed | Phase::Over => Err("turned away twice"),
        }
    }

    /// The holder whose time is over.
    fn late(&self, id: HandoffId, at: Timestamp) -> Result<Fence, Broken> {
        match self.phase(id)? {
            Phase::Held(fence, due) if due.is_some_and(|due| due <= at) => Ok(*fence),
            Phase::Held(..) => Err("late before its time was over"),
            Phase::Asks(..) => Err("late while it waits for a decision"),
            Phase::Sent(_) | Phase::Lapsed | Phase::Over => Err("late although nobody has it"),
        }
    }

    fn asks(
        &mut self,
        id: HandoffId,
        fence: Fence,
        on: HandoffId,
        at: Timestamp,
    ) -> Result<(), Broken> {
        match self.phase(id)?.clone() {
            Phase::Held(held, due) if held == fence => {
                self.set(id, Phase::Asks(fence, on, due, at))
            }
            // The question went further up; it is still the same waiting.
            Phase::Asks(held, _, due, since) if held == fence => {
                self.set(id, Phase::Asks(fence, on, due, since))
            }
            _ => Err("somebody asks above under a fence that it has not"),
        }
    }

    /// A handoff ends; whoever waited for it goes on, with the time that was left.
    fn over(&mut self, id: HandoffId, at: Timestamp) -> Result<(), Broken> {
        self.set(id, Phase::Over)?;
        for (_, phase) in self.seen.values_mut() {
            if let Phase::Asks(fence, on, due, since) = phase
                && *on == id
            {
                let paused = at.as_micros() - since.as_micros();
                let later = |due: Timestamp| Timestamp::from_micros(due.as_micros() + paused);
                *phase = Phase::Held(*fence, due.map(later));
            }
        }
        Ok(())
    }
}
