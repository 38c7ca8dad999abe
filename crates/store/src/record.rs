//! The stored form of an event: one line of JSON, one record.

use std::borrow::Cow;

use baton_protocol::audit::AuditRecord;
use baton_protocol::effect::Effect;
use baton_protocol::event::{Decision, Event, StreamId};
use baton_protocol::id::CommandId;
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::index::Row;
use crate::line::{self, LINE_BYTES_MAX};

/// The largest event with its effects. What else a record says is limited at the door: three texts
/// of 4 KiB, names and numbers.
const EVENT_BYTES_MAX: usize = LINE_BYTES_MAX - 128 * 1024;
/// How much room to write events in is kept for the next command.
const DRAFTS_KEPT_BYTES: usize = 64 * 1024;
/// The most that the events of one command take: they are one write, and recovery holds them.
const COMMAND_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A record on its way out. Fields stand in the order in which people read a line; between these
/// and the tail stands the event.
#[derive(Serialize)]
pub(crate) struct Head<'a> {
    pub(crate) seq: u64,
    /// The last record that was durable when this one was written; recovery relies on it.
    pub(crate) safe: u64,
    /// Its place among the records of its command; absent for the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<[u32; 2]>,
    pub(crate) at: Timestamp,
    pub(crate) stream: &'a StreamId,
    pub(crate) version: u64,
    pub(crate) command: CommandId,
    #[serde(serialize_with = "hex")]
    pub(crate) asked: u64,
    pub(crate) by: &'a str,
}

/// JSON numbers above 2^53 are not safe with every reader, so digests are texts.
fn hex<S: serde::Serializer>(digest: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{digest:016x}"))
}

fn from_hex<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = Cow::<str>::deserialize(from)?;
    u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
}

/// What stands behind the event.
#[derive(Serialize)]
pub(crate) struct Tail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audit: Option<AuditRecord<'a>>,
    #[serde(skip_serializing_if = "<[Effect]>::is_empty")]
    pub(crate) effects: &'a [Effect],
    pub(crate) prev: Hash,
}

/// Writes a record as a sealed line to the end of `buffer`.
pub(crate) fn write(buffer: &mut Vec<u8>, head: &Head<'_>, event: &[u8], tail: &Tail<'_>) -> Hash {
    let start = buffer.len();
    object(buffer, head, event, tail);
    let hash = line::seal(buffer, start);
    assert!(buffer.len() - start <= LINE_BYTES_MAX, "a record of {} bytes", buffer.len() - start);
    hash
}

fn object(buffer: &mut Vec<u8>, head: &Head<'_>, event: &[u8], tail: &Tail<'_>) {
    const PLAIN: &str = "records are plain data";
    serde_json::to_writer(&mut *buffer, head).expect(PLAIN);
    buffer.pop();
    buffer.extend_from_slice(b",\"event\":");
    buffer.extend_from_slice(event);
    // The fields of the tail go on in the same object, so its opening brace becomes a comma.
    let brace = buffer.len();
    serde_json::to_writer(&mut *buffer, tail).expect(PLAIN);
    buffer[brace] = b',';
}

/// The stub that stands for the record of `line` once it is pruned: its place, its time, which
/// command it was, and its hash. Nothing of what it said is left.
pub(crate) fn stub(line: &[u8]) -> Option<Vec<u8>> {
    let hash = line::said(line)?;
    let record = Record::read(line).ok()?;
    let envelope = line::Envelope::read(line).ok()?;
    let (index, count) = envelope.part();
    let head = Head {
        seq: record.seq,
        safe: envelope.safe,
        part: (count > 1).then_some([index, count]),
        at: record.at,
        stream: &record.stream,
        version: record.version,
        command: record.command,
        asked: record.asked,
        by: "",
    };
    let event = serde_json::to_vec(&Event::Pruned {
        workflows: Vec::new(),
        health: Default::default(),
        breakers: Default::default(),
    })
    .ok()?;
    let tail = Tail { audit: None, effects: &[], prev: record.prev };
    let mut buffer = Vec::new();
    object(&mut buffer, &head, &event, &tail);
    line::seal_stub(&mut buffer, 0, &hash);
    buffer.pop();
    Some(buffer)
}

/// The events of one decision in their stored form. They are written before anything changes,
/// because what would not fit must be refused while nothing has happened yet.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Drafts {
    /// Writes the events, or refuses what is too large to be stored.
    pub(crate) fn fill(&mut self, decision: &Decision, by: &str) -> Result<(), Refusal> {
        self.ends.clear();
        self.bytes.clear();
        self.bytes.shrink_to(DRAFTS_KEPT_BYTES);
        let mut start = 0;
        for event in &decision.events {
            serde_json::to_writer(&mut self.bytes, event).expect("events are plain data");
            within("bytes in one record", self.bytes.len() - start, EVENT_BYTES_MAX)?;
            start = self.bytes.len();
            self.ends.push(start);
            within("bytes in the records of one command", start, COMMAND_BYTES_MAX)?;
        }
        // The effects stand in the last record, beside its event; `by` is escaped at worst whole.
        let last = self.event(decision.events.len() - 1).len();
        let beside = match decision.effects.is_empty() {
            true => 0,
            false => serde_json::to_vec(&decision.effects).expect("effects are plain data").len(),
        };
        within("bytes in one record", last + beside + 6 * by.len(), EVENT_BYTES_MAX)
    }

    /// The stored form of the event `n`.
    pub(crate) fn event(&self, n: usize) -> &[u8] {
        let start = n.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[n]]
    }
}

fn within(what: &'static str, found: usize, most: usize) -> Result<(), Refusal> {
    if found > most { Err(Refusal::TooMany { what, most }) } else { Ok(()) }
}

/// A record as it is read back.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// Its number in the ledger.
    pub seq: u64,
    /// When it was recorded.
    pub at: Timestamp,
    /// Where it belongs.
    pub stream: StreamId,
    /// Its number in its stream.
    pub version: u64,
    /// The command that led to it.
    pub command: CommandId,
    /// A digest of what was asked.
    #[serde(deserialize_with = "from_hex")]
    pub asked: u64,
    /// Who asked.
    pub by: String,
    /// What happened.
    pub event: Event,
    /// What must follow.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// The hash of the record before it in its stream.
    pub prev: Hash,
}

impl Record {
    /// Reads a line of the ledger.
    pub fn read(line: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }
}

/// What the index wants of a line, found without reading the rest of it.
#[derive(Deserialize)]
struct Indexed<'a> {
    seq: u64,
    at: Timestamp,
    #[serde(borrow)]
    stream: &'a str,
    command: CommandId,
    #[serde(borrow)]
    by: Cow<'a, str>,
    #[serde(borrow)]
    event: IndexedEvent<'a>,
    #[serde(borrow, default)]
    audit: Option<IndexedAudit<'a>>,
}

#[derive(Deserialize)]
struct IndexedEvent<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow, default)]
    title: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    file: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    ending: Option<IndexedEnding<'a>>,
    #[serde(borrow, default)]
    detail: Option<IndexedDetail<'a>>,
    #[serde(default)]
    terms: Option<IndexedTerms>,
}

#[derive(Deserialize)]
struct IndexedEnding<'a> {
    how: &'a str,
}

#[derive(Deserialize)]
struct IndexedDetail<'a> {
    why: &'a str,
}

#[derive(Deserialize)]
struct IndexedTerms {
    #[serde(default)]
    step: Option<IndexedStep>,
}

#[derive(Deserialize)]
struct IndexedStep {
    #[serde(default)]
    first: bool,
}

#[derive(Deserialize)]
struct IndexedAudit<'a> {
    handoff_id: baton_protocol::id::HandoffId,
    from_agent: &'a str,
    to_agent: &'a str,
}

/// What the first task of work with a definition counts as: nobody passed it on.
const ASSIGNED: &str = "assigned";

/// Finds the indexed facts of a line.
pub(crate) fn extract(line: &[u8]) -> Option<Row<'_>> {
    // Once for the whole line, and not for each string in it.
    let line = std::str::from_utf8(line).ok()?;
    let found: Indexed<'_> = serde_json::from_str(line).ok()?;
    let workflow = match found.stream.parse() {
        Ok(StreamId::Workflow(id)) => Some(*id.as_bytes()),
        Ok(StreamId::Agent(_) | StreamId::Workspace) | Err(_) => None,
    };
    // Actors are agent names, perhaps with who acted for them; neither needs escapes in JSON.
    let actor = match found.by {
        Cow::Borrowed(by) => Some(by).filter(|by| !by.is_empty()),
        Cow::Owned(_) => None,
    };
    let audit = found.audit.as_ref();
    // Whoever begins work passes nothing on.
    let step = found.event.terms.as_ref().and_then(|terms| terms.step.as_ref());
    let first = step.is_some_and(|step| step.first);
    // A stub tells no more than that there was something, and that it is over.
    let stub = workflow.is_some() && found.event.kind == "pruned";
    Some(Row {
        seq: found.seq,
        at: found.at.as_micros(),
        kind: if stub { "stub" } else { found.event.kind },
        counts_as: first.then_some(ASSIGNED),
        workflow,
        handoff: audit.map(|audit| *audit.handoff_id.as_bytes()),
        from: audit.map(|audit| audit.from_agent),
        to: audit.map(|audit| audit.to_agent),
        actor,
        file: found.event.file.filter(|_| found.event.kind == "tag_moved"),
        command: Some(*found.command.as_bytes()),
        title: found.event.title.filter(|_| found.event.kind == "started"),
        closes: match stub {
            true => Some("pruned"),
            false => found.event.ending.map(|ending| ending.how),
        },
        handoff_state: audit.map(|_| match &found.event.detail {
            Some(detail) => detail.why,
            None => found.event.kind,
        }),
    })
}
