//! Deciding and chaining, one command after the other: what every embedded ledger does before
//! anything is written.
//!
//! It holds the states, the head of each live stream, and nothing about files.

use std::collections::{HashMap, HashSet, VecDeque};

use baton_protocol::command::Target;
use baton_protocol::event::{Event, StreamId};
use baton_protocol::id::{CommandId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use baton_protocol::{World, audit, evolve};
use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::ledger::{Recorded, Request};
use crate::line::{self, LINE_BYTES_MAX};
use crate::log::SEQ_FIRST;
use crate::record::{Record, RecordOut};

/// Closed workflows that are remembered by name, so that a repeated command finds them although
/// the index has not caught up.
const CLOSED_KEPT_MAX: usize = 16 * 1024;
/// Commands that a stream without an end remembers. Streams of workflows remember all of theirs.
const COMMANDS_KEPT_MAX: usize = 1_024;

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was decided; its lines are in the buffer.
    Recorded(Recorded),
    /// The rules say no.
    Refused(Refusal),
    /// The same command was recorded in this stream before.
    Repeated(StreamId),
    /// What it is about is not live: it is over, or it never was.
    NotLive,
    /// The asker looked at history too long ago to rule out that this began before.
    LookAgain,
}

/// The last record of a live stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Head {
    version: u64,
    hash: Hash,
    commands: HashSet<CommandId>,
}

/// The states and chains that records are made from.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) world: World,
    heads: HashMap<StreamId, Head>,
    closed: Closed,
    next_seq: u64,
    last_at: Timestamp,
}

/// A core as a snapshot keeps it.
#[derive(Serialize, Deserialize)]
struct Stored {
    world: World,
    heads: Vec<(StreamId, Head)>,
    next_seq: u64,
    last_at: Timestamp,
}

impl Default for Core {
    fn default() -> Self {
        Self {
            world: World::default(),
            heads: HashMap::new(),
            closed: Closed::default(),
            next_seq: SEQ_FIRST,
            last_at: Timestamp::default(),
        }
    }
}

impl Core {
    /// The number of the next record.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Decides a request and writes its lines to the end of `buffer`.
    ///
    /// `safe` is the last durable record; `looked` is the last record that was indexed when the
    /// asker found nothing about a new workflow in history.
    pub(crate) fn transact(
        &mut self,
        request: &Request,
        safe: u64,
        looked: u64,
        buffer: &mut Vec<u8>,
    ) -> Outcome {
        match self.standing(&request.target, request.command, looked) {
            Standing::Open => (),
            Standing::Settled(outcome) => return outcome,
        }
        let now = request.now.max(self.last_at);
        let decision = match (request.decide)(&self.world, now) {
            Ok(decision) => decision,
            Err(refusal) => return Outcome::Refused(refusal),
        };
        let (stream, effects) = (decision.stream, decision.effects);
        if decision.events.is_empty() {
            return Outcome::Recorded(Recorded { stream, seq: None, events: Vec::new() });
        }
        self.last_at = now;
        let count = u32::try_from(decision.events.len()).unwrap_or(u32::MAX);
        for (n, event) in (0..count).zip(&decision.events) {
            evolve(&mut self.world, &stream, event, now);
            let effects = if n + 1 == count { effects.as_slice() } else { &[] };
            let head = self.heads.entry(stream.clone()).or_default();
            let record = RecordOut {
                seq: self.next_seq,
                safe,
                part: (count > 1).then_some([n, count]),
                at: now,
                stream: &stream,
                version: head.version + 1,
                command: request.command,
                by: &request.by,
                event,
                audit: audit::audit(&self.world, event, now),
                effects,
                prev: head.hash,
            };
            let hash = write(buffer, &record);
            self.world.keep_effects(self.next_seq, effects);
            self.advance(&stream, event, request.command, hash);
        }
        Outcome::Recorded(Recorded {
            stream,
            seq: Some(self.next_seq - 1),
            events: decision.events,
        })
    }

    /// Whether there is something to decide at all.
    fn standing(&self, target: &Target, command: CommandId, looked: u64) -> Standing {
        let stream = match target {
            Target::NewWorkflow(id) => {
                if self.closed.contains(id) {
                    return Standing::Settled(Outcome::NotLive);
                }
                if self.closed.forgot_since(looked) {
                    return Standing::Settled(Outcome::LookAgain);
                }
                StreamId::Workflow(*id)
            }
            Target::Workflow(id) => match self.world.workflows.contains_key(id) {
                true => StreamId::Workflow(*id),
                false => return Standing::Settled(Outcome::NotLive),
            },
            Target::Handoff(id) => match self.world.home(*id) {
                Some(home) => StreamId::Workflow(home),
                None => return Standing::Settled(Outcome::NotLive),
            },
            Target::Agent(id) => StreamId::Agent(id.clone()),
            Target::Workspace => StreamId::Workspace,
        };
        let known = self.heads.get(&stream).is_some_and(|head| head.commands.contains(&command));
        match known {
            true => Standing::Settled(Outcome::Repeated(stream)),
            false => Standing::Open,
        }
    }

    /// Takes note of a record that was written or read.
    fn advance(&mut self, stream: &StreamId, event: &Event, command: CommandId, hash: Hash) {
        let seq = self.next_seq;
        self.next_seq += 1;
        if let (StreamId::Workflow(id), Event::Closed { .. }) = (stream, event) {
            self.heads.remove(stream);
            self.closed.remember(*id, seq);
            return;
        }
        let head = self.heads.entry(stream.clone()).or_default();
        head.version += 1;
        head.hash = hash;
        let endless = !matches!(stream, StreamId::Workflow(_));
        if endless && head.commands.len() >= COMMANDS_KEPT_MAX {
            head.commands.clear();
        }
        head.commands.insert(command);
    }

    /// Applies a record that was read back, after checking that it follows the one before it.
    pub(crate) fn replay(&mut self, record: &Record, hash: Hash) -> Result<(), String> {
        if record.seq != self.next_seq {
            return Err(format!("record {} stands where {} belongs", record.seq, self.next_seq));
        }
        let head = self.heads.entry(record.stream.clone()).or_default();
        if record.prev != head.hash || record.version != head.version + 1 {
            return Err(format!("record {} does not follow its stream's last one", record.seq));
        }
        self.last_at = self.last_at.max(record.at);
        evolve(&mut self.world, &record.stream, &record.event, record.at);
        self.world.keep_effects(record.seq, &record.effects);
        self.advance(&record.stream, &record.event, record.command, hash);
        Ok(())
    }

    /// The core as bytes that [`Core::restored`] reads.
    pub(crate) fn snapshot(&self) -> Result<Vec<u8>, serde_json::Error> {
        #[derive(Serialize)]
        struct StoredRef<'a> {
            world: &'a World,
            heads: Vec<(&'a StreamId, &'a Head)>,
            next_seq: u64,
            last_at: Timestamp,
        }
        serde_json::to_vec(&StoredRef {
            world: &self.world,
            heads: self.heads.iter().collect(),
            next_seq: self.next_seq,
            last_at: self.last_at,
        })
    }

    /// Reads a core back.
    pub(crate) fn restored(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let stored: Stored = serde_json::from_slice(bytes)?;
        Ok(Self {
            world: stored.world.restored(),
            heads: stored.heads.into_iter().collect(),
            closed: Closed::default(),
            next_seq: stored.next_seq,
            last_at: stored.last_at,
        })
    }
}

enum Standing {
    Open,
    Settled(Outcome),
}

/// Writes a record as a sealed line. A line that would be too long is a bug: every part of a
/// record is limited at the door, far below that.
fn write(buffer: &mut Vec<u8>, record: &RecordOut<'_>) -> Hash {
    let start = buffer.len();
    serde_json::to_writer(&mut *buffer, record).expect("records are plain data");
    let hash = line::seal(buffer, start);
    assert!(buffer.len() - start <= LINE_BYTES_MAX, "a record of {} bytes", buffer.len() - start);
    hash
}

/// The workflows that closed last.
#[derive(Debug, Default)]
struct Closed {
    order: VecDeque<(WorkflowId, u64)>,
    names: HashSet<WorkflowId>,
    /// The newest record whose workflow is no longer remembered here.
    forgot: u64,
}

impl Closed {
    fn contains(&self, id: &WorkflowId) -> bool {
        self.names.contains(id)
    }

    /// Whether a workflow that closed after the record `looked` may be missing here.
    fn forgot_since(&self, looked: u64) -> bool {
        self.forgot > looked
    }

    fn remember(&mut self, id: WorkflowId, seq: u64) {
        self.order.push_back((id, seq));
        self.names.insert(id);
        if self.order.len() > CLOSED_KEPT_MAX
            && let Some((oldest, seq)) = self.order.pop_front()
        {
            self.names.remove(&oldest);
            self.forgot = seq;
        }
    }
}
