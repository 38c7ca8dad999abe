//! The append-only log: the one place where a record becomes true.
//!
//! One writer appends whole lines to pre-written segments under `ledger/` and pays one sync for
//! each batch; any number of readers follow. The log must never acknowledge what a power cut could
//! take back, never cut what was acknowledged, and never go on after a write whose outcome is
//! unknown. What a record means is no concern of it.

use std::io;
use std::sync::Arc;

use baton_protocol::planted::{Bug, planted};

use crate::disk::{Disk, DiskFile};
use crate::hash::Hash;
use crate::line::LINE_BYTES_MAX;

mod error;
mod format;
mod reader;
mod recover;
pub(crate) mod rewrite;
mod scan;
mod segment;
#[cfg(test)]
mod tests;

pub use error::{LogError, VisitError};
pub use reader::LogReader;
pub use segment::{Preparation, SEGMENT_BYTES_FIRST, SEGMENT_BYTES_MAX};

/// The folder of the log, its snapshots and its lock.
pub(crate) const FOLDER: &str = "ledger";

/// The number of the first record of all. Zero means "none", as in `"safe":0`.
pub const SEQ_FIRST: u64 = 1;

/// Where a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The first sequence number of the segment, which is its name.
    pub segment: u64,
    /// The byte in it.
    pub offset: u64,
}

/// A place to go on from: the record `seq` begins at `position`, or, when nothing but newlines
/// follows there, at the start of the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The number of the next record.
    pub seq: u64,
    /// Where it is or will be.
    pub position: Position,
}

impl Cursor {
    /// The start of all history.
    pub const START: Self =
        Self { seq: SEQ_FIRST, position: Position { segment: SEQ_FIRST, offset: 0 } };
}

/// One record as it lies in the log.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Where it begins.
    pub position: Position,
    /// Its number.
    pub seq: u64,
    /// Its hash, already checked.
    pub hash: Hash,
    /// The line without its newline.
    pub bytes: &'a [u8],
}

/// How the log uses the disk.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The size of the first segment. Each next one doubles.
    pub segment_bytes_first: u64,
    /// The size they double up to.
    pub segment_bytes_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes_first: SEGMENT_BYTES_FIRST, segment_bytes_max: SEGMENT_BYTES_MAX }
    }
}

/// What opening found.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Where the next record goes. All before it are durable.
    pub next: Cursor,
    /// The unacknowledged tail that was removed, if there was one.
    pub cut: Option<Cut>,
}

/// A tail that a crash left unfinished. It had not been acknowledged to anyone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first record that is no more. Its number will be used again.
    pub first_seq: u64,
    /// Where it began.
    pub position: Position,
    /// How many bytes were blanked.
    pub bytes: u64,
    /// What was wrong with it.
    pub reason: String,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { first_seq, bytes, reason, .. } = self;
        write!(f, "cut {bytes} bytes from record {first_seq} on: {reason}")
    }
}

/// The log, open for its one writer.
pub struct Log {
    disk: Arc<dyn Disk>,
    options: Options,
    spare: Arc<segment::Spare>,
    file: Arc<dyn DiskFile>,
    /// The size of the current segment.
    bytes: u64,
    next: Cursor,
    preparing: bool,
    poisoned: bool,
}

impl Log {
    /// Opens the log, making it where there is none, and shows `visit` every record from `from`
    /// on, in order.
    ///
    /// Only segments from `from` on are read, so a snapshot spares its history. `from` must be at
    /// the first record of a command. An unacknowledged tail is cut, command by command; damage to
    /// anything that is known to have been durable is [`LogError::Corrupt`], and then the files
    /// stay as they are. What was shown is durable once this returns.
    pub fn open(
        disk: Arc<dyn Disk>,
        options: Options,
        from: Cursor,
        visit: impl FnMut(Entry<'_>) -> Result<(), VisitError>,
    ) -> Result<(Self, Opened), LogError> {
        Self::open_signed(disk, options, from, 0, visit)
    }

    /// Opens it likewise, knowing that the first `signed` records were durable once. If they are
    /// not all there, that is [`LogError::Lost`], and the files stay as they are.
    pub(crate) fn open_signed(
        disk: Arc<dyn Disk>,
        options: Options,
        from: Cursor,
        signed: u64,
        visit: impl FnMut(Entry<'_>) -> Result<(), VisitError>,
    ) -> Result<(Self, Opened), LogError> {
        let spare = segment::Spare::new(disk.clone(), lock(&*disk)?);
        let segments = segment::list(&*disk)?;
        if segments.is_empty() && signed > 0 {
            let why = "there is no segment".to_owned();
            return Err(LogError::Lost { seq: SEQ_FIRST, signed, why });
        }
        format::settle(&disk, segments.is_empty())?;
        if segments.is_empty() && from == Cursor::START {
            spare.clear()?;
            let blank = spare.put_to_use(SEQ_FIRST, options.segment_bytes_first)?;
            let log = Self::at(disk, options, spare, blank, Cursor::START);
            return Ok((log, Opened { next: Cursor::START, cut: None }));
        }
        let survey = recover::survey(&*disk, &segments, from, visit)?;
        survey.holds(signed)?;
        let (blank, opened) = survey.settle(&*disk)?;
        spare.clear()?;
        // A killed process may have named a segment without syncing the name.
        disk.sync_dir(FOLDER).map_err(|error| LogError::io("sync", &*disk, FOLDER, error))?;
        let log = Self::at(disk, options, spare, blank, opened.next);
        Ok((log, opened))
    }

    fn at(
        disk: Arc<dyn Disk>,
        options: Options,
        spare: Arc<segment::Spare>,
        blank: segment::Blank,
        next: Cursor,
    ) -> Self {
        let segment::Blank { file, bytes } = blank;
        Self { disk, options, spare, file, bytes, next, preparing: false, poisoned: false }
    }

    /// Returns where the next record goes.
    pub fn next(&self) -> Cursor {
        self.next
    }

    /// Appends sealed lines, the records `first_seq..=last_seq`, and returns where the first one
    /// begins. When this returns, a power cut takes none of them back.
    ///
    /// A batch is one write into one segment, so all records of a command must come in one batch.
    /// [`LogError::DiskFull`] means that nothing was written and a later try may succeed; after
    /// any other error every further append is [`LogError::Poisoned`].
    ///
    /// # Panics
    /// When `lines` are not whole lines within [`LINE_BYTES_MAX`], or are not the next ones: the
    /// log would not open again.
    pub fn append(
        &mut self,
        lines: &[u8],
        first_seq: u64,
        last_seq: u64,
    ) -> Result<Position, LogError> {
        if self.poisoned {
            return Err(LogError::Poisoned);
        }
        assert_eq!(first_seq, self.next.seq, "records are appended in order");
        assert_eq!(count_lines(lines), last_seq + 1 - first_seq, "one line for each record");
        if self.next.position.offset + lines.len() as u64 > self.bytes {
            self.roll(lines.len() as u64)?;
        }
        let position = self.next.position;
        let sync = || if planted(Bug::SyncSkipped) { Ok(()) } else { self.file.sync_data() };
        let written = self.file.write_at(lines, position.offset).and_then(|()| sync());
        if let Err(error) = written {
            self.poisoned = true;
            let path = segment::path(position.segment);
            return Err(LogError::io("write", &*self.disk, &path, error));
        }
        self.next.position.offset += lines.len() as u64;
        self.next.seq = last_seq + 1;
        Ok(position)
    }

    /// Returns the making of the next segment, once, when this one is half full.
    ///
    /// Run it on another thread, or not at all: then the append that needs the segment makes it.
    /// It keeps the ledger locked until it ends, which is soon after the log is dropped.
    pub fn preparation(&mut self) -> Option<Preparation> {
        if self.preparing || self.next.position.offset < self.bytes / 2 {
            return None;
        }
        self.preparing = true;
        Some(Preparation { spare: self.spare.clone(), bytes: self.bytes_next() })
    }

    /// Returns a reader of this log, for any thread.
    pub fn reader(&self) -> LogReader {
        LogReader::new(self.disk.clone())
    }

    /// Returns what keeps the ledger locked for as long as it is held.
    pub(crate) fn hold(&self) -> Arc<dyn Send + Sync> {
        self.spare.clone()
    }

    fn bytes_next(&self) -> u64 {
        (self.bytes * 2).clamp(self.options.segment_bytes_first, self.options.segment_bytes_max)
    }

    /// Goes on in a new segment with room for `need` bytes. All records before it are durable by
    /// now, which recovery relies on.
    fn roll(&mut self, need: u64) -> Result<(), LogError> {
        let bytes = self.bytes_next().max(need.next_power_of_two());
        let seq = self.next.seq;
        match self.spare.put_to_use(seq, bytes) {
            Ok(blank) => {
                self.file = blank.file;
                self.bytes = blank.bytes;
                self.next.position = Position { segment: seq, offset: 0 };
                self.preparing = false;
                Ok(())
            }
            Err(full @ LogError::DiskFull { .. }) => Err(full),
            Err(error) => {
                self.poisoned = true;
                Err(error)
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.spare.abandon();
    }
}

fn lock(disk: &dyn Disk) -> Result<Box<dyn Send + Sync>, LogError> {
    disk.create_dir(FOLDER)
        .and_then(|()| disk.sync_dir(""))
        .map_err(|error| LogError::io_or_full("make", disk, FOLDER, error))?;
    // The folder itself: a file in it could be deleted, and then two would hold "the" lock.
    disk.lock(FOLDER).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => LogError::Locked { folder: disk.place(FOLDER) },
        _ => LogError::io_or_full("lock", disk, FOLDER, error),
    })
}

fn count_lines(lines: &[u8]) -> u64 {
    assert!(lines.ends_with(b"\n"), "a batch ends with its last line");
    let mut count = 0;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', lines) {
        assert!(
            (1..LINE_BYTES_MAX).contains(&(end - start)),
            "a line is neither empty nor endless"
        );
        start = end + 1;
        count += 1;
    }
    count
}
