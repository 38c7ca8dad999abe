//! Workflows told again from their records: those that left memory, and any as it was at a moment.

use baton_protocol::event::{Event, StreamId};
use baton_protocol::id::{AgentId, WorkflowId};
use baton_protocol::lock::{FilePath, Lock};
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::{Ending, Workflow};
use baton_protocol::{World, evolve};
use baton_store::Record;

/// A workflow that is told again, record by record.
///
/// Little that others do reaches into it. Who locks a file whose lock has lapsed takes the lapsed
/// lock away, and whether an agent counts as a member depends on what is known of it. So beside its
/// own records it hears of registered agents, and of the locks of others for as long as it has
/// locks itself; of all else it makes nothing.
#[derive(Debug)]
pub struct Replay {
    id: WorkflowId,
    world: World,
    ended: Option<Ended>,
    last: Option<(u64, Timestamp)>,
}

/// How a workflow ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) at: Timestamp,
    pub(crate) by: AgentId,
    pub(crate) ending: Ending,
}

impl Replay {
    /// The workflow `id`, of which nothing is known yet.
    pub fn of(id: WorkflowId) -> Self {
        Self { id, world: World::default(), ended: None, last: None }
    }

    /// Takes the next record in the order of the ledger.
    pub fn take(&mut self, record: &Record) {
        if record.stream != StreamId::Workflow(self.id) {
            return self.hear(record);
        }
        self.last = Some((record.seq, record.at));
        match &record.event {
            Event::Closed { by, ending, usage, .. } => {
                if let Some(workflow) = self.world.workflows.get_mut(&self.id) {
                    workflow.take_last_words(ending, usage.as_ref(), by, record.at);
                }
                let (by, ending) = (by.clone(), ending.clone());
                self.ended = Some(Ended { at: record.at, by, ending });
                self.free_all();
            }
            event => evolve(&mut self.world, &record.stream, event, record.at),
        }
    }

    /// The workflow; as it was right before it ended, if it is over.
    pub fn workflow(&self) -> Option<&Workflow> {
        self.world.workflows.get(&self.id)
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    pub(crate) fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// Its last record so far, and when that was.
    pub(crate) fn last(&self) -> Option<(u64, Timestamp)> {
        self.last
    }

    /// Whether what others lock can still matter to it.
    pub(crate) fn has_locks(&self) -> bool {
        !self.world.locks.is_empty()
    }

    /// Hears of a record of another stream. Of its own there is nothing to hear.
    pub(crate) fn hear(&mut self, record: &Record) {
        match (&record.stream, &record.event) {
            (StreamId::Workflow(other), Event::Locked { .. }) if *other != self.id => {
                self.locked(*other, record);
            }
            (StreamId::Agent(_), event @ Event::Registered { .. }) => {
                evolve(&mut self.world, &record.stream, event, record.at);
            }
            _ => (),
        }
    }

    fn locked(&mut self, other: WorkflowId, record: &Record) {
        let Event::Locked { fence, by, paths, mode, until } = &record.event else { return };
        let (workflow, fence) = (other, *fence);
        let lock = Lock { workflow, fence, by: by.clone(), mode: *mode, until: *until };
        for path in paths {
            if !self.world.locks.on(path).is_empty() {
                // Taken and given back: what had lapsed makes room, and nothing else changes.
                self.world.locks.take(path, lock.clone(), record.at);
                self.world.locks.free(path, workflow, fence);
            }
        }
    }

    fn free_all(&mut self) {
        let held = |(path, lock): (&FilePath, &Lock)| (path.clone(), lock.fence);
        let all: Vec<_> = self.world.locks.iter().map(held).collect();
        for (path, fence) in all {
            self.world.locks.free(&path, self.id, fence);
        }
    }
}
