//! Passing work to one agent: named, or chosen by what it can do.

use std::collections::BTreeSet;

use super::{Sender, as_begun, back, mismatch, sender, terms, too_risky};
use crate::agent::{Agent, Fit};
use crate::command::{Pass, PassKind, Submission};
use crate::decide::retry::{self, Why};
use crate::decide::route::{self, Wanted};
use crate::decide::{artifact, news};
use crate::effect::News;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{AtCapacity, Kind, Terms};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// Decides whether the asker may pass work to one agent.
///
/// An agent that has none of the capabilities asked for, or may not take so much risk, rejects by
/// that: it is recorded like any other rejection, so the trail shows who was asked and what came
/// of it.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    pass: &Pass,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let kind = kind(pass)?;
    if let Some(named) = &pass.to_agent {
        world.agent(named)?;
    }
    let sender = sender(world, ask, pass, now)?;
    let to = receiver(world, pass, &sender)?;
    if sender.agent == to.profile.id {
        return Err(Refusal::SelfPass { agent: sender.agent });
    }
    if !route::trusted(&to.profile, pass.validation.autonomy_budget) {
        let needs = pass.validation.autonomy_budget.unwrap_or(0);
        let has = to.profile.autonomy_budget.number.unwrap_or(0);
        return Err(Refusal::AutonomyTooSmall { agent: to.profile.id.clone(), has, needs });
    }
    let why_not = why_not(to, pass);
    let gap = match to.profile.fit(&pass.validation.required_capabilities) {
        Fit::Whole | Fit::None => Vec::new(),
        Fit::Partial(gap) => gap,
    };
    let to_agent = to.profile.id.clone();
    let terms = terms(ask.id.handoff(), pass, &sender, to_agent, kind, gap);
    initiate(world, ask, pass, sender, terms, (to, why_not), now)
}

fn initiate(
    world: &World,
    ask: &Submission,
    pass: &Pass,
    sender: Sender<'_>,
    terms: Terms,
    (to, why_not): (&Agent, Option<Why>),
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let artifacts =
        artifact::named(sender.workflow, ask, &pass.context.artifacts, &sender.agent, now)?;
    let queued = why_not.is_none() && to.room() == 0;
    let waits = why_not.is_some() || queued;
    let answer_by = to.profile.answer_within().filter(|_| !waits).map(|span| span.after(now));
    let begun = as_begun(&terms, now);
    let mut events: Vec<Event> = sender.begins.into_iter().collect();
    let (terms, variables) = (Box::new(terms), sender.changes);
    events.push(Event::Initiated { terms, variables, artifacts, answer_by, queued });
    let effects = match why_not {
        Some(why) => {
            let home = (sender.id, sender.workflow);
            let (more, effects) = retry::after(world, home, &begun, &why, now);
            events.extend(more);
            effects
        }
        None if queued => Vec::new(),
        None => {
            let handoff = begun.terms.id;
            news::tell(world, &begun.to, sender.id, handoff, News::Arrived).into_iter().collect()
        }
    };
    Ok(Decision { stream: StreamId::Workflow(sender.id), events, effects })
}

/// The agent that gets it: the one that is named, or the best for it.
fn receiver<'a>(world: &'a World, pass: &Pass, sender: &Sender<'_>) -> Result<&'a Agent, Refusal> {
    let wanted = Wanted {
        required: &pass.validation.required_capabilities,
        risk: pass.audit.risk_level,
        autonomy: pass.validation.autonomy_budget,
    };
    let mut except = BTreeSet::from([sender.agent.clone()]);
    let Some(named) = &pass.to_agent else {
        if wanted.required.is_empty() {
            return Err(Refusal::ReceiverRequired);
        }
        return route::best(world, &wanted, &except).ok_or(Refusal::NobodyFits);
    };
    let named = world.agent(named)?;
    let full = named.room() == 0 && pass.routing.at_capacity == AtCapacity::Reroute;
    if !full || wanted.required.is_empty() {
        return Ok(named);
    }
    except.insert(named.profile.id.clone());
    let other = route::best(world, &wanted, &except).filter(|agent| agent.room() > 0);
    Ok(other.unwrap_or(named))
}

/// Why this agent cannot take it, if so.
fn why_not(to: &Agent, pass: &Pass) -> Option<Why> {
    if to.profile.fit(&pass.validation.required_capabilities) == Fit::None {
        return Some(Why::Rejected(mismatch(&to.profile, pass)));
    }
    let most = to.profile.autonomy_budget.max_risk;
    (pass.audit.risk_level > most).then(|| Why::TooRisky(too_risky(&to.profile, pass)))
}

/// How the work is passed, if type and return protocol agree.
fn kind(pass: &Pass) -> Result<Kind, Refusal> {
    let expected = pass.return_protocol.expected;
    let mismatch = |expected, kind, means| Refusal::ReturnMismatch { expected, kind, means };
    match (pass.kind, expected) {
        (PassKind::Sequential, Some(true)) => Err(mismatch(true, "sequential", "never comes back")),
        (PassKind::Sequential, Some(false) | None) => Ok(Kind::Sequential),
        (PassKind::Delegation, Some(false)) => Err(mismatch(false, "delegation", "comes back")),
        (PassKind::Delegation, Some(true) | None) => {
            back(pass).map(Kind::Delegation).ok_or(Refusal::TimeoutRequired)
        }
        (PassKind::Broadcast | PassKind::Escalation, _) => Err(Refusal::ReceiverRequired),
    }
}
