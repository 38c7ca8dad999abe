//! The thread that keeps the index up with the log.
//!
//! It is told how far the log is durable and catches up in batches that grow with the load: a
//! transaction for every record would cost the writer of the log a core. Whoever wants to read what
//! they just wrote says so and is served at once. It never slows the log down.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

use super::writer::Writer;
use super::{Extract, Index, IndexError, is_damage, sqlite};
use crate::causes::causes;
use crate::log::LogReader;
use crate::pace;

/// The most records in one transaction.
const BATCH_RECORDS_MAX: u64 = 20_000;
/// So many waiting records are worth a transaction although nobody asks for them.
const BATCH_RECORDS_WORTH: u64 = 4096;
/// So long a few records may wait for more while nobody asks for them.
const LINGER: Duration = Duration::from_millis(50);
/// The pause after a failure while nobody asks.
const RETRY: Duration = Duration::from_secs(5);

/// The thread that fills the index. Dropping it ends the thread; what is missing then is caught up
/// after the next start.
pub struct Follower {
    index: Arc<Index>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    progress: Mutex<Progress>,
    /// Wakes the thread.
    wake: Condvar,
    /// Wakes those who wait for it.
    moved: Condvar,
    news: watch::Sender<News>,
}

/// What those who wait look at.
#[derive(Clone, Default)]
struct News {
    /// The last indexed record.
    done: u64,
    /// How often the thread has failed, and the last reason.
    failures: u64,
    why: String,
    ended: bool,
}

#[derive(Default)]
struct Progress {
    /// The last durable record.
    known: u64,
    /// The last record that somebody waits for.
    wanted: u64,
    news: News,
    /// The thread sleeps until there is anything at all to do.
    idle: bool,
    failed: bool,
    stop: bool,
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
        let news = News { done: writer.next.seq - 1, ..News::default() };
        index.done.store(news.done, Ordering::Release);
        let known = log_next_seq - 1;
        let shared = Arc::new(Shared {
            progress: Mutex::new(Progress { known, news: news.clone(), ..Progress::default() }),
            wake: Condvar::new(),
            moved: Condvar::new(),
            news: watch::Sender::new(news),
        });
        let work = Work { index: index.clone(), writer, reader, shared: shared.clone(), extract };
        let thread = std::thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || work.run())
            .map_err(|source| IndexError::Io { place: path.display().to_string(), source })?;
        Ok(Self { index, shared, thread: Some(thread) })
    }

    /// Returns the index, to ask it.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Says that all records up to `seq` are durable. Cheap, and does not wait.
    pub fn advance(&self, seq: u64) {
        let mut progress = self.shared.progress();
        progress.known = progress.known.max(seq);
        let backlog = progress.known.saturating_sub(progress.news.done);
        // While it works or lingers it will see the new number by itself.
        if progress.idle || backlog >= BATCH_RECORDS_WORTH && !progress.failed {
            self.shared.wake.notify_one();
        }
    }

    /// Returns the last indexed record.
    pub fn indexed(&self) -> u64 {
        self.shared.progress().news.done
    }

    /// Waits until the record `seq`, which must be durable, is in the index.
    pub fn wait_for(&self, seq: u64) -> Result<(), IndexError> {
        let failures = self.hurry(seq);
        let progress = self.shared.progress();
        let moved =
            self.shared.moved.wait_while(progress, |p| p.news.verdict(seq, failures).is_none());
        let progress = moved.unwrap_or_else(PoisonError::into_inner);
        progress.news.verdict(seq, failures).unwrap_or(Ok(()))
    }

    /// Waits likewise without holding a thread.
    pub async fn until(&self, seq: u64) -> Result<(), IndexError> {
        let mut news = self.shared.news.subscribe();
        let failures = self.hurry(seq);
        let seen = news.wait_for(|news| news.verdict(seq, failures).is_some()).await;
        let stopped = || IndexError::Behind { why: "its thread has ended".to_owned() };
        let verdict = seen.map_err(|_| stopped())?.verdict(seq, failures);
        verdict.unwrap_or(Ok(()))
    }

    /// Asks for `seq` now, and returns how many failures there were before.
    fn hurry(&self, seq: u64) -> u64 {
        let mut progress = self.shared.progress();
        progress.known = progress.known.max(seq);
        progress.wanted = progress.wanted.max(seq);
        if self.index.damaged.load(Ordering::Relaxed) {
            // What is in it counts for nothing: it is built anew for whoever asks, although the
            // log may have nothing more.
            progress.news.done = 0;
            self.shared.news.send_replace(progress.news.clone());
        }
        self.shared.wake.notify_one();
        progress.news.failures
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.progress().stop = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic in it has been reported on its own thread, and to all who waited.
            let _ = thread.join();
        }
    }
}

impl News {
    /// Says whether one who waits for `seq` since `failures` may go on, and with what.
    fn verdict(&self, seq: u64, failures: u64) -> Option<Result<(), IndexError>> {
        if self.done >= seq {
            Some(Ok(()))
        } else if self.ended || self.failures > failures {
            let why = if self.why.is_empty() { "its thread has ended" } else { &self.why };
            Some(Err(IndexError::Behind { why: why.to_owned() }))
        } else {
            None
        }
    }
}

impl Shared {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress();
        change(&mut progress);
        self.news.send_replace(progress.news.clone());
        self.moved.notify_all();
    }

    /// Sleeps until a batch is due and returns the record it shall reach, or `None` to stop.
    fn next_batch(&self) -> Option<u64> {
        let mut progress = self.progress();
        let mut lingered = false;
        loop {
            let done = progress.news.done;
            let backlog = progress.known.saturating_sub(done);
            let asked = progress.wanted > done;
            if progress.stop {
                return None;
            }
            let worth = backlog >= BATCH_RECORDS_WORTH || lingered && backlog > 0;
            if asked || worth && !progress.failed || lingered && progress.failed {
                return Some(progress.known.min(done + BATCH_RECORDS_MAX));
            }
            if backlog == 0 && !progress.failed {
                progress.idle = true;
                progress = self.wake.wait(progress).unwrap_or_else(PoisonError::into_inner);
                progress.idle = false;
            } else {
                let pause = if progress.failed { RETRY } else { LINGER };
                let woken = self.wake.wait_timeout(progress, pause);
                let (guard, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
                progress = guard;
                lingered = timeout.timed_out();
            }
        }
    }
}

struct Work<E> {
    index: Arc<Index>,
    writer: Writer,
    reader: LogReader,
    shared: Arc<Shared>,
    extract: E,
}

impl<E: Extract> Work<E> {
    fn run(mut self) {
        pace::behind();
        let _ended = TellEnd(self.shared.clone());
        while let Some(up_to) = self.shared.next_batch() {
            match self.batch(up_to) {
                Ok(done) => self.shared.tell(|progress| {
                    progress.news.done = done;
                    progress.failed = false;
                }),
                Err(error) => {
                    let why = causes(&error);
                    tracing::warn!(why, "the index cannot keep up");
                    self.shared.tell(|progress| {
                        progress.failed = true;
                        progress.wanted = 0;
                        progress.news.failures += 1;
                        progress.news.why = why;
                    });
                }
            }
        }
    }

    /// Indexes one batch and returns the last indexed record, which is none after starting over.
    fn batch(&mut self, up_to: u64) -> Result<u64, IndexError> {
        if self.index.damaged.load(Ordering::Relaxed) {
            return self.start_over();
        }
        match self.writer.index(&self.index.path, &self.reader, up_to, &self.extract) {
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

/// Tells those who wait, also when the thread panics, so that nobody waits for ever.
struct TellEnd(Arc<Shared>);

impl Drop for TellEnd {
    fn drop(&mut self) {
        self.0.tell(|progress| progress.news.ended = true);
    }
}
