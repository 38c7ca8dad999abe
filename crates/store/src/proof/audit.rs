//! Judging records one by one: each line against its hash, each record against the one before it
//! in its stream, all of them against the tree, and every stub against a recorded prune.
//!
//! The same judge looks at the ledger itself and at a bundle that was exported from it.

use std::collections::{HashMap, HashSet};

use baton_protocol::event::{Event, StreamId};
use memchr::memmem;

use super::merkle::{Frontier, leaf};
use crate::chain::Chains;
use crate::hash::Hash;
use crate::ledger::Checked;
use crate::line;
use crate::record::Record;

/// How a record that tells of a prune says so. A text may hold it, too, so finding it only means
/// that the record is read whole.
const PRUNES: &[u8] = b"\"type\":\"pruned\"";

/// What is wrong, and with which record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) what: String,
    pub(crate) record: Option<u64>,
    pub(crate) stream: Option<String>,
}

impl Wrong {
    /// Something that is wrong with a record, whose line is `line` as far as it can be read.
    pub(crate) fn with(seq: u64, line: &[u8], what: impl Into<String>) -> Self {
        Self { what: what.into(), record: Some(seq), stream: stream_of(line) }
    }

    /// Something that is wrong with no record in particular.
    pub(crate) fn what(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// Puts it into the answer of a check.
    pub(crate) fn tell(self, checked: &mut Checked) {
        let Self { what, record, stream } = self;
        (checked.problem, checked.record, checked.stream) = (Some(what), record, stream);
    }
}

/// The stream that a line names, also if it is damaged elsewhere.
pub(crate) fn stream_of(line: &[u8]) -> Option<String> {
    const FIELD: &[u8] = b"\"stream\":\"";
    let at = memmem::find(line, FIELD)? + FIELD.len();
    let end = at + memchr::memchr(b'"', &line[at..])?;
    let text = std::str::from_utf8(&line[at..end]).ok()?;
    text.parse::<StreamId>().ok().map(|stream| stream.to_string())
}

/// The workflows that a line says were pruned, if it is the record of a prune.
pub(crate) fn pruned_by(line: &[u8]) -> Vec<String> {
    if memmem::find(line, PRUNES).is_none() {
        return Vec::new();
    }
    match Record::read(line) {
        Ok(Record {
            stream: StreamId::Workspace, event: Event::Pruned { workflows, .. }, ..
        }) => workflows.into_iter().map(|id| StreamId::Workflow(id).to_string()).collect(),
        _ => Vec::new(),
    }
}

/// Stubs, and the prunes that allow them.
#[derive(Default)]
pub(crate) struct Stubs {
    /// The first stub of each stream.
    first: HashMap<String, u64>,
    allowed: HashSet<String>,
    count: u64,
}

impl Stubs {
    /// Takes note of a line whose hash was checked.
    pub(crate) fn note(&mut self, seq: u64, line: &[u8]) {
        if line::is_stub(line) {
            self.count += 1;
            self.first.entry(stream_of(line).unwrap_or_default()).or_insert(seq);
        } else {
            self.allowed.extend(pruned_by(line));
        }
    }

    /// The first stub that no prune allows.
    pub(crate) fn wrong(&self) -> Option<Wrong> {
        let unnamed = self.first.iter().filter(|(stream, _)| !self.allowed.contains(*stream));
        let (stream, seq) = unnamed.min_by_key(|(_, seq)| **seq)?;
        Some(Wrong {
            what: format!("record {seq} is a stub, and no recorded prune names its workflow"),
            record: Some(*seq),
            stream: Some(stream.clone()),
        })
    }

    /// How many stubs there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

/// All records from the first on.
#[derive(Default)]
pub(crate) struct Audit {
    pub(crate) chains: Chains,
    pub(crate) tree: Frontier,
    pub(crate) stubs: Stubs,
}

impl Audit {
    /// Takes the next line, or says what is wrong with it. Returns the hash of its record.
    pub(crate) fn take(&mut self, line: &[u8]) -> Result<Hash, Wrong> {
        let seq = self.tree.size() + 1;
        let damaged = |error| Wrong::with(seq, line, format!("record {seq} is damaged: {error}"));
        let hash = line::check(line).map_err(damaged)?;
        self.chains.follow(line, hash).map_err(|why| Wrong::with(seq, line, why))?;
        self.stubs.note(seq, line);
        self.tree.push(leaf(&hash), |_| ());
        Ok(hash)
    }
}
