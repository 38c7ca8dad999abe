//! The stored form of an event: one line of JSON, one record.

use std::borrow::Cow;

use baton_protocol::audit::AuditRecord;
use baton_protocol::effect::Effect;
use baton_protocol::event::{Event, StreamId};
use baton_protocol::id::CommandId;
use baton_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::index::Row;

/// A record on its way out. Fields stand in the order in which people read a line.
#[derive(Serialize)]
pub(crate) struct RecordOut<'a> {
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
    pub(crate) by: &'a str,
    pub(crate) event: &'a Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audit: Option<AuditRecord<'a>>,
    #[serde(skip_serializing_if = "<[Effect]>::is_empty")]
    pub(crate) effects: &'a [Effect],
    pub(crate) prev: Hash,
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
    ending: Option<IndexedEnding<'a>>,
    #[serde(borrow, default)]
    detail: Option<IndexedDetail<'a>>,
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
struct IndexedAudit<'a> {
    handoff_id: baton_protocol::id::HandoffId,
    from_agent: &'a str,
    to_agent: &'a str,
}

/// Finds the indexed facts of a line.
pub(crate) fn extract(line: &[u8]) -> Option<Row<'_>> {
    let found: Indexed<'_> = serde_json::from_slice(line).ok()?;
    let workflow = match found.stream.parse() {
        Ok(StreamId::Workflow(id)) => Some(*id.as_bytes()),
        Ok(StreamId::Agent(_) | StreamId::Workspace) | Err(_) => None,
    };
    // Actors are agent names, perhaps with who acted for them; neither needs escapes in JSON.
    let actor = match found.by {
        Cow::Borrowed(by) => Some(by),
        Cow::Owned(_) => None,
    };
    let audit = found.audit.as_ref();
    Some(Row {
        seq: found.seq,
        at: found.at.as_micros(),
        kind: found.event.kind,
        workflow,
        handoff: audit.map(|audit| *audit.handoff_id.as_bytes()),
        from: audit.map(|audit| audit.from_agent),
        to: audit.map(|audit| audit.to_agent),
        actor,
        command: Some(*found.command.as_bytes()),
        title: found.event.title.filter(|_| found.event.kind == "started"),
        closes: found.event.ending.map(|ending| ending.how),
        handoff_state: audit.map(|_| match &found.event.detail {
            Some(detail) => detail.why,
            None => found.event.kind,
        }),
    })
}
