//! The picture of a workflow. It changes nothing.

use std::collections::BTreeSet;

use baton_flow::{Flow, Party};
use baton_protocol::World;
use baton_protocol::agent::Role;
use baton_protocol::command::Actor;
use baton_protocol::id::{AgentId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_store::{Record, Scope};

use crate::engine::Engine;
use crate::query::{QueryError, unreadable};
use crate::view::{self, Replay, Tale, may_see};

impl Engine {
    /// A workflow as a graph to be drawn, live or over.
    ///
    /// Live work is told from its records, too: the state forgets who was asked in which order.
    pub async fn flow(&self, viewer: Actor, id: WorkflowId) -> Result<Flow, QueryError> {
        let lines = self.records_of(id).await?;
        let mut past = Replay::of(id);
        for line in &lines {
            past.take(&Record::read(line).map_err(unreadable)?);
        }
        let seen = past.workflow().filter(|found| may_see(&viewer, found));
        let workflow = seen.ok_or(Refusal::UnknownWorkflow { workflow: id })?;
        let tale = Tale::of(&lines).map_err(unreadable)?;
        let mut flow = view::flow(&viewer, (id, workflow), past.ended(), &tale);
        let people = self.look(Scope::Agents, people).await?;
        for agent in flow.agents.iter_mut().filter(|agent| people.contains(&agent.id)) {
            agent.party = Party::Person;
        }
        Ok(flow)
    }
}

fn people(world: &World) -> BTreeSet<AgentId> {
    let people = world.agents.values().filter(|agent| agent.profile.role == Role::Human);
    people.map(|agent| agent.profile.id.clone()).collect()
}
