//! Measuring: how long things take and how large they are, counted in atomics.
//!
//! What is counted here begins anew with the process. Nobody waits for anybody to count.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use baton_protocol::Masks;
use baton_protocol::event::Event;
use baton_protocol::handoff::Detail;
use baton_protocol::id::AgentId;
use baton_protocol::refusal::Refusal;
use baton_store::Synced;

use crate::latency::Latencies;

/// Bounds of what a disk takes to sync, in microseconds.
const SYNC_MICROS: &[u64] =
    &[100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];
/// Bounds of what one sync makes durable, in bytes.
const SYNC_BYTES: &[u64] =
    &[512, 1_024, 2_048, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 8_388_608];
/// Bounds of what one sync makes durable, in records.
const SYNC_RECORDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/// Kinds of secrets that are counted apart.
const MASKED_KINDS_MAX: usize = 150;

/// Counts of values by size.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One more than there are bounds: the last is for what is larger than all.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// What a histogram held when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How many values came.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// Each bound with the number of values up to it and above the bound before; the last bound
    /// is the largest number there is.
    pub buckets: Vec<(u64, u64)>,
}

impl Histogram {
    /// An empty one with these bounds, in ascending order.
    pub fn new(bounds: &'static [u64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    /// Counts a value.
    pub fn observe(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Counts a span of time, in microseconds.
    pub fn observe_time(&self, span: Duration) {
        self.observe(u64::try_from(span.as_micros()).unwrap_or(u64::MAX));
    }

    /// What it holds now.
    pub fn read(&self) -> Reading {
        let bounds = self.bounds.iter().copied().chain([u64::MAX]);
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<_> = bounds.zip(counts).collect();
        // Counted from the buckets, so that both agree while others go on counting.
        let count = buckets.iter().map(|(_, count)| count).sum();
        Reading { count, sum: self.sum.load(Ordering::Relaxed), buckets }
    }
}

/// Everything that the engine measures.
#[derive(Debug)]
pub struct Meter {
    /// How long the ledger's syncs took, in microseconds.
    pub sync_micros: Histogram,
    /// How many bytes each made durable.
    pub sync_bytes: Histogram,
    /// How many records each made durable.
    pub sync_records: Histogram,
    /// Refusals, in the order of [`Refusal::CODES`].
    refusals: Box<[AtomicU64]>,
    /// Tokens that agents said they used.
    tokens: Mutex<BTreeMap<AgentId, u64>>,
    /// Secrets that were masked in what was recorded, by kind.
    masked: Mutex<BTreeMap<String, u64>>,
    pub(crate) latencies: Latencies,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            sync_micros: Histogram::new(SYNC_MICROS),
            sync_bytes: Histogram::new(SYNC_BYTES),
            sync_records: Histogram::new(SYNC_RECORDS),
            refusals: Refusal::CODES.iter().map(|_| AtomicU64::new(0)).collect(),
            tokens: Mutex::default(),
            masked: Mutex::default(),
            latencies: Latencies::default(),
        }
    }
}

impl Meter {
    pub(crate) fn synced(&self, synced: &Synced) {
        self.sync_micros.observe_time(synced.took);
        self.sync_bytes.observe(synced.bytes as u64);
        self.sync_records.observe(synced.records);
    }

    /// Counts a refusal.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        let code = refusal.code();
        if let Some(n) = Refusal::CODES.iter().position(|(known, _)| *known == code) {
            self.refusals[n].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts the tokens that `agent` said it used, if these events tell of any.
    pub(crate) fn used(&self, agent: &AgentId, events: &[Event]) {
        let tokens: u64 = events.iter().filter_map(tokens).sum();
        if tokens == 0 {
            return;
        }
        let mut all = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry(agent.clone()).or_default() += tokens;
    }

    /// Counts secrets that were masked.
    pub(crate) fn masked(&self, masks: Masks) {
        if masks.is_empty() {
            return;
        }
        let mut all = self.masked.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, count) in masks {
            // Anybody can write something that looks like a mask, and must not fill our memory.
            let known = all.contains_key(&kind) || all.len() < MASKED_KINDS_MAX;
            let kind = if known { kind } else { "other".to_owned() };
            *all.entry(kind).or_default() += u64::from(count);
        }
    }

    /// Each kind of secret with how often it was masked in what was recorded.
    pub fn masked_kinds(&self) -> BTreeMap<String, u64> {
        self.masked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Each code of a refusal that was met, with how often.
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.refusals.iter().map(|count| count.load(Ordering::Relaxed));
        let codes = Refusal::CODES.iter().map(|(code, _)| *code);
        codes.zip(counts).filter(|(_, count)| *count > 0)
    }

    /// Each agent that said so with the tokens that it used.
    pub fn tokens(&self) -> BTreeMap<AgentId, u64> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Each type of handoff with how long it took to be accepted, in microseconds.
    pub fn acceptance(&self) -> impl Iterator<Item = (&'static str, Reading)> {
        self.latencies.acceptance()
    }

    /// Each type of handoff and how it ended, with how long that took from its acceptance on.
    pub fn work(&self) -> impl Iterator<Item = (&'static str, &'static str, Reading)> {
        self.latencies.work()
    }
}

/// Tokens that an event says were used.
fn tokens(event: &Event) -> Option<u64> {
    match event {
        Event::Initiated { guarded, .. } => guarded.usage.as_ref().map(|usage| usage.tokens),
        Event::Closed { usage, .. } => usage.as_ref().map(|usage| usage.tokens),
        Event::Returned { result, .. } => result.tokens_consumed,
        // What was checked was counted when it came back, and this is the coordinator's word.
        Event::Completed { result: Some(result), .. }
        | Event::Failed { detail: Detail::Error { result }, .. } => {
            result.tokens_consumed.filter(|_| result.evidence.is_none())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_up_to_its_bound() {
        let histogram = Histogram::new(&[1, 10]);
        for value in [0, 1, 2, 10, 11, 1_000] {
            histogram.observe(value);
        }
        let read = histogram.read();
        assert_eq!((read.count, read.sum), (6, 1_024));
        assert_eq!(read.buckets, [(1, 2), (10, 2), (u64::MAX, 2)]);
    }
}
