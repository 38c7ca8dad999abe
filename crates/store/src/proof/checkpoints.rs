//! The file of signed checkpoints: one note after the other, an empty line between, oldest first.
//!
//! It only grows. A crash may leave the last note half written: it is written over, and whatever
//! stands before it was synced.

use std::io;
use std::sync::Arc;

use super::note::{Checkpoint, NOTE_BYTES_MAX, VerifierKey};
use crate::disk::{Disk, DiskFile};

/// Where the notes lie.
pub(crate) const CHECKPOINTS: &str = "ledger/checkpoints";
/// How the name begins that the file gets when an operator accepts that records are lost; the
/// number of records that were left follows.
pub(crate) const LOST: &str = "checkpoints.lost-";
/// How much of the end is read to find the newest.
const TAIL_BYTES: u64 = 64 * 1024;
const CHUNK_BYTES: usize = 64 * 1024;

/// The newest checkpoint of a file, and where the next one goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newest {
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) note: String,
    end: u64,
}

/// Finds the newest checkpoint that `key` signed; without a key, the newest at all.
pub(crate) fn newest(disk: &dyn Disk, key: Option<&VerifierKey>) -> io::Result<Newest> {
    let file = match disk.open(CHECKPOINTS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Newest::default()),
        file => file?,
    };
    let length = file.len()?;
    let mut back = TAIL_BYTES;
    loop {
        let from = length.saturating_sub(back);
        let mut bytes = vec![0; usize::try_from(length - from).map_err(io::Error::other)?];
        let read = file.read_at(&mut bytes, from)?;
        bytes.truncate(read);
        if let Some(found) = last_in(&bytes, from, key) {
            return Ok(found);
        }
        if from == 0 {
            return Ok(Newest::default());
        }
        back *= 8;
    }
}

fn last_in(bytes: &[u8], base: u64, key: Option<&VerifierKey>) -> Option<Newest> {
    let signatures = memchr::memmem::rfind_iter(bytes, "\n\n\u{2014} ".as_bytes());
    for middle in signatures {
        let start = match memchr::memmem::rfind(&bytes[..middle], b"\n\n") {
            Some(before) => before + 2,
            None if base == 0 => 0,
            None => continue,
        };
        let Some((note, length)) = first_note(&bytes[start..]) else { continue };
        let read = match key {
            Some(key) => Checkpoint::open(note, key),
            None => note.split_once("\n\n").map_or_else(
                || Err(super::note::NoteError::Form),
                |(text, _)| Checkpoint::said(&note[..text.len() + 1]),
            ),
        };
        if let Ok(checkpoint) = read {
            let end = base + (start + length) as u64;
            return Some(Newest { checkpoint: Some(checkpoint), note: note.to_owned(), end });
        }
    }
    None
}

/// The note that `bytes` begin with, and how long it is with the empty line behind it.
fn first_note(bytes: &[u8]) -> Option<(&str, usize)> {
    let bytes = &bytes[..bytes.len().min(NOTE_BYTES_MAX)];
    let text = memchr::memmem::find(bytes, b"\n\n")?;
    let end = text + 2 + memchr::memmem::find(&bytes[text + 2..], b"\n\n")?;
    Some((std::str::from_utf8(&bytes[..=end]).ok()?, end + 2))
}

/// Adds a note behind the newest and makes it durable.
pub(crate) fn append(disk: &dyn Disk, newest: &mut Newest, note: &str) -> io::Result<()> {
    let file = match disk.open(CHECKPOINTS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = disk.create(CHECKPOINTS)?;
            disk.sync_dir("ledger")?;
            file
        }
        file => file?,
    };
    // The newest is written again: it may have been read from memory after a sync of it failed,
    // and only bytes written anew are sure to be written.
    let again = match newest.note.as_str() {
        "" => String::new(),
        note => format!("{note}\n"),
    };
    let start = newest.end - again.len() as u64;
    let mut bytes = format!("{again}{note}\n").into_bytes();
    let end = start + bytes.len() as u64;
    // What a crash left half written must not show behind what is written over it.
    let torn = usize::try_from(file.len()?.saturating_sub(start)).map_err(io::Error::other)?;
    bytes.resize(bytes.len().max(torn), b'\n');
    file.write_at(&bytes, start)?;
    file.sync_data()?;
    (newest.end, newest.note) = (end, note.to_owned());
    Ok(())
}

/// The files of checkpoints: those that were set aside with how many records were left, and the
/// one in use.
pub(crate) fn files(disk: &dyn Disk) -> io::Result<Vec<(String, Option<u64>)>> {
    let mut found = Vec::new();
    for name in disk.list("ledger")? {
        let left = name.strip_prefix(LOST).and_then(|digits| digits.parse().ok());
        if left.is_some() || CHECKPOINTS.strip_prefix("ledger/") == Some(&name) {
            found.push((format!("ledger/{name}"), left));
        }
    }
    Ok(found)
}

/// What comes next in a file of checkpoints.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A note.
    Note(String),
    /// Bytes that are none, from this place on.
    Damaged(u64),
    /// No more.
    End,
}

/// The notes of a file from its beginning.
pub(crate) struct Notes {
    file: Arc<dyn DiskFile>,
    buffer: Vec<u8>,
    base: u64,
    over: bool,
}

impl Notes {
    /// Reads the file at `path`.
    pub(crate) fn open(disk: &dyn Disk, path: &str) -> io::Result<Self> {
        let file = disk.open(path)?;
        Ok(Self { file, buffer: Vec::new(), base: 0, over: false })
    }

    /// Returns the next note. What stands at the end and is none was never finished.
    pub(crate) fn next(&mut self) -> io::Result<Next> {
        while !self.over && self.buffer.len() < NOTE_BYTES_MAX {
            let kept = self.buffer.len();
            self.buffer.resize(kept + CHUNK_BYTES, 0);
            let read = self.file.read_at(&mut self.buffer[kept..], self.base + kept as u64)?;
            self.buffer.truncate(kept + read);
            self.over = read < CHUNK_BYTES;
        }
        if let Some((note, length)) = first_note(&self.buffer) {
            let note = note.to_owned();
            self.buffer.drain(..length);
            self.base += length as u64;
            return Ok(Next::Note(note));
        }
        let torn = self.over && self.buffer.len() < NOTE_BYTES_MAX;
        Ok(if torn { Next::End } else { Next::Damaged(self.base) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::note::Signer;
    use super::*;
    use crate::hash::Hash;
    use crate::sim::SimDisk;

    fn ledger() -> (SimDisk, Signer) {
        let disk = SimDisk::new(5);
        disk.create_dir("ledger").unwrap();
        disk.sync_dir("").unwrap();
        (disk, Signer::new(&[1; 32]))
    }

    fn add(disk: &SimDisk, signer: &Signer, size: u64) -> io::Result<()> {
        let mut at = newest(disk, Some(&signer.verifier()))?;
        let checkpoint = Checkpoint { size, root: Hash::of(&size.to_be_bytes()) };
        append(disk, &mut at, &checkpoint.sign(signer))
    }

    fn sizes(disk: &SimDisk, key: &VerifierKey) -> Vec<u64> {
        let mut notes = Notes::open(disk, CHECKPOINTS).unwrap();
        let mut sizes = Vec::new();
        loop {
            match notes.next().unwrap() {
                Next::Note(note) => sizes.push(Checkpoint::open(&note, key).unwrap().size),
                Next::Damaged(at) => panic!("damaged at {at}"),
                Next::End => return sizes,
            }
        }
    }

    #[test]
    fn the_newest_is_found_and_the_next_follows_it() {
        let (disk, signer) = ledger();
        let key = signer.verifier();
        assert_eq!(newest(&disk, Some(&key)).unwrap().checkpoint, None);
        for size in 1..=600 {
            add(&disk, &signer, size).unwrap();
        }
        assert_eq!(sizes(&disk, &key), (1..=600).collect::<Vec<_>>());
        assert_eq!(newest(&disk, Some(&key)).unwrap().checkpoint.unwrap().size, 600);
        assert_eq!(newest(&disk, None).unwrap().checkpoint.unwrap().size, 600);
        let other = Signer::new(&[2; 32]).verifier();
        assert_eq!(newest(&disk, Some(&other)).unwrap().checkpoint, None);
    }

    #[test]
    fn a_power_cut_leaves_the_checkpoints_before_it() {
        for nth in 0..8 {
            for seed in 0..60 {
                let (disk, signer) = ledger();
                for size in 1..=9 {
                    add(&disk, &signer, size).unwrap();
                }
                disk.cut_power_at(nth);
                let done = add(&disk, &signer, 10).is_ok();
                let found = disk.crash(seed);
                let size = newest(&found, Some(&signer.verifier())).unwrap().checkpoint.unwrap();
                assert!(size.size == 10 || size.size == 9 && !done, "{nth}, {seed}");
                add(&found, &signer, 11).unwrap();
                let all = sizes(&found, &signer.verifier());
                assert!(all == (1..=11).collect::<Vec<_>>() || all.len() == 10, "{all:?}");
            }
        }
    }
}
