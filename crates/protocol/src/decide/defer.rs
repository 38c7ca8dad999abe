//! Asking for time before answering.

use crate::command::{Defer, Submission};
use crate::decide::arrival;
use crate::decide::reject::answerable;
use crate::event::{Decision, Event, StreamId};
use crate::limits::DEFER_FOR;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// Decides whether the asker may put the handoff off. It comes back by itself.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    defer: &Defer,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let (id, workflow, handoff) = world.handoff(defer.handoff)?;
    let by = ask.actor.agent();
    answerable(handoff, &by)?;
    // Nobody puts it off for longer than anybody waits for it.
    let give_up = arrival::give_up(Some(workflow), &world.agent(&by)?.profile, &handoff.terms, now);
    let until = defer.span.unwrap_or(DEFER_FOR).after(now);
    let until = give_up.map_or(until, |give_up| until.min(give_up));
    let reason = defer.reason.clone();
    let events = vec![Event::Deferred { handoff: defer.handoff, by, reason, until }];
    Ok(Decision { stream: StreamId::Workflow(id), events, effects: Vec::new() })
}
