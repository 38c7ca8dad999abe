//! Workflows that left memory, told again from their records.

use baton_protocol::event::{Event, StreamId};
use baton_protocol::id::{AgentId, WorkflowId};
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::Ending;
use baton_protocol::{World, evolve};
use baton_store::Record;

/// A workflow as it was right before it ended, and how it ended.
pub(crate) struct Past {
    pub(crate) world: World,
    pub(crate) ended: Option<Ended>,
}

/// How a workflow ended.
pub(crate) struct Ended {
    pub(crate) at: Timestamp,
    pub(crate) by: AgentId,
    pub(crate) ending: Ending,
}

/// Tells the story of a workflow again, up to the record that closed it.
pub(crate) fn replay(id: WorkflowId, lines: &[Vec<u8>]) -> Result<Past, serde_json::Error> {
    let mut past = Past { world: World::default(), ended: None };
    for line in lines {
        let record = Record::read(line)?;
        if record.stream != StreamId::Workflow(id) {
            continue;
        }
        match record.event {
            Event::Closed { by, ending, .. } => {
                if let Some(workflow) = past.world.workflows.get_mut(&id) {
                    workflow.take_last_words(&ending, &by, record.at);
                }
                past.ended = Some(Ended { at: record.at, by, ending });
            }
            event => evolve(&mut past.world, &record.stream, &event, record.at),
        }
    }
    Ok(past)
}
