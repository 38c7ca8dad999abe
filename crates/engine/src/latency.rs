//! How long handoffs take, read from the ledger when somebody asks.
//!
//! Only records that came since the process began are counted, each once, whoever caused them.
//! Nothing is read before the first question, so a coordinator that nobody measures pays nothing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use baton_protocol::id::{CommandId, HandoffId};
use baton_protocol::time::Timestamp;
use baton_store::{Filter, LedgerError};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::engine::Engine;
use crate::meter::{Histogram, Reading};

/// The types of handoff, in the words of the audit.
const TYPES: [&str; 4] = ["sequential", "delegation", "broadcast", "escalation"];
/// How a handoff can end.
const ENDS: [&str; 2] = ["completed", "failed"];
/// Which records are read.
const KINDS: [&str; 4] = ["initiated", "accepted", "completed", "failed"];
/// Records that are read at once.
const PAGE: u32 = 2_000;
/// How long one question may read; the next goes on from there.
const READING_MAX: Duration = Duration::from_secs(1);
/// Handoffs whose times are kept in mind; those of others are looked up when they are needed.
const OPEN_MAX: usize = 50_000;
/// Bounds of what agents take, in microseconds: a tenth of a second to a week.
const MICROS: &[u64] = &[
    100_000,
    500_000,
    1_000_000,
    5_000_000,
    15_000_000,
    60_000_000,
    300_000_000,
    900_000_000,
    3_600_000_000,
    14_400_000_000,
    86_400_000_000,
    604_800_000_000,
];

/// How long handoffs took.
#[derive(Debug)]
pub(crate) struct Latencies {
    acceptance: [Histogram; TYPES.len()],
    work: [[Histogram; ENDS.len()]; TYPES.len()],
    read: Mutex<Read>,
}

impl Default for Latencies {
    fn default() -> Self {
        let one = || Histogram::new(MICROS);
        Self {
            acceptance: std::array::from_fn(|_| one()),
            work: std::array::from_fn(|_| std::array::from_fn(|_| one())),
            read: Mutex::default(),
        }
    }
}

impl Latencies {
    pub(crate) fn acceptance(&self) -> impl Iterator<Item = (&'static str, Reading)> {
        TYPES.into_iter().zip(self.acceptance.iter().map(Histogram::read))
    }

    pub(crate) fn work(&self) -> impl Iterator<Item = (&'static str, &'static str, Reading)> {
        TYPES.into_iter().zip(&self.work).flat_map(|(kind, ends)| {
            ENDS.into_iter().zip(ends).map(move |(end, took)| (kind, end, took.read()))
        })
    }
}

/// How far the ledger was read, and what is open there.
#[derive(Debug, Default)]
struct Read {
    after: Option<u64>,
    open: HashMap<HandoffId, Times>,
}

/// What is known of a handoff that is not over.
#[derive(Clone, Copy, Debug)]
struct Times {
    initiated: Timestamp,
    accepted: Option<(Timestamp, CommandId)>,
}

/// What is needed of a record.
#[derive(Deserialize)]
struct Line<'a> {
    seq: u64,
    at: Timestamp,
    command: CommandId,
    #[serde(borrow)]
    event: Word<'a>,
    #[serde(borrow)]
    audit: Option<Audit<'a>>,
}

#[derive(Deserialize)]
struct Word<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Audit<'a> {
    handoff_id: HandoffId,
    #[serde(borrow)]
    handoff_type: Cow<'a, str>,
}

impl Engine {
    /// Reads what was recorded since the last question, so that the meter knows of it.
    pub async fn measure(&self) -> Result<(), LedgerError> {
        let latencies = &self.meter.latencies;
        let begun = Instant::now();
        let mut read = latencies.read.lock().await;
        while begun.elapsed() < READING_MAX {
            let after = read.after.unwrap_or_else(|| self.ledger.condition().opened);
            let filter = Filter {
                kinds: KINDS.map(str::to_owned).to_vec(),
                after_seq: Some(after),
                limit: PAGE,
                ..Filter::default()
            };
            let page = self.ledger.history(filter).await?;
            read.after = Some(after);
            for line in &page {
                self.count(&mut read, line).await?;
            }
            if page.len() < PAGE as usize {
                break;
            }
        }
        Ok(())
    }

    async fn count(&self, read: &mut Read, line: &[u8]) -> Result<(), LedgerError> {
        // A stub of what was pruned tells nothing, and is not asked for either.
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return Ok(()) };
        read.after = Some(line.seq);
        let Some(audit) = &line.audit else { return Ok(()) };
        let (id, kind) = (audit.handoff_id, line.event.kind.as_ref());
        let Some(n) = TYPES.iter().position(|known| *known == audit.handoff_type) else {
            return Ok(());
        };
        if read.open.len() >= OPEN_MAX {
            read.open.clear();
        }
        let known = match read.open.get(&id) {
            Some(times) => Some(*times),
            None if kind == "initiated" => Some(Times { initiated: line.at, accepted: None }),
            None => self.times(id, line.seq).await?,
        };
        let Some(mut times) = known else { return Ok(()) };
        match kind {
            "accepted" => {
                if times.accepted.is_none() {
                    self.meter.latencies.acceptance[n].observe(micros(times.initiated, line.at));
                }
                times.accepted = Some((line.at, line.command));
            }
            "completed" | "failed" => {
                // Without a return, acceptance completes it: there is no work to measure.
                if let Some((since, by)) = times.accepted
                    && by != line.command
                {
                    let end = usize::from(kind == "failed");
                    self.meter.latencies.work[n][end].observe(micros(since, line.at));
                }
                read.open.remove(&id);
                return Ok(());
            }
            _ => (),
        }
        read.open.insert(id, times);
        Ok(())
    }

    /// The times of a handoff before the record `seq`, from the ledger.
    async fn times(&self, id: HandoffId, seq: u64) -> Result<Option<Times>, LedgerError> {
        let filter = Filter {
            handoff: Some(*id.as_bytes()),
            kinds: vec!["initiated".to_owned(), "accepted".to_owned()],
            before_seq: Some(seq),
            ..Filter::default()
        };
        let mut times = None;
        for line in self.ledger.history(filter).await? {
            let Ok(line) = serde_json::from_slice::<Line<'_>>(&line) else { continue };
            match (line.event.kind.as_ref(), &mut times) {
                ("initiated", _) => times = Some(Times { initiated: line.at, accepted: None }),
                ("accepted", Some(times)) => times.accepted = Some((line.at, line.command)),
                _ => (),
            }
        }
        Ok(times)
    }
}

fn micros(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_micros() - from.as_micros()).unwrap_or(0)
}
