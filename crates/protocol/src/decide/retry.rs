//! What comes after an attempt that nobody took: another agent, a person, or the end.

use std::collections::BTreeSet;

use crate::agent::{Agent, Role};
use crate::decide::{group, news, route};
use crate::effect::{Effect, News};
use crate::event::Event;
use crate::handoff::{Detail, Handoff, Kind, OnRejection, Priority};
use crate::id::WorkflowId;
use crate::limits::REROUTES_MAX;
use crate::text::Text;
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// Why an attempt ended without an acceptance.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// The receiver said no, or lacks what is asked for.
    Rejected(Text),
    /// It may not take so much risk.
    TooRisky(Text),
    /// It did not answer.
    Unavailable(Text),
}

impl Why {
    fn reason(&self) -> &Text {
        match self {
            Self::Rejected(reason) | Self::TooRisky(reason) | Self::Unavailable(reason) => reason,
        }
    }
}

/// The events and effects after `handoff`, whose receiver did not take it.
pub(super) fn after(
    world: &World,
    (id, workflow): (WorkflowId, Option<&Workflow>),
    handoff: &Handoff,
    why: &Why,
    now: Timestamp,
) -> (Vec<Event>, Vec<Effect>) {
    let handoff_id = handoff.terms.id;
    let unavailable = matches!(why, Why::Unavailable(_));
    let (by, reason) = (handoff.to.clone(), why.reason().clone());
    let mut events = vec![Event::Rejected {
        handoff: handoff_id,
        by: by.clone(),
        reason: reason.clone(),
        unavailable,
    }];
    if let Some(next) = next(world, handoff, why) {
        let to = next.profile.id.clone();
        let answer_by = next.profile.answer_within().map(|span| span.after(now));
        let told = news::tell(world, &to, id, handoff_id, News::Arrived);
        events.push(Event::Rerouted { handoff: handoff_id, from: by, to, reason, answer_by });
        return (events, told.into_iter().collect());
    }
    let detail = match why {
        Why::Rejected(reason) | Why::TooRisky(reason) => {
            Detail::Rejected { reason: reason.clone() }
        }
        Why::Unavailable(_) => Detail::Unavailable,
    };
    events.push(Event::Failed { handoff: handoff_id, detail, released: Vec::new() });
    events.extend(workflow.and_then(|workflow| group::ended(workflow, handoff, false)));
    let told = news::tell(world, &handoff.terms.from_agent, id, handoff_id, News::Failed);
    (events, told.into_iter().collect())
}

/// Who is asked instead, if anybody.
fn next<'a>(world: &'a World, handoff: &Handoff, why: &Why) -> Option<&'a Agent> {
    let terms = &handoff.terms;
    let mut except: BTreeSet<_> = handoff.tried.clone();
    except.insert(handoff.to.clone());
    except.insert(terms.from_agent.clone());
    let role = world.agents.get(&handoff.to).map_or(Role::Worker, |agent| agent.profile.role);
    let human = || route::above(world, Role::Architect, &except);
    match (&terms.kind, terms.routing.on_rejection) {
        // Each copy of a broadcast is for one agent and nobody else.
        (Kind::Broadcast(_), _) => return None,
        // A question only ever climbs.
        (Kind::Escalation(_), _) => return route::above(world, role, &except),
        (Kind::Sequential | Kind::Delegation(_), OnRejection::Fail) => return None,
        (Kind::Sequential | Kind::Delegation(_), OnRejection::Reroute) => (),
    }
    match why {
        Why::Unavailable(_) if terms.priority == Priority::Critical => {
            route::above(world, role, &except)
        }
        Why::TooRisky(_) => {
            let bold = |agent: &&Agent| agent.profile.autonomy_budget.max_risk >= terms.risk_level;
            route::above(world, role, &except).filter(bold).or_else(human)
        }
        Why::Rejected(_) | Why::Unavailable(_) if handoff.attempts.reroutes >= REROUTES_MAX => {
            // The person is the last stop, and is asked once.
            human().filter(|_| role != Role::Human)
        }
        Why::Rejected(_) | Why::Unavailable(_) => route::instead(world, handoff).or_else(human),
    }
}
