//! What came back to a holder of what it passed on, for its package.

use baton_protocol::World;
use baton_protocol::command::Actor;
use baton_protocol::id::HandoffId;
use baton_protocol::limits::{BODY_BYTES_MAX, RECIPIENTS_MAX};
use baton_protocol::text::BlobRef;
use baton_store::Scope;

use crate::engine::Engine;
use crate::query::QueryError;
use crate::view::{self, Returned};

impl Engine {
    /// What the holder of `id` passed on that is over, the oldest first.
    ///
    /// Bodies that lie beside the ledger are read as long as they are small together; the others
    /// are asked for one by one.
    pub(crate) async fn returned(
        &self,
        viewer: Actor,
        id: HandoffId,
    ) -> Result<Vec<Returned>, QueryError> {
        let look = move |world: &World| over(world, &viewer, id);
        let found = self.look(Scope::Handoff(id), look).await?;
        let mut room = BODY_BYTES_MAX as u64;
        let mut all = Vec::new();
        for (mut returned, blob) in found {
            if let (Some(blob), Some(result)) = (blob, &mut returned.result)
                && blob.bytes <= room
            {
                room -= blob.bytes;
                result["result"]["body"] = self.body(&blob).await?;
            }
            all.push(returned);
        }
        Ok(all)
    }
}

fn over(world: &World, viewer: &Actor, id: HandoffId) -> Vec<(Returned, Option<BlobRef>)> {
    let Ok((home, workflow, _)) = world.handoff(id) else { return Vec::new() };
    let held = workflow.holds.iter().find(|(_, hold)| hold.handoff == Some(id));
    let Some((fence, _)) = held.filter(|(_, hold)| match viewer {
        Actor::Operator | Actor::Coordinator => true,
        Actor::Agent(agent) | Actor::OperatorAs(agent) => hold.agent == *agent,
        Actor::Viewer => false,
    }) else {
        return Vec::new();
    };
    let passed = workflow.handoffs.values().filter(|passed| passed.terms.parent == *fence);
    let mut over: Vec<_> = passed.filter(|passed| passed.state.is_over()).collect();
    over.sort_by_key(|passed| (passed.initiated_at, passed.terms.id));
    let old = over.len().saturating_sub(RECIPIENTS_MAX);
    let shown = over.into_iter().skip(old).map(|passed| {
        let (view, bodies) = view::handoff_view(world, home, workflow, passed);
        (Returned { line: view.line, result: view.result }, bodies.result)
    });
    shown.collect()
}
