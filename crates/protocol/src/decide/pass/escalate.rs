//! Asking somebody above: the question climbs from worker to reviewer to architect to a person, and
//! the decision comes back down to the one who asked.

use std::collections::BTreeSet;

use super::{back, sender, terms, trusted, wanted};
use crate::agent::{Agent, Role};
use crate::command::{Pass, Submission};
use crate::decide::arrival::{self, Arrival};
use crate::decide::guard::limits;
use crate::decide::route::{self, Wanted};
use crate::decide::{artifact, news};
use crate::event::{Decision, Event, Guarded, StreamId};
use crate::handoff::{Assessment, Escalation, Kind, Matter};
use crate::id::{AgentId, Fence, HandoffId};
use crate::limits::ESCALATION_LEVELS_MAX;
use crate::planted::{Bug, planted};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// Decides whether the asker may put its question to somebody above, and waits for the decision.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    pass: &Pass,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let rationale = pass.audit.decision_rationale.as_ref().ok_or(Refusal::RationaleRequired)?;
    if pass.workflow.is_none() {
        return Err(Refusal::NothingToEscalate);
    }
    let sender = sender(world, ask, pass, now)?;
    let Some(workflow) = sender.workflow else { return Err(Refusal::NothingToEscalate) };
    let open = workflow.open_under(sender.fence).filter(|open| workflow.blocks(open));
    let open: Vec<_> = open.map(|handoff| handoff.terms.id).collect();
    if !open.is_empty() {
        return Err(Refusal::SegmentOpen { open });
    }
    let below = below(workflow, sender.fence);
    let asker = &world.agent(&sender.agent)?.profile;
    let mut trail = below.map(|(_, asked)| asked.trail.clone()).unwrap_or_default();
    let words = rationale.clone();
    trail.push(Assessment { by: asker.id.clone(), role: asker.role, words, at: now });
    let first = if planted(Bug::EscalationOneTooHigh) { 2 } else { 1 };
    let level = below.map_or(first, |(_, asked)| asked.level + 1);
    if level > ESCALATION_LEVELS_MAX {
        return Err(Refusal::TooHigh { most: ESCALATION_LEVELS_MAX });
    }
    let to = target(world, pass, &wanted(pass, sender.priority, now), (asker.role, level), &trail)?;
    let handoff = ask.id.handoff();
    let (matter, back, blocking) = (Matter::Question, back(pass), false);
    let kind = Kind::Escalation(Escalation { level, matter, trail, back, blocking });
    let to_agent = to.profile.id.clone();
    let terms = Box::new(terms(handoff, pass, &sender, to_agent.clone(), kind, Vec::new()));
    let Arrival { answer_by, queued } = arrival::at(world, sender.workflow, to, &terms, now);
    let artifacts =
        artifact::named(sender.workflow, ask, &pass.context.artifacts, &sender.agent, now)?;
    let (variables, report) = (sender.changes, pass.context.report.clone());
    // What was used is told and charged as far as there is something left: whoever has nothing left
    // must still be able to ask.
    let (used, told) = (&pass.audit.used, &pass.context.report);
    let usage = limits::usage(&world.policy, used.as_ref(), told.as_deref());
    let guarded = Guarded { usage, ..Guarded::default() };
    let events = vec![
        waits(workflow, sender.fence, handoff),
        Event::Initiated { terms, variables, artifacts, report, answer_by, queued, guarded },
    ];
    let effects = match queued {
        true => Vec::new(),
        false => news::arrived(world, &to_agent, sender.id, handoff),
    };
    Ok(Decision { stream: StreamId::Workflow(sender.id), events, effects })
}

/// The event by which the holder `fence` waits for the decision on `escalation`.
pub(in crate::decide) fn waits(workflow: &Workflow, fence: Fence, escalation: HandoffId) -> Event {
    let handoff = workflow.holds.get(&fence).and_then(|hold| hold.handoff);
    let open = |id: &HandoffId| workflow.handoffs.get(id).is_some_and(|h| !h.state.is_over());
    // A hold that came by a sequential handoff, which is over, waits as a hold only.
    Event::Escalated { fence, handoff: handoff.filter(open), escalation }
}

/// The question that the asker itself was asked, if it passes one on.
fn below(workflow: &Workflow, fence: Fence) -> Option<(HandoffId, &Escalation)> {
    let id = workflow.holds.get(&fence)?.handoff?;
    match &workflow.handoffs.get(&id)?.terms.kind {
        Kind::Escalation(asked) => Some((id, asked)),
        Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => None,
    }
}

/// Who is asked: the one that is named, if it is above, or the next stop. The last level is always
/// a person.
fn target<'a>(
    world: &'a World,
    pass: &Pass,
    wanted: &Wanted<'_>,
    (role, level): (Role, u8),
    trail: &[Assessment],
) -> Result<&'a Agent, Refusal> {
    let except: BTreeSet<AgentId> = trail.iter().map(|step| step.by.clone()).collect();
    // A person has nobody above, at whatever level it is asked.
    let last = level >= ESCALATION_LEVELS_MAX;
    let least = if last { role.max(Role::Architect) } else { role };
    let above = |role| route::above(world, role, wanted, &except).ok_or(Refusal::NobodyAbove);
    let Some(named) = &pass.to_agent else { return above(least) };
    let agent = world.agent(named)?;
    if agent.profile.role <= least || except.contains(named) {
        return Err(Refusal::NotAbove { agent: named.clone() });
    }
    trusted(&agent.profile, pass)?;
    // Whoever is named is a suggestion: what it may not decide, or has no room for, goes to the
    // next above it.
    let free = world.has_room(agent, wanted.priority);
    match route::may(&agent.profile, wanted) && free {
        true => Ok(agent),
        false => above(agent.profile.role),
    }
}
