//! Asking for time before answering.

use crate::command::{Defer, Submission};
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
    let (id, _, handoff) = world.handoff(defer.handoff)?;
    let by = ask.actor.agent();
    answerable(handoff, &by)?;
    let until = defer.span.unwrap_or(DEFER_FOR).after(now);
    let reason = defer.reason.clone();
    let events = vec![Event::Deferred { handoff: defer.handoff, by, reason, until }];
    Ok(Decision { stream: StreamId::Workflow(id), events, effects: Vec::new() })
}
