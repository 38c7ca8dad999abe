//! Writing segments anew with other lines in the place of some: the one thing that ever replaces a
//! line, and only by a stub that keeps its hash.
//!
//! Each segment is written aside, synced and renamed, the earliest first, so that after a crash
//! every segment is the old one or the new one, and none is new while an earlier one is old.

use std::sync::Arc;

use super::scan::{Piece, Pieces};
use super::segment::{self, BLANK};
use super::{FOLDER, LogError};
use crate::disk::{Disk, DiskFile};

const ASIDE: &str = "ledger/rewrite.tmp";
/// How much is gathered before it is written.
const CHUNK_BYTES: usize = 1024 * 1024;

/// Shows `visit` every line of every segment. Whoever calls holds the ledger's lock.
pub(crate) fn lines(disk: &dyn Disk, mut visit: impl FnMut(&[u8])) -> Result<(), LogError> {
    for segment in segment::list(disk)? {
        each(disk, segment, |line| {
            visit(line);
            Ok(())
        })?;
    }
    Ok(())
}

/// Writes every segment anew in which `replace` has another line for some line. Returns how many
/// lines were replaced. Whoever calls holds the ledger's lock, and nobody reads.
pub(crate) fn rewrite(
    disk: &dyn Disk,
    replace: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<u64, LogError> {
    let segments = segment::list(disk)?;
    let mut count = 0;
    for (n, &segment) in segments.iter().enumerate() {
        let mut replaced = 0;
        each(disk, segment, |line| {
            replaced += u64::from(replace(line).is_some());
            Ok(())
        })?;
        if replaced > 0 {
            write(disk, segment, n + 1 == segments.len(), &replace)?;
            count += replaced;
        }
    }
    Ok(count)
}

fn each(
    disk: &dyn Disk,
    segment: u64,
    mut visit: impl FnMut(&[u8]) -> Result<(), LogError>,
) -> Result<Arc<dyn DiskFile>, LogError> {
    let path = segment::path(segment);
    let file = disk.open(&path).map_err(|error| LogError::io("open", disk, &path, error))?;
    let mut pieces = Pieces::new(&*file, 0);
    loop {
        match pieces.next().map_err(|error| LogError::io("read", disk, &path, error))? {
            Piece::Line(line) => visit(line)?,
            Piece::Blank => (),
            Piece::End => return Ok(file),
            Piece::Broken(why) => {
                let (segment, offset) = (disk.place(&path), pieces.offset());
                let why = why.to_owned();
                return Err(LogError::Corrupt { segment, offset, seq: 0, why });
            }
        }
    }
}

fn write(
    disk: &dyn Disk,
    segment: u64,
    is_last: bool,
    replace: &impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<(), LogError> {
    let path = segment::path(segment);
    let failed = |error| LogError::io_or_full("write", disk, ASIDE, error);
    let aside = disk.create(ASIDE).map_err(failed)?;
    let (mut chunk, mut offset) = (Vec::new(), 0);
    let old = each(disk, segment, |line| {
        match replace(line) {
            Some(other) => chunk.extend_from_slice(&other),
            None => chunk.extend_from_slice(line),
        }
        chunk.push(b'\n');
        if chunk.len() >= CHUNK_BYTES {
            aside.write_at(&chunk, offset).map_err(failed)?;
            offset += chunk.len() as u64;
            chunk.clear();
        }
        Ok(())
    })?;
    aside.write_at(&chunk, offset).map_err(failed)?;
    offset += chunk.len() as u64;
    // The one that is appended to goes on being full of newlines.
    let end = if is_last { old.len().map_err(failed)? } else { offset };
    while offset < end {
        let length = BLANK.len().min(usize::try_from(end - offset).unwrap_or(usize::MAX));
        aside.write_at(&BLANK[..length], offset).map_err(failed)?;
        offset += length as u64;
    }
    aside.sync_data().map_err(failed)?;
    disk.rename(ASIDE, &path).map_err(failed)?;
    disk.sync_dir(FOLDER).map_err(|error| LogError::io("sync", disk, FOLDER, error))
}
