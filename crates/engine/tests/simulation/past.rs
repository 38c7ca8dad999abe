//! What was: each workflow told again from its own records, and some as they were shown once.

use std::collections::BTreeMap;

use baton_engine::view::{Replay, WorkflowView};
use baton_engine::{AsOf, Engine};
use baton_protocol::World;
use baton_protocol::command::Actor;
use baton_protocol::event::{Event, StreamId};
use baton_protocol::id::WorkflowId;
use baton_protocol::policy::Policy;
use baton_protocol::time::Timestamp;
use baton_store::Record;

use crate::invariants::{Broken, Checked, must};

/// Workflows told again, and how some were shown.
#[derive(Default)]
pub(crate) struct Past {
    replays: BTreeMap<WorkflowId, Replay>,
    /// What became known of agents, for work that begins later.
    agents: Vec<Record>,
    /// The work that was changed last.
    latest: Option<WorkflowId>,
    shown: Vec<(u64, WorkflowId, WorkflowView)>,
    records: u64,
}

impl Past {
    /// Tells a record, and compares what it made of its workflow with `world`, which has it, too.
    pub(crate) fn follow(&mut self, world: &World, record: &Record) -> Checked {
        self.records += 1;
        if let Event::Registered { .. } = record.event {
            self.agents.push(record.clone());
        }
        if let Event::Locked { .. } | Event::Registered { .. } = record.event {
            let of_it = |id: WorkflowId| record.stream == StreamId::Workflow(id);
            let others = self.replays.iter_mut().filter(|(other, _)| !of_it(**other));
            others.for_each(|(_, other)| other.take(record));
        }
        let StreamId::Workflow(id) = record.stream else { return Ok(()) };
        self.latest = Some(id);
        let replay = self.replays.entry(id).or_insert_with(|| {
            let mut replay = Replay::of(id);
            self.agents.iter().for_each(|known| replay.take(known));
            replay
        });
        replay.take(record);
        let live = world.workflows.get(&id);
        let same = match replay.is_over() {
            true => live.is_none(),
            false => live == replay.workflow(),
        };
        must(same, "I35", || {
            let told = replay.workflow();
            format!("after record {} {id} is {live:?}\nbut its records tell {told:?}", record.seq)
        })
    }

    /// Keeps how the work that was changed last is shown now, after the record `seq`.
    pub(crate) async fn keep(&mut self, engine: &Engine, seq: u64) -> Checked {
        let Some(id) = self.latest else { return Ok(()) };
        let view = engine.workflow(Actor::Operator, id).await;
        let view = view.map_err(|error| Broken { id: "I35", how: error.to_string() })?;
        self.shown.push((seq, id, view));
        Ok(())
    }

    /// Whatever was shown is shown again when that moment is asked for.
    pub(crate) async fn look_back(&mut self, engine: &Engine) -> Checked {
        for (seq, id, shown) in std::mem::take(&mut self.shown) {
            let again = engine.replay(Actor::Operator, id, AsOf::Record(seq)).await;
            let again = again.map_err(|error| Broken { id: "I35", how: error.to_string() })?;
            must(again.workflow == shown, "I35", || {
                format!("after record {seq} {shown:?}\nwas shown, now {:?}", again.workflow)
            })?;
        }
        // It reads everything twice, so not every run is asked.
        match self.records.is_multiple_of(4) {
            true => understood(engine).await,
            false => Ok(()),
        }
    }
}

/// Every pass that was recorded can be asked for again, and the same rules decide it as they did.
async fn understood(engine: &Engine) -> Checked {
    let found = engine.what_if(Policy::default(), Some(Timestamp::default())).await;
    let found = found.map_err(|error| Broken { id: "I35", how: error.to_string() })?;
    must(found.same == found.handoffs, "I35", || {
        format!("the same rules decide otherwise: {found:?}")
    })
}
