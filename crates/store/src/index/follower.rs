//! The thread that keeps the index up with the log.
//!
//! It is told how far the log is durable and catches up in batches that grow with the load: a
//! transaction for every record would cost the writer of the log a core. Whoever wants to read what
//! they just wrote says so and is served at once. It never slows the log down.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::progress::Shared;
use super::writer::{Source, Writer};
use super::{Extract, Index, IndexError, is_damage, sqlite};
use crate::log::LogReader;
use crate::pace;
use crate::sync::{self, JoinHandle};

/// The thread that fills the index. Dropping it ends the thread; what is missing then is caught up
/// after the next start.
pub struct Follower {
    index: Arc<Index>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Opens the index at `path` and follows the log, whose next record is `log_next_seq`.
    ///
    /// An index that is damaged, of another version or not of this log is built anew.
    pub fn spawn(
        path: &Path,
        reader: LogReader,
        log_next_seq: u64,
        extract: impl Extract,
    ) -> Result<Self, IndexError> {
        let writer = Writer::open(path, &reader, log_next_seq)?;
        let index = Arc::new(Index::open(path)?);
        let done = writer.next.seq - 1;
        index.done.store(done, Ordering::Release);
        let shared = Shared::new(log_next_seq - 1, done);
        let source = Source { reader, own_from: log_next_seq };
        let mut work = Work { index: index.clone(), writer, source, extract };
        let follow = shared.clone();
        let thread = sync::spawn("index", move || {
            pace::behind();
            follow.follow(|up_to| work.batch(up_to));
        });
        let thread = thread
            .map_err(|source| IndexError::Io { place: path.display().to_string(), source })?;
        Ok(Self { index, shared, thread: Some(thread) })
    }

    /// Returns the index, to ask it.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Says that all records up to `seq` are durable. Cheap, and does not wait.
    pub fn advance(&self, seq: u64) {
        self.shared.advance(seq);
    }

    /// Returns the last indexed record.
    pub fn indexed(&self) -> u64 {
        self.shared.indexed()
    }

    /// Waits until the record `seq`, which must be durable, is in the index.
    pub fn wait_for(&self, seq: u64) -> Result<(), IndexError> {
        self.shared.wait_for(seq, &self.index.damaged)
    }

    /// Waits likewise without holding a thread.
    pub async fn until(&self, seq: u64) -> Result<(), IndexError> {
        self.shared.until(seq, &self.index.damaged).await
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // A panic in it has been reported on its own thread, and to all who waited.
            let _ = thread.join();
        }
    }
}

struct Work<E> {
    index: Arc<Index>,
    writer: Writer,
    source: Source,
    extract: E,
}

impl<E: Extract> Work<E> {
    /// Indexes one batch and returns the last indexed record, which is none after starting over.
    fn batch(&mut self, up_to: u64) -> Result<u64, IndexError> {
        if self.index.damaged.load(Ordering::Relaxed) {
            return self.start_over();
        }
        match self.writer.index(&self.index.path, &self.source, up_to, &self.extract) {
            Ok(()) => {
                let done = self.writer.next.seq - 1;
                self.index.done.store(done, Ordering::Release);
                Ok(done)
            }
            Err(IndexError::Sqlite { source, .. }) if is_damage(&source) => self.start_over(),
            Err(error) => Err(error),
        }
    }

    fn start_over(&mut self) -> Result<u64, IndexError> {
        tracing::warn!(path = %self.index.path.display(), "the index is damaged, building it anew");
        let connection = self.index.start_over()?;
        self.writer = Writer::on(connection).map_err(|error| sqlite(&self.index.path, error))?;
        Ok(0)
    }
}
