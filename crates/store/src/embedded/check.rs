//! Checking the whole ledger: every line against its hash, every record against the one before it
//! in its stream, every body against the name that a record has for it.

use memchr::memmem;

use crate::blob::Blobs;
use crate::causes::causes;
use crate::chain::Chains;
use crate::hash::Hash;
use crate::ledger::Checked;
use crate::log::{Cursor, LogReader, VisitError};
use crate::record::Record;

/// How a record that names a body says so. A text may hold it, too, so finding it only means that
/// the record is read whole.
const NAMES_BODY: &[u8] = b"\"blob\":{";

/// Reads all records up to `last` and names the first that is wrong.
pub(super) fn check(reader: &LogReader, blobs: &Blobs, last: u64) -> Checked {
    let mut chains = Chains::default();
    let walked = reader.scan(Cursor::START, last, |entry| {
        chains.follow(entry.bytes, entry.hash)?;
        match memmem::find(entry.bytes, NAMES_BODY) {
            Some(_) => body(blobs, entry.bytes),
            None => Ok(()),
        }
    });
    chains.checked(walked.err().map(|error| causes(&error)))
}

/// Reads the body that a record names.
fn body(blobs: &Blobs, line: &[u8]) -> Result<(), VisitError> {
    let record = Record::read(line)?;
    if let Some(body) = record.event.body() {
        let read = blobs.read(&Hash::from_hex(body.sha256.as_bytes())?);
        read.map_err(|error| format!("record {}: {}", record.seq, causes(&error)))?;
    }
    Ok(())
}
