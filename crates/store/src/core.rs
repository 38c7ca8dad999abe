//! Deciding and chaining, one command after the other: what every embedded ledger does before
//! anything is written.
//!
//! It holds the states, the head of each live stream, and nothing about files.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use baton_protocol::command::Target;
use baton_protocol::event::{Decision, Event, StreamId};
use baton_protocol::id::{CommandId, WorkflowId};
use baton_protocol::planted::{Bug, planted};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use baton_protocol::{World, audit, evolve};
use foldhash::HashMap;
use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::ledger::{Recorded, Request};
use crate::log::SEQ_FIRST;
use crate::recent::Recent;
use crate::record::{self, Drafts, Record};

/// Closed workflows that are remembered by name, so that a repeated command finds them although
/// the index has not caught up.
const CLOSED_KEPT_MAX: usize = 16 * 1024;
/// Commands that a stream remembers. What an older one led to is found in history.
const COMMANDS_KEPT_MAX: usize = 1_024;

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was decided; its lines are in the buffer.
    Recorded(Recorded),
    /// The rules say no.
    Refused(Refusal),
    /// The same command was recorded in this stream before, the last time as this record.
    Repeated(StreamId, u64),
    /// What it is about is not live: it is over, or it never was.
    NotLive,
    /// The asker looked at history too long ago to rule out that this was recorded before.
    LookAgain,
    /// The decision panicked. It only looked, so nothing has changed.
    Panicked,
}

/// The last record of a live stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Head {
    version: u64,
    hash: Hash,
    commands: Recent<CommandId, COMMANDS_KEPT_MAX>,
}

/// The states and chains that records are made from.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) world: World,
    heads: HashMap<StreamId, Head>,
    closed: Recent<WorkflowId, CLOSED_KEPT_MAX>,
    next_seq: u64,
    last_at: Timestamp,
    /// Room to write events in, kept for the next command.
    drafts: Drafts,
    /// Work whose records were pruned since the ledger was opened, to be carried out at the next
    /// start.
    pruning: Vec<WorkflowId>,
    /// Work of which a stub was read back.
    stubbed: HashSet<WorkflowId>,
}

/// A core as a snapshot keeps it.
#[derive(Serialize, Deserialize)]
struct Stored {
    world: World,
    heads: Vec<(StreamId, Head)>,
    next_seq: u64,
    last_at: Timestamp,
    #[serde(default)]
    pruning: Vec<WorkflowId>,
}

impl Default for Core {
    fn default() -> Self {
        Self {
            world: World::default(),
            heads: HashMap::default(),
            closed: Recent::default(),
            next_seq: SEQ_FIRST,
            last_at: Timestamp::default(),
            drafts: Drafts::default(),
            pruning: Vec::new(),
            stubbed: HashSet::new(),
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
    /// `safe` is the last durable record; `looked` is the last record up to which the asker found
    /// nothing about this command in history.
    pub(crate) fn transact(
        &mut self,
        request: &Request,
        safe: u64,
        looked: u64,
        buffer: &mut Vec<u8>,
    ) -> Outcome {
        if let Some(outcome) = self.settled(&request.target, request.command, looked) {
            return outcome;
        }
        let now = request.now.max(self.last_at);
        // It sees the world and cannot change it, so whatever goes wrong in it is the asker's.
        let decide = AssertUnwindSafe(|| (request.decide)(&self.world, now));
        let decision = match catch_unwind(decide) {
            Ok(Ok(decision)) => decision,
            Ok(Err(refusal)) => return Outcome::Refused(refusal),
            Err(_) => return Outcome::Panicked,
        };
        if decision.events.is_empty() {
            let stream = decision.stream;
            let (asked, events) = (request.asked, Vec::new());
            return Outcome::Recorded(Recorded { stream, seq: None, asked, events });
        }
        if let Err(refusal) = self.drafts.fill(&decision, &request.by) {
            return Outcome::Refused(refusal);
        }
        self.record(&decision, request, (now, safe), buffer);
        let (stream, seq) = (decision.stream, Some(self.next_seq - 1));
        let (asked, events) = (request.asked, decision.events);
        Outcome::Recorded(Recorded { stream, seq, asked, events })
    }

    /// Lets what was decided happen, and writes it down.
    fn record(
        &mut self,
        decision: &Decision,
        request: &Request,
        (now, safe): (Timestamp, u64),
        buffer: &mut Vec<u8>,
    ) {
        let stream = &decision.stream;
        self.last_at = now;
        let count = u32::try_from(decision.events.len()).unwrap_or(u32::MAX);
        for (n, event) in (0..count).zip(&decision.events) {
            evolve(&mut self.world, stream, event, now);
            let effects = if n + 1 == count { decision.effects.as_slice() } else { &[] };
            let (version, prev) =
                self.heads.get(stream).map_or_else(Default::default, |h| (h.version, h.hash));
            let head = record::Head {
                seq: self.next_seq,
                safe,
                part: (count > 1).then_some([n, count]),
                at: now,
                stream,
                version: version + 1,
                command: request.command,
                asked: request.asked,
                by: &request.by,
            };
            let audit = audit::audit(&self.world, event, now);
            let tail = record::Tail { audit, effects, prev };
            let hash = record::write(buffer, &head, self.drafts.event(n as usize), &tail);
            self.world.keep_effects(self.next_seq, effects);
            self.advance(stream, event, request.command, hash);
        }
    }

    /// What there is to say without deciding, if there is anything.
    fn settled(&self, target: &Target, command: CommandId, looked: u64) -> Option<Outcome> {
        let stream = match target {
            Target::NewWorkflow(id) => {
                if self.closed.last(id).is_some() {
                    return Some(Outcome::NotLive);
                }
                if self.closed.forgot_since(looked) && !self.world.workflows.contains_key(id) {
                    return Some(Outcome::LookAgain);
                }
                StreamId::Workflow(*id)
            }
            Target::Workflow(id) => match self.world.workflows.contains_key(id) {
                true => StreamId::Workflow(*id),
                false => return Some(Outcome::NotLive),
            },
            Target::Handoff(id) => match self.world.home(*id) {
                Some(home) => StreamId::Workflow(home),
                None => return Some(Outcome::NotLive),
            },
            Target::Agent(id) => StreamId::Agent(id.clone()),
            Target::Workspace => StreamId::Workspace,
        };
        let commands = &self.heads.get(&stream)?.commands;
        match commands.last(&command).filter(|_| !planted(Bug::IdempotencyIgnored)) {
            Some(last) => Some(Outcome::Repeated(stream, last)),
            None => commands.forgot_since(looked).then_some(Outcome::LookAgain),
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
        if let (StreamId::Workspace, Event::Pruned { workflows, .. }) = (stream, event) {
            self.pruning.extend(workflows);
        }
        let head = self.heads.entry(stream.clone()).or_default();
        head.version += 1;
        head.hash = hash;
        head.commands.remember(command, seq);
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
        if let StreamId::Workflow(id) = &record.stream {
            if let Event::Pruned { .. } = &record.event {
                self.stubbed.insert(*id);
                self.closed.remember(*id, record.seq);
            }
            // It is over, and a crash may have left the rest of its records as they were: nothing
            // of it may come to life again.
            if self.stubbed.contains(id) {
                self.advance(&record.stream, &record.event, record.command, hash);
                return Ok(());
            }
        }
        evolve(&mut self.world, &record.stream, &record.event, record.at);
        self.world.keep_effects(record.seq, &record.effects);
        self.advance(&record.stream, &record.event, record.command, hash);
        Ok(())
    }

    /// Says that all records were read back. Of work that was pruned nothing need be known.
    pub(crate) fn replayed(&mut self) {
        for id in self.stubbed.drain() {
            self.heads.remove(&StreamId::Workflow(id));
        }
    }

    /// Takes the work whose prune is not known to be carried out.
    pub(crate) fn take_pruning(&mut self) -> Vec<WorkflowId> {
        std::mem::take(&mut self.pruning)
    }

    /// The core as bytes that [`Core::restored`] reads.
    pub(crate) fn snapshot(&self) -> Result<Vec<u8>, serde_json::Error> {
        #[derive(Serialize)]
        struct StoredRef<'a> {
            world: &'a World,
            heads: Vec<(&'a StreamId, &'a Head)>,
            next_seq: u64,
            last_at: Timestamp,
            pruning: &'a [WorkflowId],
        }
        serde_json::to_vec(&StoredRef {
            world: &self.world,
            heads: self.heads.iter().collect(),
            next_seq: self.next_seq,
            last_at: self.last_at,
            pruning: &self.pruning,
        })
    }

    /// Reads a core back.
    pub(crate) fn restored(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let stored: Stored = serde_json::from_slice(bytes)?;
        Ok(Self {
            world: stored.world.restored(),
            heads: stored.heads.into_iter().collect(),
            // A snapshot does not say what had closed before it; history does.
            closed: Recent::since(stored.next_seq.saturating_sub(1)),
            next_seq: stored.next_seq,
            last_at: stored.last_at,
            drafts: Drafts::default(),
            pruning: stored.pruning,
            stubbed: HashSet::new(),
        })
    }
}
