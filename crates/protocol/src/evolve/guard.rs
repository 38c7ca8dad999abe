//! What events change in accounts, circuit breakers, and the memory of who passed what.

use super::with_workflow;
use crate::agent::Role;
use crate::event::{Approval, Event, Guarded};
use crate::handoff::{Cause, Detail, Handoff, Kind, State, Terms};
use crate::id::{AgentId, CapabilityId, HandoffId, WorkflowId};
use crate::limits::HOPS_REMEMBERED;
use crate::policy::{Breaker, Usage};
use crate::time::Timestamp;
use crate::workflow::{Hop, WantedFiles, Workflow};
use crate::world::World;

/// A handoff began: it is counted, remembered, and may be the one that tries a broken agent.
pub(super) fn began(
    world: &mut World,
    id: WorkflowId,
    terms: &Terms,
    guarded: &Guarded,
    at: Timestamp,
) {
    with_workflow(world, id, |workflow| {
        if let Some(usage) = &guarded.usage {
            workflow.tokens_consumed += usage.tokens;
            workflow.charge(terms.parent, usage);
        }
        if guarded.counted {
            workflow.count_handoff(terms.parent);
        }
        if let Some(context) = &guarded.context {
            let hop = Hop {
                from: terms.from_agent.clone(),
                to: terms.to_agent.clone(),
                sequential: terms.kind == Kind::Sequential,
                context: context.clone(),
                progress: workflow.progress(),
            };
            workflow.hops.push(hop);
            let old = workflow.hops.len().saturating_sub(HOPS_REMEMBERED);
            workflow.hops.drain(..old);
        }
    });
    if !matches!(terms.kind, Kind::Escalation(_)) {
        joined(world, id, &terms.to_agent);
        sent(world, &terms.to_agent, terms.id, at);
    }
}

/// Applies an event about what guards a workflow.
pub(super) fn guarded(world: &mut World, id: WorkflowId, event: &Event) {
    with_workflow(world, id, |workflow| match event {
        Event::LimitsSet { limits } => workflow.account.limits = *limits,
        Event::FellBack { .. } => workflow.independent = true,
        Event::LockWanted { fence, paths, until } => {
            if let Some(hold) = workflow.holds.get_mut(fence) {
                hold.wants = Some(WantedFiles { paths: paths.clone(), until: *until });
            }
        }
        _ => (),
    });
}

/// The state of a handoff that began, by what guards it.
pub(super) fn first_state(guarded: &Guarded, answer_by: Option<Timestamp>, queued: bool) -> State {
    match &guarded.approval {
        Some(Approval::Waits { matched, until }) => {
            State::AwaitingApproval { matched: Box::new(matched.clone()), until: *until }
        }
        Some(Approval::Standing { .. }) | None => match queued {
            true => State::Queued { until: None, give_up: answer_by },
            false => State::Initiated { answer_by, called: false },
        },
    }
}

/// A rule asks no more until then.
pub(super) fn stands(world: &mut World, standing: Option<&(CapabilityId, Timestamp)>) {
    world.standing.extend(standing.cloned());
}

/// An agent takes part from now on. People do not count.
pub(super) fn joined(world: &mut World, id: WorkflowId, agent: &AgentId) {
    let person = world.agents.get(agent).is_none_or(|agent| agent.profile.role == Role::Human);
    let agent = agent.clone();
    with_workflow(world, id, |workflow| {
        if !person {
            workflow.members.insert(agent);
        }
    });
}

fn breaker<'a>(world: &'a mut World, agent: &AgentId) -> Option<&'a mut Breaker> {
    let agent = world.agents.get_mut(agent)?;
    (agent.profile.role != Role::Human).then_some(&mut agent.breaker)
}

/// A handoff went to an agent.
pub(super) fn sent(world: &mut World, agent: &AgentId, handoff: HandoffId, at: Timestamp) {
    if let Some(breaker) = breaker(world, agent) {
        breaker.sent(handoff, at);
    }
}

/// What an event about a handoff says of the agent that has it; it is not applied yet.
pub(super) fn judged(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    let Some(handoff) = event.handoff() else { return };
    let known = world.workflows.get(&id).and_then(|workflow| workflow.handoffs.get(&handoff));
    let Some(known) = known.filter(|known| counts(known)) else { return };
    let (agent, rules) = (known.to.clone(), world.policy.breaker);
    let over = known.state.is_over();
    let Some(breaker) = breaker(world, &agent) else { return };
    match event {
        Event::Completed { .. } => breaker.succeeded(handoff),
        Event::TimedOut { .. }
        | Event::Rejected { cause: Cause::Unavailable, .. }
        | Event::Failed { detail: Detail::Error { .. }, .. } => {
            breaker.failed(handoff, rules, at);
        }
        // The attempt itself was judged when it ended.
        Event::Failed { .. }
        | Event::Rejected { .. }
        | Event::Rerouted { .. }
        | Event::Reassigned { .. }
            if !over =>
        {
            breaker.left(handoff, at);
        }
        _ => (),
    }
}

fn counts(handoff: &Handoff) -> bool {
    !matches!(handoff.terms.kind, Kind::Escalation(_))
}

/// The work is over: what it had out tries nobody any more.
pub(super) fn over(world: &mut World, workflow: &Workflow, at: Timestamp) {
    for handoff in workflow.open() {
        if let Some(breaker) = breaker(world, &handoff.to) {
            breaker.left(handoff.terms.id, at);
        }
    }
}

/// Charges what the result of a handoff says was used.
pub(super) fn charge(
    workflow: &mut Workflow,
    fence: crate::id::Fence,
    result: &crate::handoff::Return,
) {
    let Some(tokens) = result.tokens_consumed else { return };
    workflow.tokens_consumed += tokens;
    let (model, cost) = (result.model.clone(), result.cost.unwrap_or_default());
    workflow.charge(fence, &Usage { tokens, model, cost });
}
