//! The live state in numbers, for those who watch it.

use std::collections::BTreeMap;

use baton_protocol::World;
use baton_protocol::handoff::State;
use baton_protocol::id::AgentId;
use baton_protocol::time::Timestamp;
use baton_store::Scope;

use crate::engine::Engine;
use crate::meter::Meter;
use crate::query::QueryError;
use crate::view;

/// The live state in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gauges {
    /// Handoffs that are not over, by state and type.
    pub handoffs: BTreeMap<(&'static str, &'static str), u64>,
    /// Workflows that are not over.
    pub workflows: u64,
    /// Every agent.
    pub agents: Vec<AgentGauge>,
    /// Effects that wait to be carried out.
    pub outbox: u64,
    /// Files that are locked.
    pub locks: u64,
    /// Records by kind, over all of history.
    pub records: BTreeMap<String, u64>,
    /// Records that are durable.
    pub durable: u64,
    /// Records that history can be asked about.
    pub indexed: u64,
    /// Records that a signed checkpoint is over.
    pub signed: u64,
    /// When the process began, in seconds.
    pub started: f64,
}

/// An agent in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentGauge {
    /// Which one.
    pub id: AgentId,
    /// Whether new work goes to it: `healthy`, `unavailable` or `unhealthy`.
    pub status: &'static str,
    /// How much it holds.
    pub load: u64,
    /// How much it can hold.
    pub capacity: u64,
    /// How many handoffs wait for it: to be answered, or for room.
    pub queue: u64,
    /// Its circuit breaker: `closed`, `open` or `half-open`.
    pub breaker: &'static str,
}

impl Engine {
    /// What the engine measured since it began.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The live state in numbers.
    pub async fn gauges(&self) -> Result<Gauges, QueryError> {
        let now = self.clock.now();
        let mut gauges = self.look(Scope::Everything, move |world| count(world, now)).await?;
        for tally in self.ledger.counts().await? {
            *gauges.records.entry(tally.kind).or_default() += tally.count;
        }
        let condition = self.ledger.condition();
        gauges.durable = condition.records;
        gauges.indexed = condition.indexed;
        gauges.signed = condition.signed;
        gauges.started = self.started_at.as_micros() as f64 / 1e6;
        Ok(gauges)
    }
}

fn count(world: &World, now: Timestamp) -> Gauges {
    let mut gauges = Gauges {
        workflows: world.workflows.len() as u64,
        outbox: world.outbox.len() as u64,
        locks: world.locks.iter().filter(|(_, lock)| lock.lasts(now)).count() as u64,
        ..Gauges::default()
    };
    let mut queues: BTreeMap<&AgentId, u64> = BTreeMap::new();
    for handoff in world.workflows.values().flat_map(|workflow| workflow.open()) {
        let place = (handoff.state.word(), handoff.terms.kind.word());
        *gauges.handoffs.entry(place).or_default() += 1;
        match &handoff.state {
            State::Queued { .. } | State::Initiated { .. } | State::Deferred { .. } => {
                *queues.entry(&handoff.to).or_default() += 1;
            }
            State::AwaitingApproval { .. }
            | State::Accepted { .. }
            | State::Suspended { .. }
            | State::Returned { .. }
            | State::Completed { .. }
            | State::Failed { .. } => (),
        }
    }
    let agents = world.agents.iter().map(|(id, agent)| AgentGauge {
        id: id.clone(),
        status: view::status(&agent.health),
        load: agent.holds.len() as u64,
        capacity: agent.profile.max_concurrent_tasks.into(),
        queue: queues.get(id).copied().unwrap_or(0),
        breaker: agent.breaker.word(),
    });
    gauges.agents = agents.collect();
    gauges
}
