//! Why the log could not do what was asked. Every message names the file or folder it is about.

use std::error::Error;
use std::io;

use crate::disk::{Disk, is_full};

/// A failure of the log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Another process has the ledger open.
    #[error("the ledger in {folder} is in use by another process")]
    Locked {
        /// The folder with the lock.
        folder: String,
    },
    /// The ledger was written by a newer version of this program.
    #[error("{place} says format {found}, this program knows formats up to {known}")]
    TooNew {
        /// The FORMAT file.
        place: String,
        /// The version it names.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// The folder does not say in a known way what it holds.
    #[error("{place} does not name the ledger's format, found {found:?}")]
    Unmarked {
        /// The FORMAT file.
        place: String,
        /// How its text begins.
        found: String,
    },
    /// Records that were durable are damaged. Nothing was changed; a backup is needed.
    #[error("record {seq} in {segment} at byte {offset} is damaged: {why}")]
    Corrupt {
        /// The segment's file.
        segment: String,
        /// Where in it the damage begins.
        offset: u64,
        /// The first record that is not as it was.
        seq: u64,
        /// What is wrong with it, and how it is known to have been durable.
        why: String,
    },
    /// Records that a checkpoint was signed over are not there. Nothing was changed.
    #[error("record {seq} is damaged or missing: {why}, and a checkpoint is signed over {signed}")]
    Lost {
        /// The first record that is not there as it was.
        seq: u64,
        /// How many records the checkpoint is over.
        signed: u64,
        /// What was found in its place.
        why: String,
    },
    /// No room for the next segment. Nothing was written; appending may be tried again.
    #[error("no room left for the ledger in {place}")]
    DiskFull {
        /// The folder that is full.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// An earlier write or sync failed, so nobody knows what the disk holds until it is opened
    /// again.
    #[error("the ledger stopped after a failed write; restart to recover")]
    Poisoned,
    /// The system failed.
    #[error("cannot {doing} {place}")]
    Io {
        /// What was tried, as a verb.
        doing: &'static str,
        /// The file or folder.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// Whoever was shown the records could not go on.
    #[error("cannot take in record {seq}")]
    Visit {
        /// The record.
        seq: u64,
        /// Why not.
        source: VisitError,
    },
}

/// What a visitor of records may fail with.
pub type VisitError = Box<dyn Error + Send + Sync>;

impl LogError {
    pub(super) fn io(doing: &'static str, disk: &dyn Disk, path: &str, source: io::Error) -> Self {
        Self::Io { doing, place: disk.place(path), source }
    }

    /// For steps that take room before anything of value is written.
    pub(super) fn io_or_full(
        doing: &'static str,
        disk: &dyn Disk,
        path: &str,
        source: io::Error,
    ) -> Self {
        if is_full(&source) {
            Self::DiskFull { place: disk.place(super::FOLDER), source }
        } else {
            Self::io(doing, disk, path, source)
        }
    }
}
