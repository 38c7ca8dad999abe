//! Beginning a workflow.

use crate::command::{Follows, Start, Submission};
use crate::decide::guard::limits;
use crate::decide::{arrival, variables};
use crate::definition::Definition;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Constraints, Priority};
use crate::limits::HANDOFFS_ALLOWED_MAX;
use crate::machine::Following;
use crate::policy::Asked;
use crate::refusal::{Refusal, Unmoved};
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
    let followed = start.definition.as_ref().map(|follows| find(world, follows)).transpose()?;
    for state in followed.into_iter().flat_map(|definition| definition.states.values()) {
        state.agent.as_ref().map(|agent| world.agent(agent)).transpose()?;
    }
    let mut event = begin(world, ask, about, asked, &start.variables, now)?;
    if let Event::Started { follows, done_by, limits, .. } = &mut event
        && let Some(definition) = followed
    {
        let state = definition.start.clone();
        *follows = Some(Following { definition: definition.id(), state });
        // The definition is the operator's, so its measure counts, whoever begins the work.
        if let (None, Some(most)) = (start.constraints.handoffs, definition.max_handoffs) {
            limits.handoffs = Some(most.min(HANDOFFS_ALLOWED_MAX));
        }
        // Whoever begins it passes it on at once; should that be lost, its time is up already.
        *done_by = Some(now);
    }
    let stream = StreamId::Workflow(ask.id.workflow());
    Ok(Decision { stream, events: vec![event], effects: Vec::new() })
}

/// The definition that is meant: this version, or the newest.
fn find<'a>(world: &'a World, follows: &Follows) -> Result<&'a Definition, Refusal> {
    let known = world.definitions.iter().filter(|(id, _)| id.name == follows.name);
    let mut meant = known.filter(|(id, _)| follows.version.is_none_or(|asked| asked == id.version));
    let name = match follows.version {
        Some(version) => format!("{}@{version}", follows.name),
        None => follows.name.to_string(),
    };
    let found = meant.next_back().map(|(_, definition)| definition);
    found.ok_or_else(|| Unmoved::UnknownDefinition { name }.into())
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
    let follows = None;
    Ok(Event::Started {
        title,
        by,
        priority,
        constraints,
        variables,
        done_by,
        limits,
        independent,
        follows,
    })
}

/// Refuses a deadline that nothing can meet.
pub(super) fn ahead(constraints: &Constraints, now: Timestamp) -> Result<(), Refusal> {
    match constraints.deadline {
        Some(deadline) if deadline <= now => Err(Refusal::DeadlinePassed { deadline }),
        Some(_) | None => Ok(()),
    }
}
