//! Telling the ledger of a move that was made in a file.

use crate::command::{Actor, Submission};
use crate::decide::holder;
use crate::event::{Decision, Event, StreamId};
use crate::refusal::Refusal;
use crate::tag::{TagMove, TagMover};

/// Decides whether the asker may tell of a move. What is in the file is not ours to refuse; but an
/// approval in the ledger is a person's word, and nobody else's.
pub(super) fn report(ask: &Submission, moved: &TagMove) -> Result<Decision, Refusal> {
    // Work whose holder died may go back to where a person let it stand.
    let requeued = moved.from.as_ref().is_some_and(|from| from.as_str().starts_with("#claimed-"));
    let approves = moved.to.as_ref().is_some_and(|to| to.is_approval()) && !requeued;
    if approves || moved.mover == TagMover::Person {
        holder::operator_only(ask, "tell of a person's move")?;
    }
    match ask.actor {
        Actor::Operator | Actor::Agent(_) | Actor::OperatorAs(_) => (),
        Actor::Viewer => return Err(Refusal::ViewOnly),
        Actor::Coordinator => return Err(Refusal::CoordinatorOnly),
    }
    let events = vec![Event::TagMoved(Box::new(moved.clone()))];
    Ok(Decision { stream: StreamId::Workspace, events, effects: Vec::new() })
}
