//! Makes batches durable, and only then lets their answers go.
//!
//! The syncer has a thread of its own: while that waits for the disk, the decider fills the next
//! batch. That is the group commit. When only one waits for an answer there is nothing to group,
//! and waking a thread would keep that one waiting; then the decider borrows the syncer. Whoever
//! has it is the only one who writes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use baton_protocol::planted::{Bug, planted};

use crate::causes::causes;
use crate::disk::Disk;
use crate::embedded::{Observer, Synced, restore};
use crate::ledger::LedgerError;
use crate::log::{Log, LogError};
use crate::pace;
use crate::sync::{self, AtomicU64, Condvar, JoinHandle, Mutex, MutexGuard};

/// A batch larger than this many bytes makes the decider wait.
pub(super) const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Something to do once the batch is durable, or to be told why it is not.
pub(super) type Release = Box<dyn FnOnce(Result<(), LedgerError>) + Send>;

/// Lines that belong together, and who waits for them.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<u8>,
    pub(super) first_seq: u64,
    pub(super) last_seq: u64,
    pub(super) waiting: Vec<Release>,
    /// The state after the last line, to be stored as a snapshot. No line may follow it.
    pub(super) snapshot: Option<Vec<u8>>,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.waiting.is_empty() && self.snapshot.is_none()
    }
}

#[derive(Default)]
struct State {
    batch: Batch,
    /// The disk is full and the decider must forget what it decided since the last durable record.
    set_back: bool,
    /// No more batches come.
    ending: bool,
    /// Why there will be no more syncs.
    dead: Option<String>,
    /// The syncer, while it has nothing to do.
    idle: Option<Box<Syncer>>,
}

impl State {
    fn take(&mut self) -> Option<(Batch, Box<Syncer>)> {
        let syncer = self.idle.take_if(|_| !self.batch.is_empty())?;
        Some((std::mem::take(&mut self.batch), syncer))
    }
}

/// Where decider and syncer meet.
#[derive(Default)]
pub(super) struct Exchange {
    state: Mutex<State>,
    filled: Condvar,
    taken: Condvar,
    /// The last durable record.
    pub(super) durable: AtomicU64,
}

impl Exchange {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic on either side leaves plain data behind; the other side must still hear of it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a batch over, joining it to what waits already. If the decider was set back meanwhile
    /// or the syncer is dead, nothing in it will ever be durable, and whoever waits is told.
    ///
    /// A batch that one caller waits for is made durable here, if the syncer has nothing to do.
    pub(super) fn hand_over(&self, batch: Batch) {
        let mut state = self.state();
        while state.dead.is_none()
            && !state.set_back
            && (state.batch.snapshot.is_some() || state.batch.lines.len() > BATCH_BYTES_MAX)
        {
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.dead.is_some() || state.set_back {
            let dead = state.dead.clone();
            drop(state);
            return refuse(batch.waiting, dead);
        }
        if state.batch.is_empty() {
            state.batch = batch;
        } else {
            let waiting = &mut state.batch;
            if waiting.lines.is_empty() {
                waiting.first_seq = batch.first_seq;
            }
            if !batch.lines.is_empty() {
                waiting.last_seq = batch.last_seq;
            }
            waiting.lines.extend_from_slice(&batch.lines);
            waiting.waiting.extend(batch.waiting);
            waiting.snapshot = batch.snapshot;
        }
        let alone = state.batch.waiting.len() == 1 && state.batch.snapshot.is_none();
        match if alone { state.take() } else { None } {
            Some((batch, syncer)) => {
                drop(state);
                syncer.make_durable(batch);
            }
            None => self.filled.notify_one(),
        }
    }

    /// Whether the decider was set back; asking takes note of it.
    pub(super) fn take_set_back(&self) -> bool {
        std::mem::take(&mut self.state().set_back)
    }

    /// Says that no more batches come.
    pub(super) fn end(&self) {
        self.state().ending = true;
        self.filled.notify_one();
    }

    /// Why there will be no more syncs, if that is so.
    pub(super) fn dead(&self) -> Option<String> {
        self.state().dead.clone()
    }

    /// Refuses what waits now and, if the syncer is dead, whatever will come. Otherwise the decider
    /// is set back.
    fn refuse(&self, batch: Batch, dead: Option<String>) {
        let mut state = self.state();
        state.set_back = dead.is_none();
        state.dead.clone_from(&dead);
        let behind = std::mem::take(&mut state.batch);
        drop(state);
        self.taken.notify_one();
        refuse(batch.waiting.into_iter().chain(behind.waiting), dead);
    }

    /// Waits for a batch, and for the syncer to be free for it. `None` once no more will come.
    pub(super) fn next(&self) -> Option<(Batch, Box<Syncer>)> {
        let mut state = self.state();
        loop {
            if let Some(taken) = state.take() {
                self.taken.notify_one();
                return Some(taken);
            }
            // Whoever borrowed it brings it back; a decider that is gone has not borrowed it.
            let free = state.idle.is_some() || state.ending;
            if free && state.batch.is_empty() && (state.ending || state.dead.is_some()) {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes the syncer back that has done its batch. Nobody hands over meanwhile: either its own
    /// thread brings it, which looks by itself, or the decider, which is the only one who does.
    fn bring_back(&self, syncer: Box<Syncer>) {
        let mut state = self.state();
        state.idle = Some(syncer);
        if state.dead.is_some() {
            self.filled.notify_one();
        }
    }
}

/// The syncer's side.
pub(super) struct Syncer {
    pub(super) log: Log,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) exchange: Arc<Exchange>,
    /// Tells others how far the log is durable, once those who wait have been answered.
    pub(super) tell: Box<dyn FnMut(u64) + Send>,
    pub(super) observer: Option<Observer>,
    /// The threads that make the next segment: more than one, if appends were faster than they.
    pub(super) preparing: Vec<JoinHandle<()>>,
}

impl Syncer {
    /// Makes batches durable until there are no more, or one fails.
    pub(super) fn run(self) {
        pace::first();
        let exchange = self.exchange.clone();
        exchange.bring_back(Box::new(self));
        while let Some((batch, syncer)) = exchange.next() {
            syncer.make_durable(batch);
        }
        let Some(syncer) = exchange.state().idle.take() else { return };
        let Self { log, preparing, .. } = *syncer;
        // The folder stays locked until the next segment is no longer worked on.
        drop(log);
        for thread in preparing {
            let _ = thread.join();
        }
    }

    /// Makes one batch durable and goes back to the exchange.
    fn make_durable(mut self: Box<Self>, batch: Batch) {
        let exchange = self.exchange.clone();
        // Whoever waits must hear of a panic too: nobody else would ever answer.
        if catch_unwind(AssertUnwindSafe(|| self.write(batch))).is_err() {
            exchange.refuse(Batch::default(), Some("its syncer panicked".to_owned()));
        }
        exchange.bring_back(self);
    }

    fn write(&mut self, batch: Batch) {
        if batch.lines.is_empty() {
            return self.release(batch);
        }
        if planted(Bug::IndexAheadOfLog) {
            self.exchange.durable.store(batch.last_seq, Ordering::Release);
            (self.tell)(batch.last_seq);
        }
        let begun = Instant::now();
        match self.log.append(&batch.lines, batch.first_seq, batch.last_seq) {
            Ok(_) => {
                self.exchange.durable.store(batch.last_seq, Ordering::Release);
                if let Some(observer) = &mut self.observer {
                    observer(Synced {
                        bytes: batch.lines.len(),
                        records: batch.last_seq + 1 - batch.first_seq,
                        took: begun.elapsed(),
                    });
                }
                self.release(batch);
            }
            // Nothing of it was written.
            Err(LogError::DiskFull { .. }) => self.exchange.refuse(batch, None),
            Err(error) => {
                // After a failed sync nobody knows what the disk holds until it is read again.
                let why = causes(&error);
                tracing::error!(%why, "the ledger stops");
                self.exchange.refuse(batch, Some(why));
            }
        }
    }

    fn release(&mut self, batch: Batch) {
        let durable = self.exchange.durable.load(Ordering::Acquire);
        for release in batch.waiting {
            release(Ok(()));
        }
        if !batch.lines.is_empty() {
            (self.tell)(durable);
            self.prepare();
        }
        if let Some(core) = batch.snapshot
            && let Err(error) = restore::store(&*self.disk, self.log.next(), &core)
        {
            tracing::warn!(%error, "could not store a snapshot; the next start takes longer");
        }
    }

    /// Makes the next segment on a thread of its own, so that no command waits for it.
    fn prepare(&mut self) {
        let Some(preparation) = self.log.preparation() else { return };
        let run = move || {
            if let Err(error) = preparation.run() {
                tracing::warn!(%error, "could not prepare the next segment");
            }
        };
        self.preparing.retain(|thread| !thread.is_finished());
        // Without a thread the append that needs the segment makes it.
        self.preparing.extend(sync::spawn("segment", run).ok());
    }
}

/// Tells all that wait that there is no room, or why the ledger is dead.
fn refuse(waiting: impl IntoIterator<Item = Release>, dead: Option<String>) {
    for release in waiting {
        release(Err(match &dead {
            Some(why) => LedgerError::Stopped { why: why.clone() },
            None => LedgerError::DiskFull,
        }));
    }
}
