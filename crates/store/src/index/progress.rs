//! How far the index has come, and who waits for it: where the thread that fills it, those who say
//! what is durable and those who ask meet. It knows nothing of SQLite or the log.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::IndexError;
use crate::causes::causes;
use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard};

/// The most records in one transaction.
const BATCH_RECORDS_MAX: u64 = 20_000;
/// So many waiting records are worth a transaction although nobody asks for them.
const BATCH_RECORDS_WORTH: u64 = 12_000;
/// So long a few records may wait for more while nobody asks for them.
const LINGER: Duration = Duration::from_millis(200);
/// The pause after a failure while nobody asks.
const RETRY: Duration = Duration::from_secs(5);

/// What the thread and the others share.
pub(super) struct Shared {
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
    /// Everything up to `known` is durable, and up to `done` indexed.
    pub(super) fn new(known: u64, done: u64) -> Arc<Self> {
        let news = News { done, ..News::default() };
        Arc::new(Self {
            progress: Mutex::new(Progress { known, news: news.clone(), ..Progress::default() }),
            wake: Condvar::new(),
            moved: Condvar::new(),
            news: watch::Sender::new(news),
        })
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that all records up to `seq` are durable. Cheap, and does not wait.
    pub(super) fn advance(&self, seq: u64) {
        let mut progress = self.progress();
        progress.known = progress.known.max(seq);
        let backlog = progress.known.saturating_sub(progress.news.done);
        // While it works or lingers it will see the new number by itself.
        if progress.idle || backlog >= BATCH_RECORDS_WORTH && !progress.failed {
            self.wake.notify_one();
        }
    }

    /// Returns the last indexed record.
    pub(super) fn indexed(&self) -> u64 {
        self.progress().news.done
    }

    /// Waits until `seq` is indexed. What is in a `damaged` index counts for nothing.
    pub(super) fn wait_for(&self, seq: u64, damaged: &AtomicBool) -> Result<(), IndexError> {
        let failures = self.hurry(seq, damaged);
        let progress = self.progress();
        let moved = self.moved.wait_while(progress, |p| p.news.verdict(seq, failures).is_none());
        let progress = moved.unwrap_or_else(PoisonError::into_inner);
        progress.news.verdict(seq, failures).unwrap_or(Ok(()))
    }

    /// Waits likewise without holding a thread.
    pub(super) async fn until(&self, seq: u64, damaged: &AtomicBool) -> Result<(), IndexError> {
        let mut news = self.news.subscribe();
        let failures = self.hurry(seq, damaged);
        let seen = news.wait_for(|news| news.verdict(seq, failures).is_some()).await;
        let stopped = || IndexError::Behind { why: "its thread has ended".to_owned() };
        let verdict = seen.map_err(|_| stopped())?.verdict(seq, failures);
        verdict.unwrap_or(Ok(()))
    }

    /// Asks for `seq` now, and returns how many failures there were before.
    fn hurry(&self, seq: u64, damaged: &AtomicBool) -> u64 {
        let mut progress = self.progress();
        progress.known = progress.known.max(seq);
        progress.wanted = progress.wanted.max(seq);
        if damaged.load(Ordering::Relaxed) {
            // It is built anew for whoever asks, although the log may have nothing more.
            progress.news.done = 0;
            self.news.send_replace(progress.news.clone());
        }
        self.wake.notify_one();
        progress.news.failures
    }

    /// Asks the thread to end.
    pub(super) fn stop(&self) {
        self.progress().stop = true;
        self.wake.notify_one();
    }

    /// Lets `batch` index up to the record it is given and return how far it came, until somebody
    /// says stop. Whoever waits hears of a failure, and of the end, also when `batch` panics.
    pub(super) fn follow(self: Arc<Self>, mut batch: impl FnMut(u64) -> Result<u64, IndexError>) {
        let _ended = TellEnd(self.clone());
        while let Some(up_to) = self.next_batch() {
            match batch(up_to) {
                Ok(done) => self.tell(|progress| {
                    progress.news.done = done;
                    progress.failed = false;
                }),
                Err(error) => {
                    let why = causes(&error);
                    tracing::warn!(why, "the index cannot keep up");
                    self.tell(|progress| {
                        progress.failed = true;
                        progress.wanted = 0;
                        progress.news.failures += 1;
                        progress.news.why = why;
                    });
                }
            }
        }
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

/// Tells those who wait, also when the thread panics, so that nobody waits for ever.
struct TellEnd(Arc<Shared>);

impl Drop for TellEnd {
    fn drop(&mut self) {
        self.0.tell(|progress| progress.news.ended = true);
    }
}
