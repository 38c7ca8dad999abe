//! Whom to tell, and to whom work is brought. Only agents that registered a `notify` command are
//! told by an effect; the others find the news in their inbox. Agents that pull take their work
//! from there, too; commands and web services get theirs by an effect.

use crate::agent::Profile;
use crate::effect::{Effect, News};
use crate::id::{AgentId, Fence, HandoffId, WorkflowId};
use crate::reach::Reach;
use crate::world::World;

/// The effects by which a handoff that waits for its answer gets to `agent`.
pub(super) fn arrived(
    world: &World,
    agent: &AgentId,
    workflow: WorkflowId,
    handoff: HandoffId,
) -> Vec<Effect> {
    let told = tell(world, agent, workflow, handoff, News::Arrived);
    let reach = world.agents.get(agent).map(|agent| &agent.profile.reach);
    let agent = agent.clone();
    let brought = match reach {
        Some(Reach::Command { .. }) => Some(Effect::Accept { agent, workflow, handoff }),
        Some(Reach::Http { url }) => {
            Some(Effect::Call { agent, url: url.clone(), workflow, handoff })
        }
        Some(Reach::Pull | Reach::A2a { .. } | Reach::Tmux) | None => None,
    };
    told.into_iter().chain(brought).collect()
}

/// The effects by which work that only waits gets to `agent`: there is nothing to run or to call.
pub(super) fn waits(
    world: &World,
    agent: &AgentId,
    workflow: WorkflowId,
    handoff: HandoffId,
) -> Vec<Effect> {
    let told = tell(world, agent, workflow, handoff, News::Arrived);
    // There is nothing to agree to, so nobody is asked.
    let agent = agent.clone();
    told.into_iter().chain([Effect::Accept { agent, workflow, handoff }]).collect()
}

/// The effect by which an agent that is a command works on what it holds from now on.
pub(super) fn runs(
    profile: &Profile,
    workflow: WorkflowId,
    handoff: HandoffId,
    fence: Fence,
) -> Vec<Effect> {
    match &profile.reach {
        Reach::Command { argv } => {
            let (agent, argv) = (profile.id.clone(), argv.clone());
            vec![Effect::Run { agent, argv, workflow, handoff, fence }]
        }
        Reach::Pull | Reach::Http { .. } | Reach::A2a { .. } | Reach::Tmux => Vec::new(),
    }
}

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
