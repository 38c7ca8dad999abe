//! The world: the states that decisions look at.
//!
//! The embedded ledger keeps everything live in one world; a ledger on a database loads the few
//! states that a command touches into a small one. The rules cannot tell the difference.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Profile};
use crate::definition::{Definition, DefinitionId};
use crate::effect::{Effect, EffectId};
use crate::handoff::{Handoff, Priority};
use crate::id::{AgentId, CapabilityId, Fence, HandoffId, WorkflowId};
use crate::lock::Locks;
use crate::planted::{Bug, planted};
use crate::policy::Policy;
use crate::queue::{Queue, Queues};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::workflow::Workflow;

/// The states that decisions look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// Workflows that are not over.
    pub workflows: HashMap<WorkflowId, Workflow>,
    /// Workflows that are over, as far as a ledger looked them up for the decision at hand, and
    /// how they ended.
    #[serde(skip)]
    pub closed: HashMap<WorkflowId, String>,
    /// Handoffs of closed workflows that a ledger looked up, and of which workflow they were.
    #[serde(skip)]
    pub closed_handoffs: HashMap<HandoffId, WorkflowId>,
    /// All agents.
    pub agents: BTreeMap<AgentId, Agent>,
    /// All file locks.
    pub locks: Locks,
    /// The rules of the workspace.
    #[serde(default)]
    pub policy: Policy,
    /// Rules that a person said need not ask for now, and until when.
    #[serde(default)]
    pub standing: BTreeMap<CapabilityId, Timestamp>,
    /// The definitions that work may follow, or still does.
    #[serde(default)]
    pub definitions: BTreeMap<DefinitionId, Definition>,
    /// Effects that are not settled.
    #[serde(with = "outbox_as_list")]
    pub outbox: BTreeMap<EffectId, Effect>,
    /// Where each handoff of a live workflow belongs.
    #[serde(skip)]
    pub(crate) homes: HashMap<HandoffId, WorkflowId>,
    /// When the coordinator must look at what again.
    #[serde(skip)]
    pub(crate) timers: BTreeSet<(Timestamp, Timer)>,
    /// Handoffs that wait until an agent has room.
    #[serde(skip)]
    pub(crate) queues: Queues,
}

/// What the coordinator must look at when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// A handoff.
    Handoff(HandoffId),
    /// A hold whose handoff is over.
    Hold(WorkflowId, Fence),
}

impl Default for World {
    fn default() -> Self {
        let operator = Agent::new(Profile::operator(), Timestamp::default());
        Self {
            workflows: HashMap::new(),
            closed: HashMap::new(),
            closed_handoffs: HashMap::new(),
            agents: BTreeMap::from([(AgentId::operator(), operator)]),
            locks: Locks::default(),
            policy: Policy::default(),
            standing: BTreeMap::new(),
            definitions: BTreeMap::new(),
            outbox: BTreeMap::new(),
            homes: HashMap::new(),
            timers: BTreeSet::new(),
            queues: Queues::default(),
        }
    }
}

impl World {
    /// Fills in what follows from the rest, after a world was read back from a snapshot.
    #[must_use]
    pub fn restored(mut self) -> Self {
        for (id, workflow) in &self.workflows {
            for handoff in workflow.handoffs.values() {
                self.homes.insert(handoff.terms.id, *id);
                let wake = handoff.state.wake_at();
                self.timers.extend(wake.map(|at| (at, Timer::Handoff(handoff.terms.id))));
                if !planted(Bug::SnapshotForgetsQueues) {
                    self.queues.enter(handoff);
                }
            }
            for (fence, hold) in &workflow.holds {
                let due = hold.due.filter(|_| hold.suspended.is_none());
                self.timers.extend(due.map(|at| (at, Timer::Hold(*id, *fence))));
            }
        }
        self
    }

    /// The workflow `id`, or why it cannot be worked with.
    pub fn workflow(&self, id: WorkflowId) -> Result<&Workflow, Refusal> {
        if let Some(workflow) = self.workflows.get(&id) {
            return Ok(workflow);
        }
        match self.closed.get(&id) {
            Some(ending) => Err(Refusal::WorkflowClosed { workflow: id, ending: ending.clone() }),
            None => Err(Refusal::UnknownWorkflow { workflow: id }),
        }
    }

    /// The handoff `id` and its workflow, or why it cannot be worked with.
    pub fn handoff(&self, id: HandoffId) -> Result<(WorkflowId, &Workflow, &Handoff), Refusal> {
        let unknown = Refusal::UnknownHandoff { handoff: id };
        if let Some(home) = self.closed_handoffs.get(&id) {
            self.workflow(*home)?;
        }
        let home = self.homes.get(&id).ok_or(unknown.clone())?;
        let workflow = self.workflow(*home)?;
        let handoff = workflow.handoffs.get(&id).ok_or(unknown)?;
        Ok((*home, workflow, handoff))
    }

    /// The live workflow that `handoff` belongs to.
    pub fn home(&self, handoff: HandoffId) -> Option<WorkflowId> {
        self.homes.get(&handoff).copied()
    }

    /// The agent `id`, or why it cannot be worked with.
    pub fn agent(&self, id: &AgentId) -> Result<&Agent, Refusal> {
        self.agents.get(id).ok_or_else(|| Refusal::UnknownAgent { agent: id.clone() })
    }

    /// Until when this rule need not ask, if a person said so and that time is not over.
    pub fn stands(&self, rule: &CapabilityId, now: Timestamp) -> Option<Timestamp> {
        self.standing.get(rule).copied().filter(|until| *until > now)
    }

    /// What the coordinator must look at now: what is due, the earliest first, then what waited
    /// for room and has it.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = Timer> {
        let timers = self.timers.iter().take_while(move |(at, _)| *at <= now);
        let queued = self.queues.iter().flat_map(|(agent, queue)| {
            let room = self.agents.get(agent).map_or(0, Agent::room);
            queue.next(room).map(Timer::Handoff)
        });
        timers.map(|(_, timer)| *timer).chain(queued)
    }

    /// When the coordinator must look next; the beginning of time if something has room already.
    pub fn next_wake(&self) -> Option<Timestamp> {
        let called = |(agent, queue): (&AgentId, &Queue)| {
            let room = self.agents.get(agent).map_or(0, Agent::room);
            queue.next(room).next().is_some()
        };
        if self.queues.iter().any(called) {
            return Some(Timestamp::default());
        }
        self.timers.first().map(|(at, _)| *at)
    }

    /// Whether `handoff`, which waits for `agent`, has its turn now. Whoever looked a moment ago
    /// may ask for one that a more urgent one has overtaken since.
    pub(crate) fn is_called(&self, agent: &Agent, handoff: HandoffId) -> bool {
        let queue = self.queues.of(&agent.profile.id);
        queue.is_some_and(|queue| queue.next(agent.room()).any(|next| next == handoff))
    }

    /// Whether a new handoff that is so urgent goes to `agent` at once.
    pub(crate) fn has_room(&self, agent: &Agent, priority: Priority) -> bool {
        let queue = self.queues.of(&agent.profile.id);
        queue.map_or(agent.room() > 0, |queue| queue.lets_pass(priority, agent.room()))
    }

    /// Keeps the effects that the record `seq` brought, until they are settled.
    pub fn keep_effects(&mut self, seq: u64, effects: &[Effect]) {
        for (n, effect) in (0..).zip(effects) {
            self.outbox.insert(EffectId { seq, n }, effect.clone());
        }
    }
}

/// JSON has no keys but strings, so the outbox is a list of pairs there.
mod outbox_as_list {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::effect::{Effect, EffectId};

    pub(super) fn serialize<S: Serializer>(
        outbox: &BTreeMap<EffectId, Effect>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(outbox)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<EffectId, Effect>, D::Error> {
        Ok(Vec::<(EffectId, Effect)>::deserialize(from)?.into_iter().collect())
    }
}
