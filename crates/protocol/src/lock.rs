//! File locks: who may write which file of the workspace, until when.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, Fence, WorkflowId};
use crate::limits::PATH_BYTES_MAX;
use crate::mask::{is_secret, mask};
use crate::time::Timestamp;

/// A file of the workspace, relative to its root and free of `.` and `..`, so that two spellings
/// of one file cannot be locked apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FilePath(Box<str>);

/// A text that is not a path inside the workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {why}; expected a path inside the workspace, such as src/main.rs")]
pub struct PathError {
    text: String,
    why: &'static str,
}

impl FromStr for FilePath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let refuse = |why| PathError { text: text.chars().take(80).collect(), why };
        if text.is_empty() || text.len() > PATH_BYTES_MAX {
            return Err(refuse("is empty or too long"));
        }
        if text.chars().any(char::is_control) {
            return Err(refuse("holds a control character"));
        }
        if is_secret(text) {
            return Err(PathError { text: mask(text).into_owned(), why: "looks like a secret" });
        }
        if text.starts_with('/') {
            return Err(refuse("is absolute"));
        }
        let mut clean = String::with_capacity(text.len());
        for part in text.split('/').filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." {
                return Err(refuse("climbs out of its folder"));
            }
            if !clean.is_empty() {
                clean.push('/');
            }
            clean.push_str(part);
        }
        if clean.is_empty() {
            return Err(refuse("names no file"));
        }
        Ok(Self(clean.into()))
    }
}

impl FilePath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for FilePath {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        text.parse()
    }
}

impl From<FilePath> for String {
    fn from(path: FilePath) -> Self {
        path.0.into()
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Whether others may hold the same file too.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LockMode {
    /// Nobody else.
    #[default]
    Exclusive,
    /// Others that share it as well.
    Shared,
}

impl LockMode {
    /// Whether nobody else may have it.
    pub(crate) fn is_exclusive(&self) -> bool {
        *self == Self::Exclusive
    }
}

impl fmt::Display for LockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        })
    }
}

/// One agent's right to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// The work under which it was taken.
    pub workflow: WorkflowId,
    /// The holding under which it was taken; it ends with it.
    pub fence: Fence,
    /// Who has it.
    pub by: AgentId,
    /// Whether others may too.
    pub mode: LockMode,
    /// When it lapses unless it is renewed.
    pub until: Timestamp,
}

impl Lock {
    /// Whether it stands in the way of somebody else who wants the file.
    pub fn excludes(&self, wanted: LockMode) -> bool {
        match (self.mode, wanted) {
            (LockMode::Shared, LockMode::Shared) => false,
            (LockMode::Exclusive, LockMode::Exclusive | LockMode::Shared)
            | (LockMode::Shared, LockMode::Exclusive) => true,
        }
    }

    /// Whether it has not lapsed.
    pub fn lasts(&self, now: Timestamp) -> bool {
        self.until > now
    }

    /// Whether this lock belongs to that holding.
    pub fn is_of(&self, workflow: WorkflowId, fence: Fence) -> bool {
        self.workflow == workflow && self.fence == fence
    }
}

/// All locks of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locks {
    by_path: BTreeMap<FilePath, Vec<Lock>>,
}

impl Locks {
    /// The locks on `path`, lapsed ones among them.
    pub fn on(&self, path: &FilePath) -> &[Lock] {
        self.by_path.get(path).map_or(&[], Vec::as_slice)
    }

    /// All of them, in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&FilePath, &Lock)> {
        self.by_path.iter().flat_map(|(path, locks)| locks.iter().map(move |lock| (path, lock)))
    }

    /// How many files are locked.
    pub fn len(&self) -> usize {
        self.by_path.len()
    }

    /// Whether no file is locked.
    pub fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    /// Takes or renews a lock. Locks that lapsed before `at` make room.
    pub fn take(&mut self, path: &FilePath, lock: Lock, at: Timestamp) {
        let locks = self.by_path.entry(path.clone()).or_default();
        locks.retain(|held| held.lasts(at) && !held.is_of(lock.workflow, lock.fence));
        locks.push(lock);
    }

    /// Gives back the lock of that holding on `path`.
    pub fn free(&mut self, path: &FilePath, workflow: WorkflowId, fence: Fence) {
        if let Some(locks) = self.by_path.get_mut(path) {
            locks.retain(|held| !held.is_of(workflow, fence));
            if locks.is_empty() {
                self.by_path.remove(path);
            }
        }
    }

    /// Makes the locks of that holding last until `until`.
    pub fn renew(
        &mut self,
        paths: impl Iterator<Item = FilePath>,
        workflow: WorkflowId,
        fence: Fence,
        until: Timestamp,
    ) {
        for path in paths {
            let locks = self.by_path.get_mut(&path).into_iter().flatten();
            for lock in locks.filter(|held| held.is_of(workflow, fence)) {
                lock.until = until;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_one_file_are_one_path() {
        let path = |text: &str| text.parse::<FilePath>().map(String::from);
        assert_eq!(path("src/./a//b.rs"), Ok("src/a/b.rs".to_owned()));
        for bad in ["", ".", "/etc/passwd", "../x", "a/../../b", "a\nb", "./"] {
            assert!(path(bad).is_err(), "{bad:?} was taken");
        }
    }
}
