//! Following the chains of all streams from the first record on.

use std::collections::HashMap;

use serde::Deserialize;

use crate::hash::Hash;
use crate::ledger::Checked;
use crate::log::SEQ_FIRST;

/// The part of a record that a chain is made of.
#[derive(Deserialize)]
struct Link<'a> {
    seq: u64,
    stream: &'a str,
    version: u64,
    prev: Hash,
}

/// The heads of all streams, as far as the records were read.
#[derive(Default)]
pub(crate) struct Chains {
    heads: HashMap<Box<str>, (u64, Hash)>,
    records: u64,
}

impl Chains {
    /// Takes the next record, a line whose own hash was checked, or says why it is not the next.
    pub(crate) fn follow(&mut self, line: &[u8], hash: Hash) -> Result<(), String> {
        let expected = SEQ_FIRST + self.records;
        let link: Link<'_> = serde_json::from_slice(line)
            .map_err(|error| format!("record {expected} has no chain: {error}"))?;
        let (version, prev) = self.heads.get(link.stream).copied().unwrap_or_default();
        if link.seq != expected {
            return Err(format!("record {} stands where {expected} belongs", link.seq));
        }
        if link.version != version + 1 || link.prev != prev {
            return Err(format!("record {} does not follow its stream's last one", link.seq));
        }
        self.records += 1;
        match self.heads.get_mut(link.stream) {
            Some(head) => *head = (link.version, hash),
            None => drop(self.heads.insert(link.stream.into(), (link.version, hash))),
        }
        Ok(())
    }

    /// What was found, up to the first record that is wrong.
    pub(crate) fn checked(&self, problem: Option<String>) -> Checked {
        let (records, streams) = (self.records, self.heads.len() as u64);
        Checked { records, streams, problem, ..Checked::default() }
    }
}
