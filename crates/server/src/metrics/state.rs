//! What the engine knows, as metrics: taken when somebody asks, and written down at once.

use std::collections::BTreeMap;
use std::fmt;

use baton_engine::{AgentGauge, Engine, Gauges, QueryError, Reading};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

/// Agents that have series of their own; those that follow in the alphabet share one, `other`.
const AGENTS_MAX: usize = 100;
/// Microseconds in a second.
const MICROS: f64 = 1e6;
/// The states of handoffs that are not over.
const STATES: [&str; 7] =
    ["awaiting_approval", "queued", "initiated", "deferred", "accepted", "suspended", "returned"];
/// The types of handoff.
const TYPES: [&str; 4] = ["sequential", "delegation", "broadcast", "escalation"];
/// Whether an agent can be counted on.
const HEALTH: [&str; 3] = ["healthy", "unavailable", "unhealthy"];
/// Whether an agent that failed of late gets new work.
const BREAKERS: [&str; 3] = ["closed", "open", "half-open"];

/// What the engine knows at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    gauges: Gauges,
    agents: Agents,
    sync_micros: Reading,
    sync_bytes: Reading,
    sync_records: Reading,
    acceptance: Vec<(&'static str, Reading)>,
    work: Vec<(&'static str, &'static str, Reading)>,
    refusals: Vec<(&'static str, u64)>,
    /// Tokens that agents used, by the names that their series have.
    tokens: BTreeMap<String, u64>,
    masked: BTreeMap<String, u64>,
}

/// The agents by the names that their series have.
type Agents = BTreeMap<String, Series>;

#[derive(Debug, Default)]
struct Series {
    load: u64,
    capacity: u64,
    queue: u64,
    health: [u64; HEALTH.len()],
    breaker: [u64; BREAKERS.len()],
}

impl Snapshot {
    pub(super) async fn take(engine: &Engine) -> Result<Self, QueryError> {
        let mut gauges = engine.gauges().await?;
        let agents = by_name(&std::mem::take(&mut gauges.agents));
        let meter = engine.meter();
        let mut tokens = BTreeMap::new();
        for (agent, used) in meter.tokens() {
            let known = agents.contains_key(agent.as_str());
            let name = if known { agent.as_str() } else { "other" };
            *tokens.entry(name.to_owned()).or_default() += used;
        }
        Ok(Self {
            gauges,
            agents,
            sync_micros: meter.sync_micros.read(),
            sync_bytes: meter.sync_bytes.read(),
            sync_records: meter.sync_records.read(),
            acceptance: meter.acceptance().collect(),
            work: meter.work().collect(),
            refusals: meter.refusals().collect(),
            tokens,
            masked: meter.masked_kinds(),
        })
    }
}

fn by_name(agents: &[AgentGauge]) -> Agents {
    let mut series = Agents::new();
    for (n, agent) in agents.iter().enumerate() {
        let name = if n < AGENTS_MAX { agent.id.as_str() } else { "other" };
        let one = series.entry(name.to_owned()).or_default();
        one.load += agent.load;
        one.capacity += agent.capacity;
        one.queue += agent.queue;
        if let Some(n) = HEALTH.iter().position(|word| *word == agent.status) {
            one.health[n] += 1;
        }
        if let Some(n) = BREAKERS.iter().position(|word| *word == agent.breaker) {
            one.breaker[n] += 1;
        }
    }
    series
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page { encoder: &mut encoder };
        self.work(&mut page)?;
        self.agents(&mut page)?;
        self.guards(&mut page)?;
        self.latencies(&mut page)?;
        self.ledger(&mut page)
    }
}

impl Snapshot {
    fn work(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let gauges = &self.gauges;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        page.gauges("build_info", "The version that runs, always 1", [(version, 1)])?;
        page.single("start_time_seconds", "When the process began", gauges.started)?;
        let places = STATES.iter().flat_map(|state| TYPES.iter().map(move |kind| (*state, *kind)));
        let handoffs = places.map(|(state, kind)| {
            let count = gauges.handoffs.get(&(state, kind)).copied().unwrap_or(0);
            ([("state", state), ("type", kind)], count)
        });
        page.gauges("handoffs", "Handoffs that are not over, by state and type", handoffs)?;
        page.single("workflows_open", "Workflows that are not over", gauges.workflows as f64)?;
        page.single("outbox_effects", "Effects to be carried out", gauges.outbox as f64)?;
        page.single("file_locks", "Files that are locked", gauges.locks as f64)?;
        let help = "Records of the ledger by kind, over all of history";
        let mut records = page.encoder.encode_descriptor("records", help, None, COUNTER)?;
        for (kind, count) in &gauges.records {
            let labels = [("kind", kind.as_str())];
            records.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(count, None)?;
        }
        Ok(())
    }

    fn agents(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let of = |value: fn(&Series) -> u64| {
            self.agents.iter().map(move |(name, one)| ([("agent", name.as_str())], value(one)))
        };
        let help = "Handoffs that wait for an agent: to be answered, or for room";
        page.gauges("agent_queue_depth", help, of(|one| one.queue))?;
        page.gauges("agent_load", "Work that an agent holds", of(|one| one.load))?;
        let help = "Work that an agent can hold at once";
        page.gauges("agent_capacity", help, of(|one| one.capacity))?;
        let states = self.agents.iter().flat_map(|(name, one)| {
            HEALTH
                .iter()
                .zip(one.health)
                .map(|(state, is)| ([("agent", name.as_str()), ("state", *state)], is))
        });
        page.gauges("agent_health", "1 for the state that an agent is in", states)?;
        let states = self.agents.iter().flat_map(|(name, one)| {
            BREAKERS
                .iter()
                .zip(one.breaker)
                .map(|(state, is)| ([("agent", name.as_str()), ("state", *state)], is))
        });
        page.gauges("agent_breaker", "1 for the state of an agent's circuit breaker", states)
    }

    fn guards(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let help = "Commands that the rules turned away, by code";
        let mut refusals = page.encoder.encode_descriptor("refusals", help, None, COUNTER)?;
        for (code, count) in &self.refusals {
            let labels = [("code", *code)];
            refusals.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(count, None)?;
        }
        let help = "Tokens that agents said they used";
        let mut tokens = page.encoder.encode_descriptor("agent_tokens", help, None, COUNTER)?;
        for (agent, used) in &self.tokens {
            let labels = [("agent", agent.as_str())];
            tokens.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(used, None)?;
        }
        let help = "Secrets that were masked in commands before they were recorded, by kind";
        let mut masked = page.encoder.encode_descriptor("masked", help, None, COUNTER)?;
        for (kind, count) in &self.masked {
            let labels = [("kind", kind.as_str())];
            masked.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(count, None)?;
        }
        Ok(())
    }

    fn latencies(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let help = "How long handoffs took from their beginning to their first acceptance";
        let seconds = Unit::Seconds;
        let name = "handoff_acceptance_duration";
        let mut metric =
            page.encoder.encode_descriptor(name, help, Some(&seconds), MetricType::Histogram)?;
        for (kind, reading) in &self.acceptance {
            write(metric.encode_family(&[("type", *kind)])?, reading, MICROS)?;
        }
        let help = "How long handoffs that return took from their acceptance to their end";
        let name = "handoff_work_duration";
        let mut metric =
            page.encoder.encode_descriptor(name, help, Some(&seconds), MetricType::Histogram)?;
        for (kind, end, reading) in &self.work {
            let labels = [("type", *kind), ("outcome", *end)];
            write(metric.encode_family(&labels)?, reading, MICROS)?;
        }
        Ok(())
    }

    fn ledger(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let gauges = &self.gauges;
        page.single("ledger_records", "Records that are durable", gauges.durable as f64)?;
        let help = "Records that history can be asked about";
        page.single("ledger_indexed_records", help, gauges.indexed as f64)?;
        let help = "Records that a signed checkpoint is over";
        page.single("ledger_signed_records", help, gauges.signed as f64)?;
        let help = "How long the ledger took to make a batch durable";
        let (seconds, bytes) = (Some(Unit::Seconds), Some(Unit::Bytes));
        page.histogram("ledger_sync_duration", help, seconds, &self.sync_micros, MICROS)?;
        let help = "Bytes that one sync made durable";
        page.histogram("ledger_sync", help, bytes, &self.sync_bytes, 1.0)?;
        let help = "Records that one sync made durable";
        page.histogram("ledger_sync_records", help, None, &self.sync_records, 1.0)
    }
}

const COUNTER: MetricType = MetricType::Counter;

/// Where metrics are written.
struct Page<'a, 'b> {
    encoder: &'a mut DescriptorEncoder<'b>,
}

impl Page<'_, '_> {
    fn gauges<'v, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([(&'v str, &'v str); N], u64)>,
    ) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in values {
            metric.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    fn single(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }

    fn histogram(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        reading: &Reading,
        scale: f64,
    ) -> fmt::Result {
        let kind = MetricType::Histogram;
        write(self.encoder.encode_descriptor(name, help, unit.as_ref(), kind)?, reading, scale)
    }
}

fn write(mut metric: MetricEncoder<'_>, reading: &Reading, scale: f64) -> fmt::Result {
    let bound = |bound: u64| match bound {
        u64::MAX => f64::INFINITY,
        bound => bound as f64 / scale,
    };
    let buckets = reading.buckets.iter().map(|(most, count)| (bound(*most), *count));
    let buckets: Vec<_> = buckets.collect();
    let sum = reading.sum as f64 / scale;
    metric.encode_histogram::<NoLabelSet>(sum, reading.count, &buckets, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_beyond_the_limit_share_one_series() {
        let agents: Vec<_> = (0..AGENTS_MAX + 5)
            .map(|n| AgentGauge {
                id: format!("agent-{n:03}").parse().expect("a name"),
                status: "healthy",
                load: 1,
                capacity: 2,
                queue: 3,
                breaker: "closed",
            })
            .collect();
        let series = by_name(&agents);
        assert_eq!(series.len(), AGENTS_MAX + 1);
        let other = &series["other"];
        assert_eq!((other.load, other.capacity, other.queue), (5, 10, 15));
        assert_eq!(other.health, [5, 0, 0]);
    }
}
