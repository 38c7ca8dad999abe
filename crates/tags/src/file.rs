//! Tags in files on disk, changed by one process at a time and kept through any crash.
//!
//! Lock, read, decide, write aside, sync, compare, rename, sync the folder. A rename alone is not
//! a compare-and-swap: without the lock two claimants would both win. At every moment the file is
//! whole, either as it was or as it is to be.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::aside::Aside;
use crate::document::Place;
use crate::edit::{self, EditError};
use crate::item::{Item, ItemKey, items};
use crate::lifecycle::{self, Mover, Refusal};
use crate::name::Tag;
use crate::request::RequestError;

/// The largest file that is searched or edited, in bytes. Work items are texts.
pub const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How much of a file decides whether it is binary.
pub(crate) const HEAD_BYTES_MAX: usize = 8 * 1024;

/// How often an edit begins again because somebody saved the file without asking for the lock.
const REREADS_MAX: u32 = 100;

/// The files below one folder, outside of which nothing is ever touched.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
}

/// A move that was made, and is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// What was there.
    pub from: Tag,
    /// What is there now.
    pub to: Tag,
    /// On which line, counted from 1.
    pub line: usize,
}

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The rules of the life cycle say no.
    #[error("{}: {source}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Refusal,
    },

    /// The text does not have what was to be changed.
    #[error("{}: {source}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: EditError,
    },

    /// The work item cannot make this move.
    #[error("{}: {source}", path.display())]
    Request {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<RequestError>,
    },

    /// The path, or a link on it, leads out of the root.
    #[error("{} is outside of {}", path.display(), root.display())]
    Outside {
        /// The path as given.
        path: PathBuf,
        /// The folder that was to contain it.
        root: PathBuf,
    },

    /// A folder, a device, or bytes that are no text.
    #[error("{} is {found}, expected a text file", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },

    /// Over the limit.
    #[error("{} is too large, expected at most {FILE_BYTES_MAX} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },

    /// Somebody keeps saving the file while we edit it.
    #[error("{} changes all the time", path.display())]
    Restless {
        /// The file.
        path: PathBuf,
    },

    /// The disk or the system failed. Only a failure to sync the folder comes after the change.
    #[error("{}: cannot {doing}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// How far an edit has come; the tests end the process at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Locked,
    Decided,
    WrittenAside,
    Replaced,
    Durable,
}

impl Files {
    /// Takes the folder that all paths are to lie in.
    pub fn within(root: impl AsRef<Path>) -> Result<Self, FileError> {
        let given = root.as_ref();
        let root = fs::canonicalize(given).map_err(failed(given, "find the folder"))?;
        Ok(Self { root })
    }

    /// Puts a tag on a file's Tags line. Returns whether it was not there before.
    pub fn add(&self, path: &Path, tag: &Tag, mover: Mover) -> Result<bool, FileError> {
        self.edit(path, |text| match edit::add(text, tag) {
            None => Ok((None, false)),
            Some(edited) => {
                lifecycle::add(tag, mover).map_err(refused(path))?;
                beside(text, tag).map_err(refused(path))?;
                Ok((Some(edited), true))
            }
        })
    }

    /// Takes a tag away. Returns whether it was there.
    pub fn remove(&self, path: &Path, tag: &Tag, place: Place) -> Result<bool, FileError> {
        self.edit(path, |text| {
            let edited = edit::remove(text, tag, place).map_err(unedited(path))?;
            let was_there = edited.is_some();
            Ok((edited, was_there))
        })
    }

    /// Turns one of the tags `old` into `new`; of any number of racing callers exactly one does.
    ///
    /// The others are told [`EditError::Gone`]. When this returns `Ok`, the move would survive a
    /// power cut.
    pub fn swap(
        &self,
        path: &Path,
        old: &[Tag],
        new: &Tag,
        place: Place,
        mover: Mover,
    ) -> Result<Moved, FileError> {
        self.edit(path, |text| {
            let swapped = edit::swap(text, old, new, place).map_err(unedited(path))?;
            lifecycle::swap(&swapped.old, new, mover).map_err(refused(path))?;
            let moved = Moved { from: swapped.old, to: new.clone(), line: swapped.line };
            Ok((Some(swapped.text), moved))
        })
    }

    /// Changes a file as `change` says, which is given its bytes and returns the new ones, or
    /// `None` to leave them.
    ///
    /// For moves that write more than a tag, such as a requeued item with its reason. `change` may
    /// be run again when somebody saved the file meanwhile, so it must be pure.
    pub fn edit<T>(
        &self,
        path: &Path,
        change: impl FnMut(&[u8]) -> Result<(Option<Vec<u8>>, T), FileError>,
    ) -> Result<T, FileError> {
        self.edit_stepwise(path, change, |_| ())
    }

    fn edit_stepwise<T>(
        &self,
        path: &Path,
        mut change: impl FnMut(&[u8]) -> Result<(Option<Vec<u8>>, T), FileError>,
        mut reached: impl FnMut(Step),
    ) -> Result<T, FileError> {
        let (folder, name) = self.locate(path)?;
        // Before the lock, so that a mistyped name leaves no trace in the folder.
        read(&folder, &name, path)?;
        let mut aside = Aside::take(&folder, &name).map_err(failed(path, "lock it"))?;
        reached(Step::Locked);
        for _ in 0..REREADS_MAX {
            let (before, like) = read(&folder, &name, path)?;
            let (edited, answer) = change(&before)?;
            reached(Step::Decided);
            let Some(edited) = edited.filter(|edited| *edited != before) else {
                return Ok(answer);
            };
            if edited.len() as u64 > FILE_BYTES_MAX {
                return Err(FileError::TooLarge { path: path.to_owned() });
            }
            aside.write(&edited, &like).map_err(failed(path, "write beside it"))?;
            reached(Step::WrittenAside);
            // Editors know nothing of our lock. What they saved meanwhile must not be lost.
            if read(&folder, &name, path)?.0 != before {
                continue;
            }
            aside.publish().map_err(failed(path, "replace it"))?;
            reached(Step::Replaced);
            folder.sync_all().map_err(failed(path, "sync its folder"))?;
            reached(Step::Durable);
            return Ok(answer);
        }
        Err(FileError::Restless { path: path.to_owned() })
    }

    /// Opens the folder of a file, and makes sure that it lies within the root.
    ///
    /// Links are resolved first and then no more: each folder on the way is opened by its name in
    /// the one before, so that a link put there meanwhile is an error and not a way out.
    fn locate(&self, path: &Path) -> Result<(File, OsString), FileError> {
        let cannot_find = || failed(path, "find it");
        let real = fs::canonicalize(self.root.join(path)).map_err(cannot_find())?;
        let outside = || FileError::Outside { path: path.to_owned(), root: self.root.clone() };
        let inner = real.strip_prefix(&self.root).map_err(|_| outside())?;
        let Some(name) = inner.file_name() else {
            return Err(not_text(path, "a folder"));
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&self.root, flags, Mode::empty());
        let mut folder = File::from(opened.map_err(io::Error::from).map_err(cannot_find())?);
        for part in inner.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(part) = part else {
                return Err(outside());
            };
            let opened = rustix::fs::openat(&folder, part, flags | OFlags::NOFOLLOW, Mode::empty());
            folder = File::from(opened.map_err(io::Error::from).map_err(cannot_find())?);
        }
        Ok((folder, name.to_owned()))
    }
}

/// Refuses a second stage of the same work on the Tags line: only one of them would be seen.
fn beside(text: &[u8], tag: &Tag) -> Result<(), Refusal> {
    let Some(key) = ItemKey::of_tags_line(tag) else { return Ok(()) };
    match items(text).into_iter().find(|item| item.key == key) {
        Some(Item { tag: there, .. }) => Err(Refusal::Beside { there, to: tag.clone() }),
        None => Ok(()),
    }
}

/// Reads a text file whole, and what the system knows of it.
fn read(folder: &File, name: &OsStr, path: &Path) -> Result<(Vec<u8>, Stat), FileError> {
    // Opened for writing too, though never written: who may not write a file may not replace it.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, name, flags, Mode::empty());
    let file = match opened {
        Err(rustix::io::Errno::ISDIR) => return Err(not_text(path, "a folder")),
        opened => File::from(opened.map_err(io::Error::from).map_err(failed(path, "open it"))?),
    };
    let stat = rustix::fs::fstat(&file).map_err(io::Error::from);
    let stat = stat.map_err(failed(path, "read it"))?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(not_text(path, "not a file"));
    }
    let mut text = Vec::new();
    let mut limited = (&file).take(FILE_BYTES_MAX + 1);
    limited.read_to_end(&mut text).map_err(failed(path, "read it"))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(FileError::TooLarge { path: path.to_owned() });
    }
    if is_binary(&text) {
        return Err(not_text(path, "binary"));
    }
    Ok((text, stat))
}

/// Tells by the head of a file whether it is no text.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(HEAD_BYTES_MAX)]).is_some()
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> FileError {
    move |source| FileError::Failed { path: path.to_owned(), doing, source }
}

pub(crate) fn refused(path: &Path) -> impl FnOnce(Refusal) -> FileError {
    move |source| FileError::Refused { path: path.to_owned(), source }
}

pub(crate) fn unedited(path: &Path) -> impl FnOnce(EditError) -> FileError {
    move |source| FileError::Edit { path: path.to_owned(), source }
}

fn not_text(path: &Path, found: &'static str) -> FileError {
    FileError::NotText { path: path.to_owned(), found }
}

#[cfg(test)]
mod tests;
