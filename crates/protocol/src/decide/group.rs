//! Broadcasts: when what came back so far decides them.

use crate::event::Event;
use crate::handoff::Handoff;
use crate::workflow::Workflow;

/// The event that decides the broadcast which `handoff` is a copy of, if its end does.
pub(super) fn ended(workflow: &Workflow, handoff: &Handoff, success: bool) -> Option<Event> {
    let group_id = handoff.terms.kind.group()?;
    let group = workflow.groups.get(&group_id).filter(|group| group.outcome.is_none())?;
    if !group.expected.contains(&handoff.terms.id) {
        return None;
    }
    let (successes, failures) = workflow.tally(group, Some((handoff.terms.id, success)));
    let success = group.aggregation.decided(group.expected.len(), successes, failures)?;
    Some(Event::Aggregated { group: group_id, success, successes, failures })
}

/// Whether the broadcast that `handoff` is a copy of was decided before.
pub(super) fn is_late(workflow: &Workflow, handoff: &Handoff) -> bool {
    let group = handoff.terms.kind.group().and_then(|group| workflow.groups.get(&group));
    group.is_some_and(|group| group.outcome.is_some())
}
