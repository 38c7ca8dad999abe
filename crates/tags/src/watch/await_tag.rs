//! Waits until a tag is there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Batch, Pace, Stopper, WatchError, Watcher};
use crate::find::{Hit, Search, find};
use crate::name::TagPattern;

/// How often everything is looked at while waiting, in case a report was lost.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Waits until a file, or any file of a folder, carries a tag.
///
/// The watch begins before the first look, so a tag that comes between the two is not missed.
pub struct Awaiting {
    watcher: Watcher,
    path: PathBuf,
    search: Search,
}

impl Awaiting {
    /// Waits for a tag in one file, which need not be there yet. Its folder must.
    pub fn file(path: &Path, pattern: TagPattern) -> Result<Self, WatchError> {
        Ok(Self::new(Watcher::start_file(path, PACE)?, path, Search::new(pattern)))
    }

    /// Waits for a tag in any file of a tree.
    pub fn tree(path: &Path, pattern: TagPattern) -> Result<Self, WatchError> {
        let search = Search::new(pattern);
        Ok(Self::new(Watcher::start(path, search.honour_ignores, PACE)?, path, search))
    }

    fn new(watcher: Watcher, path: &Path, search: Search) -> Self {
        Self { watcher, path: path.to_owned(), search }
    }

    /// Returns a handle that ends the waiting.
    pub fn stopper(&self) -> Stopper {
        self.watcher.stopper()
    }

    /// Waits until the tag is there, also when it was there before. Returns the first file that
    /// has it, or `None` when the deadline has passed or the waiting was stopped.
    pub fn wait(&mut self, deadline: Instant) -> Option<Hit> {
        loop {
            let batches = self.watcher.next(deadline);
            if batches.is_empty() {
                return None;
            }
            let found = batches.into_iter().find_map(|batch| match batch {
                Batch::Everything(_) => self.look(&self.path),
                Batch::Files(files) => files.iter().find_map(|file| self.look(file)),
            });
            if found.is_some() {
                return found;
            }
        }
    }

    /// Looks for the tag. A file that is not there does not have it.
    fn look(&self, path: &Path) -> Option<Hit> {
        find(path, &self.search).ok()?.hits.into_iter().next()
    }
}

/// Nothing is held back: whoever waits for a tag wants it at once, and half a file has none.
const PACE: Pace =
    Pace { quiet: Duration::ZERO, longest: Duration::ZERO, rescan_every: LOOK_EVERY };
