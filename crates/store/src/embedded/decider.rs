//! The thread that decides: one command after the other, on the states in memory.
//!
//! It runs ahead of the disk. That is safe because nothing it says leaves before the records it
//! rests on are durable: every answer goes out with the batch that follows it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use baton_protocol::time::Timestamp;
use tokio::sync::{mpsc, oneshot};

use crate::core::{Core, Outcome};
use crate::disk::Disk;
use crate::embedded::restore;
use crate::embedded::syncer::{BATCH_BYTES_MAX, Batch, Exchange};
use crate::ledger::{LedgerError, Loan, Look, Request, panicked};
use crate::loans::Loans;
use crate::log::LogReader;
use crate::sync;

/// Commands that are decided before the syncer hears of them.
///
/// Few means smaller syncs and more of them: less waiting for a batch to fill, and more system
/// time for each command. With 32, `baton bench` at 256 callers did about 14 000 life cycles a
/// second at 0.2 of the raw rate; with 12 about 12 000 at 0.57. Most of that ratio is the raw rate
/// coming down, because raw is measured at the same, smaller boundaries.
const JOBS_AT_ONCE_MAX: usize = 12;

/// What so many commands usually write; room for it is made at once.
const BATCH_BYTES_USUAL: usize = 16 * 1024;

/// What became of a job.
pub(super) type Reply<T> = oneshot::Sender<Result<T, LedgerError>>;

/// Something for the decider to do.
pub(super) enum Job {
    /// Decide a command. The number is the last record up to which its asker found nothing about
    /// it in history.
    Transact(Arc<Request>, u64, Reply<Outcome>),
    /// Show the states.
    Look(Look, Reply<()>),
    /// Lend effects.
    Lend { now: Timestamp, until: Timestamp, limit: usize, reply: Reply<Vec<Loan>> },
}

/// The decider's side.
pub(super) struct Decider {
    pub(super) core: Core,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) reader: LogReader,
    pub(super) exchange: LastBatch,
    pub(super) loans: Loans,
    /// The number of the first record behind the newest snapshot.
    pub(super) snapshot_seq: u64,
    pub(super) records_between_snapshots: u64,
    pub(super) full_pause: Duration,
    pub(super) full_until: Option<Instant>,
}

/// The decider's hand on the exchange. When it lets go, for whatever reason, no more batches come.
pub(super) struct LastBatch(pub(super) Arc<Exchange>);

impl Drop for LastBatch {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Decider {
    /// Decides until nobody asks any more, then leaves a snapshot behind, so that the next start
    /// has nothing to replay and knows which record must be the last.
    pub(super) fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(job) = sync::receive(&mut jobs) {
            if self.exchange.0.take_set_back() && !self.rebuild() {
                return;
            }
            let lines = Vec::with_capacity(BATCH_BYTES_USUAL);
            let mut batch = Batch { lines, first_seq: self.core.next_seq(), ..Batch::default() };
            self.take(job, &mut batch);
            for _ in 1..JOBS_AT_ONCE_MAX {
                if batch.lines.len() > BATCH_BYTES_MAX {
                    break;
                }
                match jobs.try_recv() {
                    Ok(job) => self.take(job, &mut batch),
                    Err(_) => break,
                }
            }
            self.pass_on(batch);
            if self.core.next_seq() >= self.snapshot_seq + self.records_between_snapshots {
                self.snapshot();
            }
        }
        self.snapshot();
    }

    fn take(&mut self, job: Job, batch: &mut Batch) {
        match job {
            Job::Transact(request, looked, reply) => self.transact(&request, looked, reply, batch),
            Job::Look(look, reply) => {
                // It only sees the world, so a panic in it harms nobody but the one who looks.
                match catch_unwind(AssertUnwindSafe(|| look(&self.core.world))) {
                    Ok(()) => batch.waiting.push(answer(reply, ())),
                    Err(_) => drop(reply.send(Err(panicked("a look")))),
                }
            }
            Job::Lend { now, until, limit, reply } => {
                let loans = self.loans.lend(&self.core.world.outbox, now, until, limit);
                batch.waiting.push(answer(reply, loans));
            }
        }
    }

    fn transact(
        &mut self,
        request: &Request,
        looked: u64,
        reply: Reply<Outcome>,
        batch: &mut Batch,
    ) {
        if self.full_until.is_some_and(|until| Instant::now() < until) {
            let _ = reply.send(Err(LedgerError::DiskFull));
            return;
        }
        self.full_until = None;
        let safe = self.exchange.0.durable.load(Ordering::Acquire);
        let outcome = self.core.transact(request, safe, looked, &mut batch.lines);
        batch.waiting.push(answer(reply, outcome));
    }

    fn pass_on(&mut self, mut batch: Batch) {
        batch.last_seq = self.core.next_seq() - 1;
        self.exchange.0.hand_over(batch);
    }

    fn snapshot(&mut self) {
        let seq = self.core.next_seq();
        if seq == self.snapshot_seq {
            return;
        }
        self.snapshot_seq = seq;
        match self.core.snapshot() {
            Ok(bytes) => {
                let snapshot = Some(bytes);
                self.pass_on(Batch { first_seq: seq, snapshot, ..Batch::default() });
            }
            Err(error) => tracing::warn!(%error, "could not make a snapshot"),
        }
    }

    /// Forgets what was decided but did not fit on the disk.
    fn rebuild(&mut self) -> bool {
        let last = self.exchange.0.durable.load(Ordering::Acquire);
        match restore::rebuild(&*self.disk, &self.reader, last) {
            Ok((core, snapshot_seq)) => {
                self.core = core;
                self.loans.forget_after(last);
                self.snapshot_seq = snapshot_seq;
                self.full_until = Some(Instant::now() + self.full_pause);
                true
            }
            Err(error) => {
                tracing::error!(%error, "the ledger stops: it cannot be read back");
                false
            }
        }
    }
}

/// What is said once everything before it is durable.
fn answer<T: Send + 'static>(
    reply: Reply<T>,
    value: T,
) -> Box<dyn FnOnce(Result<(), LedgerError>) + Send> {
    // Whoever no longer waits has the record to find out from.
    Box::new(move |durable| drop(reply.send(durable.map(|()| value))))
}
