//! Settling an effect that was carried out.

use crate::command::{Settle, Submission};
use crate::decide::holder;
use crate::event::{Decision, Event, StreamId};
use crate::refusal::Refusal;
use crate::world::World;

/// Decides that an effect need not be carried out again. Settling it twice is not an error.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    settle: &Settle,
) -> Result<Decision, Refusal> {
    holder::coordinator_only(ask)?;
    let open = world.outbox.contains_key(&settle.effect);
    let event = Event::Settled { effect: settle.effect, note: settle.note.clone() };
    let events = if open { vec![event] } else { Vec::new() };
    Ok(Decision { stream: StreamId::Workspace, events, effects: Vec::new() })
}
