//! What a command led to.

use super::{Event, StreamId};
use crate::effect::Effect;

/// What a command led to: events of one stream, and what must follow from them.
///
/// An event is recorded once, in its home stream, and changes every state it names: an
/// acceptance changes the workflow, the agent's load and nothing has to be written twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Where the events belong.
    pub stream: StreamId,
    /// What happened; empty when nothing had to change.
    pub events: Vec<Event>,
    /// What must follow.
    pub effects: Vec<Effect>,
}
