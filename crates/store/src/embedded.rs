//! The embedded ledger: a log, and an index that may be thrown away.
//!
//! Two threads share the work. The decider decides each command on the states in memory and turns
//! it into lines; the syncer writes and syncs whatever lines there are, then lets the answers go.

mod backup;
mod check;
mod decider;
mod restore;
mod syncer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use baton_protocol::command::Target;
use baton_protocol::event::StreamId;
use baton_protocol::id::{CommandId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};

use crate::blob::Blobs;
use crate::core::Outcome;
use crate::disk::{Disk, RealDisk};
use crate::hash::Hash;
use crate::index::{Filter, Follower, HandoffRow, Tally, WorkflowPage, WorkflowRow};
use crate::ledger::{
    Checked, Condition, Later, Ledger, LedgerError, Loan, Look, Recorded, Request, Scope,
    TransactError,
};
use crate::log::{LogError, LogReader, Options};
use crate::record::{self, Record};

use decider::{Decider, Job};
use syncer::{Exchange, Syncer};

/// Commands that wait to be decided; more callers wait to be let in.
const JOBS_MAX: usize = 4_096;
const INDEX: &str = "index.sqlite";

/// Hears of every sync: how many bytes it made durable.
pub type Observer = Box<dyn FnMut(usize) + Send>;

/// The ledger in a folder of this machine.
pub struct Embedded {
    jobs: Option<mpsc::Sender<Job>>,
    exchange: Arc<Exchange>,
    follower: Arc<Follower>,
    reader: LogReader,
    blobs: Arc<Blobs>,
    committed: watch::Receiver<u64>,
    root: PathBuf,
    cut: Option<String>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Embedded {
    /// Opens the ledger in `root`, making it where there is none.
    pub fn open(root: &Path) -> Result<Self, LedgerError> {
        Self::open_observed(root, None)
    }

    /// Opens it likewise, and tells `observer` of every sync.
    pub fn open_observed(root: &Path, observer: Option<Observer>) -> Result<Self, LedgerError> {
        let disk = RealDisk::new(root).map_err(failed("cannot use the folder of the ledger"))?;
        Self::open_with(Arc::new(disk), root, Options::default(), observer)
    }

    /// Opens a ledger whose files lie on `disk`; the index, which is no part of the truth, lies in
    /// the real folder `root`.
    pub fn open_on(
        disk: Arc<dyn Disk>,
        root: &Path,
        options: Options,
    ) -> Result<Self, LedgerError> {
        Self::open_with(disk, root, options, None)
    }

    fn open_with(
        disk: Arc<dyn Disk>,
        root: &Path,
        options: Options,
        observer: Option<Observer>,
    ) -> Result<Self, LedgerError> {
        let (log, opened, core) = restore::open(&disk, options).map_err(|error| match error {
            LogError::Locked { folder } => LedgerError::InUse { folder },
            other => failed("cannot open the ledger")(other),
        })?;
        let last = opened.next.seq - 1;
        let reader = log.reader();
        let blobs = Blobs::open(disk.clone()).map_err(failed("cannot open the bodies"))?;
        let index = root.join(INDEX);
        let follower = Follower::spawn(&index, reader.clone(), last + 1, record::extract)
            .map_err(failed("cannot open the index"))?;
        let follower = Arc::new(follower);
        let exchange = Arc::new(Exchange::default());
        exchange.durable.store(last, Ordering::Release);
        let (committed_tx, committed) = watch::channel(last);
        let (jobs, queue) = mpsc::channel(JOBS_MAX);
        let cut = opened.cut.map(|cut| {
            format!("cut {} bytes from record {} on: {}", cut.bytes, cut.first_seq, cut.reason)
        });
        let syncer = Syncer {
            log,
            disk: disk.clone(),
            exchange: exchange.clone(),
            follower: follower.clone(),
            committed: committed_tx,
            observer,
        };
        let decider = Decider {
            snapshot_seq: core.next_seq(),
            core,
            disk,
            reader: reader.clone(),
            exchange: exchange.clone(),
            leases: HashMap::new(),
            full_until: None,
        };
        let threads = vec![
            spawn("syncer", move || syncer.run())?,
            spawn("decider", move || decider.run(queue))?,
        ];
        Ok(Self {
            jobs: Some(jobs),
            exchange,
            follower,
            reader,
            blobs: Arc::new(blobs),
            committed,
            root: root.to_owned(),
            cut,
            threads,
        })
    }

    async fn ask<T>(&self, job: impl FnOnce(decider::Reply<T>) -> Job) -> Result<T, LedgerError> {
        let stopped = || LedgerError::Stopped { why: "its threads have ended".to_owned() };
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(job(reply)).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Waits until questions to the index see everything that is durable now.
    async fn caught_up(&self) -> Result<(), LedgerError> {
        let durable = self.exchange.durable.load(Ordering::Acquire);
        self.follower.until(durable).await.map_err(failed("cannot read the index"))
    }

    async fn decide(&self, request: Request) -> Result<Recorded, TransactError> {
        let request = Arc::new(request);
        loop {
            let looked = self.follower.indexed();
            if let Target::NewWorkflow(id) = &request.target
                && self.ask_index(|index| index.workflow_closed(id.as_bytes()))?.is_some()
            {
                return self.past(*id, request.command).await;
            }
            let asked = request.clone();
            match self.ask(|reply| Job::Transact(asked, looked, reply)).await? {
                Outcome::Recorded(recorded) => return Ok(recorded),
                Outcome::Refused(refusal) => return Err(refusal.into()),
                Outcome::Repeated(stream) => {
                    return Ok(self.repeat(stream, request.command).await?);
                }
                Outcome::NotLive => return self.not_live(&request).await,
                Outcome::LookAgain => self.caught_up().await?,
            }
        }
    }

    /// Answers a command about something that is over or never was.
    async fn not_live(&self, request: &Request) -> Result<Recorded, TransactError> {
        self.caught_up().await?;
        match &request.target {
            Target::NewWorkflow(id) | Target::Workflow(id) => self.past(*id, request.command).await,
            Target::Handoff(id) => {
                let rows = self.ask_index(|index| index.find_handoffs(&id.to_string()))?;
                match rows.first().and_then(|row| row.workflow) {
                    Some(home) => self.past(WorkflowId::from_bytes(home), request.command).await,
                    None => Err(Refusal::UnknownHandoff { handoff: *id }.into()),
                }
            }
            // These are always live, so the decider never says otherwise.
            Target::Agent(agent) => Err(Refusal::UnknownAgent { agent: agent.clone() }.into()),
            Target::Workspace => Err(Refusal::CoordinatorOnly.into()),
        }
    }

    /// Answers a command about a workflow that left memory: as before, if it was recorded there.
    async fn past(&self, id: WorkflowId, command: CommandId) -> Result<Recorded, TransactError> {
        self.caught_up().await?;
        let before = self.repeat(StreamId::Workflow(id), command).await?;
        if before.seq.is_some() {
            return Ok(before);
        }
        let ending = self.ask_index(|index| index.workflow_closed(id.as_bytes()))?;
        Err(match ending {
            Some(ending) => Refusal::WorkflowClosed { workflow: id, ending }.into(),
            None => Refusal::UnknownWorkflow { workflow: id }.into(),
        })
    }

    /// What a command led to when it was first asked, from the records themselves.
    async fn repeat(&self, stream: StreamId, command: CommandId) -> Result<Recorded, LedgerError> {
        self.caught_up().await?;
        let workflow = match &stream {
            StreamId::Workflow(id) => Some(*id.as_bytes()),
            StreamId::Agent(_) | StreamId::Workspace => None,
        };
        let command_bytes = Some(*command.as_bytes());
        let filter = Filter { workflow, command: command_bytes, ..Filter::default() };
        let mut recorded = Recorded { stream, seq: None, events: Vec::new() };
        for line in self.lines(&filter)? {
            let record = Record::read(&line).map_err(failed("cannot read a record"))?;
            if record.command == command {
                recorded.seq = Some(record.seq);
                recorded.events.push(record.event);
            }
        }
        Ok(recorded)
    }

    fn ask_index<T>(
        &self,
        question: impl FnOnce(&crate::index::Index) -> Result<T, crate::index::IndexError>,
    ) -> Result<T, LedgerError> {
        question(self.follower.index()).map_err(failed("cannot read the index"))
    }

    fn lines(&self, filter: &Filter) -> Result<Vec<Vec<u8>>, LedgerError> {
        let places = self.ask_index(|index| index.records(filter))?;
        let read = |(_, position)| self.reader.read_line(position);
        let lines: Result<_, _> = places.into_iter().map(read).collect();
        lines.map_err(failed("cannot read the ledger"))
    }
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
        Box::pin(async move {
            self.caught_up().await?;
            self.lines(&filter)
        })
    }

    fn find_workflows(&self, prefix: String) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>> {
        Box::pin(async move {
            self.caught_up().await?;
            self.ask_index(|index| index.find_workflows(&prefix))
        })
    }

    fn find_handoffs(&self, prefix: String) -> Later<'_, Result<Vec<HandoffRow>, LedgerError>> {
        Box::pin(async move {
            self.caught_up().await?;
            self.ask_index(|index| index.find_handoffs(&prefix))
        })
    }

    fn workflows(&self, page: WorkflowPage) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>> {
        Box::pin(async move {
            self.caught_up().await?;
            self.ask_index(|index| index.workflows(page))
        })
    }

    fn counts(&self) -> Later<'_, Result<Vec<Tally>, LedgerError>> {
        Box::pin(async move {
            self.caught_up().await?;
            self.ask_index(crate::index::Index::counts)
        })
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Later<'_, Result<Hash, LedgerError>> {
        let blobs = self.blobs.clone();
        blocking(move || blobs.put(&bytes).map_err(failed("cannot keep a body")))
    }

    fn blob(&self, hash: Hash) -> Later<'_, Result<Vec<u8>, LedgerError>> {
        let blobs = self.blobs.clone();
        blocking(move || blobs.read(&hash).map_err(failed("cannot read a body")))
    }

    fn check(&self) -> Later<'_, Result<Checked, LedgerError>> {
        let last = self.exchange.durable.load(Ordering::Acquire);
        let reader = self.reader.clone();
        blocking(move || Ok(check::check(&reader, last)))
    }

    fn backup(&self, to: PathBuf) -> Later<'_, Result<(u64, u64), LedgerError>> {
        let last = self.exchange.durable.load(Ordering::Acquire);
        let (reader, root) = (self.reader.clone(), self.root.clone());
        blocking(move || {
            backup::backup(&reader, last, &root, &to).map_err(failed("cannot back up the ledger"))
        })
    }

    fn committed(&self) -> watch::Receiver<u64> {
        self.committed.clone()
    }

    fn condition(&self) -> Condition {
        let records = self.exchange.durable.load(Ordering::Acquire);
        Condition { records, indexed: self.follower.indexed(), cut: self.cut.clone() }
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

fn spawn(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, LedgerError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(failed("cannot start a thread of the ledger"))
}

fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LedgerError> + Send + 'static,
) -> Later<'static, Result<T, LedgerError>> {
    Box::pin(async move {
        let ended = |_| LedgerError::Stopped { why: "a task of the ledger has ended".to_owned() };
        tokio::task::spawn_blocking(work).await.map_err(ended)?
    })
}

fn failed<E: std::error::Error + Send + Sync + 'static>(
    what: &'static str,
) -> impl Fn(E) -> LedgerError {
    move |source| LedgerError::Failed { what: what.to_owned(), source: Box::new(source) }
}
