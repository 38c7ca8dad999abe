//! Asking somebody above: the question climbs from worker to reviewer to architect to a person, and
//! the decision comes back down to the one who asked.

use std::collections::BTreeSet;

use super::{back, sender, terms};
use crate::agent::{Agent, Role};
use crate::command::{Pass, Submission};
use crate::decide::{artifact, news, route};
use crate::effect::{Effect, News};
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Assessment, Delegation, Escalation, Handoff, Kind, Matter, Terms, Trigger};
use crate::id::{AgentId, Fence, HandoffId, WorkflowId};
use crate::limits::ESCALATION_LEVELS_MAX;
use crate::refusal::Refusal;
use crate::text::Text;
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
    let level = below.map_or(0, |(_, asked)| asked.level) + 1;
    if level > ESCALATION_LEVELS_MAX {
        return Err(Refusal::TooHigh { most: ESCALATION_LEVELS_MAX });
    }
    let to = target(world, pass, asker.role, level, &trail)?;
    let handoff = ask.id.handoff();
    let kind =
        Kind::Escalation(Escalation { level, matter: Matter::Question, trail, back: back(pass) });
    let to_agent = to.profile.id.clone();
    let terms = Box::new(terms(handoff, pass, &sender, to_agent.clone(), kind, Vec::new()));
    let artifacts =
        artifact::named(sender.workflow, ask, &pass.context.artifacts, &sender.agent, now)?;
    let answer_by = to.profile.answer_within().map(|span| span.after(now));
    let holds = workflow.holds.get(&sender.fence).and_then(|hold| hold.handoff);
    // A hold that came by a sequential handoff, which is over, waits as a hold only.
    let waits = holds.filter(|id| workflow.handoffs.get(id).is_some_and(|h| !h.state.is_over()));
    let events = vec![
        Event::Escalated { fence: sender.fence, handoff: waits, escalation: handoff },
        Event::Initiated { terms, variables: sender.changes, artifacts, answer_by, queued: false },
    ];
    let told = news::tell(world, &to_agent, sender.id, handoff, News::Arrived);
    let stream = StreamId::Workflow(sender.id);
    Ok(Decision { stream, events, effects: told.into_iter().collect() })
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
    role: Role,
    level: u8,
    trail: &[Assessment],
) -> Result<&'a Agent, Refusal> {
    let except: BTreeSet<AgentId> = trail.iter().map(|step| step.by.clone()).collect();
    let least = if level >= ESCALATION_LEVELS_MAX { Role::Architect } else { role };
    match &pass.to_agent {
        None => route::above(world, least, &except).ok_or(Refusal::NobodyAbove),
        Some(named) => {
            let agent = world.agent(named)?;
            match agent.profile.role > least && !except.contains(named) {
                true => Ok(agent),
                false => Err(Refusal::NotAbove { agent: named.clone() }),
            }
        }
    }
}

/// An escalation that Baton itself raises, because a holder is over its time.
pub(in crate::decide) struct Raised<'a> {
    pub(in crate::decide) world: &'a World,
    pub(in crate::decide) id: WorkflowId,
    pub(in crate::decide) handoff: HandoffId,
    /// Who is late.
    pub(in crate::decide) late: &'a AgentId,
    /// In whose name the question is asked, and under which hold.
    pub(in crate::decide) from: (AgentId, Fence),
    /// What the late one had, if it came by a handoff that goes on in this one.
    pub(in crate::decide) instead_of: Option<&'a Handoff>,
    pub(in crate::decide) reason: Text,
    pub(in crate::decide) workflow: &'a Workflow,
}

/// The events of an escalation that Baton raises; none if nobody stands above.
pub(in crate::decide) fn raised(
    raise: &Raised<'_>,
    now: Timestamp,
) -> Option<(Event, Option<Effect>)> {
    let late = raise.world.agents.get(raise.late).map(|agent| &agent.profile);
    let role = late.map_or(Role::Worker, |profile| profile.role);
    let except = BTreeSet::from([raise.late.clone(), raise.from.0.clone()]);
    let to = route::above(raise.world, role, &except)?;
    let words = raise.reason.clone();
    let trail = vec![Assessment { by: raise.late.clone(), role, words, at: now }];
    let before = raise.instead_of.map(|handoff| &handoff.terms);
    let back = before
        .and_then(|terms| terms.kind.back())
        .map(|back| Delegation { on_timeout: crate::handoff::OnTimeout::Fail, ..back.clone() });
    // People have no clock held to them; their waits are policy.
    let back = back.filter(|_| to.profile.role != Role::Human);
    let matter = if before.is_some() { Matter::Takeover } else { Matter::Overdue };
    let kind = Kind::Escalation(Escalation { level: 1, matter, trail, back });
    let to_agent = to.profile.id.clone();
    let terms = Terms {
        id: raise.handoff,
        from_agent: raise.from.0.clone(),
        parent: raise.from.1,
        to_agent: to_agent.clone(),
        kind,
        reason: before.map_or_else(|| raise.workflow.title.clone(), |terms| terms.reason.clone()),
        trigger: Trigger::Timeout,
        priority: before.map_or(raise.workflow.priority, |terms| terms.priority),
        task: before.and_then(|terms| terms.task.clone()),
        history: before.and_then(|terms| terms.history.clone()),
        shared: None,
        constraints: before.map(|terms| terms.constraints.clone()).unwrap_or_default(),
        required_capabilities: Vec::new(),
        autonomy_budget: None,
        gap: Vec::new(),
        decision_rationale: Some(raise.reason.clone()),
        risk_level: before.map(|terms| terms.risk_level).unwrap_or_default(),
        routing: Default::default(),
    };
    let answer_by = to.profile.answer_within().map(|span| span.after(now));
    let event = Event::Initiated {
        terms: Box::new(terms),
        variables: Default::default(),
        artifacts: Vec::new(),
        answer_by,
        queued: false,
    };
    let told = news::tell(raise.world, &to_agent, raise.id, raise.handoff, News::Arrived);
    Some((event, told))
}
