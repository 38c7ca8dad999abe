//! How a handoff comes to its receiver: at once or when there is room, and how long it has then.

use crate::agent::{Agent, Profile, Role};
use crate::handoff::{Kind, Terms};
use crate::time::{Allowance, Timestamp};
use crate::workflow::Workflow;
use crate::world::World;

/// How a handoff comes to its receiver.
pub(super) struct Arrival {
    /// When the receiver counts as unavailable, or nobody waits for its room any longer, if ever.
    pub(super) answer_by: Option<Timestamp>,
    /// Whether it waits until the receiver has room.
    pub(super) queued: bool,
}

/// How a handoff on these terms comes to `to` now.
pub(super) fn at(
    world: &World,
    workflow: Option<&Workflow>,
    to: &Agent,
    terms: &Terms,
    now: Timestamp,
) -> Arrival {
    match world.has_room(to, terms.priority) {
        true => {
            let answer_by = answer_by(workflow, &to.profile, terms, now);
            Arrival { answer_by, queued: false }
        }
        false => {
            let answer_by = give_up(workflow, &to.profile, terms, now);
            Arrival { answer_by, queued: true }
        }
    }
}

/// When a receiver that is asked now counts as unavailable, if ever.
///
/// What must come back is never waited for without end: whoever has no limit of its own, people
/// apart, has as long as the subtask may take. Nobody has longer than the deadline.
pub(super) fn answer_by(
    workflow: Option<&Workflow>,
    to: &Profile,
    terms: &Terms,
    now: Timestamp,
) -> Option<Timestamp> {
    // A rule waits for nobody without end.
    let usual = terms.step.as_ref().and_then(|step| step.accept_within);
    let usual = usual.filter(|_| to.role != Role::Human);
    let own = to.answer_within().or(usual).map(|span| span.after(now));
    match to.role {
        Role::Human => own,
        Role::Worker | Role::Reviewer | Role::Architect => match own {
            Some(own) => earliest(Some(own), ahead(workflow, terms, now)),
            None => give_up(workflow, to, terms, now),
        },
    }
}

/// When nobody waits any longer for a receiver that has no room, or puts it off.
pub(super) fn give_up(
    workflow: Option<&Workflow>,
    to: &Profile,
    terms: &Terms,
    now: Timestamp,
) -> Option<Timestamp> {
    let span: Option<Allowance> = terms.kind.back().map(|back| back.timeout);
    match to.role {
        Role::Human => None,
        Role::Worker | Role::Reviewer | Role::Architect => {
            earliest(span.map(|span| span.after(now)), ahead(workflow, terms, now))
        }
    }
}

/// The deadline, as long as it lies ahead. One that has passed cannot end anything sooner.
fn ahead(workflow: Option<&Workflow>, terms: &Terms, now: Timestamp) -> Option<Timestamp> {
    deadline(workflow, terms).filter(|at| *at > now)
}

/// The deadline that the holder must keep. Whoever is asked from below often hears of it only
/// because it has passed, so it does not bind there.
pub(super) fn deadline(workflow: Option<&Workflow>, terms: &Terms) -> Option<Timestamp> {
    match &terms.kind {
        Kind::Escalation(_) => None,
        Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => {
            let whole = workflow.and_then(|workflow| workflow.constraints.deadline);
            earliest(terms.constraints.deadline, whole)
        }
    }
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
