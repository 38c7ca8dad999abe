//! Passing work to one agent: named, or chosen by what it can do.

use std::collections::BTreeSet;

use super::{Sender, as_begun, back, guarded, sender, terms, trusted, wanted};
use crate::agent::{Agent, Fit};
use crate::command::{Pass, PassKind, Submission};
use crate::decide::guard::approval;
use crate::decide::retry;
use crate::decide::why_not::{passed_over, unfit};
use crate::decide::{arrival, artifact, news, route};
use crate::event::{Approval, Decision, Event, Guarded, StreamId};
use crate::handoff::{AtCapacity, Kind, Terms};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// Decides whether the asker may pass work to one agent.
///
/// Whom the sender names is a suggestion. An agent that has none of the capabilities asked for, may
/// not take so much risk, is full or is not well rejects by that, and the coordinator asks another:
/// it is recorded like any other rejection, so the trail shows who was meant and what came of it.
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
    let to = receiver(world, pass, &sender, now)?;
    if sender.agent == to.profile.id {
        return Err(Refusal::SelfPass { agent: sender.agent });
    }
    trusted(&to.profile, pass)?;
    let gap = match to.profile.fit(&pass.validation.required_capabilities) {
        Fit::Whole | Fit::None => Vec::new(),
        Fit::Partial(gap) => gap,
    };
    let to_agent = to.profile.id.clone();
    let guarded = guarded(world, ask, pass, &sender, vec![to], now)?;
    let terms = terms(ask.id.handoff(), pass, &sender, to_agent, kind, gap);
    initiate(world, ask, pass, sender, (terms, guarded), to, now)
}

fn initiate(
    world: &World,
    ask: &Submission,
    pass: &Pass,
    sender: Sender<'_>,
    (terms, mut guarded): (Terms, Guarded),
    to: &Agent,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let artifacts =
        artifact::named(sender.workflow, ask, &pass.context.artifacts, &sender.agent, now)?;
    let begun = as_begun(&terms, now);
    // What a rule passes on goes to the agent that it names, or to nobody.
    let instead = || passed_over(world, sender.workflow, to, &begun, now);
    let over = if pass.step.is_none() { instead() } else { None };
    let why_not = unfit(&to.profile, &terms).or(over);
    let arrival = arrival::at(world, sender.workflow, to, &terms, now);
    guarded.approval = approval::of_pass(world, pass, &begun.to, now);
    let asks = matches!(guarded.approval, Some(Approval::Waits { .. }));
    // Who is asked instead is decided once a person has said that it may be passed at all.
    let why_not = why_not.filter(|_| !asks);
    let waits = why_not.is_some() || asks;
    let (answer_by, queued) = (arrival.answer_by.filter(|_| !waits), arrival.queued && !waits);
    let mut events: Vec<Event> = sender.begins.into_iter().collect();
    let (terms, variables) = (Box::new(terms), sender.changes);
    let report = pass.context.report.clone();
    events.push(Event::Initiated {
        terms,
        variables,
        artifacts,
        report,
        answer_by,
        queued,
        guarded,
    });
    let effects = match why_not {
        Some(why) => {
            let home = (sender.id, sender.workflow);
            let (more, effects) = retry::after(world, home, &begun, why, now);
            events.extend(more);
            effects
        }
        None if asks => approval::announced(world, sender.id, &begun.terms),
        None if queued => Vec::new(),
        None if begun.terms.step.as_ref().is_some_and(|step| step.waits) => {
            news::waits(world, &begun.to, sender.id, begun.terms.id)
        }
        None => news::arrived(world, &begun.to, sender.id, begun.terms.id),
    };
    Ok(Decision { stream: StreamId::Workflow(sender.id), events, effects })
}

/// The agent that gets it: the one that is named, or the best for it.
fn receiver<'a>(
    world: &'a World,
    pass: &Pass,
    sender: &Sender<'_>,
    now: Timestamp,
) -> Result<&'a Agent, Refusal> {
    if let Some(named) = &pass.to_agent {
        return world.agent(named);
    }
    let wanted = wanted(pass, sender.priority, now);
    if wanted.required.is_empty() {
        return Err(Refusal::ReceiverRequired);
    }
    let except = BTreeSet::from([sender.agent.clone()]);
    let may_wait = pass.routing.at_capacity == AtCapacity::Queue;
    route::best(world, &wanted, &except, may_wait).ok_or(Refusal::NobodyFits)
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
