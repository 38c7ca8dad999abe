//! Making a definition known. A version never changes: work that runs relies on it.

use crate::command::Submission;
use crate::decide::holder;
use crate::definition::Definition;
use crate::event::{Decision, Event, StreamId};
use crate::limits::DEFINITIONS_MAX;
use crate::refusal::{Refusal, Unmoved};
use crate::world::World;

/// Decides whether a definition becomes known. The same text again changes nothing.
pub(in crate::decide) fn decide(
    world: &World,
    ask: &Submission,
    definition: &Definition,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "define workflows")?;
    let known = world.definitions.get(&definition.id());
    let events = match known {
        Some(known) if known == definition => Vec::new(),
        Some(_) => return Err(Unmoved::VersionTaken { definition: definition.id() }.into()),
        None if world.definitions.len() >= DEFINITIONS_MAX => {
            return Err(Refusal::TooMany { what: "definitions", most: DEFINITIONS_MAX });
        }
        None => vec![Event::Defined(Box::new(definition.clone()))],
    };
    Ok(Decision { stream: StreamId::Workspace, events, effects: Vec::new() })
}
