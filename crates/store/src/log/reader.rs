//! Reads records back while the writer goes on. It reads only what the caller knows to be durable,
//! and so never meets a line that is half written.

use std::sync::{Arc, PoisonError};

use super::scan::{Piece, Pieces};
use super::{Cursor, Entry, LogError, Position, SEQ_FIRST, VisitError, segment};
use crate::disk::{Disk, DiskFile};
use crate::hash::Hash;
use crate::line;
use crate::sync::Mutex;

/// How many segments are kept open, most recently used first.
const FILES_MAX: usize = 8;
/// What one record usually fits into.
const LINE_CHUNK_BYTES: usize = 4096;

type OpenSegment = (u64, Arc<dyn DiskFile>);

/// A reader of the log, cheap to clone.
#[derive(Clone)]
pub struct LogReader {
    disk: Arc<dyn Disk>,
    files: Arc<Mutex<Vec<OpenSegment>>>,
}

impl LogReader {
    pub(super) fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, files: Arc::default() }
    }

    /// Returns the line that begins at `position`, without its newline, checked against its hash.
    pub fn read_line(&self, position: Position) -> Result<Vec<u8>, LogError> {
        let file = self.file(position.segment)?;
        let mut pieces = Pieces::in_chunks(&*file, position.offset, LINE_CHUNK_BYTES);
        let piece = pieces.next().map_err(|error| self.io(position.segment, error))?;
        let line = match piece {
            Piece::Line(line) => line,
            Piece::Blank | Piece::End => return Err(self.corrupt(position, 0, "it is not there")),
            Piece::Broken(why) => return Err(self.corrupt(position, 0, why)),
        };
        line::check(line).map_err(|error| self.corrupt(position, 0, &error.to_string()))?;
        Ok(line.to_vec())
    }

    /// Shows `visit` the records from `from` up to and including `up_to_seq`, and returns where to
    /// go on. The caller knows that they are durable.
    pub fn scan(
        &self,
        from: Cursor,
        up_to_seq: u64,
        visit: impl FnMut(Entry<'_>) -> Result<(), VisitError>,
    ) -> Result<Cursor, LogError> {
        self.scan_from_own(from, up_to_seq, u64::MAX, visit)
    }

    /// Scans likewise, but takes the records from `own_from` on at their word: the caller wrote
    /// them itself since it opened the log.
    pub(crate) fn scan_from_own(
        &self,
        from: Cursor,
        up_to_seq: u64,
        own_from: u64,
        mut visit: impl FnMut(Entry<'_>) -> Result<(), VisitError>,
    ) -> Result<Cursor, LogError> {
        self.walk(from, up_to_seq, |position, seq, bytes| {
            let hash = match seq >= own_from {
                true => line::said(bytes).ok_or(line::LineError::Unsealed),
                false => line::check(bytes),
            };
            let hash = hash.map_err(|error| self.corrupt(position, seq, &error.to_string()))?;
            visit(Entry { position, seq, hash, bytes })
                .map_err(|source| LogError::Visit { seq, source })
        })
    }

    /// Shows `visit` the lines from `from` up to and including `up_to_seq`, unchecked.
    pub(crate) fn walk(
        &self,
        from: Cursor,
        up_to_seq: u64,
        mut visit: impl FnMut(Position, u64, &[u8]) -> Result<(), LogError>,
    ) -> Result<Cursor, LogError> {
        let mut next = from;
        while next.seq <= up_to_seq {
            let segment = next.position.segment;
            let file = self.file(segment)?;
            self.walk_segment(&*file, &mut next, up_to_seq, &mut visit)?;
            if next.seq <= up_to_seq {
                if next.seq == segment {
                    return Err(self.corrupt(next.position, next.seq, "it is not there"));
                }
                next.position = Position { segment: next.seq, offset: 0 };
            }
        }
        Ok(next)
    }

    /// Shows `visit` the hashes of the records as their lines say, from `from` up to and including
    /// `up_to_seq`, and returns where to go on. The caller knows that the records are durable and
    /// were checked: this costs a tenth of [`LogReader::scan`].
    pub(crate) fn hashes(
        &self,
        from: Cursor,
        up_to_seq: u64,
        mut visit: impl FnMut(u64, Hash) -> Result<(), VisitError>,
    ) -> Result<Cursor, LogError> {
        self.walk(from, up_to_seq, |position, seq, bytes| {
            let why = "the line does not end in its hash";
            let hash = line::said(bytes).ok_or_else(|| self.corrupt(position, seq, why))?;
            visit(seq, hash).map_err(|source| LogError::Visit { seq, source })
        })
    }

    /// Returns the start of the segment in which the record `seq` is, or would be.
    pub(crate) fn segment_of(&self, seq: u64) -> Result<Cursor, LogError> {
        let segments = segment::list(&*self.disk)?;
        let found = segments.into_iter().take_while(|first_seq| *first_seq <= seq).last();
        let segment = found.unwrap_or(SEQ_FIRST);
        Ok(Cursor { seq: segment, position: Position { segment, offset: 0 } })
    }

    /// Goes on to `up_to_seq` or to the end of the segment.
    fn walk_segment(
        &self,
        file: &dyn DiskFile,
        next: &mut Cursor,
        up_to_seq: u64,
        visit: &mut impl FnMut(Position, u64, &[u8]) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let mut pieces = Pieces::new(file, next.position.offset);
        while next.seq <= up_to_seq {
            let Cursor { seq, position } = *next;
            let piece = pieces.next().map_err(|error| self.io(position.segment, error))?;
            let bytes = match piece {
                Piece::Line(line) => line,
                Piece::Blank | Piece::End => return self.nothing_more(pieces, *next),
                Piece::Broken(why) => return Err(self.corrupt(position, seq, why)),
            };
            next.seq += 1;
            next.position.offset += bytes.len() as u64 + 1;
            visit(position, seq, bytes)?;
        }
        Ok(())
    }

    /// Makes sure that a segment, whose successor has begun, is blank behind its last record.
    fn nothing_more(&self, mut pieces: Pieces<'_>, next: Cursor) -> Result<(), LogError> {
        let Cursor { seq, position } = next;
        loop {
            match pieces.next().map_err(|error| self.io(position.segment, error))? {
                Piece::Blank => (),
                Piece::End => return Ok(()),
                Piece::Line(_) | Piece::Broken(_) => {
                    return Err(self.corrupt(position, seq, "it is blank, and more follows"));
                }
            }
        }
    }

    fn file(&self, segment: u64) -> Result<Arc<dyn DiskFile>, LogError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = files.iter().position(|(first_seq, _)| *first_seq == segment) {
            files[..=at].rotate_right(1);
            return Ok(files[0].1.clone());
        }
        let path = segment::path(segment);
        let file = self
            .disk
            .open(&path)
            .map_err(|error| LogError::io("open", &*self.disk, &path, error))?;
        files.truncate(FILES_MAX - 1);
        files.insert(0, (segment, file.clone()));
        Ok(file)
    }

    fn io(&self, segment: u64, error: std::io::Error) -> LogError {
        LogError::io("read", &*self.disk, &segment::path(segment), error)
    }

    pub(crate) fn corrupt(&self, position: Position, seq: u64, why: &str) -> LogError {
        LogError::Corrupt {
            segment: self.disk.place(&segment::path(position.segment)),
            offset: position.offset,
            seq,
            why: why.to_owned(),
        }
    }
}
