//! The ledger's promises. `conformance.rs` is the meaning of this trait: an implementation that
//! passes it is correct.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use baton_protocol::World;
use baton_protocol::command::Target;
use baton_protocol::effect::{Effect, EffectId};
use baton_protocol::event::{Decision, Event, StreamId};
use baton_protocol::id::{AgentId, CommandId, HandoffId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use tokio::sync::watch;

use crate::hash::Hash;
use crate::index::{Filter, HandoffRow, Tally, WorkflowPage, WorkflowRow};
use crate::proof::note::VerifierKey;

/// Something that comes later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A pure decision. It may be run again on newer states when another node got there first.
pub type Decide = Box<dyn Fn(&World, Timestamp) -> Result<Decision, Refusal> + Send + Sync>;

/// A look at states, which changes nothing.
pub type Look = Box<dyn FnOnce(&World) + Send>;

/// What a ledger needs to decide and record a command.
pub struct Request {
    /// Which state the command is about.
    pub target: Target,
    /// The same id is decided once.
    pub command: CommandId,
    /// Whether it may have been asked before.
    pub asking: Asking,
    /// A digest of what is asked, recorded so that the same id for something else can be told.
    pub asked: u64,
    /// Who asks, for the record.
    pub by: String,
    /// What the asker's clock says. Records never go back in time, whatever clocks say.
    pub now: Timestamp,
    /// The decision.
    pub decide: Decide,
}

/// Whether a command may have been asked before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// Its asker chose its id, and may ask again.
    MayRepeat,
    /// Its id was drawn at random for this one request.
    First,
}

/// What a command led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Where its events belong.
    pub stream: StreamId,
    /// The number of the last record; absent when nothing had to be recorded.
    pub seq: Option<u64>,
    /// The digest of what was asked when it was recorded.
    pub asked: u64,
    /// What was recorded.
    pub events: Vec<Event>,
}

/// Which states a look is about, so that a ledger on a database knows what to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One workflow.
    Workflow(WorkflowId),
    /// The workflow of one handoff.
    Handoff(HandoffId),
    /// One agent, and every workflow that concerns it.
    Agent(AgentId),
    /// All agents, without their work.
    Agents,
    /// Everything that is live.
    Everything,
}

/// An effect that was lent to be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Loan {
    /// Which one.
    pub id: EffectId,
    /// What it is.
    pub effect: Effect,
}

/// Why a ledger could not do its work. It may be asked again.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Another process has the ledger open.
    #[error("the ledger in {folder} is in use by another process")]
    InUse {
        /// The folder with the lock.
        folder: String,
    },
    /// There is no room for another record.
    #[error("the disk is full: nothing was recorded")]
    DiskFull,
    /// The ledger has stopped, for good.
    #[error("the ledger has stopped: {why}")]
    Stopped {
        /// What stopped it.
        why: String,
    },
    /// A body is not there.
    #[error("there is no body {hash}")]
    NoBlob {
        /// Its name.
        hash: Hash,
    },
    /// Something below failed.
    #[error("{what}")]
    Failed {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What an asker hears whose own code panicked inside the ledger.
pub(crate) fn panicked(what: &str) -> LedgerError {
    let source = "it panicked, and nothing was recorded".into();
    LedgerError::Failed { what: format!("{what} did not come to an end"), source }
}

/// Why a command was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum TransactError {
    /// The rules say no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The ledger could not.
    #[error(transparent)]
    Failed(#[from] LedgerError),
}

/// How the ledger is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Records that are durable.
    pub records: u64,
    /// Records that history queries see without waiting.
    pub indexed: u64,
    /// What was cut off at start because it was never acknowledged.
    pub cut: Option<String>,
    /// Records that a signed checkpoint is over.
    pub signed: u64,
    /// Why no more checkpoints are signed, if that is so.
    pub unsigned: Option<String>,
    /// Records that were there at start.
    pub opened: u64,
}

/// What a check of all records found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Records that were read.
    pub records: u64,
    /// Streams whose chains were followed.
    pub streams: u64,
    /// What is wrong first, if anything is.
    pub problem: Option<String>,
    /// The number of the first record that is wrong, where one can be named.
    pub record: Option<u64>,
    /// The stream of that record, where it can still be read.
    pub stream: Option<String>,
    /// Signed checkpoints that the records agree with.
    pub checkpoints: u64,
    /// How many records the newest of them is over.
    pub signed: u64,
    /// Records of which only the stub is left.
    pub pruned: u64,
    /// The key that the checkpoints are signed with.
    pub key: Option<String>,
    /// What is not wrong, and worth knowing.
    pub notes: Vec<String>,
}

/// What a check compares the ledger with, beside what lies in its own folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Against {
    /// The key that the checkpoints must be signed with.
    pub key: Option<VerifierKey>,
    /// A checkpoint that was kept elsewhere, which the ledger must go on from.
    pub since: Option<String>,
}

/// Which records a bundle holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Only those of one workflow.
    pub workflow: Option<WorkflowId>,
    /// A checkpoint that was kept elsewhere, to prove that the ledger went on from it.
    pub since: Option<String>,
    /// The file to write, which must not exist.
    pub to: PathBuf,
}

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Records in the bundle.
    pub records: u64,
    /// Its size.
    pub bytes: u64,
    /// How many records the checkpoint in it is over.
    pub signed: u64,
    /// The key to check it with.
    pub key: String,
}

/// The durable record. Whatever else the system knows can be rebuilt from it.
pub trait Ledger: Send + Sync {
    /// Decides on the current states and records what was decided, all or nothing.
    ///
    /// Returns only once the record would survive a power cut; a refusal, too, rests only on what
    /// would. A command id seen before is answered as it was the first time, without deciding,
    /// also when its workflow is long over.
    fn transact(&self, request: Request) -> Later<'_, Result<Recorded, TransactError>>;

    /// Shows the states of `scope`. They contain every answered command and nothing that a power
    /// cut could take back.
    fn look(&self, scope: Scope, look: Look) -> Later<'_, Result<(), LedgerError>>;

    /// Lends up to `limit` effects that nobody holds at `now`, oldest first.
    ///
    /// A loan whose effect is not settled by `until` is lent again, so an effect may run twice but
    /// is never lost.
    fn lend(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Later<'_, Result<Vec<Loan>, LedgerError>>;

    /// Returns the lines that pass `filter`, as they are stored. It sees every answered command.
    fn history(&self, filter: Filter) -> Later<'_, Result<Vec<Vec<u8>>, LedgerError>>;

    /// Finds workflows, live and closed, by the beginning of their id in hexadecimal digits.
    fn find_workflows(&self, prefix: String) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>>;

    /// Finds handoffs likewise.
    fn find_handoffs(&self, prefix: String) -> Later<'_, Result<Vec<HandoffRow>, LedgerError>>;

    /// Lists workflows, live and closed, newest first.
    fn workflows(&self, page: WorkflowPage) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>>;

    /// Counts records by type, sender and receiver.
    fn counts(&self) -> Later<'_, Result<Vec<Tally>, LedgerError>>;

    /// Keeps a body. Returns once it would survive a power cut, so a record may name it.
    fn put_blob(&self, bytes: Vec<u8>) -> Later<'_, Result<Hash, LedgerError>>;

    /// Returns a body, checked against its name.
    fn blob(&self, hash: Hash) -> Later<'_, Result<Vec<u8>, LedgerError>>;

    /// Reads every record, follows every chain, and compares all with the signed checkpoints.
    fn check(&self, against: Against) -> Later<'_, Result<Checked, LedgerError>>;

    /// Writes records to a file that can be checked without this ledger.
    fn export(&self, what: Export) -> Later<'_, Result<Exported, LedgerError>>;

    /// The key that checks this ledger's checkpoints, and the newest of them. Everything that is
    /// durable now is signed first.
    fn checkpoint(&self) -> Later<'_, Result<(VerifierKey, String), LedgerError>>;

    /// Copies what is durable into an empty folder, while others go on. Returns the number of
    /// files and bytes.
    fn backup(&self, to: PathBuf) -> Later<'_, Result<(u64, u64), LedgerError>>;

    /// Tells the number of the last durable record, and whenever it grows. It closes when the
    /// ledger stops.
    fn committed(&self) -> watch::Receiver<u64>;

    /// Tells how the ledger is.
    fn condition(&self) -> Condition;
}
