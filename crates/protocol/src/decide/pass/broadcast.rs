//! Passing work to several at once, each with a copy of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::{Sender, back, guarded, sender, terms, trusted};
use crate::agent::{Agent, Fit};
use crate::command::{Pass, Recipient, Submission};
use crate::decide::guard::approval;
use crate::decide::retry::Why;
use crate::decide::why_not::unfit;
use crate::decide::{arrival, artifact, news};
use crate::event::{Approval, Decision, Event, StreamId};
use crate::handoff::{Aggregation, Broadcast, Detail, Kind, Terms};
use crate::id::{AgentId, GroupId, HandoffId};
use crate::limits::{HANDOFFS_MAX, OPEN_HANDOFFS_MAX, OPEN_KEYS_MAX, RECIPIENTS_MAX};
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
    few_enough(&sender, recipients.len())?;
    let mut guards = guarded(world, ask, pass, &sender, recipients.clone(), now)?;
    let group = ask.id.group();
    let returning = pass.to_agents.iter().enumerate().filter(|(_, to)| to.return_expected);
    let expected: Vec<_> = returning.map(|(n, _)| ask.id.copy(n)).collect();
    let mut artifacts =
        artifact::named(sender.workflow, ask, &pass.context.artifacts, &sender.agent, now)?;
    let mut variables = sender.changes.clone();
    let mut report = pass.context.report.clone();

    let mut events: Vec<Event> = sender.begins.iter().cloned().collect();
    let aggregation = pass.aggregation;
    events.push(Event::GroupOpened { group, aggregation, expected: expected.clone() });
    let (mut effects, mut refused) = (Vec::new(), 0);
    for (n, (agent, to)) in recipients.iter().zip(&pass.to_agents).enumerate() {
        let kind = Kind::Broadcast(copy(pass, to, group));
        let fit = agent.profile.fit(&pass.validation.required_capabilities);
        let gap = if let Fit::Partial(gap) = fit { gap } else { Vec::new() };
        let handoff = ask.id.copy(n);
        let terms = own(terms(handoff, pass, &sender, to.agent.clone(), kind, gap), to)?;
        let why_not = unfit(&agent.profile, &terms);
        let arrival = arrival::at(world, sender.workflow, agent, &terms, now);
        let mut guarded = guards.clone();
        guarded.approval = approval::of_pass(world, pass, &to.agent, now);
        // What the sender used is told once.
        guards.usage = None;
        let asks = matches!(guarded.approval, Some(Approval::Waits { .. }));
        let why_not = why_not.filter(|_| !asks);
        let queued = arrival.queued && why_not.is_none() && !asks;
        let announced = approval::announced(world, sender.id, &terms);
        events.push(Event::Initiated {
            terms,
            // What travels is written once; every copy sees it.
            variables: std::mem::take(&mut variables),
            artifacts: std::mem::take(&mut artifacts),
            report: report.take(),
            answer_by: arrival.answer_by.filter(|_| why_not.is_none() && !asks),
            queued,
            guarded,
        });
        match why_not {
            Some(why) => {
                refused += usize::from(to.return_expected);
                events.extend(turned_away(handoff, &to.agent, why));
            }
            None if asks => effects.extend(announced),
            None if queued => (),
            None => effects.extend(news::arrived(world, &to.agent, sender.id, handoff)),
        }
    }
    events.extend(decided_at_once(group, aggregation, expected.len(), refused));
    Ok(Decision { stream: StreamId::Workflow(sender.id), events, effects })
}

/// The event that decides a broadcast which those who were turned away decide already.
fn decided_at_once(
    group: GroupId,
    aggregation: Aggregation,
    expected: usize,
    failures: usize,
) -> Option<Event> {
    // Where nothing need come back, there is nothing to wait for.
    let success = match expected {
        0 => true,
        expected => aggregation.decided(expected, 0, failures)?,
    };
    Some(Event::Aggregated { group, success, successes: 0, failures })
}

fn few_enough(sender: &Sender<'_>, copies: usize) -> Result<(), Refusal> {
    let open = sender.workflow.map_or(0, |workflow| workflow.open().count());
    if open + copies > OPEN_HANDOFFS_MAX {
        return Err(Refusal::TooMany { what: "open handoffs", most: OPEN_HANDOFFS_MAX });
    }
    let all = sender.workflow.map_or(0, |workflow| workflow.handoffs.len());
    if all + copies > HANDOFFS_MAX {
        return Err(Refusal::TooMany { what: "handoffs in one workflow", most: HANDOFFS_MAX });
    }
    Ok(())
}

/// The terms of a copy, with what its recipient alone is told.
fn own(mut terms: Terms, to: &Recipient) -> Result<Box<Terms>, Refusal> {
    terms.task = to.task.clone().or(terms.task);
    let most = OPEN_KEYS_MAX;
    let merged = terms.custom.merged(&to.custom);
    terms.custom = merged.map_err(|_| Refusal::TooMany { what: "open keys", most })?;
    Ok(Box::new(terms))
}

fn copy(pass: &Pass, to: &Recipient, group: GroupId) -> Broadcast {
    let back = if to.return_expected { back(pass) } else { None };
    Broadcast { group, back, peers: peers(pass, &to.agent) }
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
    let mut seen: BTreeMap<&AgentId, Vec<&Option<Text>>> = BTreeMap::new();
    for to in &pass.to_agents {
        let tasks = seen.entry(&to.agent).or_default();
        // Each of several for one agent has a task of its own, or it is a slip.
        if tasks.iter().any(|task| task.is_none() || to.task.is_none() || **task == to.task) {
            return Err(Refusal::TwiceNamed { agent: to.agent.clone() });
        }
        tasks.push(&to.task);
        trusted(&world.agent(&to.agent)?.profile, pass)?;
    }
    pass.to_agents.iter().map(|to| world.agent(&to.agent)).collect()
}

fn peers(pass: &Pass, agent: &AgentId) -> Vec<AgentId> {
    let others = pass.to_agents.iter().filter(|to| pass.peers_visible && to.agent != *agent);
    let others: BTreeSet<_> = others.map(|to| to.agent.clone()).collect();
    others.into_iter().collect()
}

fn turned_away(handoff: HandoffId, by: &AgentId, why: Why) -> [Event; 2] {
    let (by, cause, reason) = (by.clone(), why.cause, why.reason);
    let detail = Detail::Rejected { reason: reason.clone() };
    [
        Event::Rejected { handoff, by, reason, cause },
        Event::Failed { handoff, detail, released: Vec::new() },
    ]
}
