//! The folder where compact artifacts are kept: at most three of switches, and three that an agent
//! left for itself.
//!
//! It may also hold what people and other programs wrote by hand. What cannot be read is told, left
//! alone, and given to nobody.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use baton_context::{Artifact, Compact, Tokenizer};
use baton_protocol::id::AgentId;
use baton_protocol::limits::{COMPACT_BYTES_MAX, COMPACT_KEPT_MAX};
use baton_protocol::time::Timestamp;
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::workspace::Workspace;

/// The name for whoever comes next, when nobody is named.
pub(crate) const WHOEVER: &str = "next";
/// Files of one folder that are looked at.
const FILES_MAX: usize = 1_000;
/// Names that are tried for one artifact: as many in one second are no agents' work.
const NAMES_MAX: usize = 1_000;

/// How long one waits for another who changes the folder.
const LOCKED_WITHIN: Duration = Duration::from_secs(5);

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
}

/// An artifact on it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    pub(crate) artifact: Artifact,
    /// What it is ordered by: the time that it says, or else when it was written.
    pub(crate) at: Timestamp,
}

impl Kept {
    /// The agent that left it for itself, if one did.
    fn owner(&self) -> Option<&AgentId> {
        let content = self.artifact.content();
        let own = content.from_agent == content.to_agent && content.to_agent.as_str() != WHOEVER;
        own.then_some(&content.to_agent)
    }

    /// Whether it concerns `agent`: what others left for themselves does not.
    pub(crate) fn concerns(&self, agent: &AgentId) -> bool {
        self.owner().is_none_or(|owner| owner == agent)
    }
}

/// Whether an artifact of this name concerns `agent`, as [`Kept::concerns`] tells from its content.
pub(crate) fn concerns(name: &str, agent: &AgentId) -> bool {
    let named = name.strip_prefix("handoff-").and_then(|rest| rest.split_once("-to-"));
    named.is_none_or(|(from, rest)| {
        let own = rest.strip_prefix(from).is_some_and(|rest| rest.starts_with('-'));
        !own || from == WHOEVER || from == agent.as_str()
    })
}

/// What is on it, the oldest first, and what could not be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inventory {
    pub(crate) kept: Vec<Kept>,
    pub(crate) notes: Vec<String>,
}

impl Shelf {
    /// The named folder, seen from where the caller stands, or the workspace's.
    pub(crate) fn of(
        named: Option<&Path>,
        workspace: Result<Workspace, Failure>,
    ) -> Result<Self, Failure> {
        let folder = match named {
            Some(folder) => folder.to_owned(),
            None => workspace?.settings()?.handoffs_dir,
        };
        Ok(Self { folder })
    }

    /// Makes the folder if need be, and keeps others from changing it until the lock is let go.
    ///
    /// Without it, of two switches at once each could drop what the other wrote.
    pub(crate) fn lock(&self) -> Result<File, Failure> {
        let wrong = |error: io::Error| self.wrong("write to", &error);
        fs::create_dir_all(&self.folder).map_err(wrong)?;
        let folder = File::open(&self.folder).map_err(wrong)?;
        let until = Instant::now() + LOCKED_WITHIN;
        loop {
            match folder.try_lock() {
                Ok(()) => return Ok(folder),
                Err(fs::TryLockError::WouldBlock) if Instant::now() < until => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(fs::TryLockError::WouldBlock) => {
                    let sentence = format!("another switch is busy in {}", self.folder.display());
                    return Err(Failure::failed(sentence, "try again in a moment"));
                }
                Err(fs::TryLockError::Error(error)) => return Err(wrong(error)),
            }
        }
    }

    /// What is there by its name alone, the newest first, for who has no time to read it: the name
    /// ends with the time.
    pub(crate) fn names(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().take(FILES_MAX);
        let mut names: Vec<_> =
            entries.map(|entry| entry.path()).filter(|path| is_named(path)).collect();
        let time = |path: &PathBuf| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            name.split('-').find(|part| part.len() == 16 && part.ends_with('Z')).map(str::to_owned)
        };
        names.sort_by_cached_key(|path| std::cmp::Reverse((time(path), path.clone())));
        names
    }

    /// Reads what is there; a folder that is not there is empty.
    pub(crate) fn read(&self, tokenizer: Tokenizer) -> Result<Inventory, Failure> {
        let mut inventory = Inventory::default();
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(inventory),
            Err(error) => return Err(self.wrong("read", &error)),
        };
        for entry in entries.flatten().take(FILES_MAX) {
            let path = entry.path();
            if !is_named(&path) {
                continue;
            }
            match read(&path, tokenizer) {
                Ok((kept, notes)) => {
                    let name = path.display();
                    let notes = notes.into_iter().map(|note| format!("{name}: {note}"));
                    inventory.notes.extend(notes);
                    inventory.kept.push(kept);
                }
                // Another took it away meanwhile.
                Err(_) if !path.exists() => (),
                Err(why) => {
                    let name = path.display();
                    inventory.notes.push(format!("{name} is left alone: {why}"));
                }
            }
        }
        inventory.notes.sort();
        inventory.kept.sort_by(|a, b| (a.at, &a.path).cmp(&(b.at, &b.path)));
        Ok(inventory)
    }

    /// Writes an artifact under a name that nobody has, and returns where.
    pub(crate) fn put(&self, compact: &Compact, at: Timestamp) -> Result<PathBuf, Failure> {
        let wrong = |error: io::Error| self.wrong("write to", &error);
        let ignore = self.folder.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(wrong)?;
        }
        let content = compact.artifact.content();
        let (from, to) = (&content.from_agent, &content.to_agent);
        let second: String = at.to_string().chars().take(19).filter(|c| *c != ':').collect();
        let stem = format!("handoff-{from}-to-{to}-{}Z", second.replace('-', ""));
        let mut file = self.aside(&compact.yaml).map_err(wrong)?;
        for number in 1..=NAMES_MAX {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = self.folder.join(format!("{stem}{suffix}.yaml"));
            match file.persist_noclobber(&path) {
                Ok(_) => return Ok(path),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    file = error.file;
                }
                Err(error) => return Err(wrong(error.error)),
            }
        }
        let taken = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(self.wrong("write to", &taken))
    }

    /// Takes away the oldest until only as many are left as are kept, and returns what went. What
    /// an agent left for itself is counted by itself: nobody else's may push it out.
    pub(crate) fn drop_oldest(&self, kept: &mut Vec<Kept>) -> Result<Vec<PathBuf>, Failure> {
        let mut counts: HashMap<_, usize> = HashMap::new();
        let is_over = |kept: &&Kept| {
            let count = counts.entry(kept.owner().cloned()).or_default();
            *count += 1;
            *count > COMPACT_KEPT_MAX
        };
        let newest_first = kept.iter().rev();
        let oldest: Vec<_> = newest_first.filter(is_over).map(|kept| kept.path.clone()).collect();
        self.drop_those(kept, |kept| oldest.contains(&kept.path))
    }

    /// Takes some away, and returns what went.
    pub(crate) fn drop_those(
        &self,
        kept: &mut Vec<Kept>,
        these: impl Fn(&Kept) -> bool,
    ) -> Result<Vec<PathBuf>, Failure> {
        let mut dropped = Vec::new();
        for old in kept.extract_if(.., |kept| these(kept)) {
            match fs::remove_file(&old.path) {
                // Another switch at the same time drops the same.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(self.wrong("clear", &error));
                }
                Ok(()) | Err(_) => dropped.push(old.path),
            }
        }
        Ok(dropped)
    }

    /// Writes down that the agent which an artifact is for has had it, if it is still kept.
    pub(crate) fn mark_consumed(&self, path: &Path, artifact: Artifact) -> Result<(), Failure> {
        let _lock = self.lock()?;
        if !path.exists() {
            return Ok(());
        }
        let wrong = |error: io::Error| self.wrong("write to", &error);
        let file = self.aside(&artifact.consumed().to_yaml()).map_err(wrong)?;
        file.persist(path).map(drop).map_err(|error| wrong(error.error))
    }

    /// A file that nobody reads before it has its name, and all of it is on the disk.
    fn aside(&self, text: &str) -> io::Result<NamedTempFile> {
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    fn wrong(&self, what: &str, error: &io::Error) -> Failure {
        let sentence = format!("cannot {what} {}: {error}", self.folder.display());
        Failure::failed(sentence, "name a folder that is yours with --handoffs DIR")
    }
}

/// Whether a file is named as artifacts are: `handoff-{from}-to-{to}-{timestamp}.yaml`.
fn is_named(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"));
    stem.is_some_and(|stem| stem.starts_with("handoff-") && stem.contains("-to-"))
}

fn read(path: &Path, tokenizer: Tokenizer) -> Result<(Kept, Vec<String>), String> {
    let data = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    if !data.is_file() {
        return Err("no plain file".to_owned());
    }
    if data.len() > COMPACT_BYTES_MAX as u64 {
        return Err(format!("{} bytes; expected at most {COMPACT_BYTES_MAX}", data.len()));
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let read = Artifact::read(&text, tokenizer).map_err(|error| error.to_string())?;
    let written = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let written = written.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let written = i64::try_from(written.as_micros()).unwrap_or(i64::MAX);
    let at = read.artifact.timestamp().unwrap_or_else(|| Timestamp::from_micros(written));
    Ok((Kept { path: path.to_owned(), artifact: read.artifact, at }, read.notes))
}

#[cfg(test)]
mod tests {
    use baton_context::{Door, Draft};

    use super::*;

    fn shelf(folder: &Path) -> Shelf {
        let shelf = Shelf { folder: folder.join("deep/handoffs") };
        drop(shelf.lock().expect("a folder"));
        shelf
    }

    fn name(name: &str) -> AgentId {
        name.parse().expect("a name")
    }

    fn compact(second: i64) -> (Compact, Timestamp) {
        between(name("sm"), name("dev"), second)
    }

    fn between(from: AgentId, to: AgentId, second: i64) -> (Compact, Timestamp) {
        let at = Timestamp::from_micros(1_771_866_000_000_000 + second * 1_000_000);
        let made = Draft::between(from, to).compact(at, Door::Refuse, Tokenizer::default());
        (made.expect("an artifact"), at)
    }

    #[test]
    fn what_an_agent_left_for_itself_is_pushed_out_by_nobody_and_shown_to_nobody_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = shelf(folder.path());
        for (second, agent) in (0..).zip(["dev", "qa", "sm", "sm-to-sm", "po"].map(name)) {
            let (compact, at) = between(agent.clone(), agent, second);
            shelf.put(&compact, at).expect("a file");
        }
        for second in 10..14 {
            let (compact, at) = compact(second);
            shelf.put(&compact, at).expect("a file");
        }
        let mut kept = shelf.read(Tokenizer::default()).expect("artifacts").kept;
        assert_eq!(shelf.drop_oldest(&mut kept).expect("one less").len(), 1);
        let own: Vec<_> = kept.iter().filter(|kept| kept.owner().is_some()).collect();
        assert_eq!((kept.len(), own.len()), (8, 5), "three of switches, and one of each agent");
        for kept in &kept {
            let file = kept.path.file_name().expect("a name").to_string_lossy();
            let by_name = concerns(&file, &name("dev"));
            assert_eq!(kept.concerns(&name("dev")), by_name, "{file}");
        }
        let shown = kept.iter().filter(|kept| kept.concerns(&name("dev"))).count();
        assert_eq!(shown, 4, "three of switches, and its own");
    }

    #[test]
    fn a_name_that_is_taken_gets_a_suffix() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = shelf(folder.path());
        let (compact, at) = compact(0);
        let names = [0; 3].map(|_| shelf.put(&compact, at).expect("a file"));
        let names = names.map(|path| path.file_name().expect("a name").display().to_string());
        let stem = "handoff-sm-to-dev-20260223T170000Z";
        assert_eq!(names, ["", "-2", "-3"].map(|n| format!("{stem}{n}.yaml")));
        let ignore = fs::read_to_string(shelf.folder.join(".gitignore")).expect("a file");
        assert_eq!(ignore, "*\n");
    }

    #[test]
    fn the_oldest_by_the_time_in_the_file_goes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = shelf(folder.path());
        // Written in another order than they were made in.
        for second in [2, 0, 3, 1] {
            let (compact, at) = compact(second);
            shelf.put(&compact, at).expect("a file");
        }
        let mut kept = shelf.read(Tokenizer::default()).expect("artifacts").kept;
        let dropped = shelf.drop_oldest(&mut kept).expect("one less");
        let name = dropped[0].file_name().expect("a name").to_string_lossy().into_owned();
        assert_eq!((dropped.len(), name.as_str()), (1, "handoff-sm-to-dev-20260223T170000Z.yaml"));
        assert_eq!(shelf.read(Tokenizer::default()).expect("artifacts").kept.len(), 3);
        let newest = kept.pop().expect("an artifact");
        shelf.mark_consumed(&newest.path, newest.artifact).expect("a file");
        let kept = shelf.read(Tokenizer::default()).expect("artifacts").kept;
        let consumed: Vec<_> = kept.iter().map(|kept| kept.artifact.is_consumed()).collect();
        assert_eq!(consumed, [false, false, true]);
    }
}
