//! How a handoff comes to its receiver: at once or when there is room, and how long it has then.

use crate::agent::{Agent, Profile, Role};
use crate::handoff::Kind;
use crate::time::{Allowance, Timestamp};
use crate::world::World;

/// How a handoff comes to its receiver.
pub(super) struct Arrival {
    /// When the receiver counts as unavailable, if ever.
    pub(super) answer_by: Option<Timestamp>,
    /// Whether it waits until the receiver has room.
    pub(super) queued: bool,
}

/// How a handoff of this kind comes to `to` now.
pub(super) fn at(world: &World, to: &Agent, kind: &Kind, now: Timestamp) -> Arrival {
    match world.has_room(to) {
        true => Arrival { answer_by: answer_by(&to.profile, kind, now), queued: false },
        false => Arrival { answer_by: None, queued: true },
    }
}

/// When a receiver that is asked now counts as unavailable, if ever.
///
/// What must come back is never waited for without end: whoever has no limit of its own, people
/// apart, has as long as the subtask may take.
pub(super) fn answer_by(to: &Profile, kind: &Kind, now: Timestamp) -> Option<Timestamp> {
    let within: Option<Allowance> = match (to.role, kind.back()) {
        (Role::Worker | Role::Reviewer | Role::Architect, Some(back)) => {
            to.answer_within().or(Some(back.timeout))
        }
        (Role::Human, _) | (_, None) => to.answer_within(),
    };
    within.map(|span| span.after(now))
}

/// When the time of a holder that begins now is up: the deadline, or how long the agent may take.
/// People have no clock held to them.
pub(super) fn time_up(
    profile: &Profile,
    deadline: Option<Timestamp>,
    now: Timestamp,
) -> Option<Timestamp> {
    match profile.role {
        Role::Human => None,
        Role::Worker | Role::Reviewer | Role::Architect => {
            earliest(deadline, profile.max_execution_time.map(|span| span.after(now)))
        }
    }
}

/// The earlier of two moments, as far as there are any.
pub(super) fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}
