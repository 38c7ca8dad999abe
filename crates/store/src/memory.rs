//! A ledger in memory, for tests and simulation: the same promises, but for a power cut.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use baton_protocol::command::Target;
use baton_protocol::event::StreamId;
use baton_protocol::id::{CommandId, HandoffId, WorkflowId};
use baton_protocol::time::Timestamp;
use tokio::sync::watch;

use crate::chain::Chains;
use crate::core::{Core, Outcome};
use crate::hash::Hash;
use crate::index::{
    Filter, HandoffRow, MATCHES_MAX, Prefix, Row, Tally, WorkflowPage, WorkflowRow, capped,
};
use crate::ledger::{
    Against, Checked, Condition, Export, Exported, Later, Ledger, LedgerError, Loan, Look,
    Recorded, Request, Scope, TransactError, panicked,
};
use crate::line;
use crate::loans::Loans;
use crate::log::SEQ_FIRST;
use crate::past::Past;
use crate::proof::note::VerifierKey;
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
    loans: Loans,
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
            let hash = line::check(line).map_err(|error| error.to_string())?;
            let record = Record::read(line).map_err(|error| error.to_string())?;
            core.replay(&record, hash)?;
        }
        inner.core = core;
        inner.loans = Loans::default();
        Ok(())
    }

    /// Changes the stored bytes of a record, as a meddler would.
    #[cfg(test)]
    pub(crate) fn spoil(&self, seq: u64, change: impl FnOnce(&mut Vec<u8>)) {
        let at = usize::try_from(seq - SEQ_FIRST).expect("a record that fits in memory");
        change(&mut self.inner().lines[at]);
    }
}

impl Inner {
    fn transact(&mut self, request: &Request) -> Result<Recorded, TransactError> {
        let (target, command) = (&request.target, request.command);
        if let Target::NewWorkflow(id) = target
            && self.ending(*id)?.is_some()
        {
            return self.answer(target, command);
        }
        let safe = self.core.next_seq() - 1;
        let mut looked = 0;
        let mut lines = Vec::new();
        loop {
            match self.core.transact(request, safe, looked, &mut lines) {
                Outcome::Recorded(recorded) => {
                    let whole = lines.split_inclusive(|byte| *byte == b'\n');
                    self.lines.extend(whole.map(|line| line[..line.len() - 1].to_vec()));
                    return Ok(recorded);
                }
                Outcome::Refused(refusal) => return Err(refusal.into()),
                Outcome::Repeated(..) | Outcome::NotLive => return self.answer(target, command),
                Outcome::LookAgain => match self.recall(target, command)? {
                    Some(recorded) => return Ok(recorded),
                    None => looked = safe,
                },
                Outcome::Panicked => return Err(panicked("a decision").into()),
            }
        }
    }

    fn rows(&self) -> impl Iterator<Item = (Row<'_>, &Vec<u8>)> {
        self.lines.iter().filter_map(|line| Some((record::extract(line)?, line)))
    }

    fn history(&self, filter: &Filter) -> Vec<Vec<u8>> {
        // Records are dense, so whoever follows need not read again what it has.
        let known = filter.after_seq.map_or(0, |seq| usize::try_from(seq).unwrap_or(usize::MAX));
        let new = self.lines.iter().skip(known);
        let rows = new.filter_map(|line| Some((record::extract(line)?, line)));
        let found = rows.filter(|(row, _)| passes(filter, row));
        let mut lines: Vec<_> = found.map(|(_, line)| line.clone()).collect();
        if filter.newest_first {
            lines.reverse();
        }
        lines.truncate(capped(filter.limit) as usize);
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
            let kind = row.counts_as.unwrap_or(row.kind).to_owned();
            *counts.entry((kind, owned(row.from), owned(row.to))).or_default() += 1;
        }
        let tally = |((kind, from, to), count)| Tally { kind, from, to, count };
        counts.into_iter().map(tally).collect()
    }
}

impl Past for Inner {
    fn ending(&self, id: WorkflowId) -> Result<Option<String>, LedgerError> {
        let of_it = |row: &Row<'_>| row.workflow == Some(*id.as_bytes());
        let mut rows = self.rows().filter(|(row, _)| of_it(row));
        Ok(rows.find_map(|(row, _)| row.closes.map(str::to_owned)))
    }

    fn home(&self, id: HandoffId) -> Result<Option<WorkflowId>, LedgerError> {
        let mut rows = self.rows().filter(|(row, _)| row.handoff == Some(*id.as_bytes()));
        Ok(rows.find_map(|(row, _)| row.workflow).map(WorkflowId::from_bytes))
    }

    fn records(&self, stream: &StreamId, command: CommandId) -> Result<Vec<Record>, LedgerError> {
        let records = self.lines.iter().filter_map(|line| Record::read(line).ok());
        Ok(records.filter(|r| r.command == command && r.stream == *stream).collect())
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
        && named(&filter.file, row.file.as_deref())
        && agent.is_none_or(|agent| row.from == Some(agent) || row.to == Some(agent))
        && (filter.kinds.is_empty() || filter.kinds.iter().any(|kind| kind == row.kind))
        && filter.since.is_none_or(|since| row.at >= since)
        && filter.until.is_none_or(|until| row.at < until)
        && filter.after_seq.is_none_or(|seq| row.seq > seq)
        && filter.before_seq.is_none_or(|seq| row.seq < seq)
}

/// Keeps the rows whose id begins with `prefix`, in the order of their ids.
fn beginning<T>(
    mut rows: Vec<T>,
    prefix: &str,
    id: impl Fn(&T) -> [u8; 16],
) -> Result<Vec<T>, LedgerError> {
    let range = Prefix::parse(prefix).map_err(|source| {
        let what = "cannot look for an id".to_owned();
        LedgerError::Failed { what, source: Box::new(source) }
    })?;
    rows.retain(|row| range.covers(&id(row)));
    rows.sort_by_key(&id);
    rows.truncate(MATCHES_MAX as usize);
    Ok(rows)
}

fn now<'a, T: Send + 'a>(value: T) -> Later<'a, T> {
    Box::pin(std::future::ready(value))
}

fn no_files() -> LedgerError {
    LedgerError::Stopped { why: "a ledger in memory has no files".to_owned() }
}

impl Ledger for Memory {
    fn transact(&self, request: Request) -> Later<'_, Result<Recorded, TransactError>> {
        let mut inner = self.inner();
        let answer = inner.transact(&request);
        let last = inner.lines.len() as u64;
        // Told before another may record, so that the number never goes back.
        self.committed.send_if_modified(|seq| std::mem::replace(seq, last) != last);
        now(answer)
    }

    fn look(&self, _: Scope, look: Look) -> Later<'_, Result<(), LedgerError>> {
        let inner = self.inner();
        let looked = catch_unwind(AssertUnwindSafe(|| look(&inner.core.world)));
        now(looked.map_err(|_| panicked("a look")))
    }

    fn lend(
        &self,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Later<'_, Result<Vec<Loan>, LedgerError>> {
        let inner = &mut *self.inner();
        now(Ok(inner.loans.lend(&inner.core.world.outbox, at, until, limit)))
    }

    fn history(&self, filter: Filter) -> Later<'_, Result<Vec<Vec<u8>>, LedgerError>> {
        now(Ok(self.inner().history(&filter)))
    }

    fn find_workflows(&self, prefix: String) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>> {
        now(beginning(self.inner().workflows(), &prefix, |row| row.uuid))
    }

    fn find_handoffs(&self, prefix: String) -> Later<'_, Result<Vec<HandoffRow>, LedgerError>> {
        now(beginning(self.inner().handoffs(), &prefix, |row| row.uuid))
    }

    fn workflows(&self, page: WorkflowPage) -> Later<'_, Result<Vec<WorkflowRow>, LedgerError>> {
        let mut rows = self.inner().workflows();
        rows.retain(|row| page.open.is_none_or(|open| row.outcome.is_none() == open));
        rows.retain(|row| page.before.is_none_or(|before| row.first_seq < before));
        rows.truncate(capped(page.limit) as usize);
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

    fn check(&self, _: Against) -> Later<'_, Result<Checked, LedgerError>> {
        let inner = self.inner();
        let mut chains = Chains::default();
        let mut lines = (SEQ_FIRST..).zip(&inner.lines);
        let problem = lines.find_map(|(seq, line)| {
            let damaged = |error| format!("record {seq} is damaged: {error}");
            let hash = line::check(line).map_err(damaged);
            hash.and_then(|hash| chains.follow(line, hash)).err()
        });
        now(Ok(chains.checked(problem)))
    }

    fn export(&self, _: Export) -> Later<'_, Result<Exported, LedgerError>> {
        now(Err(no_files()))
    }

    fn checkpoint(&self) -> Later<'_, Result<(VerifierKey, String), LedgerError>> {
        now(Err(no_files()))
    }

    fn backup(&self, _: PathBuf) -> Later<'_, Result<(u64, u64), LedgerError>> {
        now(Err(no_files()))
    }

    fn committed(&self) -> watch::Receiver<u64> {
        self.committed.subscribe()
    }

    fn condition(&self) -> Condition {
        let records = self.inner().lines.len() as u64;
        Condition { records, indexed: records, ..Condition::default() }
    }
}
