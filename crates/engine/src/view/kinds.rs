//! What the kinds of handoff, and the health of agents, look like in views.

use baton_protocol::agent::Health;
use baton_protocol::handoff::{Kind, Terms};
use baton_protocol::id::GroupId;
use baton_protocol::limits::HEALTH_FAILURES_MAX;
use baton_protocol::workflow::{Group, Workflow};

use super::sight::Sight;
use super::{BroadcastView, EscalationView, ReturnView};

/// The word for whether new work goes to an agent.
pub(crate) fn status(health: &Health) -> &'static str {
    if health.failures >= HEALTH_FAILURES_MAX {
        "unhealthy"
    } else if health.unavailable_since.is_some() {
        "unavailable"
    } else {
        "healthy"
    }
}

/// How a handoff of this kind comes back.
pub(super) fn back(terms: &Terms) -> ReturnView {
    let back = terms.kind.back();
    ReturnView {
        expected: terms.kind.returns(),
        checks: terms.checks.clone(),
        timeout: back.map(|back| back.timeout),
        on_timeout: back.map(|back| back.on_timeout),
    }
}

/// The question that a handoff carries.
pub(super) fn escalation(kind: &Kind) -> Option<EscalationView> {
    match kind {
        Kind::Escalation(asked) => Some(EscalationView {
            level: asked.level,
            matter: asked.matter,
            trail: asked.trail.clone(),
        }),
        Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => None,
    }
}

/// The broadcast that a handoff is a copy of, with the peers that this copy knows.
pub(super) fn broadcast_of(workflow: &Workflow, kind: &Kind) -> Option<BroadcastView> {
    match kind {
        Kind::Broadcast(copy) => {
            let group = workflow.groups.get(&copy.group)?;
            let peers = copy.peers.clone();
            Some(BroadcastView { peers, ..broadcast(workflow, (&copy.group, group)) })
        }
        Kind::Sequential | Kind::Delegation(_) | Kind::Escalation(_) => None,
    }
}

/// The broadcasts of a workflow, to whoever may see all their copies.
pub(super) fn broadcasts(sight: Sight<'_>) -> Vec<BroadcastView> {
    let workflow = sight.workflow();
    let whole = |id: &GroupId| {
        let all = workflow.handoffs.values();
        let mut copies = all.filter(|handoff| handoff.terms.kind.group() == Some(*id));
        copies.all(|copy| sight.sees(copy))
    };
    let seen = workflow.groups.iter().filter(|(id, _)| whole(id));
    seen.map(|group| broadcast(workflow, group)).collect()
}

fn broadcast(workflow: &Workflow, (id, group): (&GroupId, &Group)) -> BroadcastView {
    let so_far = workflow.tally(group, &[]);
    let decided = group.outcome.map(|outcome| (outcome.successes, outcome.failures));
    // What came after the decision changed nothing.
    let (successes, failures) = decided.unwrap_or(so_far);
    let word = |success: bool| if success { "success" } else { "failed" };
    BroadcastView {
        group: *id,
        aggregation: group.aggregation,
        expected: group.expected.len(),
        successes,
        failures,
        outcome: group.outcome.map(|outcome| word(outcome.success).to_owned()),
        peers: Vec::new(),
    }
}
