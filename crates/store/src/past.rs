//! Answering a command from history: what it led to when it was first asked, or that what it is
//! about is over or never was.

use baton_protocol::command::Target;
use baton_protocol::event::StreamId;
use baton_protocol::id::{CommandId, HandoffId, WorkflowId};
use baton_protocol::refusal::Refusal;

use crate::ledger::{LedgerError, Recorded, TransactError};
use crate::record::Record;

/// What a ledger can find out about records that have left memory.
pub(crate) trait Past {
    /// How a workflow ended, if it is over.
    fn ending(&self, id: WorkflowId) -> Result<Option<String>, LedgerError>;

    /// The workflow of a handoff.
    fn home(&self, id: HandoffId) -> Result<Option<WorkflowId>, LedgerError>;

    /// The records that a command led to in a stream, in order.
    fn records(&self, stream: &StreamId, command: CommandId) -> Result<Vec<Record>, LedgerError>;

    /// What a command led to when it was first asked, if it was.
    fn recall(&self, target: &Target, command: CommandId) -> Result<Option<Recorded>, LedgerError> {
        let stream = match target {
            Target::NewWorkflow(id) | Target::Workflow(id) => StreamId::Workflow(*id),
            Target::Handoff(id) => match self.home(*id)? {
                Some(home) => StreamId::Workflow(home),
                None => return Ok(None),
            },
            Target::Agent(id) => StreamId::Agent(id.clone()),
            Target::Workspace => StreamId::Workspace,
        };
        let records = self.records(&stream, command)?;
        Ok((!records.is_empty()).then(|| recorded(stream, records)))
    }

    /// Answers a command about something that is not live: as before, if it was asked before.
    fn answer(&self, target: &Target, command: CommandId) -> Result<Recorded, TransactError> {
        if let Some(recorded) = self.recall(target, command)? {
            return Ok(recorded);
        }
        let over = |workflow, ending| Refusal::WorkflowClosed { workflow, ending };
        let refusal = match target {
            Target::NewWorkflow(id) | Target::Workflow(id) => match self.ending(*id)? {
                Some(ending) => over(*id, ending),
                None => Refusal::UnknownWorkflow { workflow: *id },
            },
            Target::Handoff(id) => match self.home(*id)? {
                // One that began after it was asked about was unknown then.
                Some(home) => match self.ending(home)? {
                    Some(ending) => over(home, ending),
                    None => Refusal::UnknownHandoff { handoff: *id },
                },
                None => Refusal::UnknownHandoff { handoff: *id },
            },
            // These never end.
            Target::Agent(agent) => Refusal::UnknownAgent { agent: agent.clone() },
            Target::Workspace => Refusal::CoordinatorOnly,
        };
        Err(refusal.into())
    }
}

/// The answer that these records of one command gave.
pub(crate) fn recorded(stream: StreamId, records: Vec<Record>) -> Recorded {
    let seq = records.last().map(|record| record.seq);
    let asked = records.last().map_or(0, |record| record.asked);
    let events = records.into_iter().map(|record| record.event).collect();
    Recorded { stream, seq, asked, events }
}
