//! A ledger in memory, for tests and simulation: the same promises, but for a power cut.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use baton_protocol::command::Target;
use baton_protocol::effect::EffectId;
use baton_protocol::event::StreamId;
use baton_protocol::id::{CommandId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use tokio::sync::watch;

use crate::core::{Core, Outcome};
use crate::hash::Hash;
use crate::index::{Filter, HandoffRow, Row, Tally, WorkflowPage, WorkflowRow};
use crate::ledger::{
    Checked, Condition, Later, Ledger, LedgerError, Loan, Look, Recorded, Request, Scope,
    TransactError,
};
use crate::record::{self, Record};

/// The ledger in memory.
pub struct Memory {
    inner: Mutex<Inner>,
    committed: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    core: Core,
    lines: Vec<Vec<u8>>,
    blobs: HashMap<Hash, Vec<u8>>,
    leases: HashMap<EffectId, Timestamp>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { inner: Mutex::default(), committed: watch::Sender::new(0) }
    }
}

impl Memory {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything but its lines and reads them back, as a restart would.
    pub fn restart(&self) -> Result<(), String> {
        let mut inner = self.inner();
        let mut core = Core::default();
        for line in &inner.lines {
            let hash = crate::line::check(line).map_err(|error| error.to_string())?;
            let record = Record::read(line).map_err(|error| error.to_string())?;
            core.replay(&record, hash)?;
        }
        inner.core = core;
        inner.leases.clear();
        Ok(())
    }
}

impl Inner {
    fn transact(&mut self, request: &Request) -> Result<Recorded, TransactError> {
        if let Target::NewWorkflow(id) = &request.target
            && self.ending(id).is_some()
        {
            return self.past(*id, request.command);
        }
        let safe = self.core.next_seq() - 1;
        let mut lines = Vec::new();
        match self.core.transact(request, safe, u64::MAX, &mut lines) {
            Outcome::Recorded(recorded) => {
                let whole = lines.split_inclusive(|byte| *byte == b'\n');
                self.lines.extend(whole.map(|line| line[..line.len() - 1].to_vec()));
                Ok(recorded)
            }
            Outcome::Refused(refusal) => Err(refusal.into()),
            Outcome::Repeated(stream) => Ok(self.repeat(stream, request.command)),
            Outcome::NotLive | Outcome::LookAgain => self.not_live(request),
        }
    }

    fn not_live(&self, request: &Request) -> Result<Recorded, TransactError> {
        match &request.target {
            Target::NewWorkflow(id) | Target::Workflow(id) => self.past(*id, request.command),
            Target::Handoff(id) => {
                let of_it = |row: &Row<'_>| row.handoff == Some(*id.as_bytes());
                match self.rows().find(|(row, _)| of_it(row)).and_then(|(row, _)| row.workflow) {
                    Some(home) => self.past(WorkflowId::from_bytes(home), request.command),
                    None => Err(Refusal::UnknownHandoff { handoff: *id }.into()),
                }
            }
            Target::Agent(agent) => Err(Refusal::UnknownAgent { agent: agent.clone() }.into()),
            Target::Workspace => Err(Refusal::CoordinatorOnly.into()),
        }
    }

    fn past(&self, id: WorkflowId, command: CommandId) -> Result<Recorded, TransactError> {
        let before = self.repeat(StreamId::Workflow(id), command);
        if before.seq.is_some() {
            return Ok(before);
        }
        Err(match self.ending(&id) {
            Some(ending) => Refusal::WorkflowClosed { workflow: id, ending }.into(),
            None => Refusal::UnknownWorkflow { workflow: id }.into(),
        })
    }

    fn ending(&self, id: &WorkflowId) -> Option<String> {
        let of_it = |row: &Row<'_>| row.workflow == Some(*id.as_bytes());
        let mut rows = self.rows().filter(|(row, _)| of_it(row));
        rows.find_map(|(row, _)| row.closes.map(str::to_owned))
    }

    fn repeat(&self, stream: StreamId, command: CommandId) -> Recorded {
        let mut recorded = Recorded { stream, seq: None, events: Vec::new() };
        let records = self.lines.iter().filter_map(|line| Record::read(line).ok());
        for record in records.filter(|record| record.command == command) {
            recorded.seq = Some(record.seq);
            recorded.events.push(record.event);
        }
        recorded
    }

    fn rows(&self) -> impl Iterator<Item = (Row<'_>, &Vec<u8>)> {
        self.lines.iter().filter_map(|line| Some((record::extract(line)?, line)))
    }

    fn history(&self, filter: &Filter) -> Vec<Vec<u8>> {
        let passes = |row: &Row<'_>| passes(filter, row);
        let rows = self.rows().filter(|(row, _)| passes(row));
        let mut lines: Vec<_> = rows.map(|(_, line)| line.clone()).collect();
        if filter.newest_first {
            lines.reverse();
        }
        if filter.limit > 0 {
            lines.truncate(usize::try_from(filter.limit).unwrap_or(usize::MAX));
        }
        lines
    }

    fn workflows(&self) -> Vec<WorkflowRow> {
        let mut found: BTreeMap<u64, WorkflowRow> = BTreeMap::new();
        let mut first: HashMap<[u8; 16], u64> = HashMap::new();
        for (row, _) in self.rows() {
            let Some(uuid) = row.workflow else { continue };
            let key = *first.entry(uuid).or_insert(row.seq);
            let workflow = found.entry(key).or_insert_with(|| WorkflowRow {
                uuid,
                title: row.title.as_ref().map(ToString::to_string),
                started: row.at,
                closed: None,
                outcome: None,
                first_seq: row.seq,
                head_seq: row.seq,
            });
            workflow.head_seq = row.seq;
            if let Some(outcome) = row.closes {
                workflow.closed = Some(row.at);
                workflow.outcome = Some(outcome.to_owned());
            }
        }
        found.into_values().rev().collect()
    }

    fn handoffs(&self) -> Vec<HandoffRow> {
        let mut found: HashMap<[u8; 16], HandoffRow> = HashMap::new();
        for (row, _) in self.rows() {
            let Some(uuid) = row.handoff else { continue };
            let handoff = found.entry(uuid).or_insert_with(|| HandoffRow {
                uuid,
                workflow: row.workflow,
                state: None,
                from: row.from.map(str::to_owned),
                to: row.to.map(str::to_owned),
                first_seq: row.seq,
            });
            handoff.state = row.handoff_state.map(str::to_owned);
        }
        found.into_values().collect()
    }

    fn counts(&self) -> Vec<Tally> {
        let mut counts: BTreeMap<(String, Option<String>, Option<String>), u64> = BTreeMap::new();
        for (row, _) in self.rows() {
            let owned = |name: Option<&str>| name.map(str::to_owned);
            *counts.entry((row.kind.to_owned(), owned(row.from), owned(row.to))).or_default() += 1;
        }
        let tally = |((kind, from, to), count)| Tally { kind, from, to, count };
        counts.into_iter().map(tally).collect()
    }

    fn lend(&mut self, now: Timestamp, until: Timestamp, limit: usize) -> Vec<Loan> {
        let outbox = &self.core.world.outbox;
        self.leases.retain(|id, until| *until > now && outbox.contains_key(id));
        let free = outbox.iter().filter(|(id, _)| !self.leases.contains_key(id));
        let loans: Vec<Loan> =
            free.take(limit).map(|(id, effect)| Loan { id: *id, effect: effect.clone() }).collect();
        self.leases.extend(loans.iter().map(|loan| (loan.id, until)));
        loans
    }
}

fn passes(filter: &Filter, row: &Row<'_>) -> bool {
    let named = |wanted: &Option<String>, found: Option<&str>| match wanted {
        Some(wanted) => found == Some(wanted.as_str()),
        None => true,
    };
    let agent = filter.agent.as_deref();
    filter.workflow.is_none_or(|wanted| row.workflow == Some(wanted))
        && filter.handoff.is_none_or(|wanted| row.handoff == Some(wanted))
        && filter.command.is_none_or(|wanted| row.command == Some(wanted))
        && named(&filter.from, row.from)
        && named(&filter.to, row.to)
        && agent.is_none_or(|agent| row.from == Some(agent) || row.to == Some(agent))
        && (filter.kinds.is_empty() || filter.kinds.iter().any(|kind| kind == row.kind))
        && filter.since.is_none_or(|since| row.at >= since)
        && filter.until.is_none_or(|until| row.at < until)
        && filter.after_seq.is_none_or(|seq| row.seq > seq)
        && filter.before_seq.is_none_or(|seq| row.seq < seq)
}

fn begins(uuid: &[u8; 16], prefix: &str) -> bool {
    let digits: String = prefix.chars().filter(|c| *c != '-').collect();
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.starts_with(&digits.to_lowercase())
}

fn now<'a, T: Send + 'a>(value: T) -> Later<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Ledger for Memory {
    fn transact(&self, request: Request) -> Later<'_, Result<Recorded, TransactError>> {
        let answer = self.inner().transact(&request);
        let last = self.inner().lines.len() as u64;
        self.committed.send_if_modified(|seq| std::mem::replace(seq, last) != last);
        now(answer)
    }

    fn look(&self, _: Scope, look: Look) -> Later<'_, Result<(), LedgerError>> {
        look(&self.inner().core.world);
        now(Ok(()))
    }

    fn lend(
        &self,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Later<'_, Result<Vec<Loan>, LedgerError>> {
        now(Ok(self.inner().lend(at, until, limit)))
    }

    fn history(&self, filter: Filter) -> Later<'_, Result<Vec<Vec<u8>>, LedgerError>> {
        now(Ok(self.inner().history(&filter)))
    }

    fn find_workflows(&self, prefix: String) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>> {
        let mut rows = self.inner().workflows();
        rows.retain(|row| begins(&row.uuid, &prefix));
        now(Ok(rows))
    }

    fn find_handoffs(&self, prefix: String) -> Later<'_, Result<Vec<HandoffRow>, LedgerError>> {
        let mut rows = self.inner().handoffs();
        rows.retain(|row| begins(&row.uuid, &prefix));
        now(Ok(rows))
    }

    fn workflows(&self, page: WorkflowPage) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>> {
        let mut rows = self.inner().workflows();
        rows.retain(|row| page.open.is_none_or(|open| row.outcome.is_none() == open));
        rows.retain(|row| page.before.is_none_or(|before| row.first_seq < before));
        if page.limit > 0 {
            rows.truncate(usize::try_from(page.limit).unwrap_or(usize::MAX));
        }
        now(Ok(rows))
    }

    fn counts(&self) -> Later<'_, Result<Vec<Tally>, LedgerError>> {
        now(Ok(self.inner().counts()))
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Later<'_, Result<Hash, LedgerError>> {
        let hash = Hash::of(&bytes);
        self.inner().blobs.insert(hash, bytes);
        now(Ok(hash))
    }

    fn blob(&self, hash: Hash) -> Later<'_, Result<Vec<u8>, LedgerError>> {
        let bytes = self.inner().blobs.get(&hash).cloned();
        now(bytes.ok_or(LedgerError::NoBlob { hash }))
    }

    fn check(&self) -> Later<'_, Result<Checked, LedgerError>> {
        let inner = self.inner();
        let mut core = Core::default();
        let mut checked = Checked::default();
        let mut streams = std::collections::HashSet::new();
        for line in &inner.lines {
            let hash = crate::line::check(line).map_err(|error| error.to_string());
            let record = Record::read(line).map_err(|error| error.to_string());
            let followed = hash.and_then(|hash| {
                let record = record?;
                streams.insert(record.stream.clone());
                core.replay(&record, hash)
            });
            if let Err(problem) = followed {
                checked.problem = Some(problem);
                break;
            }
            checked.records += 1;
        }
        checked.streams = streams.len() as u64;
        now(Ok(checked))
    }

    fn backup(&self, _: PathBuf) -> Later<'_, Result<(u64, u64), LedgerError>> {
        let why = "a ledger in memory has no files".to_owned();
        now(Err(LedgerError::Stopped { why }))
    }

    fn committed(&self) -> watch::Receiver<u64> {
        self.committed.subscribe()
    }

    fn condition(&self) -> Condition {
        let records = self.inner().lines.len() as u64;
        Condition { records, indexed: records, cut: None }
    }
}
