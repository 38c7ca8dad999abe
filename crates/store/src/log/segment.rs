//! The files of the log: their names, and how a new one is made.
//!
//! A segment is written full of newlines and synced under another name before its first record, so
//! that syncing a record changes no metadata and cannot run out of room. Nothing here ever touches
//! a segment that holds records.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::{FOLDER, LogError};
use crate::disk::{Disk, DiskFile};
use crate::sync::{AtomicBool, Mutex, MutexGuard};

/// The size of the first segment; a small workspace should not pay for a large one.
pub const SEGMENT_BYTES_FIRST: u64 = 1024 * 1024;
/// The size that segments double up to.
pub const SEGMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The name a segment has until its first sequence number is known.
const ASIDE: &str = "ledger/next.tmp";
const SUFFIX: &str = ".jsonl";
const DIGITS: usize = 12;
/// How much is written between two syncs of a new segment. One sync of 64 MiB would make the
/// records' own syncs wait behind it.
const STEP_BYTES: usize = 4 * 1024 * 1024;
pub(super) static BLANK: [u8; 64 * 1024] = [b'\n'; 64 * 1024];

/// Returns the path of the segment whose first record is `first_seq`.
pub(super) fn path(first_seq: u64) -> String {
    format!("{FOLDER}/{first_seq:0DIGITS$}{SUFFIX}")
}

/// Lists the segments by their first sequence number, in order.
pub(super) fn list(disk: &dyn Disk) -> Result<Vec<u64>, LogError> {
    let names = disk.list(FOLDER).map_err(|error| LogError::io("list", disk, FOLDER, error))?;
    let digits = names.iter().filter_map(|name| name.strip_suffix(SUFFIX));
    let ours = digits.filter(|d| d.len() == DIGITS && d.bytes().all(|b| b.is_ascii_digit()));
    Ok(ours.filter_map(|digits| digits.parse().ok()).collect())
}

/// A file full of newlines.
pub(super) struct Blank {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) bytes: u64,
}

/// The next segment, made ahead of need. At most one, shared with whoever prepares it.
pub(super) struct Spare {
    disk: Arc<dyn Disk>,
    ready: Mutex<Option<Blank>>,
    /// Nobody will use it any more.
    abandoned: AtomicBool,
    /// Held here, because a preparation may outlive the log that asked for it, and must not write
    /// into a folder that somebody else has opened since.
    _lock: Box<dyn Send + Sync>,
}

impl Spare {
    pub(super) fn new(disk: Arc<dyn Disk>, lock: Box<dyn Send + Sync>) -> Arc<Self> {
        let (ready, abandoned) = Default::default();
        Arc::new(Self { disk, ready, abandoned, _lock: lock })
    }

    /// Says that nobody will use the next segment, so that whoever makes it stops soon.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// Forgets what a former process may have prepared: nobody knows how far it got.
    pub(super) fn clear(&self) -> Result<(), LogError> {
        let disk = &*self.disk;
        let names = disk.list(FOLDER).map_err(|error| LogError::io("list", disk, FOLDER, error))?;
        if names.iter().any(|name| ASIDE.strip_prefix(FOLDER) == Some(&format!("/{name}"))) {
            disk.remove(ASIDE).map_err(|error| LogError::io("remove", disk, ASIDE, error))?;
        }
        Ok(())
    }

    /// Makes the spare unless there is one of at least `bytes`. Others wait meanwhile: two of them
    /// writing the same file would take twice as long.
    fn prepare(&self, bytes: u64) -> Result<MutexGuard<'_, Option<Blank>>, LogError> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.as_ref().is_none_or(|blank| blank.bytes < bytes) {
            *ready = None;
            *ready = Some(write_blank(&*self.disk, bytes, &self.abandoned)?);
        }
        Ok(ready)
    }

    /// Gives the spare, made now if need be, the name of the segment that begins at `first_seq`.
    ///
    /// [`LogError::DiskFull`] leaves everything as it was. After any other error, or when the
    /// name could not be synced, the caller must not go on.
    pub(super) fn put_to_use(&self, first_seq: u64, bytes: u64) -> Result<Blank, LogError> {
        let disk = &*self.disk;
        let mut ready = self.prepare(bytes)?;
        let to = path(first_seq);
        disk.rename(ASIDE, &to)
            .map_err(|error| LogError::io_or_full("name the new segment", disk, &to, error))?;
        let blank = ready.take().expect("prepare leaves a spare");
        disk.sync_dir(FOLDER).map_err(|error| LogError::io("sync", disk, FOLDER, error))?;
        Ok(blank)
    }
}

/// The making of the next segment, to be run on a thread that nobody waits for.
pub struct Preparation {
    pub(super) spare: Arc<Spare>,
    pub(super) bytes: u64,
}

impl Preparation {
    /// Writes the segment. A failure costs nothing: the append that needs it tries again.
    pub fn run(self) -> Result<(), LogError> {
        self.spare.prepare(self.bytes).map(drop)
    }
}

fn write_blank(disk: &dyn Disk, bytes: u64, abandoned: &AtomicBool) -> Result<Blank, LogError> {
    let write = || {
        let file = disk.create(ASIDE)?;
        let mut offset = 0;
        let mut unsynced = 0;
        while offset < bytes {
            if abandoned.load(Ordering::Relaxed) {
                return Err(io::Error::from(io::ErrorKind::Interrupted));
            }
            let length = BLANK.len().min(usize::try_from(bytes - offset).unwrap_or(usize::MAX));
            file.write_at(&BLANK[..length], offset)?;
            offset += length as u64;
            unsynced += length;
            if unsynced >= STEP_BYTES || offset == bytes {
                file.sync_data()?;
                unsynced = 0;
            }
        }
        Ok(Blank { file, bytes })
    };
    write().map_err(|error| {
        // The half that was written may be the room that somebody needs.
        let _ = disk.remove(ASIDE);
        LogError::io_or_full("prepare", disk, ASIDE, error)
    })
}
