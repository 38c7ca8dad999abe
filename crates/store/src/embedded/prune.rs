//! Carrying out a recorded prune: the records of the work that it names become stubs, and bodies
//! that only they name are deleted.
//!
//! It is done while the ledger is being opened, when nobody reads or writes. A crash at any point
//! leaves a ledger that opens, finds the prune not carried out, and does it again: what points
//! into the segments (snapshots, index) goes first, then the bodies, then the lines.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use baton_protocol::event::StreamId;
use baton_protocol::id::WorkflowId;

use crate::blob;
use crate::disk::Disk;
use crate::hash::Hash;
use crate::index;
use crate::line;
use crate::log::rewrite;
use crate::log::{FOLDER, LogError};
use crate::proof::audit::stream_of;
use crate::record::{self, Record};
use crate::snapshot;

/// Why a prune could not be carried out. The ledger is whole; the next start tries again.
#[derive(Debug, thiserror::Error)]
pub(super) enum PruneError {
    /// Another process has the ledger open.
    #[error("the ledger is in use by another process")]
    InUse,
    /// The log could not be written anew.
    #[error("cannot carry out a prune")]
    Log(#[from] LogError),
    /// The system failed.
    #[error("cannot carry out a prune")]
    Io(#[from] io::Error),
}

/// Drops the records of `workflows`, which are over. Returns how many became stubs.
pub(super) fn carry_out(
    disk: &dyn Disk,
    index: &Path,
    workflows: &[WorkflowId],
) -> Result<u64, PruneError> {
    let _lock = disk.lock(FOLDER).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => PruneError::InUse,
        _ => PruneError::Io(error),
    })?;
    let streams: HashSet<String> =
        workflows.iter().map(|id| StreamId::Workflow(*id).to_string()).collect();
    let goes = |line: &[u8]| {
        stream_of(line).is_some_and(|stream| streams.contains(&stream)) && !line::is_stub(line)
    };
    let mut any = false;
    let (mut gone, mut kept) = (HashSet::new(), HashSet::new());
    rewrite::lines(disk, |line| {
        let dropped = goes(line);
        any |= dropped;
        if let Some(body) = body_of(line) {
            if dropped {
                gone.insert(body)
            } else {
                kept.insert(body)
            };
        }
    })?;
    if !any {
        return Ok(0);
    }
    snapshot::forget(disk)?;
    index::discard(index)?;
    for body in gone.difference(&kept) {
        blob::remove(disk, body)?;
    }
    Ok(rewrite::rewrite(disk, |line| if goes(line) { record::stub(line) } else { None })?)
}

/// The body that a line names.
fn body_of(line: &[u8]) -> Option<Hash> {
    memchr::memmem::find(line, super::check::NAMES_BODY)?;
    let record = Record::read(line).ok()?;
    Hash::from_hex(record.event.body()?.sha256.as_bytes()).ok()
}
