//! What hooks of one session know of each other: a small file in `.baton/run/hooks/AGENT/`.
//!
//! It may be lost at any time; then something is told twice. It never keeps a hook from answering.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use baton_protocol::id::AgentId;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::workspace::Workspace;

/// Things that one session was told of and that are remembered.
const REMEMBERED_MAX: usize = 4_096;
/// Bytes of the file; a larger one is not ours.
const BYTES_MAX: u64 = 1024 * 1024;
/// Files of one agent that are looked at.
const SESSIONS_MAX: usize = 1_000;
/// A session that was not heard of for so long is over.
const LIVES: Duration = Duration::from_secs(24 * 60 * 60);
/// How often an agent says that it is there.
const BEAT_EVERY: Duration = Duration::from_secs(10);
/// How often a packet is kept for a program that says it may compact and mostly does not.
const PACK_EVERY: Duration = Duration::from_secs(10 * 60);
/// Characters of a session's name that count.
const NAME_MAX: usize = 64;

/// What a session was told, and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Memory {
    /// What of the inbox it was told.
    pub(super) noticed: Vec<String>,
    /// Holds that it was asked about when it stopped.
    pub(super) asked_about: Vec<String>,
    /// Holds that it knows to be over.
    pub(super) known_gone: Vec<String>,
    /// Whether it used a tool that does more than look.
    pub(super) begun: bool,
}

/// Where it is kept.
#[derive(Clone, Debug)]
pub(super) struct Notebook {
    folder: PathBuf,
    name: String,
}

impl Notebook {
    pub(super) fn of(workspace: &Workspace, agent: &AgentId, session: Option<&str>) -> Self {
        let safe = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let name: String = session.unwrap_or("").chars().filter(safe).take(NAME_MAX).collect();
        let name = if name.is_empty() { "session".to_owned() } else { name };
        let folder = workspace.run().join("hooks").join(agent.as_str());
        Self { folder, name: format!("{name}.json") }
    }

    pub(super) fn read(&self) -> Memory {
        let path = self.folder.join(&self.name);
        let small = fs::metadata(&path).is_ok_and(|data| data.is_file() && data.len() <= BYTES_MAX);
        let text = if small { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Keeps it; the oldest is forgotten when it is too much.
    pub(super) fn write(&self, memory: &Memory) {
        let mut memory = memory.clone();
        for list in [&mut memory.noticed, &mut memory.asked_about, &mut memory.known_gone] {
            let over = list.len().saturating_sub(REMEMBERED_MAX);
            list.drain(..over);
        }
        let kept = || -> std::io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            let mut file = NamedTempFile::new_in(&self.folder)?;
            file.write_all(&serde_json::to_vec(&memory)?)?;
            file.persist(self.folder.join(&self.name))?;
            Ok(())
        };
        if let Err(error) = kept() {
            super::trace(&format!("cannot remember: {error}"));
        }
    }

    /// The session begins: what it was told before is gone with its context. Sessions that ended
    /// without a word are cleared away.
    pub(super) fn begin(&self) -> Memory {
        for (path, age) in self.all() {
            if age > LIVES && fs::remove_file(&path).is_err() {
                break;
            }
        }
        Memory { begun: self.read().begun, ..Memory::default() }
    }

    pub(super) fn forget(&self) {
        // Whether it was there or not, it is not there now.
        let _ = fs::remove_file(self.folder.join(&self.name));
    }

    /// Whether another session of the same agent may still be at work.
    pub(super) fn has_company(&self) -> bool {
        let own = self.folder.join(&self.name);
        self.all().into_iter().any(|(path, age)| path != own && age <= LIVES)
    }

    /// Whether it is time to say that the agent is there. Whoever asks first says it.
    pub(super) fn beats(&self) -> bool {
        let path = self.folder.join("beat");
        if age(&path).is_some_and(|age| age < BEAT_EVERY) {
            return false;
        }
        let beat = touch(&self.folder, &path, true);
        // The session is seen to live, too.
        let lives = touch(&self.folder, &self.folder.join(&self.name), false);
        beat && lives
    }

    /// Whether it is time to keep another packet. Whoever asks first keeps it.
    pub(super) fn packs(&self) -> bool {
        let path = self.folder.join("packed");
        age(&path).is_none_or(|age| age >= PACK_EVERY) && touch(&self.folder, &path, true)
    }

    fn all(&self) -> Vec<(PathBuf, Duration)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().take(SESSIONS_MAX);
        let sessions = entries.map(|entry| entry.path());
        let sessions = sessions.filter(|path| path.extension().is_some_and(|end| end == "json"));
        sessions.filter_map(|path| age(&path).map(|age| (path, age))).collect()
    }
}

/// Writes down that a file was written now, and makes it if need be.
fn touch(folder: &Path, path: &Path, empty: bool) -> bool {
    let file = fs::create_dir_all(folder).and_then(|()| {
        File::options().append(!empty).write(true).truncate(empty).create(true).open(path)
    });
    file.and_then(|file| file.set_modified(SystemTime::now())).is_ok()
}

/// How long ago a file was written; a moment that lies ahead is now.
fn age(path: &Path) -> Option<Duration> {
    let written = path.metadata().and_then(|data| data.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notebook(folder: &Path, session: &str) -> Notebook {
        let (workspace, _) = Workspace::create(folder).expect("a workspace");
        Notebook::of(&workspace, &"coder".parse().expect("a name"), Some(session))
    }

    #[test]
    fn a_session_remembers_and_another_one_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let book = notebook(folder.path(), "../../one");
        assert_eq!(book.read(), Memory::default());
        let noticed = (0..REMEMBERED_MAX + 1).map(|n| n.to_string()).collect();
        book.write(&Memory { noticed, begun: true, ..Memory::default() });
        assert_eq!(book.read().noticed.len(), REMEMBERED_MAX);
        assert!(book.folder.join("one.json").is_file(), "no name leads out of the folder");
        let other = notebook(folder.path(), "two");
        assert_eq!((other.read(), other.has_company()), (Memory::default(), true));
        assert!(!book.has_company(), "one is not company for oneself");
        assert_eq!(book.begin(), Memory { begun: true, ..Memory::default() });
        book.forget();
        assert!(!other.has_company());
        fs::write(book.folder.join("one.json"), b"\xff{").expect("a file");
        assert_eq!(book.read(), Memory::default());
    }

    #[test]
    fn a_heart_beats_once_in_a_while() {
        let folder = tempfile::tempdir().expect("a folder");
        let book = notebook(folder.path(), "one");
        assert_eq!([book.beats(), book.beats()], [true, false]);
        let long_ago = SystemTime::now() - BEAT_EVERY;
        let beat = File::options().write(true).open(book.folder.join("beat")).expect("a file");
        beat.set_modified(long_ago).expect("a time");
        assert_eq!([book.beats(), book.beats()], [true, false]);
    }
}
