//! Who sees what. The operator sees everything; an agent sees the work it has or had a part in, and
//! of a broadcast only its own copy, unless the sender lets the recipients know of each other.

use baton_protocol::command::Actor;
use baton_protocol::handoff::{Handoff, Kind};
use baton_protocol::workflow::Workflow;

/// Whether `viewer` may see this workflow.
pub(crate) fn may_see(viewer: &Actor, workflow: &Workflow) -> bool {
    match viewer {
        Actor::Operator | Actor::OperatorAs(_) | Actor::Coordinator => true,
        Actor::Agent(agent) => workflow.readers.contains(agent),
    }
}

/// Whether `viewer`, who may see the workflow, may see this handoff of it.
pub(crate) fn sees(viewer: &Actor, workflow: &Workflow, handoff: &Handoff) -> bool {
    let (Actor::Agent(agent), Kind::Broadcast(copy)) = (viewer, &handoff.terms.kind) else {
        return true;
    };
    let concerns = handoff.to == *agent || handoff.terms.from_agent == *agent;
    let has_a_copy = || {
        let group = Some(copy.group);
        let copies = workflow.handoffs.values().filter(|one| one.terms.kind.group() == group);
        copies.into_iter().any(|one| one.to == *agent)
    };
    concerns || copy.peers.contains(agent) || !has_a_copy()
}
