//! Checking the whole ledger: every line against its hash, every record against the one before it
//! in its stream.

use crate::causes::causes;
use crate::chain::Chains;
use crate::ledger::Checked;
use crate::log::{Cursor, LogReader};

/// Reads all records up to `last` and names the first that is wrong.
pub(super) fn check(reader: &LogReader, last: u64) -> Checked {
    let mut chains = Chains::default();
    let walked = reader.scan(Cursor::START, last, |entry| {
        chains.follow(entry.bytes, entry.hash).map_err(Into::into)
    });
    chains.checked(walked.err().map(|error| causes(&error)))
}
