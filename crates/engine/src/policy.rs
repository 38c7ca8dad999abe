//! Reading the rules of the workspace.

use baton_protocol::command::Actor;
use baton_protocol::policy::Policy;
use baton_protocol::refusal::Refusal;
use baton_store::Scope;

use crate::engine::Engine;
use crate::query::QueryError;

impl Engine {
    /// The rules in force. How people are told is only for the operator.
    pub async fn policy(&self, viewer: Actor) -> Result<Policy, QueryError> {
        if let Actor::Agent(agent) | Actor::OperatorAs(agent) = viewer {
            let what = "see the policy";
            return Err(Refusal::OperatorOnly { what, agent }.into());
        }
        let mut policy = self.look(Scope::Agents, |world| world.policy.clone()).await?;
        if viewer == Actor::Viewer {
            policy.notify.clear();
        }
        Ok(policy)
    }
}
