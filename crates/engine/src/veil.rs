//! What an agent is told when it asks about work that it has no part in: that there is none.
//!
//! The rules refuse in words that tell who holds what. Those are for people who see the work
//! anyway.

use baton_protocol::command::{Actor, Target};
use baton_protocol::refusal::Refusal;
use baton_store::LedgerError;

use crate::engine::Engine;
use crate::query::QueryError;

impl Engine {
    /// The refusal as `actor` may hear it.
    pub(crate) async fn veiled(
        &self,
        actor: Actor,
        target: &Target,
        refusal: Refusal,
    ) -> Result<Refusal, LedgerError> {
        let Actor::Agent(_) = &actor else { return Ok(refusal) };
        let (seen, unknown) = match target {
            Target::Workflow(id) => {
                let unknown = Refusal::UnknownWorkflow { workflow: *id };
                (self.workflow(actor, *id).await.map(drop), unknown)
            }
            Target::Handoff(id) => {
                let unknown = Refusal::UnknownHandoff { handoff: *id };
                (self.handoff(actor, *id).await.map(drop), unknown)
            }
            Target::NewWorkflow(_) | Target::Agent(_) | Target::Workspace => return Ok(refusal),
        };
        match seen {
            Ok(()) => Ok(refusal),
            Err(QueryError::Failed(failure)) => Err(failure),
            Err(
                QueryError::Refused(_)
                | QueryError::NotFound { .. }
                | QueryError::Ambiguous { .. }
                | QueryError::Unusable { .. },
            ) => Ok(unknown),
        }
    }
}
