//! Finds the end of the log after any kind of stop, and tells a torn tail from damage.
//!
//! What makes the difference is proof that a record was once durable: a later record that says so
//! (`safe`), or a later segment (begun only when all before it was synced). A bad record with such
//! proof is damage, and nothing is changed. Without it, it belongs to the last batch, which nobody
//! was told about, and is cut together with its command. Failing to read is neither: it is an
//! error, and never a reason to cut.

use std::sync::Arc;

use super::scan::{Piece, Pieces};
use super::segment::{self, BLANK, Blank};
use super::{Cursor, Cut, Entry, LogError, Opened, Position, VisitError};
use crate::disk::{Disk, DiskFile};
use crate::hash::Hash;
use crate::line::{self, Envelope, LINE_BYTES_MAX};

/// What a look at the log has shown, before anything is changed.
pub(super) struct Survey {
    file: Arc<dyn DiskFile>,
    next: Cursor,
    cut: Option<Cut>,
    /// From here on it is not known that the records were ever synced.
    fresh: u64,
}

/// Shows `visit` all records from `from` on and finds the end.
pub(super) fn survey(
    disk: &dyn Disk,
    segments: &[u64],
    from: Cursor,
    visit: impl FnMut(Entry<'_>) -> Result<(), VisitError>,
) -> Result<Survey, LogError> {
    let mut walk = Walk::new(disk, from, visit);
    let later = segments.iter().position(|&first_seq| first_seq == from.position.segment);
    let Some(later) = later.map(|at| &segments[at..]) else {
        return Err(walk.corrupt("its segment is missing"));
    };
    let mut last = None;
    for (at, &first_seq) in later.iter().enumerate() {
        if at > 0 {
            walk.enter(first_seq)?;
        }
        let path = segment::path(first_seq);
        let file = disk.open(&path).map_err(|error| LogError::io("open", disk, &path, error))?;
        if at == 0 {
            walk.check_start(&*file)?;
        }
        let bad = walk.segment(&*file)?;
        if let (Some(bad), Some(next)) = (&bad, later.get(at + 1)) {
            let proof = format!("{}, and a later segment begins at {next}", bad.why);
            return Err(walk.corrupt(&proof));
        }
        last = Some((file, bad));
    }
    let (file, bad) = last.expect("the starting segment is among the later ones");
    Ok(walk.finish(file, bad))
}

impl Survey {
    /// Makes sure that the first `signed` records are there.
    pub(super) fn holds(&self, signed: u64) -> Result<(), LogError> {
        let seq = self.next.seq;
        if seq > signed {
            return Ok(());
        }
        let why = match &self.cut {
            Some(cut) => cut.reason.clone(),
            None => "the ledger ends before it".to_owned(),
        };
        Err(LogError::Lost { seq, signed, why })
    }

    /// Blanks the cut tail and makes durable all that was shown.
    pub(super) fn settle(self, disk: &dyn Disk) -> Result<(Blank, Opened), LogError> {
        let Self { file, next, cut, fresh } = self;
        let path = segment::path(next.position.segment);
        let tail = next.position.offset;
        let harden = || {
            if let Some(cut) = &cut {
                blank(&*file, tail, tail + cut.bytes)?;
            }
            // The last batch may have been read from memory after a sync of it failed, and then
            // syncing again would do nothing: only bytes written anew are sure to be written.
            rewrite(&*file, fresh.min(tail), tail)?;
            file.sync_data()?;
            file.len()
        };
        let bytes = harden().map_err(|error| LogError::io("recover", disk, &path, error))?;
        Ok((Blank { file, bytes }, Opened { next, cut }))
    }
}

/// The first place that is not the next record.
struct Bad {
    why: String,
    /// Where the last byte after it lies that is no newline.
    data_end: u64,
}

struct Walk<'d, V> {
    disk: &'d dyn Disk,
    visit: V,
    /// What comes next when all is well.
    next: Cursor,
    /// The records of a command that is not complete yet.
    group: Group,
    /// The largest `safe` so far, and where in the segment the first record says it. The records
    /// from there on are one batch, which nothing says was synced.
    safe: u64,
    fresh: u64,
}

#[derive(Default)]
struct Group {
    start: Option<Cursor>,
    done: u32,
    count: u32,
    bytes: Vec<u8>,
    held: Vec<(Cursor, Hash, usize)>,
}

impl<'d, V: FnMut(Entry<'_>) -> Result<(), VisitError>> Walk<'d, V> {
    fn new(disk: &'d dyn Disk, from: Cursor, visit: V) -> Self {
        let (safe, fresh) = (from.seq - 1, from.position.offset);
        Self { disk, visit, next: from, group: Group::default(), safe, fresh }
    }

    fn corrupt(&self, why: &str) -> LogError {
        LogError::Corrupt {
            segment: self.disk.place(&segment::path(self.next.position.segment)),
            offset: self.next.position.offset,
            seq: self.next.seq,
            why: why.to_owned(),
        }
    }

    fn io(&self, error: std::io::Error) -> LogError {
        LogError::io("read", self.disk, &segment::path(self.next.position.segment), error)
    }

    /// Checks that the record before the start is where the start says, so that a ledger that
    /// lost its end (an old backup put back) is not mistaken for one that has nothing more.
    fn check_start(&self, file: &dyn DiskFile) -> Result<(), LogError> {
        let Cursor { seq, position } = self.next;
        if position.offset == 0 {
            let same = position.segment == seq;
            return if same { Ok(()) } else { Err(self.corrupt("the segment begins elsewhere")) };
        }
        let back = position.offset.min(LINE_BYTES_MAX as u64);
        let mut bytes = vec![0; back as usize];
        let read = file.read_at(&mut bytes, position.offset - back).map_err(|e| self.io(e))?;
        let before = bytes[..read].strip_suffix(b"\n").filter(|_| read == bytes.len());
        let line = before.map(|before| {
            let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
            &before[start..]
        });
        let found = line.filter(|line| line::check(line).is_ok()).map(Envelope::read);
        match found {
            Some(Ok(envelope)) if envelope.seq + 1 == seq => Ok(()),
            _ => Err(self.corrupt("the record before it is not there")),
        }
    }

    /// Goes on to the next segment.
    fn enter(&mut self, first_seq: u64) -> Result<(), LogError> {
        if self.group.start.is_some() {
            return Err(self.corrupt("the rest of its command is missing before a later segment"));
        }
        if first_seq != self.next.seq {
            let why = format!("it is missing, and a later segment begins at {first_seq}");
            return Err(self.corrupt(&why));
        }
        self.next.position = Position { segment: first_seq, offset: 0 };
        self.fresh = 0;
        Ok(())
    }

    /// Reads one segment to its end, or to the first bad place and then on in search of proof.
    fn segment(&mut self, file: &dyn DiskFile) -> Result<Option<Bad>, LogError> {
        let mut pieces = Pieces::new(file, self.next.position.offset);
        let mut gap = false;
        let why = loop {
            let piece = match pieces.next() {
                Ok(piece) => piece,
                Err(error) => return Err(self.io(error)),
            };
            match piece {
                Piece::End => return Ok(None),
                Piece::Blank => gap = true,
                Piece::Line(_) | Piece::Broken(_) if gap => {
                    break "it is blank, and more follows".to_owned();
                }
                Piece::Broken(why) => break why.to_owned(),
                Piece::Line(line) => {
                    if let Err(why) = self.take(line)? {
                        break why;
                    }
                }
            }
        };
        let mut data_end = pieces.offset();
        // The piece that broke the order may itself be sound, and the proof.
        let mut pieces = Pieces::new(file, self.next.position.offset);
        loop {
            let piece = match pieces.next() {
                Ok(piece) => piece,
                Err(error) => return Err(self.io(error)),
            };
            match piece {
                Piece::End => return Ok(Some(Bad { why, data_end })),
                Piece::Blank => continue,
                Piece::Broken(_) => {}
                Piece::Line(line) => {
                    if let Some(later) = self.proof(line) {
                        let why = format!("{why}, and record {later} was written after its sync");
                        return Err(self.corrupt(&why));
                    }
                }
            }
            data_end = data_end.max(pieces.offset());
        }
    }

    /// Returns the number of a record that says that the next one was durable.
    fn proof(&self, line: &[u8]) -> Option<u64> {
        line::check(line).ok()?;
        let envelope = Envelope::read(line).ok()?;
        (envelope.safe >= self.next.seq).then_some(envelope.seq)
    }

    /// Takes a line as the next record, or says why it is not.
    fn take(&mut self, line: &[u8]) -> Result<Result<(), String>, LogError> {
        let checked = line::check(line).and_then(|hash| Ok((hash, Envelope::read(line)?)));
        let (hash, envelope) = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if envelope.seq != self.next.seq {
            return Ok(Err(format!("record {} stands in its place", envelope.seq)));
        }
        let (index, count) = envelope.part();
        let group = &mut self.group;
        let fits = match group.start {
            None => index == 0,
            Some(_) => (index, count) == (group.done, group.count),
        };
        if !fits {
            return Ok(Err(format!("part {index} of {count} does not follow its predecessor")));
        }
        if envelope.safe > self.safe {
            self.safe = envelope.safe;
            self.fresh = self.next.position.offset;
        }
        if count > 1 {
            group.start.get_or_insert(self.next);
            (group.done, group.count) = (index + 1, count);
            group.held.push((self.next, hash, line.len()));
            group.bytes.extend_from_slice(line);
        }
        let Cursor { seq, position } = self.next;
        self.next.seq += 1;
        self.next.position.offset += line.len() as u64 + 1;
        if count == 1 {
            self.show(Entry { position, seq, hash, bytes: line })?;
        } else if index + 1 == count {
            self.show_group()?;
        }
        Ok(Ok(()))
    }

    fn show_group(&mut self) -> Result<(), LogError> {
        let group = std::mem::take(&mut self.group);
        let mut rest = group.bytes.as_slice();
        for (Cursor { seq, position }, hash, length) in group.held {
            let (bytes, later) = rest.split_at(length);
            self.show(Entry { position, seq, hash, bytes })?;
            rest = later;
        }
        Ok(())
    }

    fn show(&mut self, entry: Entry<'_>) -> Result<(), LogError> {
        let seq = entry.seq;
        (self.visit)(entry).map_err(|source| LogError::Visit { seq, source })
    }

    fn finish(self, file: Arc<dyn DiskFile>, bad: Option<Bad>) -> Survey {
        let half = self.group.start;
        let cut = match (bad, half) {
            (None, None) => None,
            (None, Some(_)) => Some(Bad {
                why: "the rest of its command is missing".to_owned(),
                data_end: self.next.position.offset,
            }),
            (bad, _) => bad,
        };
        let next = half.unwrap_or(self.next);
        let cut = cut.map(|bad| Cut {
            first_seq: next.seq,
            position: next.position,
            bytes: bad.data_end - next.position.offset,
            reason: format!("record {}: {}", self.next.seq, bad.why),
        });
        Survey { file, next, cut, fresh: self.fresh }
    }
}

fn blank(file: &dyn DiskFile, from: u64, to: u64) -> std::io::Result<()> {
    let mut offset = from;
    while offset < to {
        let length = (to - offset).min(BLANK.len() as u64);
        file.write_at(&BLANK[..length as usize], offset)?;
        offset += length;
    }
    Ok(())
}

fn rewrite(file: &dyn DiskFile, from: u64, to: u64) -> std::io::Result<()> {
    let mut buffer = vec![0; BLANK.len()];
    let mut offset = from;
    while offset < to {
        let length = (to - offset).min(buffer.len() as u64) as usize;
        let read = file.read_at(&mut buffer[..length], offset)?;
        if read < length {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof));
        }
        file.write_at(&buffer[..length], offset)?;
        offset += length as u64;
    }
    Ok(())
}
