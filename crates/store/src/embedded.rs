//! The embedded ledger: a log, and an index that may be thrown away.
//!
//! Two threads share the work. The decider decides each command on the states in memory and turns
//! it into lines; the syncer writes and syncs whatever lines there are, then lets the answers go.
//! When only one waits, the decider does that, too (ADR 3).
//!
//! What damage can go unnoticed: opening trusts the newest snapshot and reads the log behind it. A
//! damaged record there shows, because a later one says that it was durable, or a signed checkpoint
//! does. Only records that are younger than the newest checkpoint and belong to the last batch look
//! like a batch which a crash tore before anybody was told; they are cut, with a word about it. A
//! clean stop leaves a snapshot and a checkpoint behind the last record, and then there is no such
//! batch. What lies before the snapshot is not read when opening; `check` reads all of it.
//!
//! A disk without room for a new segment or body is refused and tried again. A disk without room to
//! overwrite what is pre-written (copy-on-write file systems) fails like any other: the ledger
//! stops, and the next start finds out what was written.

mod backup;
mod check;
mod decider;
mod export;
mod history;
mod opening;
mod prune;
mod restore;
mod syncer;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use baton_protocol::command::Target;
use baton_protocol::id::CommandId;
use baton_protocol::time::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};

use crate::blob::{BlobError, Blobs};
use crate::core::Outcome;
use crate::disk::{Disk, RealDisk, is_full};
use crate::hash::Hash;
use crate::index::{Filter, Follower, HandoffRow, Index, Tally, WorkflowPage, WorkflowRow};
use crate::ledger::{
    Against, Asking, Checked, Condition, Export, Exported, Later, Ledger, LedgerError, Loan, Look,
    Recorded, Request, Scope, TransactError, panicked,
};
use crate::loans::Loans;
use crate::log::Options;
use crate::past::Past;
use crate::proof::Prover;
use crate::proof::note::VerifierKey;
use crate::record;
use crate::sync::{self, JoinHandle};

use decider::{Decider, Job, LastBatch};
use history::History;
use restore::Restored;
use syncer::{Exchange, Syncer};

/// Commands that wait to be decided; more callers wait to be let in.
const JOBS_MAX: usize = 4_096;
/// A snapshot is taken after this many records, so that a restart replays no more than that.
const RECORDS_BETWEEN_SNAPSHOTS: u64 = 100_000;
/// How long a full disk is not tried again.
const FULL_PAUSE: Duration = Duration::from_secs(1);
const INDEX: &str = "index.sqlite";

/// How the ledger uses its disk. Tests have small numbers, so that short stories meet every case.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// How large segments are.
    pub log: Options,
    /// After how many records a snapshot is taken.
    pub records_between_snapshots: u64,
    /// How long a full disk is not tried again.
    pub full_pause: Duration,
    /// Whether to open also when records are missing that a checkpoint was signed over.
    pub accept_loss: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            log: Options::default(),
            records_between_snapshots: RECORDS_BETWEEN_SNAPSHOTS,
            full_pause: FULL_PAUSE,
            accept_loss: false,
        }
    }
}

/// What one sync made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synced {
    /// Bytes of the records.
    pub bytes: usize,
    /// Records.
    pub records: u64,
    /// How long writing and syncing them took.
    pub took: Duration,
}

/// Hears of every sync. Whoever waits for an answer waits for it, so it must not wait itself.
pub type Observer = Box<dyn FnMut(Synced) + Send>;

/// The ledger in a folder of this machine.
pub struct Embedded {
    jobs: Option<mpsc::Sender<Job>>,
    exchange: Arc<Exchange>,
    history: History,
    blobs: Arc<Blobs>,
    committed: watch::Receiver<u64>,
    root: PathBuf,
    disk: Arc<dyn Disk>,
    cut: Option<String>,
    opened: u64,
    prover: Arc<Prover>,
    threads: Vec<JoinHandle<()>>,
}

impl Embedded {
    /// Opens the ledger in `root`, making it where there is none.
    pub fn open(root: &Path) -> Result<Self, LedgerError> {
        Self::open_observed(root, None)
    }

    /// Opens it likewise, and tells `observer` of every sync.
    pub fn open_observed(root: &Path, observer: Option<Observer>) -> Result<Self, LedgerError> {
        let disk = RealDisk::new(root).map_err(failed("cannot use the folder of the ledger"))?;
        Self::open_with(Arc::new(disk), root, Tuning::default(), observer)
    }

    /// Opens it although records are missing that a checkpoint was signed over. That they are is
    /// told by every check from then on.
    pub fn open_accepting_loss(
        root: &Path,
        observer: Option<Observer>,
    ) -> Result<Self, LedgerError> {
        let disk = RealDisk::new(root).map_err(failed("cannot use the folder of the ledger"))?;
        let tuning = Tuning { accept_loss: true, ..Tuning::default() };
        Self::open_with(Arc::new(disk), root, tuning, observer)
    }

    /// Opens a ledger whose files lie on `disk`; the index, which is no part of the truth, lies in
    /// the real folder `root`.
    pub fn open_on(disk: Arc<dyn Disk>, root: &Path, tuning: Tuning) -> Result<Self, LedgerError> {
        Self::open_with(disk, root, tuning, None)
    }

    fn open_with(
        disk: Arc<dyn Disk>,
        root: &Path,
        tuning: Tuning,
        observer: Option<Observer>,
    ) -> Result<Self, LedgerError> {
        let index = root.join(INDEX);
        let (restored, anchor) = opening::open(&disk, &index, tuning)?;
        let blobs = Blobs::open(disk.clone()).map_err(|error| match is_full(&error) {
            true => LedgerError::DiskFull,
            false => failed("cannot open the bodies")(error),
        })?;
        let last = restored.opened.next.seq - 1;
        let cut = restored.opened.cut.as_ref().map(ToString::to_string);
        let reader = restored.log.reader();
        let follower = Follower::spawn(&index, reader.clone(), last + 1, record::extract)
            .map_err(failed("cannot open the index"))?;
        let hold = restored.log.hold();
        let prover = Prover::spawn(disk.clone(), reader.clone(), last, anchor, hold);
        let prover = Arc::new(prover.map_err(failed("cannot start a thread of the ledger"))?);
        let history = History { follower: Arc::new(follower), reader };
        let exchange = Arc::new(Exchange::default());
        exchange.durable.store(last, Ordering::Release);
        let (committed_tx, committed) = watch::channel(last);
        let (jobs, queue) = mpsc::channel(JOBS_MAX);
        let Restored { log, core, snapshot_seq, .. } = restored;
        let decider = Decider {
            core,
            disk: disk.clone(),
            reader: history.reader.clone(),
            exchange: LastBatch(exchange.clone()),
            loans: Loans::default(),
            snapshot_seq,
            records_between_snapshots: tuning.records_between_snapshots,
            full_pause: tuning.full_pause,
            full_until: None,
        };
        let tell = telling(history.follower.clone(), prover.clone(), committed_tx);
        let syncer = Syncer {
            log,
            disk: disk.clone(),
            exchange: exchange.clone(),
            tell,
            observer,
            preparing: Vec::new(),
        };
        let threads = vec![
            spawn("syncer", move || syncer.run())?,
            spawn("decider", move || decider.run(queue))?,
        ];
        let (jobs, blobs, root) = (Some(jobs), Arc::new(blobs), root.to_owned());
        Ok(Self {
            opened: last,
            jobs,
            exchange,
            history,
            blobs,
            committed,
            root,
            disk,
            cut,
            prover,
            threads,
        })
    }

    async fn ask<T>(&self, job: impl FnOnce(decider::Reply<T>) -> Job) -> Result<T, LedgerError> {
        let stopped = || {
            let why = self.exchange.dead().unwrap_or_else(|| "its threads have ended".to_owned());
            LedgerError::Stopped { why }
        };
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(job(reply)).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Waits until questions to the index see everything that is durable now.
    async fn caught_up(&self) -> Result<(), LedgerError> {
        let durable = self.exchange.durable.load(Ordering::Acquire);
        self.history.follower.until(durable).await.map_err(failed("cannot read the index"))
    }

    /// Asks the past, on a thread that may wait for a disk.
    async fn past<T: Send + 'static>(
        &self,
        question: impl FnOnce(&History) -> T + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.caught_up().await?;
        let history = self.history.clone();
        blocking(move || Ok(question(&history))).await
    }

    async fn ask_index<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Index) -> Result<T, crate::index::IndexError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.past(move |history| history.ask(question)).await?
    }

    async fn decide(&self, request: Request) -> Result<Recorded, TransactError> {
        let (target, command) = (request.target.clone(), request.command);
        // What was drawn at random is in no history, whatever that says.
        let mut looked = match request.asking {
            Asking::MayRepeat => 0,
            Asking::First => u64::MAX,
        };
        let request = Arc::new(request);
        // The decider remembers what was recorded of late and asks to look for the rest. Whoever
        // begins something nearly always has to, so it is done at once: the question is short.
        if let (Target::NewWorkflow(id), Asking::MayRepeat) = (&target, request.asking) {
            // An index that cannot be asked rules nothing out, which may be enough.
            let (known, begun) = self.history.begun(*id).unwrap_or_default();
            looked = known;
            if begun {
                match Box::pin(self.look_back(&target, command)).await? {
                    Looked::Found(recorded) => return Ok(recorded),
                    Looked::Nothing(up_to) => looked = up_to,
                }
            }
        }
        loop {
            let asked = request.clone();
            match self.ask(|reply| Job::Transact(asked, looked, reply)).await? {
                Outcome::Recorded(recorded) => return Ok(recorded),
                Outcome::Refused(refusal) => return Err(refusal.into()),
                Outcome::Repeated(stream, last) => {
                    let repeat = self.past(move |past| past.repeat(stream, last));
                    return Ok(Box::pin(repeat).await??);
                }
                Outcome::NotLive => {
                    let answer = self.past(move |past| past.answer(&target, command));
                    return Box::pin(answer).await?;
                }
                Outcome::LookAgain => match Box::pin(self.look_back(&target, command)).await? {
                    Looked::Found(recorded) => return Ok(recorded),
                    Looked::Nothing(up_to) => looked = up_to,
                },
                Outcome::Panicked => return Err(panicked("a decision").into()),
            }
        }
    }

    /// Looks in the records for what a command led to when it was first asked.
    async fn look_back(&self, target: &Target, command: CommandId) -> Result<Looked, LedgerError> {
        let target = target.clone();
        let (up_to, found) = self.past(move |past| past.seen(&target, command)).await??;
        Ok(found.map_or(Looked::Nothing(up_to), Looked::Found))
    }
}

/// What a look at the past found of a command.
enum Looked {
    /// What it led to.
    Found(Recorded),
    /// Nothing, up to this record.
    Nothing(u64),
}

impl Ledger for Embedded {
    fn transact(&self, request: Request) -> Later<'_, Result<Recorded, TransactError>> {
        Box::pin(self.decide(request))
    }

    fn look(&self, _: Scope, look: Look) -> Later<'_, Result<(), LedgerError>> {
        Box::pin(self.ask(|reply| Job::Look(look, reply)))
    }

    fn lend(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Later<'_, Result<Vec<Loan>, LedgerError>> {
        Box::pin(self.ask(move |reply| Job::Lend { now, until, limit, reply }))
    }

    fn history(&self, filter: Filter) -> Later<'_, Result<Vec<Vec<u8>>, LedgerError>> {
        Box::pin(async move { self.past(move |past| past.lines(&filter)).await? })
    }

    fn find_workflows(&self, prefix: String) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>> {
        Box::pin(self.ask_index(move |index| index.find_workflows(&prefix)))
    }

    fn find_handoffs(&self, prefix: String) -> Later<'_, Result<Vec<HandoffRow>, LedgerError>> {
        Box::pin(self.ask_index(move |index| index.find_handoffs(&prefix)))
    }

    fn workflows(&self, page: WorkflowPage) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>> {
        Box::pin(self.ask_index(move |index| index.workflows(page)))
    }

    fn counts(&self) -> Later<'_, Result<Vec<Tally>, LedgerError>> {
        Box::pin(self.ask_index(Index::counts))
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Later<'_, Result<Hash, LedgerError>> {
        let blobs = self.blobs.clone();
        blocking(move || {
            blobs.put(&bytes).map_err(|error| match error {
                BlobError::DiskFull { .. } => LedgerError::DiskFull,
                other => failed("cannot keep a body")(other),
            })
        })
    }

    fn blob(&self, hash: Hash) -> Later<'_, Result<Vec<u8>, LedgerError>> {
        let blobs = self.blobs.clone();
        blocking(move || {
            blobs.read(&hash).map_err(|error| match error {
                BlobError::Missing { hash } => LedgerError::NoBlob { hash },
                other => failed("cannot read a body")(other),
            })
        })
    }

    fn check(&self, against: Against) -> Later<'_, Result<Checked, LedgerError>> {
        let last = self.exchange.durable.load(Ordering::Acquire);
        let reader = self.history.reader.clone();
        let (disk, blobs, prover) = (self.disk.clone(), self.blobs.clone(), self.prover.clone());
        blocking(move || {
            let unsigned = prover.wait_for(last).err();
            let proven = prover.proven();
            let check = check::Check {
                reader: &reader,
                disk: &*disk,
                blobs: &blobs,
                last,
                unsigned: unsigned.map(|why| (why, proven.halted.is_some())),
                key: proven.key(),
                against,
            };
            Ok(check.run())
        })
    }

    fn export(&self, what: Export) -> Later<'_, Result<Exported, LedgerError>> {
        let last = self.exchange.durable.load(Ordering::Acquire);
        let (history, prover) = (self.history.clone(), self.prover.clone());
        let disk = self.disk.clone();
        Box::pin(async move {
            self.caught_up().await?;
            let work = move || export::export(&history, &*disk, &prover, last, &what);
            blocking(work).await
        })
    }

    fn checkpoint(&self) -> Later<'_, Result<(VerifierKey, String), LedgerError>> {
        let last = self.exchange.durable.load(Ordering::Acquire);
        let prover = self.prover.clone();
        blocking(move || {
            let proven = prover.wait_for(last).map_err(export::unsigned)?;
            let key = proven.key().ok_or_else(|| export::unsigned("nothing is recorded".into()))?;
            Ok((key, proven.note))
        })
    }

    fn backup(&self, to: PathBuf) -> Later<'_, Result<(u64, u64), LedgerError>> {
        let last = self.exchange.durable.load(Ordering::Acquire);
        let (reader, root) = (self.history.reader.clone(), self.root.clone());
        let prover = self.prover.clone();
        blocking(move || {
            // A copy without its checkpoint is less, and better than none.
            let _ = prover.wait_for(last);
            backup::backup(&reader, last, &root, &to).map_err(failed("cannot back up the ledger"))
        })
    }

    fn committed(&self) -> watch::Receiver<u64> {
        self.committed.clone()
    }

    fn condition(&self) -> Condition {
        let records = self.exchange.durable.load(Ordering::Acquire);
        let proven = self.prover.proven();
        Condition {
            records,
            indexed: self.history.follower.indexed(),
            cut: self.cut.clone(),
            signed: proven.size(),
            unsigned: proven.halted,
            opened: self.opened,
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // The decider ends when nobody can ask it any more, and the syncer ends after it.
        self.jobs = None;
        for thread in self.threads.drain(..).rev() {
            // A thread that panicked has said so; there is nothing left to save here.
            let _ = thread.join();
        }
    }
}

/// What follows the log hears how far it is durable.
fn telling(
    follower: Arc<Follower>,
    prover: Arc<Prover>,
    committed: watch::Sender<u64>,
) -> Box<dyn FnMut(u64) + Send> {
    Box::new(move |durable| {
        follower.advance(durable);
        prover.advance(durable);
        committed.send_replace(durable);
    })
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LedgerError> {
    sync::spawn(name, run).map_err(failed("cannot start a thread of the ledger"))
}

fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LedgerError> + Send + 'static,
) -> Later<'static, Result<T, LedgerError>> {
    Box::pin(async move {
        let ended = || LedgerError::Stopped { why: "a task of the ledger has ended".to_owned() };
        sync::spawn_blocking(work).await.ok_or_else(ended)?
    })
}

fn failed<E: std::error::Error + Send + Sync + 'static>(
    what: &'static str,
) -> impl Fn(E) -> LedgerError {
    move |source| LedgerError::Failed { what: what.to_owned(), source: Box::new(source) }
}
