//! Beginning a workflow.

use crate::command::{Start, Submission};
use crate::decide::guard::limits;
use crate::decide::{arrival, variables};
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Constraints, Priority};
use crate::policy::Asked;
use crate::refusal::Refusal;
use crate::text::Text;
use crate::time::Timestamp;
use crate::variables::Changes;
use crate::world::World;

/// Decides whether the asker may begin a workflow, which it then holds with fence 1.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    start: &Start,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let about = (&start.title, start.priority, &start.constraints);
    let asked = (start.class, start.enable_handoffs);
    let event = begin(world, ask, about, asked, &start.variables, now)?;
    let stream = StreamId::Workflow(ask.id.workflow());
    Ok(Decision { stream, events: vec![event], effects: Vec::new() })
}

/// The event that begins a workflow, also for a pass that begins one.
pub(super) fn begin(
    world: &World,
    ask: &Submission,
    (title, priority, constraints): (&Text, Priority, &Constraints),
    asked: (Option<Asked>, Option<bool>),
    changes: &Changes,
    now: Timestamp,
) -> Result<Event, Refusal> {
    let by = ask.actor.agent();
    let profile = &world.agent(&by)?.profile;
    ahead(constraints, now)?;
    let variables = variables::first(changes, profile, now)?;
    let done_by = arrival::time_up(profile, constraints.deadline, now);
    let request = (title.as_str(), changes.len());
    let (limits, independent) =
        limits::of_new_work(&world.policy, ask, asked, constraints, request)?;
    let (title, constraints) = (title.clone(), constraints.clone());
    Ok(Event::Started { title, by, priority, constraints, variables, done_by, limits, independent })
}

/// Refuses a deadline that nothing can meet.
pub(super) fn ahead(constraints: &Constraints, now: Timestamp) -> Result<(), Refusal> {
    match constraints.deadline {
        Some(deadline) if deadline <= now => Err(Refusal::DeadlinePassed { deadline }),
        Some(_) | None => Ok(()),
    }
}
