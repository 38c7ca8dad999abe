//! What the disk alone can do: the same bytes, the same boundaries, nothing else.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The size of the file; writing starts over at its end, as pre-written space stays pre-written.
const FILE_BYTES: usize = 64 * 1024 * 1024;
/// The largest single write; syncs that long are far beyond what is measured.
const WRITE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A pre-written file.
pub(super) struct Raw {
    file: File,
    bytes: Vec<u8>,
    offset: usize,
}

impl Raw {
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        let file = File::create(folder.join("raw"))?;
        let bytes = vec![b'\n'; WRITE_BYTES_MAX];
        for offset in (0..FILE_BYTES).step_by(WRITE_BYTES_MAX) {
            file.write_all_at(&bytes, offset as u64)?;
        }
        file.sync_all()?;
        Ok(Self { file, bytes, offset: 0 })
    }

    /// Writes and syncs at the given boundaries. Returns how long that took.
    pub(super) fn replay(&mut self, boundaries: &[usize]) -> io::Result<Duration> {
        let start = Instant::now();
        for &size in boundaries {
            let size = size.min(WRITE_BYTES_MAX);
            if self.offset + size > FILE_BYTES {
                self.offset = 0;
            }
            self.file.write_all_at(&self.bytes[..size], self.offset as u64)?;
            self.file.sync_data()?;
            self.offset += size;
        }
        Ok(start.elapsed())
    }
}

/// The type of the file system that holds `folder`.
pub(super) fn file_system(folder: &Path) -> io::Result<String> {
    let folder = folder.canonicalize()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    let best = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (_, place, kind) = (words.next()?, words.next()?, words.next()?);
            folder.starts_with(place).then(|| (place.len(), kind.to_owned()))
        })
        .max_by_key(|(length, _)| *length);
    Ok(best.map_or_else(|| "an unknown file system".to_owned(), |(_, kind)| kind))
}
