//! Getting back what was known: the newest snapshot, then the log behind it.

use std::sync::Arc;

use serde::Deserialize;

use crate::core::Core;
use crate::disk::Disk;
use crate::log::{Cursor, Entry, Log, LogError, LogReader, Opened, Options, Position, VisitError};
use crate::record::Record;
use crate::snapshot;

/// A snapshot: the state, and where the log goes on.
#[derive(Deserialize)]
struct Stored<'a> {
    segment: u64,
    offset: u64,
    #[serde(borrow)]
    core: &'a serde_json::value::RawValue,
}

/// Stores the state `core`, which is the one before `next`, whose records are all durable.
pub(super) fn store(disk: &dyn Disk, next: Cursor, core: &[u8]) -> std::io::Result<()> {
    let Position { segment, offset } = next.position;
    let mut bytes = Vec::with_capacity(core.len() + 100);
    let place = format!(r#"{{"segment":{segment},"offset":{offset},"core":"#);
    bytes.extend_from_slice(place.as_bytes());
    bytes.extend_from_slice(core);
    bytes.push(b'}');
    snapshot::write(disk, next.seq - 1, &bytes)
}

/// The newest state that was stored, and where the log goes on from it. Whatever is wrong with a
/// snapshot, the log alone gives the same state.
fn newest(disk: &dyn Disk) -> (Core, Cursor) {
    let fresh = || (Core::default(), Cursor::START);
    let Ok(Some((seq, bytes))) = snapshot::newest(disk) else { return fresh() };
    let read = serde_json::from_slice::<Stored<'_>>(&bytes).and_then(|stored| {
        let core = Core::restored(stored.core.get().as_bytes())?;
        let position = Position { segment: stored.segment, offset: stored.offset };
        Ok((core, Cursor { seq: seq + 1, position }))
    });
    match read {
        Ok((core, cursor)) if core.next_seq() == cursor.seq => (core, cursor),
        Ok(_) => fresh(),
        Err(error) => {
            tracing::warn!(%error, "passed over a snapshot of another shape");
            fresh()
        }
    }
}

/// What opening brings back.
pub(super) struct Restored {
    pub(super) log: Log,
    pub(super) opened: Opened,
    pub(super) core: Core,
    /// The number of the first record behind the snapshot.
    pub(super) snapshot_seq: u64,
}

/// Opens the log and brings the state up to its end.
///
/// At least `signed` records must be there: a checkpoint says so.
pub(super) fn open(
    disk: &Arc<dyn Disk>,
    options: Options,
    signed: u64,
) -> Result<Restored, LogError> {
    let (mut core, from) = newest(&**disk);
    let replay = |entry: Entry<'_>| follow(&mut core, entry);
    let (log, opened) = Log::open_signed(disk.clone(), options, from, signed, replay)?;
    core.replayed();
    Ok(Restored { log, opened, core, snapshot_seq: from.seq })
}

/// Builds the state up to the durable record `last` again, while the log stays open. Returns also
/// the number of the first record behind the snapshot.
pub(super) fn rebuild(
    disk: &dyn Disk,
    reader: &LogReader,
    last: u64,
) -> Result<(Core, u64), LogError> {
    let (mut core, from) = newest(disk);
    reader.scan(from, last, |entry| follow(&mut core, entry))?;
    core.replayed();
    Ok((core, from.seq))
}

fn follow(core: &mut Core, entry: Entry<'_>) -> Result<(), VisitError> {
    let record = Record::read(entry.bytes)?;
    core.replay(&record, entry.hash).map_err(VisitError::from)
}
