//! Checking the whole ledger: every line against its hash, every record against the one before it
//! in its stream.

use std::collections::HashMap;

use serde::Deserialize;

use crate::hash::Hash;
use crate::ledger::Checked;
use crate::log::{Cursor, LogReader, SEQ_FIRST};

/// The part of a record that a chain is made of.
#[derive(Deserialize)]
struct Link<'a> {
    seq: u64,
    stream: &'a str,
    version: u64,
    prev: Hash,
}

/// Reads all records up to `last` and names the first that is wrong.
pub(super) fn check(reader: &LogReader, last: u64) -> Checked {
    let mut heads: HashMap<Box<str>, (u64, Hash)> = HashMap::new();
    let mut records = 0;
    let walked = reader.scan(Cursor::START, last, |entry| {
        let link: Link<'_> = serde_json::from_slice(entry.bytes)?;
        let zero = (0, Hash::default());
        let (version, hash) = heads.get(link.stream).copied().unwrap_or(zero);
        if link.seq != SEQ_FIRST + records || link.version != version + 1 || link.prev != hash {
            return Err(format!("record {} does not follow the one before it", link.seq).into());
        }
        records += 1;
        match heads.get_mut(link.stream) {
            Some(head) => *head = (link.version, entry.hash),
            None => drop(heads.insert(link.stream.into(), (link.version, entry.hash))),
        }
        Ok(())
    });
    let problem = walked.err().map(|error| match std::error::Error::source(&error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    });
    Checked { records, streams: heads.len() as u64, problem }
}
