//! Passing work to several at once, each with a copy of its own.

use std::collections::BTreeSet;

use super::{as_begun, back, mismatch, sender, terms, too_risky};
use crate::agent::{Agent, Fit};
use crate::command::{Pass, Submission};
use crate::decide::{artifact, news, route};
use crate::effect::News;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Broadcast, Detail, Kind};
use crate::id::AgentId;
use crate::limits::{OPEN_HANDOFFS_MAX, RECIPIENTS_MAX};
use crate::refusal::Refusal;
use crate::text::Text;
use crate::time::Timestamp;
use crate::world::World;

/// Decides whether the asker may send copies to all of `pass.to_agents`.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    pass: &Pass,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let recipients = recipients(world, pass)?;
    let sender = sender(world, ask, pass, now)?;
    if recipients.iter().any(|agent| agent.profile.id == sender.agent) {
        return Err(Refusal::SelfPass { agent: sender.agent });
    }
    let open = sender.workflow.map_or(0, |workflow| workflow.open().count());
    if open + recipients.len() > OPEN_HANDOFFS_MAX {
        return Err(Refusal::TooMany { what: "open handoffs", most: OPEN_HANDOFFS_MAX });
    }
    let group = ask.id.group();
    let returning = pass.to_agents.iter().enumerate().filter(|(_, to)| to.return_expected);
    let expected: Vec<_> = returning.map(|(n, _)| ask.id.copy(n)).collect();
    let mut artifacts =
        artifact::named(sender.workflow, ask, &pass.context.artifacts, &sender.agent, now)?;
    let mut variables = sender.changes.clone();

    let mut events: Vec<Event> = sender.begins.iter().cloned().collect();
    let aggregation = pass.aggregation;
    events.push(Event::GroupOpened { group, aggregation, expected: expected.clone() });
    let (mut effects, mut refused) = (Vec::new(), 0);
    for (n, (agent, to)) in recipients.iter().zip(&pass.to_agents).enumerate() {
        let copy = Broadcast {
            group,
            back: if to.return_expected { back(pass) } else { None },
            peers: peers(pass, &to.agent),
        };
        let fit = agent.profile.fit(&pass.validation.required_capabilities);
        let gap = if let Fit::Partial(gap) = fit { gap } else { Vec::new() };
        let kind = Kind::Broadcast(copy);
        let terms = terms(ask.id.copy(n), pass, &sender, to.agent.clone(), kind, gap);
        let begun = as_begun(&terms, now);
        let why_not = why_not(agent, pass);
        let queued = why_not.is_none() && agent.room() == 0;
        let waits = why_not.is_some() || queued;
        let within = agent.profile.answer_within().filter(|_| !waits);
        events.push(Event::Initiated {
            terms: Box::new(terms),
            // What travels is written once; every copy sees it.
            variables: std::mem::take(&mut variables),
            artifacts: std::mem::take(&mut artifacts),
            answer_by: within.map(|span| span.after(now)),
            queued,
        });
        match why_not {
            Some(reason) => {
                refused += usize::from(to.return_expected);
                events.extend(turned_away(&begun.terms.id, &to.agent, reason));
            }
            None => {
                let told = news::tell(world, &to.agent, sender.id, begun.terms.id, News::Arrived);
                effects.extend(told.filter(|_| !queued));
            }
        }
    }
    let decided = aggregation.decided(expected.len(), 0, refused).filter(|_| refused > 0);
    if let Some(success) = decided {
        events.push(Event::Aggregated { group, success, successes: 0, failures: refused });
    }
    Ok(Decision { stream: StreamId::Workflow(sender.id), events, effects })
}

fn recipients<'a>(world: &'a World, pass: &Pass) -> Result<Vec<&'a Agent>, Refusal> {
    if pass.to_agents.is_empty() {
        return Err(Refusal::ReceiverRequired);
    }
    if pass.to_agents.len() > RECIPIENTS_MAX {
        return Err(Refusal::TooMany { what: "recipients", most: RECIPIENTS_MAX });
    }
    if pass.to_agents.iter().any(|to| to.return_expected) && pass.return_protocol.timeout.is_none()
    {
        return Err(Refusal::TimeoutRequired);
    }
    let mut seen = BTreeSet::new();
    for to in &pass.to_agents {
        if !seen.insert(&to.agent) {
            return Err(Refusal::TwiceNamed { agent: to.agent.clone() });
        }
        let profile = &world.agent(&to.agent)?.profile;
        if !route::trusted(profile, pass.validation.autonomy_budget) {
            let needs = pass.validation.autonomy_budget.unwrap_or(0);
            let has = profile.autonomy_budget.number.unwrap_or(0);
            return Err(Refusal::AutonomyTooSmall { agent: to.agent.clone(), has, needs });
        }
    }
    pass.to_agents.iter().map(|to| world.agent(&to.agent)).collect()
}

fn peers(pass: &Pass, agent: &AgentId) -> Vec<AgentId> {
    let others = pass.to_agents.iter().filter(|to| pass.peers_visible && to.agent != *agent);
    others.map(|to| to.agent.clone()).collect()
}

fn why_not(agent: &Agent, pass: &Pass) -> Option<Text> {
    if agent.profile.fit(&pass.validation.required_capabilities) == Fit::None {
        return Some(mismatch(&agent.profile, pass));
    }
    let most = agent.profile.autonomy_budget.max_risk;
    (pass.audit.risk_level > most).then(|| too_risky(&agent.profile, pass))
}

fn turned_away(handoff: &crate::id::HandoffId, by: &AgentId, reason: Text) -> [Event; 2] {
    let (handoff, by) = (*handoff, by.clone());
    let detail = Detail::Rejected { reason: reason.clone() };
    [
        Event::Rejected { handoff, by, reason, unavailable: false },
        Event::Failed { handoff, detail, released: Vec::new() },
    ]
}
