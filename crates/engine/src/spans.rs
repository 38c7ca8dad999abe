//! Spans: what a trace shows of a handoff that is over, made from its records.
//!
//! The ledger is all that is needed, so a handoff that began before a restart has its span, and a
//! collector that was away hears of everything once it is back.

use baton_protocol::event::{Event, StreamId};
use baton_protocol::handoff::Terms;
use baton_protocol::id::{AgentId, Fence, HandoffId, WorkflowId};
use baton_protocol::time::Timestamp;
use baton_protocol::trace::TraceParent;
use baton_store::{Filter, LedgerError, Record};

use crate::engine::Engine;

/// Acceptances of a workflow that are looked through for the one that a handoff hangs from.
const ABOVE_MAX: u32 = 1_000;

/// A handoff from its beginning to its end, for a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Which handoff.
    pub handoff: HandoffId,
    /// Of which work.
    pub workflow: WorkflowId,
    /// Its own place in the trace.
    pub context: TraceParent,
    /// The span that it hangs from, if any.
    pub parent: Option<[u8; 8]>,
    /// Whether somebody else's span is the parent.
    pub given: bool,
    /// The spans of those who took it.
    pub links: Vec<TraceParent>,
    /// How it was passed.
    pub kind: &'static str,
    /// Who passed it.
    pub from: AgentId,
    /// Who had it last.
    pub to: AgentId,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// What happened to it, in order.
    pub moments: Vec<Moment>,
    /// In which way it failed, if it did.
    pub failed: Option<&'static str>,
}

/// Something that happened to a handoff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub at: Timestamp,
    /// What, in the word of the audit.
    pub what: &'static str,
    /// Who took it, if somebody did.
    pub agent: Option<AgentId>,
}

impl Engine {
    /// The number of the last durable record: where whoever wants only what comes begins.
    pub fn recorded(&self) -> u64 {
        self.ledger.condition().records
    }

    /// The spans of the handoffs that ended after the record `after`, at most so many, and up to
    /// which record that is. Traces that nobody samples are left out.
    pub async fn spans(&self, after: u64, limit: u32) -> Result<(Vec<Span>, u64), LedgerError> {
        let ends = Filter {
            kinds: vec!["completed".to_owned(), "failed".to_owned()],
            after_seq: Some(after),
            limit,
            ..Filter::default()
        };
        let (mut spans, mut last) = (Vec::new(), after);
        for line in self.ledger.history(ends).await? {
            let Ok(end) = Record::read(&line) else { continue };
            last = end.seq;
            if let Some(span) = self.span(&end).await? {
                spans.push(span);
            }
        }
        Ok((spans, last))
    }

    async fn span(&self, end: &Record) -> Result<Option<Span>, LedgerError> {
        let (Some(handoff), StreamId::Workflow(workflow)) = (end.event.handoff(), &end.stream)
        else {
            return Ok(None);
        };
        let filter = Filter {
            handoff: Some(*handoff.as_bytes()),
            before_seq: Some(end.seq + 1),
            ..Filter::default()
        };
        let lines = self.ledger.history(filter).await?;
        let records: Vec<Record> =
            lines.iter().filter_map(|line| Record::read(line).ok()).collect();
        let Some((first, terms)) = records.iter().find_map(begins) else { return Ok(None) };
        let context = TraceParent::of_handoff(terms.traceparent, *workflow, handoff);
        if !context.is_sampled() {
            return Ok(None);
        }
        let parent = match terms.traceparent {
            Some(given) => Some(given.span()),
            None => self.above(*workflow, terms.parent, first.seq).await?,
        };
        let mut span = Span {
            handoff,
            workflow: *workflow,
            context,
            parent,
            given: terms.traceparent.is_some(),
            links: Vec::new(),
            kind: terms.kind.word(),
            from: terms.from_agent.clone(),
            to: terms.to_agent.clone(),
            began: first.at,
            ended: end.at,
            moments: Vec::new(),
            failed: None,
        };
        records.into_iter().for_each(|record| span.add(record));
        Ok(Some(span))
    }

    /// The span of the handoff that brought the hold `fence`.
    async fn above(
        &self,
        workflow: WorkflowId,
        fence: Fence,
        before: u64,
    ) -> Result<Option<[u8; 8]>, LedgerError> {
        if fence == Fence::default().next() {
            // Whoever began the work holds it by no handoff.
            return Ok(None);
        }
        let filter = Filter {
            workflow: Some(*workflow.as_bytes()),
            kinds: vec!["accepted".to_owned()],
            before_seq: Some(before),
            newest_first: true,
            limit: ABOVE_MAX,
            ..Filter::default()
        };
        let lines = self.ledger.history(filter).await?;
        let brought = lines.iter().find_map(|line| match Record::read(line).ok()?.event {
            Event::Accepted { handoff, fence: given, .. } if given == fence => Some(handoff),
            _ => None,
        });
        Ok(brought.map(|handoff| TraceParent::of_handoff(None, workflow, handoff).span()))
    }
}

fn begins(record: &Record) -> Option<(&Record, &Terms)> {
    match &record.event {
        Event::Initiated { terms, .. } => Some((record, terms)),
        _ => None,
    }
}

impl Span {
    /// Takes in one of the handoff's records.
    fn add(&mut self, record: Record) {
        let what = record.event.word();
        let mut agent = None;
        match record.event {
            Event::Accepted { by, traceparent, .. } => {
                self.links.extend(traceparent);
                self.to = by.clone();
                agent = Some(by);
            }
            Event::Rerouted { to, .. } | Event::Reassigned { to, .. } => {
                self.to = to.clone();
                agent = Some(to);
            }
            Event::Rejected { by, .. } | Event::Deferred { by, .. } => agent = Some(by),
            Event::Failed { detail, .. } => self.failed = Some(detail.word()),
            _ => (),
        }
        self.moments.push(Moment { at: record.at, what, agent });
    }
}
