//! Whom to tell. Only agents that registered a `notify` command are told by an effect; the others
//! find the news in their inbox.

use crate::effect::{Effect, News};
use crate::id::{AgentId, HandoffId, WorkflowId};
use crate::world::World;

/// The effect that tells `agent`, if it wants to be told.
pub(super) fn tell(
    world: &World,
    agent: &AgentId,
    workflow: WorkflowId,
    handoff: HandoffId,
    news: News,
) -> Option<Effect> {
    let argv = world.agents.get(agent)?.profile.notify.as_ref()?;
    let (agent, argv) = (agent.clone(), argv.clone());
    Some(Effect::Notify { agent, argv, workflow, handoff, news })
}
