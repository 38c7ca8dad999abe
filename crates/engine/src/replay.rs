//! The state of a workflow at any past moment, told again from its records.
//!
//! Nothing here holds more of history than a page: records are read in order and folded one by one
//! into the one workflow that was asked for.

use std::collections::VecDeque;

use baton_protocol::command::Actor;
use baton_protocol::id::WorkflowId;
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use baton_store::{Filter, Record};

use crate::engine::Engine;
use crate::query::{QueryError, unreadable};
use crate::view::{self, Replay, Replayed, Sight};

/// Records that are read at once.
const PAGE: u32 = 2_000;

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// All that was recorded by then.
    Time(Timestamp),
    /// Right after the record of this number, whatever it is about.
    Record(u64),
}

impl Engine {
    /// A workflow, open or over, as it was at a moment. Who may see it now may see it then, and
    /// what is kept from them now is kept from them then.
    pub async fn replay(
        &self,
        viewer: Actor,
        id: WorkflowId,
        moment: AsOf,
    ) -> Result<Replayed, QueryError> {
        let hidden = self.hidden(viewer.clone(), id).await?;
        let at = self.told_by(moment).await?;
        let replay = self.told(id, Some(moment)).await?;
        let (Some(workflow), Some((seq, recorded_at))) = (replay.workflow(), replay.last()) else {
            return Err(self.not_yet(id).await?);
        };
        let sight = Sight::of(&viewer, workflow).without(&hidden);
        let workflow = view::workflow_view(replay.world(), sight, id, replay.ended());
        Ok(Replayed { workflow, at, seq, recorded_at })
    }

    /// When that was, if it has been: the ledger knows nothing of what lies ahead.
    async fn told_by(&self, moment: AsOf) -> Result<Timestamp, QueryError> {
        let newest = Filter { newest_first: true, limit: 1, ..Filter::default() };
        let last = self.one(newest).await?.map_or((0, Timestamp::default()), |r| (r.seq, r.at));
        match moment {
            // Records never go back in time, so the last one may be ahead of the clock.
            AsOf::Time(at) if at <= self.clock.now().max(last.1) => Ok(at),
            AsOf::Time(at) => {
                let why = format!("{at} lies ahead; expected a moment that has been");
                Err(QueryError::Unusable { field: "at", why })
            }
            AsOf::Record(seq) => {
                let (after_seq, before_seq) = (seq.checked_sub(1), seq.checked_add(1));
                let it = Filter { after_seq, before_seq, limit: 1, ..Filter::default() };
                let found = if seq == 0 { None } else { self.one(it).await? };
                found.map(|record| record.at).ok_or_else(|| {
                    let why = format!("there is no record {seq}; the last one is {}", last.0);
                    QueryError::Unusable { field: "seq", why }
                })
            }
        }
    }

    /// Says that there was nothing of a workflow yet, and when it began.
    async fn not_yet(&self, id: WorkflowId) -> Result<QueryError, QueryError> {
        let workflow = Some(*id.as_bytes());
        let first = self.one(Filter { workflow, limit: 1, ..Filter::default() }).await?;
        let Some(first) = first else {
            return Ok(Refusal::UnknownWorkflow { workflow: id }.into());
        };
        let (at, seq) = (first.at, first.seq);
        let why = format!("{id} was not there yet; it began at {at}, with record {seq}");
        Ok(QueryError::Unusable { field: "at", why })
    }

    async fn one(&self, filter: Filter) -> Result<Option<Record>, QueryError> {
        let lines = self.ledger.history(filter).await?;
        lines.first().map(|line| Record::read(line).map_err(unreadable)).transpose()
    }

    /// Tells the story of a workflow again, up to a moment or to its end.
    pub(crate) async fn told(
        &self,
        id: WorkflowId,
        moment: Option<AsOf>,
    ) -> Result<Replay, QueryError> {
        let workflow = Some(*id.as_bytes());
        let mut own = Reader::new(self, moment, Filter { workflow, ..Filter::default() });
        let of_kind = |kind: &str, after_seq| {
            let kinds = vec![kind.to_owned()];
            Reader::new(self, moment, Filter { kinds, after_seq, ..Filter::default() })
        };
        let mut agents = of_kind("registered", None);
        let mut locks = of_kind("locked", None);
        let mut replay = Replay::of(id);
        while let Some(record) = own.next().await? {
            let held = replay.has_locks();
            agents.tell(&mut replay, Some(record.seq), |_| true).await?;
            locks.tell(&mut replay, Some(record.seq), Replay::has_locks).await?;
            replay.take(&record);
            if !held && replay.has_locks() {
                // What others locked before could take nothing from it.
                locks = of_kind("locked", Some(record.seq));
            }
        }
        locks.tell(&mut replay, None, Replay::has_locks).await?;
        Ok(replay)
    }
}

/// Reads the records that pass a filter, in order, a page at a time.
pub(crate) struct Reader<'a> {
    engine: &'a Engine,
    filter: Filter,
    page: VecDeque<Vec<u8>>,
    next: Option<Record>,
    done: bool,
}

impl<'a> Reader<'a> {
    /// A reader of what was recorded up to `moment`.
    pub(crate) fn new(engine: &'a Engine, moment: Option<AsOf>, mut filter: Filter) -> Self {
        match moment {
            Some(AsOf::Time(at)) => filter.until = Some(at.as_micros().saturating_add(1)),
            Some(AsOf::Record(seq)) => filter.before_seq = seq.checked_add(1),
            None => (),
        }
        filter.limit = PAGE;
        Self { engine, filter, page: VecDeque::new(), next: None, done: false }
    }

    /// The next record, if there is one.
    pub(crate) async fn next(&mut self) -> Result<Option<Record>, QueryError> {
        self.peek().await?;
        Ok(self.next.take())
    }

    async fn peek(&mut self) -> Result<Option<&Record>, QueryError> {
        if self.next.is_none() {
            if self.page.is_empty() && !self.done {
                let page = self.engine.ledger.history(self.filter.clone()).await?;
                self.done = page.len() < PAGE as usize;
                self.page = page.into();
            }
            if let Some(line) = self.page.pop_front() {
                let record = Record::read(&line).map_err(unreadable)?;
                self.filter.after_seq = Some(record.seq);
                self.next = Some(record);
            }
        }
        Ok(self.next.as_ref())
    }

    /// Tells `replay` what was recorded before the record `before`, for as long as it `matters`.
    async fn tell(
        &mut self,
        replay: &mut Replay,
        before: Option<u64>,
        matters: impl Fn(&Replay) -> bool,
    ) -> Result<(), QueryError> {
        while matters(replay) {
            let Some(record) = self.peek().await? else { return Ok(()) };
            if before.is_some_and(|before| record.seq >= before) {
                return Ok(());
            }
            replay.hear(record);
            self.next = None;
        }
        Ok(())
    }
}
