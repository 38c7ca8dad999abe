//! Opening a ledger: what was signed, what is there, and whether that is less; then the prunes
//! that were recorded and are not carried out yet.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::disk::Disk;
use crate::embedded::prune::{self, PruneError};
use crate::embedded::restore::{self, Restored};
use crate::embedded::{Tuning, failed};
use crate::ledger::LedgerError;
use crate::log::{FOLDER, LogError};
use crate::proof::checkpoints::{CHECKPOINTS, LOST};
use crate::proof::{Anchor, anchor, key};

/// Opens the ledger whose index is at `index`.
pub(super) fn open(
    disk: &Arc<dyn Disk>,
    index: &Path,
    tuning: Tuning,
) -> Result<(Restored, Anchor), LedgerError> {
    let unreadable = |source: io::Error| {
        let place = disk.place(FOLDER);
        not_opened(LogError::Io { doing: "read the checkpoints in", place, source })
    };
    let mut anchor = anchor(&**disk).map_err(unreadable)?;
    let mut restored = match restore::open(disk, tuning.log, anchor.signed()) {
        Err(LogError::Lost { seq, .. }) if tuning.accept_loss => {
            accept(&**disk, &mut anchor, seq - 1).map_err(unreadable)?;
            restore::open(disk, tuning.log, 0)
        }
        restored => restored,
    }
    .map_err(not_opened)?;
    if anchor.is_lost() && tuning.accept_loss {
        accept(&**disk, &mut anchor, restored.opened.next.seq - 1).map_err(unreadable)?;
    }
    let pruning = restored.core.take_pruning();
    if !pruning.is_empty() {
        // The folder is locked again by whoever works on it.
        let (options, cut) = (tuning.log, restored.opened.cut.take());
        drop(restored);
        let stubs = prune::carry_out(&**disk, index, &pruning).map_err(|error| match error {
            PruneError::InUse => LedgerError::InUse { folder: disk.place("ledger") },
            other => failed("cannot open the ledger")(other),
        })?;
        tracing::info!(workflows = pruning.len(), records = stubs, "carried out a prune");
        restored = restore::open(disk, options, anchor.signed()).map_err(not_opened)?;
        restored.core.take_pruning();
        restored.opened.cut = cut;
    }
    Ok((restored, anchor))
}

fn not_opened(error: LogError) -> LedgerError {
    match error {
        LogError::Locked { folder } => LedgerError::InUse { folder },
        LogError::DiskFull { .. } => LedgerError::DiskFull,
        other => failed("cannot open the ledger")(other),
    }
}

/// Sets the checkpoints aside, because an operator accepts that only `left` records are left. What
/// is set aside stays, and `check` tells of it.
fn accept(disk: &dyn Disk, anchor: &mut Anchor, left: u64) -> io::Result<()> {
    tracing::warn!(left, "an operator accepted that records or checkpoints are lost");
    if anchor.key.as_ref().is_some_and(|key| key.used) {
        key::unused(disk)?;
    }
    let aside = format!("ledger/{LOST}{left:012}");
    match disk.rename(CHECKPOINTS, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => drop(disk.create(&aside)?),
        renamed => renamed?,
    }
    disk.sync_dir("ledger")?;
    anchor.newest = Default::default();
    if let Some(key) = &mut anchor.key {
        key.used = false;
    }
    Ok(())
}
