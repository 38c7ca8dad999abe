//! What work may use: handoffs, agents, tokens, money. Slices for its parts.

use std::collections::BTreeSet;

use super::Begins;
use crate::account::{Left, Limits, Payer, is_part};
use crate::agent::Role;
use crate::command::guarding::tokens_said;
use crate::command::{Actor, Pass, PassKind, Submission, Used};
use crate::course::Report;
use crate::event::Event;
use crate::handoff::{Constraints, Handoff};
use crate::id::{AgentId, Fence};
use crate::limits::HANDOFFS_ALLOWED_MAX;
use crate::policy::{Asked, Class, Mode, Money, Policy, Usage, classify};
use crate::refusal::Refusal;
use crate::workflow::Workflow;
use crate::world::World;

/// What new work may use, and whether agents do not pass it on.
///
/// Whoever begins it may ask for less than the policy gives; only a person may ask for more.
pub(in crate::decide) fn of_new_work(
    policy: &Policy,
    ask: &Submission,
    (class, enable): (Option<Asked>, Option<bool>),
    constraints: &Constraints,
    (request, pieces): (&str, usize),
) -> Result<(Limits, bool), Refusal> {
    let class = class.map(|asked| match asked {
        Asked::Simple => Class::Simple,
        Asked::Medium => Class::Medium,
        Asked::Complex => Class::Complex,
        Asked::Auto => classify(request, pieces).0,
    });
    let given = given(policy, class);
    let limits = Limits {
        handoffs: within(ask, given.handoffs, constraints.handoffs)?,
        tokens: within(ask, given.tokens, constraints.budget)?,
        cost: within(ask, given.cost, constraints.cost)?,
        ..given
    };
    priced(policy, &limits)?;
    let independent = match (policy.mode, enable) {
        (_, Some(false)) | (Mode::Independent, None) => true,
        (Mode::Handoffs, Some(true) | None) => false,
        (Mode::Independent, Some(true)) => {
            let what = "enable handoffs";
            person(ask, what)?;
            false
        }
    };
    Ok((limits, independent))
}

/// What a policy gives to work of this class.
fn given(policy: &Policy, class: Option<Class>) -> Limits {
    match class.map(|class| policy.classes.of(class)) {
        None => Limits { handoffs: Some(policy.max_handoffs), ..Limits::default() },
        Some(effort) => Limits {
            class,
            handoffs: Some(effort.max_handoffs),
            agents: Some(effort.max_agents),
            tokens: Some(effort.max_tokens),
            cost: effort.max_cost,
        },
    }
}

/// The beginning of work as it would have been recorded under `policy`, where it was recorded under
/// `was`: with what it may use, and whether agents pass it on. Nothing for any other event.
///
/// Nobody recorded whether handoffs were asked for or left to the policy, so they count as left to
/// it; and what an agent asked for beyond the policy's measure comes down to it.
pub fn begun_under(policy: &Policy, was: &Policy, event: &Event) -> Option<Event> {
    let mut event = event.clone();
    let Event::Started { by, constraints, limits, independent, .. } = &mut event else {
        return None;
    };
    let person = *by == AgentId::operator();
    let given = given(policy, limits.class);
    *limits = Limits {
        handoffs: at_most(person, given.handoffs, constraints.handoffs),
        tokens: at_most(person, given.tokens, constraints.budget),
        cost: at_most(person, given.cost, constraints.cost),
        ..given
    };
    if policy.mode != was.mode {
        *independent = policy.mode == Mode::Independent;
    }
    Some(event)
}

fn at_most<T: Ord + Copy>(person: bool, given: Option<T>, asked: Option<T>) -> Option<T> {
    match (given, asked) {
        (Some(given), Some(asked)) if !person => Some(given.min(asked)),
        (given, asked) => asked.or(given),
    }
}

fn within<T: PartialOrd + Copy>(
    ask: &Submission,
    given: Option<T>,
    asked: Option<T>,
) -> Result<Option<T>, Refusal> {
    if let (Some(given), Some(asked)) = (given, asked)
        && asked > given
    {
        person(ask, "raise a limit")?;
    }
    Ok(asked.or(given))
}

fn person(ask: &Submission, what: &'static str) -> Result<(), Refusal> {
    match &ask.actor {
        Actor::Operator | Actor::Coordinator => Ok(()),
        Actor::Viewer => Err(Refusal::ViewOnly),
        Actor::Agent(agent) | Actor::OperatorAs(agent) => {
            Err(Refusal::OperatorOnly { what, agent: agent.clone() })
        }
    }
}

/// Refuses a limit on money that nothing counts against, and more handoffs than there can be.
pub(in crate::decide) fn priced(policy: &Policy, limits: &Limits) -> Result<(), Refusal> {
    if limits.cost.is_some() && policy.prices.is_empty() {
        return Err(Refusal::NoPrices);
    }
    if limits.handoffs.is_some_and(|most| most > HANDOFFS_ALLOWED_MAX) {
        let most = HANDOFFS_ALLOWED_MAX as usize;
        return Err(Refusal::TooMany { what: "handoffs allowed", most });
    }
    Ok(())
}

/// Refuses a handoff that would pass a limit, and tells what its sender used so far.
pub(super) fn check(begins: &Begins<'_>, counted: bool) -> Result<Option<Usage>, Refusal> {
    let workflow = begins.workflow;
    agents(begins)?;
    let copies = u32::try_from(begins.to.len()).unwrap_or(u32::MAX);
    let asked = &begins.pass.context.constraints;
    // A slice of handoffs is set aside beside the handoff that brings it.
    let slices = asked.handoffs.unwrap_or(0).saturating_mul(parts(begins.pass));
    let begun = if counted { copies } else { 0 };
    handoffs(workflow, begins.fence, begun.saturating_add(slices))?;
    let (used, report) = (&begins.pass.audit.used, &begins.pass.context.report);
    let usage = usage(&begins.world.policy, used.as_ref(), report.as_deref());
    let payer = workflow.payer(begins.fence);
    if let Some(usage) = &usage {
        fits(workflow, payer, usage.tokens, usage.cost)?;
    }
    let spent = usage.as_ref().map_or((0, Money::default()), |usage| (usage.tokens, usage.cost));
    // Work that has nothing left cannot be passed on, and parts get only what is there.
    let each = |wanted: u64| wanted.saturating_mul(u64::from(copies)).max(1);
    let tokens = each(asked.budget.unwrap_or(0)).saturating_add(spent.0);
    let cost = each(asked.cost.unwrap_or_default().as_micros());
    let cost = Money::from_micros(cost).plus(spent.1);
    fits(workflow, payer, tokens, cost)?;
    Ok(usage)
}

/// How many of the handoffs that a pass begins get a slice of handoffs. One that begins the work
/// says how many the whole work may have, and whoever gets it uses these.
fn parts(pass: &Pass) -> u32 {
    if pass.workflow.is_none() {
        return 0;
    }
    let parts = match pass.kind {
        PassKind::Delegation => 1,
        PassKind::Broadcast => pass.to_agents.iter().filter(|to| to.return_expected).count(),
        PassKind::Sequential | PassKind::Escalation => 0,
    };
    u32::try_from(parts).unwrap_or(u32::MAX)
}

/// What a holder used, with what it costs; nothing if it says nothing.
pub(in crate::decide) fn usage(
    policy: &Policy,
    used: Option<&Used>,
    report: Option<&Report>,
) -> Option<Usage> {
    let used = used.cloned().unwrap_or_default();
    let tokens = tokens_said(used.tokens_consumed, used.output_tokens, report)?;
    let cost = policy.cost(tokens, used.output_tokens, used.model.as_ref());
    Some(Usage { tokens, model: used.model, cost })
}

fn agents(begins: &Begins<'_>) -> Result<(), Refusal> {
    let limits = &begins.workflow.account.limits;
    let Some(most) = limits.agents else { return Ok(()) };
    let members = &begins.workflow.members;
    let to = begins.to.iter().filter(|agent| agent.profile.role != Role::Human);
    let new: BTreeSet<&AgentId> =
        to.map(|agent| &agent.profile.id).filter(|id| !members.contains(*id)).collect();
    // Those who take part may go on, also where the limit came down below what was used.
    if new.is_empty() {
        return Ok(());
    }
    if members.len() + new.len() > usize::try_from(most).unwrap_or(usize::MAX) {
        let (used, asked) = (members.len().to_string(), new.len().to_string());
        let (of, what, most) = (kind(limits), "agents", most.to_string());
        return Err(Refusal::EconomicLimitExceeded { of, what, most, used, asked });
    }
    Ok(())
}

fn handoffs(workflow: &Workflow, fence: Fence, asked: u32) -> Result<(), Refusal> {
    let payer = workflow.hop_payer(workflow.payer(fence));
    let limits = workflow.account_of(payer).limits;
    let (Some(most), Some(left)) = (limits.handoffs, workflow.left(payer).handoffs) else {
        return Ok(());
    };
    if asked <= left {
        return Ok(());
    }
    let used = most.saturating_sub(left);
    Err(match limits.class {
        None => Refusal::HandoffLimitExceeded { most, used, asked },
        Some(_) => Refusal::EconomicLimitExceeded {
            of: kind(&limits),
            what: "handoffs",
            most: most.to_string(),
            used: used.to_string(),
            asked: asked.to_string(),
        },
    })
}

/// Refuses more tokens or money than `payer` has left.
pub(in crate::decide) fn fits(
    workflow: &Workflow,
    payer: Payer,
    tokens: u64,
    cost: Money,
) -> Result<(), Refusal> {
    let limits = workflow.account_of(payer).limits;
    let left = workflow.left(payer);
    let of = owner(payer, &limits);
    if let (Some(most), Some(left)) = (limits.tokens, left.tokens)
        && tokens > left
    {
        let (used, asked) = (most.saturating_sub(left).to_string(), tokens.to_string());
        let (what, most) = ("tokens", most.to_string());
        return Err(Refusal::EconomicLimitExceeded { of, what, most, used, asked });
    }
    if let (Some(most), Some(left)) = (limits.cost, left.cost)
        && cost > left
    {
        let (used, asked) = (most.minus(left).to_string(), cost.to_string());
        let (what, most) = ("in money", most.to_string());
        return Err(Refusal::EconomicLimitExceeded { of, what, most, used, asked });
    }
    Ok(())
}

fn owner(payer: Payer, limits: &Limits) -> &'static str {
    match payer {
        Payer::Work => kind(limits),
        Payer::Part(_) => "part of the work",
    }
}

fn kind(limits: &Limits) -> &'static str {
    match limits.class {
        Some(Class::Simple) => "simple work",
        Some(Class::Medium) => "medium work",
        Some(Class::Complex) => "complex work",
        None => "work",
    }
}

/// What the holder of a part may use, reserved from whoever it works for; nothing for others.
///
/// Where nobody says how much, a part gets an even share: as much as if every handoff that is still
/// allowed were a part like it, and one share stays with whoever passes it.
pub(in crate::decide) fn slice(workflow: &Workflow, handoff: &Handoff) -> Result<Limits, Refusal> {
    if !is_part(handoff) {
        return Ok(Limits::default());
    }
    let payer = workflow.payer(handoff.terms.parent);
    let asked = &handoff.terms.constraints;
    let left = workflow.left(payer);
    let (tokens, cost) = (asked.budget, asked.cost);
    fits(workflow, payer, tokens.unwrap_or(1), cost.unwrap_or(Money::from_micros(1)))?;
    // Handoffs may be limited further up than tokens and money are.
    let hop_payer = workflow.hop_payer(payer);
    let hops = workflow.left(hop_payer).handoffs;
    if let (Some(asked), Some(left)) = (asked.handoffs, hops)
        && asked > left
    {
        let limits = workflow.account_of(hop_payer).limits;
        let most = limits.handoffs.unwrap_or(left);
        let (of, what) = (owner(hop_payer, &limits), "handoffs");
        let (most, used) = (most.to_string(), most.saturating_sub(left).to_string());
        let asked = asked.to_string();
        return Err(Refusal::EconomicLimitExceeded { of, what, most, used, asked });
    }
    let shares = u64::from(hops.unwrap_or(0)) + 2;
    let share = |left: u64| (left / shares).max(1);
    let Left { tokens: tokens_left, cost: cost_left, .. } = left;
    Ok(Limits {
        class: None,
        handoffs: asked.handoffs,
        agents: None,
        tokens: tokens.or(tokens_left.map(share)),
        cost: cost.or(cost_left.map(|left| Money::from_micros(share(left.as_micros())))),
    })
}

/// Refuses agents that may not join the work.
pub(in crate::decide) fn may_join(
    world: &World,
    workflow: &Workflow,
    agent: &AgentId,
) -> Result<(), Refusal> {
    let person = world.agents.get(agent).is_some_and(|agent| agent.profile.role == Role::Human);
    let limits = &workflow.account.limits;
    let Some(most) = limits.agents.filter(|_| !person && !workflow.members.contains(agent)) else {
        return Ok(());
    };
    if workflow.members.len() < usize::try_from(most).unwrap_or(usize::MAX) {
        return Ok(());
    }
    let (used, asked) = (workflow.members.len().to_string(), "1".to_owned());
    let (of, what, most) = (kind(limits), "agents", most.to_string());
    Err(Refusal::EconomicLimitExceeded { of, what, most, used, asked })
}
