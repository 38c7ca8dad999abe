//! What the embedded ledger knows of the past: the index, and the log that it points into.

use std::sync::Arc;

use baton_protocol::command::Target;
use baton_protocol::event::StreamId;
use baton_protocol::id::{CommandId, HandoffId, WorkflowId};

use crate::embedded::failed;
use crate::index::{Filter, Follower, Index, IndexError};
use crate::ledger::{LedgerError, Recorded};
use crate::line::Envelope;
use crate::log::{LogReader, Position};
use crate::past::{self, Past};
use crate::record::Record;

/// The past, cheap to clone.
#[derive(Clone)]
pub(super) struct History {
    pub(super) follower: Arc<Follower>,
    pub(super) reader: LogReader,
}

impl History {
    /// Asks the index.
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&Index) -> Result<T, IndexError>,
    ) -> Result<T, LedgerError> {
        question(self.follower.index()).map_err(failed("cannot read the index"))
    }

    /// The lines that pass `filter`.
    pub(super) fn lines(&self, filter: &Filter) -> Result<Vec<Vec<u8>>, LedgerError> {
        self.read(self.ask(|index| index.records(filter))?)
    }

    fn read(&self, places: Vec<(u64, Position)>) -> Result<Vec<Vec<u8>>, LedgerError> {
        let read = |(_, position)| self.reader.read_line(position);
        let lines: Result<_, _> = places.into_iter().map(read).collect();
        lines.map_err(failed("cannot read the ledger"))
    }

    /// What the command led to whose last record is `last`, which must be indexed.
    pub(super) fn repeat(&self, stream: StreamId, last: u64) -> Result<Recorded, LedgerError> {
        let up_to = Filter { before_seq: Some(last + 1), ..Filter::default() };
        let newest = Filter { newest_first: true, limit: 1, ..up_to.clone() };
        let line = self.lines(&newest)?.pop().unwrap_or_default();
        let envelope = Envelope::read(&line).map_err(failed("cannot read a record"))?;
        // The records of one command stand side by side.
        let (_, count) = envelope.part();
        let after_seq = Some(last.saturating_sub(u64::from(count)));
        let lines = self.lines(&Filter { after_seq, ..up_to })?;
        Ok(past::recorded(stream, records(&lines)?))
    }

    /// Whether a workflow was ever begun, and up to which record that is known.
    pub(super) fn begun(&self, id: WorkflowId) -> Result<(u64, bool), LedgerError> {
        let begun = || self.ask(|index| index.has_workflow(id.as_bytes()));
        let (looked, begun) = self.follower.index().looking(begun);
        Ok((looked, begun?))
    }

    /// What a command led to when it was first asked, and up to which record that is known.
    pub(super) fn seen(
        &self,
        target: &Target,
        command: CommandId,
    ) -> Result<(u64, Option<Recorded>), LedgerError> {
        let (looked, found) = self.follower.index().looking(|| self.recall(target, command));
        Ok((looked, found?))
    }
}

impl Past for History {
    fn ending(&self, id: WorkflowId) -> Result<Option<String>, LedgerError> {
        self.ask(|index| index.workflow_closed(id.as_bytes()))
    }

    fn home(&self, id: HandoffId) -> Result<Option<WorkflowId>, LedgerError> {
        let rows = self.ask(|index| index.find_handoffs(&id.to_string()))?;
        Ok(rows.first().and_then(|row| row.workflow).map(WorkflowId::from_bytes))
    }

    fn records(&self, stream: &StreamId, command: CommandId) -> Result<Vec<Record>, LedgerError> {
        let places = match stream {
            StreamId::Workflow(id) => {
                let (workflow, command) = (Some(*id.as_bytes()), Some(*command.as_bytes()));
                let filter = Filter { workflow, command, ..Filter::default() };
                self.ask(|index| index.records(&filter))?
            }
            StreamId::Agent(_) | StreamId::Workspace => {
                self.ask(|index| index.outside_workflows(command.as_bytes()))?
            }
        };
        let mut records = records(&self.read(places)?)?;
        // The index knows commands by their beginnings.
        records.retain(|record| record.command == command && record.stream == *stream);
        Ok(records)
    }
}

fn records(lines: &[Vec<u8>]) -> Result<Vec<Record>, LedgerError> {
    let records: Result<_, _> = lines.iter().map(|line| Record::read(line)).collect();
    records.map_err(failed("cannot read a record"))
}
