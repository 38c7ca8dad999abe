//! Broadcasts: when what came back so far decides them.

use crate::decide::news;
use crate::effect::{Effect, News};
use crate::event::Event;
use crate::handoff::Handoff;
use crate::id::{HandoffId, WorkflowId};
use crate::planted::{Bug, planted};
use crate::workflow::{Group, Workflow};
use crate::world::World;

/// The event that decides the broadcast which `handoff` is a copy of, if its end does.
pub(super) fn ended(workflow: &Workflow, handoff: &Handoff, success: bool) -> Option<Event> {
    decided(workflow, &[(handoff.terms.id, success)]).pop()
}

/// The events that decide broadcasts because copies of them end, as successes or failures.
pub(super) fn decided(workflow: &Workflow, ended: &[(HandoffId, bool)]) -> Vec<Event> {
    let undecided = |group: &Group| group.outcome.is_none() || planted(Bug::LateReturnCounts);
    let open = workflow.groups.iter().filter(|(_, group)| undecided(group));
    let touched = open.filter(|(_, group)| ended.iter().any(|(id, _)| group.expected.contains(id)));
    let decides = touched.filter_map(|(id, group)| {
        let (successes, failures) = workflow.tally(group, ended);
        let success = group.aggregation.decided(group.expected.len(), successes, failures)?;
        Some(Event::Aggregated { group: *id, success, successes, failures })
    });
    decides.collect()
}

/// What tells the sender of a broadcast that it is decided.
pub(super) fn told(world: &World, id: WorkflowId, copy: &Handoff) -> Option<Effect> {
    news::tell(world, &copy.terms.from_agent, id, copy.terms.id, News::Decided)
}

/// Whether the broadcast that `handoff` is a copy of was decided before.
pub(super) fn is_late(workflow: &Workflow, handoff: &Handoff) -> bool {
    let group = handoff.terms.kind.group().and_then(|group| workflow.groups.get(&group));
    group.is_some_and(|group| group.outcome.is_some())
}
