//! Where the stories' commands are handed in: what the engine does, as small as it can be.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use baton_protocol::command::{Actor, Command, History, Messages, Submission};
use baton_protocol::id::{CommandId, HandoffId, WorkflowId};
use baton_protocol::text::{BlobRef, Body};
use baton_protocol::time::Timestamp;
use baton_protocol::{World, decide};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{Bench, Stop};
use crate::index::Filter;
use crate::ledger::{Asking, Ledger, Recorded, Request, Scope, TransactError};
use crate::record::Record;

/// When every story begins, in microseconds.
pub(crate) const BEGIN: i64 = 1_750_000_000_000_000;

/// A ledger, and a clock that stands still unless it is told otherwise.
pub struct Desk {
    bench: Box<dyn Bench>,
    now: AtomicI64,
}

/// The id of the command that is asked under `key`.
pub(crate) fn command(key: &str) -> CommandId {
    CommandId::from_key("story", key)
}

/// The workflow that the command under `key` begins.
pub fn workflow(key: &str) -> WorkflowId {
    command(key).workflow()
}

/// The handoff that the command under `key` initiates.
pub fn handoff(key: &str) -> HandoffId {
    command(key).handoff()
}

/// A command as it would arrive: `asked` is its JSON, `who` the agent, operator or coordinator.
pub fn submission(key: &str, who: &str, asked: Value) -> Submission {
    let actor = match who {
        "operator" => Actor::Operator,
        "coordinator" => Actor::Coordinator,
        agent => Actor::Agent(agent.parse().expect("a story's agent has a sound name")),
    };
    let parsed = serde_json::from_value::<Command>(asked);
    let command = parsed.unwrap_or_else(|error| panic!("the command {key} is none: {error}"));
    Submission { id: self::command(key), actor, command }
}

/// A submission as a ledger takes it.
pub fn request(submission: Submission, now: Timestamp) -> Request {
    let by = match &submission.actor {
        Actor::Viewer => "viewer".to_owned(),
        Actor::Coordinator => "coordinator".to_owned(),
        other => other.agent().to_string(),
    };
    Request {
        asked: 0,
        asking: Asking::MayRepeat,
        target: submission.target(),
        command: submission.id,
        by,
        now,
        decide: Box::new(move |world, now| decide(world, &submission, now)),
    }
}

/// Asks a ledger for a command, with its body kept beside it if it is larger than a story usually
/// tells.
pub(crate) async fn hand_in(
    ledger: &dyn Ledger,
    mut submission: Submission,
    now: Timestamp,
) -> Result<Recorded, TransactError> {
    if let Command::Pass(pass) = &mut submission.command
        && let Some(history) = &mut pass.context.conversation_history
        && let Messages::Given(json) = &history.messages
        && json.weight() > 200
    {
        let bytes = json.as_value().to_string().into_bytes();
        let size = bytes.len() as u64;
        let sha256 = ledger.put_blob(bytes).await?.to_string();
        *history = History::packed(Body::Blob(BlobRef { sha256, bytes: size }), None);
    }
    ledger.transact(request(submission, now)).await
}

impl Desk {
    /// A desk before a ledger.
    pub fn new(bench: impl Bench + 'static) -> Self {
        Self { bench: Box::new(bench), now: AtomicI64::new(BEGIN) }
    }

    /// The ledger.
    pub fn ledger(&self) -> Arc<dyn Ledger> {
        self.bench.ledger()
    }

    /// Stops the ledger and starts it again.
    pub fn restart(&mut self, how: Stop) {
        self.bench.restart(how);
    }

    /// Changes a byte of a record.
    pub fn spoil(&mut self, seq: u64) {
        self.bench.spoil(seq);
    }

    /// What the clock says.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.now.load(Ordering::Relaxed))
    }

    /// Sets the clock to so many seconds after the story's beginning.
    pub fn set_clock(&self, seconds: i64) {
        self.now.store(BEGIN + seconds * 1_000_000, Ordering::Relaxed);
    }

    /// Asks for a command.
    pub async fn ask(&self, key: &str, who: &str, asked: Value) -> Result<Recorded, TransactError> {
        self.submit(submission(key, who, asked)).await
    }

    /// Asks likewise, with the command in hand.
    pub async fn submit(&self, submission: Submission) -> Result<Recorded, TransactError> {
        hand_in(&*self.ledger(), submission, self.now()).await
    }

    /// Asks for a command that must be recorded.
    pub async fn told(&self, key: &str, who: &str, asked: Value) -> Recorded {
        let answer = self.ask(key, who, asked).await;
        answer.unwrap_or_else(|error| panic!("{key} was to be recorded: {error}"))
    }

    /// Asks for a command that must be refused, and returns the refusal's code.
    pub async fn refused(&self, key: &str, who: &str, asked: Value) -> &'static str {
        match self.ask(key, who, asked).await {
            Err(TransactError::Refused(refusal)) => refusal.code(),
            Err(TransactError::Failed(failure)) => panic!("{key} was to be refused: {failure}"),
            Ok(recorded) => panic!("{key} was to be refused: {recorded:?}"),
        }
    }

    /// Makes the agents of the stories known: a planner, a builder that wants to be told of news,
    /// and a reviewer.
    pub async fn register(&self) {
        for step in super::agents() {
            self.told(&step.key, step.who, step.asked).await;
        }
    }

    /// Looks at the world.
    pub async fn see<T: Send + 'static>(
        &self,
        view: impl FnOnce(&World) -> T + Send + 'static,
    ) -> T {
        let (show, shown) = oneshot::channel();
        let look = Box::new(move |world: &World| drop(show.send(view(world))));
        self.ledger().look(Scope::Everything, look).await.expect("a look is taken");
        shown.await.expect("a look that was taken has seen")
    }

    /// Everything that is live, spelled out so that two worlds can be compared.
    pub async fn state(&self) -> Value {
        self.see(spelled).await
    }

    /// The lines that pass `filter`.
    pub async fn lines(&self, filter: Filter) -> Vec<Vec<u8>> {
        self.ledger().history(filter).await.expect("history can be read")
    }

    /// The records that pass `filter`.
    pub async fn records(&self, filter: Filter) -> Vec<Record> {
        let lines = self.lines(filter).await;
        lines.iter().map(|line| Record::read(line).expect("a line is a record")).collect()
    }

    /// How many records are durable.
    pub fn count(&self) -> u64 {
        self.ledger().condition().records
    }
}

/// A world spelled out: its states, and what follows from them for homes and timers.
pub(crate) fn spelled(world: &World) -> Value {
    let homes: Vec<_> = world
        .workflows
        .values()
        .flat_map(|workflow| workflow.handoffs.keys())
        .map(|handoff| world.home(*handoff))
        .collect();
    let mut due: Vec<_> = world.due(Timestamp::from_micros(i64::MAX)).collect();
    due.sort();
    let due: Vec<String> = due.iter().map(|timer| format!("{timer:?}")).collect();
    let live = serde_json::to_value(world).expect("a world is plain data");
    json!({"live": live, "homes": homes.iter().flatten().count(), "due": due})
}

/// A pass that begins a workflow.
pub(crate) fn begin(to: &str) -> Value {
    json!({"pass": {"to_agent": to, "reason": "new work"}})
}

/// A pass within a workflow that comes back.
pub(crate) fn delegate(of: WorkflowId, fence: u64, to: &str) -> Value {
    json!({"pass": {
        "workflow": of, "fence": fence, "to_agent": to, "type": "delegation",
        "reason": "a part of it", "return_protocol": {"timeout": "10m"},
    }})
}

/// Taking a handoff.
pub(crate) fn accept(handoff: HandoffId) -> Value {
    json!({"accept": {"handoff": handoff}})
}

/// Bringing a result back.
pub(crate) fn give_back(handoff: HandoffId, fence: u64) -> Value {
    json!({"return": {"handoff": handoff, "fence": fence, "status": "success"}})
}

/// Ending a workflow.
pub(crate) fn complete(workflow: WorkflowId, fence: u64) -> Value {
    json!({"complete": {"workflow": workflow, "fence": fence}})
}
