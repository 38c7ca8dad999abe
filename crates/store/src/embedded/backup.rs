//! Copying a ledger while it is in use.
//!
//! The log only ever grows at its end, so a copy of its records up to a known number is whole,
//! whatever is written meanwhile. Snapshots and the index are left out: the log gives both again.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::blob;
use crate::disk::RealDisk;
use crate::log::{Cursor, LogReader, Position};
use crate::proof::checkpoints::{CHECKPOINTS, Next, Notes};
use crate::proof::note::Checkpoint;

/// Copies the records up to `last`, and the bodies they may name, into the empty folder `to`.
pub(super) fn backup(
    reader: &LogReader,
    last: u64,
    root: &Path,
    to: &Path,
) -> io::Result<(u64, u64)> {
    make_folder(to)?;
    if fs::read_dir(to)?.next().is_some() {
        let why = format!("{} is not empty", to.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    let mut copied = Copied::default();
    // Bodies first: a body may be there without its record, never the other way round.
    copied.tree(&root.join("blobs"), &to.join("blobs"))?;
    make_folder(&to.join("ledger"))?;
    copied.file(&root.join("ledger/FORMAT"), &to.join("ledger/FORMAT"))?;
    copied.records(reader, last, &to.join("ledger"))?;
    copied.checkpoints(last, root, to)?;
    fs::File::open(to.join("ledger"))?.sync_all()?;
    fs::File::open(to)?.sync_all()?;
    Ok((copied.files, copied.bytes))
}

#[derive(Default)]
struct Copied {
    files: u64,
    bytes: u64,
}

impl Copied {
    fn file(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.bytes += fs::copy(from, to)?;
        self.files += 1;
        fs::File::open(to)?.sync_all()
    }

    /// Copies a folder of folders of files; there is nothing deeper.
    fn tree(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        make_folder(to)?;
        if !from.exists() {
            return Ok(());
        }
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            // A body that is being written has no name yet, and is gone in a moment.
            if entry.file_name().as_encoded_bytes().starts_with(blob::ASIDE.as_bytes()) {
                continue;
            }
            let target = to.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => self.tree(&entry.path(), &target)?,
                false => self.file(&entry.path(), &target)?,
            }
        }
        fs::File::open(to)?.sync_all()
    }

    /// Copies the checkpoints over what is copied, and the key, so that the copy can go on. A key
    /// that no copied checkpoint is signed with has signed nothing there yet.
    fn checkpoints(&mut self, last: u64, root: &Path, to: &Path) -> io::Result<()> {
        let disk = RealDisk::new(root)?;
        let mut kept = String::new();
        if root.join(CHECKPOINTS).exists() {
            let mut notes = Notes::open(&disk, CHECKPOINTS)?;
            while let Next::Note(note) = notes.next()? {
                let text = note.split_once("\n\n").map_or("", |(text, _)| text);
                if Checkpoint::said(&format!("{text}\n")).is_ok_and(|said| said.size <= last) {
                    kept.push_str(&note);
                    kept.push('\n');
                }
            }
        }
        let key = ["keys/checkpoint.key", "keys/checkpoint.key.new"];
        let Some(from) = key.iter().map(|key| root.join(key)).find(|key| key.exists()) else {
            return Ok(());
        };
        make_folder(&to.join("keys"))?;
        if !kept.is_empty() {
            let mut file = io::BufWriter::new(make_file(&to.join(CHECKPOINTS))?);
            file.write_all(kept.as_bytes())?;
            finish(file)?;
            self.files += 1;
            self.bytes += kept.len() as u64;
        }
        self.file(&from, &to.join(key[usize::from(kept.is_empty())]))?;
        fs::File::open(to.join("keys"))?.sync_all()
    }

    fn records(&mut self, reader: &LogReader, last: u64, to: &Path) -> io::Result<()> {
        let mut segment: Option<(Position, io::BufWriter<fs::File>)> = None;
        let walked = reader.scan(Cursor::START, last, |entry| {
            let place = entry.position;
            if segment.as_ref().is_none_or(|(at, _)| at.segment != place.segment) {
                if let Some((_, file)) = segment.take() {
                    finish(file)?;
                }
                let name = to.join(format!("{:012}.jsonl", place.segment));
                segment = Some((place, io::BufWriter::new(make_file(&name)?)));
                self.files += 1;
            }
            if let Some((_, file)) = &mut segment {
                file.write_all(entry.bytes)?;
                file.write_all(b"\n")?;
                self.bytes += entry.bytes.len() as u64 + 1;
            }
            Ok(())
        });
        walked.map_err(io::Error::other)?;
        segment.map_or(Ok(()), |(_, file)| finish(file))
    }
}

/// Makes a folder that is nobody else's business.
fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn make_file(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn finish(file: io::BufWriter<fs::File>) -> io::Result<()> {
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}
