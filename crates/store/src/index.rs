//! The index over the log: a SQLite file that answers questions about history.
//!
//! It holds nothing that the log does not, and may be deleted at any time: a follower builds it
//! again. So nothing that must be true may rest on it alone, and damage to it is healed in silence
//! by starting over. Rows are keyed by sequence numbers, which only grow; random UUIDs are looked
//! up by their first eight bytes and never are a key of the large table.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rusqlite::{Connection, ErrorCode};

use crate::log::LogError;
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard};

mod batch;
mod follower;
mod progress;
mod query;
mod row;
mod schema;
mod search;
#[cfg(test)]
mod tests;
mod writer;

pub use follower::Follower;
pub(crate) use query::Prefix;
pub(crate) use query::capped;
pub use query::{Filter, HandoffRow, MATCHES_MAX, RECORDS_MAX, Tally, WorkflowPage, WorkflowRow};
pub use row::{Extract, Row};

/// Why the index could not answer or keep up.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The start of an id was not written in hexadecimal.
    #[error("the start of an id is 1 to 32 hexadecimal digits, found {found:?}")]
    Prefix {
        /// What was given.
        found: String,
    },
    /// SQLite failed. If the file is damaged, it is being built again.
    #[error("cannot use the index {place}")]
    Sqlite {
        /// The file.
        place: String,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The file could not be replaced.
    #[error("cannot replace the index {place}")]
    Io {
        /// The file.
        place: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The log could not be read.
    #[error("cannot index the ledger")]
    Log(#[from] LogError),
    /// The follower could not get as far as was asked for.
    #[error("the index is behind: {why}")]
    Behind {
        /// What stopped it.
        why: String,
    },
}

/// The index, open for questions.
pub struct Index {
    path: PathBuf,
    read: Mutex<Connection>,
    /// A question met damage; the follower shall start over.
    damaged: AtomicBool,
    /// The last indexed record.
    done: AtomicU64,
    /// How often the index was begun anew.
    begun: AtomicU64,
}

impl Index {
    /// Opens for reading what a writer has already made.
    fn open(path: &Path) -> Result<Self, IndexError> {
        let read = schema::connect_to_read(path).map_err(|source| sqlite(path, source))?;
        let (path, read) = (path.to_owned(), Mutex::new(read));
        let (damaged, done, begun) = Default::default();
        Ok(Self { path, read, damaged, done, begun })
    }

    /// Asks several questions and returns also up to which record their answers are sure to know
    /// everything: nothing at all, if the index was begun anew meanwhile.
    pub(crate) fn looking<T>(&self, questions: impl FnOnce() -> T) -> (u64, T) {
        let begun = self.begun.load(Ordering::Acquire);
        let done = self.done.load(Ordering::Acquire);
        let answers = questions();
        let same = self.begun.load(Ordering::Acquire) == begun;
        (if same { done } else { 0 }, answers)
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a question, noting when the answer shows damage.
    fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, IndexError> {
        question(&self.connection()).map_err(|source| {
            if is_damage(&source) {
                self.damaged.store(true, Ordering::Relaxed);
            }
            sqlite(&self.path, source)
        })
    }

    /// Replaces the file by an empty one while questions wait.
    fn start_over(&self) -> Result<Connection, IndexError> {
        let failed = |source| sqlite(&self.path, source);
        let mut read = self.connection();
        // Deleting a file that is still open would leave the questions with the old one.
        self.begun.fetch_add(1, Ordering::AcqRel);
        self.done.store(0, Ordering::Release);
        *read = Connection::open_in_memory().map_err(failed)?;
        schema::delete(&self.path)
            .map_err(|source| IndexError::Io { place: self.path.display().to_string(), source })?;
        let write = schema::connect(&self.path).map_err(failed)?;
        *read = schema::connect_to_read(&self.path).map_err(failed)?;
        self.damaged.store(false, Ordering::Relaxed);
        Ok(write)
    }
}

/// Deletes the index at `path`, durably, because what it points into is about to change.
pub(crate) fn discard(path: &Path) -> std::io::Result<()> {
    schema::delete(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::File::open(folder)?.sync_all()
}

fn sqlite(path: &Path, source: rusqlite::Error) -> IndexError {
    IndexError::Sqlite { place: path.display().to_string(), source }
}

/// Says whether an error is about what the file holds, so that a new file would cure it.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::Unknown
        ),
        rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::QueryReturnedNoRows => true,
        _ => false,
    }
}
