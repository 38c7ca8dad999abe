//! Dropping old records: what is over and how long it must be kept.
//!
//! What is over has left memory, so it is looked up here and handed to the decision, which alone
//! chooses what goes.

use std::collections::HashSet;

use baton_protocol::event::Event;
use baton_protocol::id::WorkflowId;
use baton_protocol::retention::{Past, Retention};
use baton_protocol::time::Timestamp;
use baton_store::{Filter, LedgerError, Record, WorkflowPage, WorkflowRow};

use crate::engine::Engine;
use crate::query::{QueryError, unreadable};
use crate::view::{Prunable, PrunableLine};

/// Workflows that are looked at in one page.
const PAGE_ROWS: u32 = 1_000;
const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
/// How a workflow ended whose records were dropped before.
const PRUNED: &str = "pruned";

impl Engine {
    /// Sets how long records are kept.
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Work that is over and past its period, the newest first. Nothing is dropped.
    pub async fn prunable(&self) -> Result<Prunable, QueryError> {
        let lines = self.past_work().await?.into_iter().map(|past| PrunableLine {
            id: past.workflow,
            closed_at: past.closed_at,
            kept_until: self.retention.kept_until(&past),
        });
        Ok(Prunable { workflows: lines.collect(), kept: self.retention.to_string() })
    }

    /// Work that is over and past its period, and not named by a prune yet.
    pub(crate) async fn past_work(&self) -> Result<Vec<Past>, QueryError> {
        let now = self.clock.now();
        let named = self.named_since_start().await?;
        let mut found = Vec::new();
        let mut before = None;
        loop {
            let page = WorkflowPage { open: Some(false), limit: PAGE_ROWS, before };
            let rows = self.ledger.workflows(page).await?;
            let Some(last) = rows.last() else { return Ok(found) };
            before = Some(last.first_seq);
            for row in rows {
                if row.outcome.as_deref() == Some(PRUNED) || named.contains(&row.uuid) {
                    continue;
                }
                if let Some(past) = self.past_due(&row, now).await? {
                    found.push(past);
                }
            }
        }
    }

    /// What is known of a closed workflow, if its period is over.
    async fn past_due(
        &self,
        row: &WorkflowRow,
        now: Timestamp,
    ) -> Result<Option<Past>, QueryError> {
        let Some(closed) = row.closed else { return Ok(None) };
        let least = i64::from(self.retention.shortest_days()) * DAY_MICROS;
        if closed.saturating_add(least) > now.as_micros() {
            return Ok(None);
        }
        let mut past = Past {
            workflow: WorkflowId::from_bytes(row.uuid),
            closed_at: Timestamp::from_micros(closed),
            completed: row.outcome.as_deref() == Some("completed"),
            escalated: false,
        };
        if self.retention.kept_until(&past) > now {
            return Ok(None);
        }
        // Only now is it worth reading: whether something in it was escalated.
        past.escalated = self.has_escalation(past.workflow).await?;
        Ok((self.retention.kept_until(&past) <= now).then_some(past))
    }

    async fn has_escalation(&self, id: WorkflowId) -> Result<bool, QueryError> {
        for line in self.records_of(id).await? {
            let record: serde_json::Value = serde_json::from_slice(&line).map_err(unreadable)?;
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            if text(&record["audit"]["handoff_type"]) == "escalation"
                || text(&record["event"]["type"]).starts_with("escalat")
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Workflows that a prune named since the ledger was opened: they are dropped at the next
    /// start, and the index does not know it yet.
    async fn named_since_start(&self) -> Result<HashSet<[u8; 16]>, LedgerError> {
        let mut named = HashSet::new();
        let mut after_seq = Some(self.ledger.condition().opened);
        loop {
            let kinds = vec![PRUNED.to_owned()];
            let filter = Filter { kinds, after_seq, ..Filter::default() };
            let page = self.ledger.history(filter).await?;
            if page.is_empty() {
                return Ok(named);
            }
            for line in page {
                let Ok(record) = Record::read(&line) else { continue };
                after_seq = Some(record.seq);
                if let Event::Pruned { workflows, .. } = record.event {
                    named.extend(workflows.iter().map(|id| *id.as_bytes()));
                }
            }
        }
    }
}
