//! The notes on disk: one small file each, written whole, in the order of their names.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use baton_protocol::tag::TagMove;
use baton_protocol::time::Timestamp;
use baton_tags::open_plain;
use baton_tags::state::{Proc, Processes};
use serde::{Deserialize, Serialize};

use crate::workspace::Workspace;

/// Bytes of one note.
const NOTE_BYTES_MAX: u64 = 64 * 1024;
/// Notes that are looked at.
const NOTES_MAX: usize = 10_000;
/// Bytes of a note's name.
const NAME_BYTES_MAX: usize = 100;
/// How long another one who delivers is waited for.
const TURN_WITHIN: Duration = Duration::from_secs(1);
/// Where notes go that nobody will ever accept.
const REFUSED: &str = "refused";
const SUFFIX: &str = ".json";
const LOCK: &str = ".lock";
/// How a note begins that is being written, and how long that may take.
const ASIDE: &str = ".note-";
const ASIDE_AGE_MAX: Duration = Duration::from_secs(3_600);

/// A move and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// Who is about to make the move, or to tell of it; nobody when anybody may tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) writer: Option<Writer>,
    /// Whether it was made.
    pub(super) made: bool,
    #[serde(rename = "move")]
    pub(super) moved: TagMove,
}

/// A process, told apart from all others that ever had its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Writer {
    pid: u32,
    started: u64,
    boot: String,
}

impl Writer {
    /// This process.
    pub(super) fn own() -> Option<Self> {
        let own = Proc.name(std::process::id()).ok()?;
        Some(Self { pid: own.pid, started: own.started, boot: own.boot })
    }

    /// Whether it surely does nothing any more.
    pub(super) fn is_dead(&self) -> bool {
        match (Proc.boot(), Proc.look(self.pid)) {
            (Ok(boot), _) if boot != self.boot => true,
            (Ok(_), Ok(None)) => true,
            (Ok(_), Ok(Some(found))) => found.started != self.started || found.zombie,
            (Err(_), _) | (_, Err(_)) => false,
        }
    }
}

/// The folder of notes.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    folder: PathBuf,
}

impl Notes {
    /// The folder, if there is one.
    pub(super) fn existing(workspace: &Workspace) -> Option<Self> {
        let folder = workspace.spool();
        folder.is_dir().then_some(Self { folder })
    }

    /// The folder, made if need be. It is as private as the ledger.
    pub(super) fn open(workspace: &Workspace) -> io::Result<Self> {
        let folder = workspace.spool();
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(Self { folder })
    }

    /// The names of notes, the oldest first.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_note = |name: &String| {
            let stem = name.strip_suffix(SUFFIX);
            name.len() <= NAME_BYTES_MAX && stem.is_some_and(|stem| stem.bytes().all(plain))
        };
        let mut names: Vec<_> = entries.filter_map(name).filter(is_note).collect();
        // A folder has no order: cut before it is sorted, the oldest could be missing.
        names.sort_unstable();
        names.truncate(NOTES_MAX);
        names
    }

    /// A name that no other note has, behind all that are older.
    pub(super) fn fresh_name(&self, at: Timestamp) -> Option<String> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).ok()?;
        Some(format!("{:018}-{:016x}{SUFFIX}", at.as_micros(), u64::from_be_bytes(bytes)))
    }

    /// Reads a note; nothing if it is gone.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<Note>> {
        let file = match open_plain(&self.folder.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a file"));
        }
        let mut text = Vec::new();
        file.take(NOTE_BYTES_MAX + 1).read_to_end(&mut text)?;
        if text.len() as u64 > NOTE_BYTES_MAX {
            return Err(io::Error::other("too large"));
        }
        serde_json::from_slice(&text).map(Some).map_err(io::Error::other)
    }

    /// Writes a note, whole or not at all, in place of what has its name.
    pub(super) fn write(&self, name: &str, note: &Note) -> io::Result<()> {
        let text = serde_json::to_vec(note).map_err(io::Error::other)?;
        if text.len() as u64 > NOTE_BYTES_MAX {
            return Err(io::Error::other("too large"));
        }
        let mut aside = tempfile::Builder::new().prefix(ASIDE).tempfile_in(&self.folder)?;
        aside.write_all(&text)?;
        aside.as_file().sync_all()?;
        aside.persist(self.folder.join(name)).map_err(|failed| failed.error)?;
        File::open(&self.folder)?.sync_all()
    }

    /// Takes away what processes left that were killed while they wrote.
    pub(super) fn sweep(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.take(NOTES_MAX) {
            let is_aside = entry.file_name().to_string_lossy().starts_with(ASIDE);
            let age = entry.metadata().and_then(|data| data.modified()).map(|at| at.elapsed());
            if is_aside && age.is_ok_and(|age| age.is_ok_and(|age| age > ASIDE_AGE_MAX)) {
                // One that stays is taken the next time.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Takes a note away. One that is gone already is no error.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Puts a note where nobody tries it again.
    pub(super) fn refuse(&self, name: &str) -> io::Result<()> {
        let refused = self.folder.join(REFUSED);
        DirBuilder::new().recursive(true).mode(0o700).create(&refused)?;
        fs::rename(self.folder.join(name), refused.join(name))
    }

    /// Whether a note was put there.
    pub(super) fn is_refused(&self, name: &str) -> bool {
        self.folder.join(REFUSED).join(name).exists()
    }

    /// The turn to deliver, which only one has at a time.
    pub(super) fn turn(&self) -> Option<File> {
        let mut private = OpenOptions::new();
        private.create(true).append(true).mode(0o600);
        let path = self.folder.join(LOCK);
        // A pipe in its place would hold everybody up.
        if path.symlink_metadata().is_ok_and(|there| !there.is_file()) {
            return None;
        }
        let lock = private.open(path).ok()?;
        let begun = Instant::now();
        while lock.try_lock().is_err() {
            if begun.elapsed() > TURN_WITHIN {
                return None;
            }
            sleep(Duration::from_millis(5));
        }
        Some(lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_notes_the_oldest_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        for at in (0..=NOTES_MAX).rev() {
            fs::write(folder.path().join(format!("{at:018}-a{SUFFIX}")), "").unwrap();
        }
        let names = Notes { folder: folder.path().to_owned() }.names();
        assert_eq!(names.len(), NOTES_MAX);
        assert_eq!(names[0], format!("{:018}-a{SUFFIX}", 0));
        assert_eq!(names[NOTES_MAX - 1], format!("{:018}-a{SUFFIX}", NOTES_MAX - 1));
    }
}
