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
            workflow.used(terms.parent, usage);
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
        // What waits for a person tries nobody yet.
        if !waits(guarded.approval.as_ref()) {
            sent(world, &terms.to_agent, terms.id, at);
        }
    }
}

/// Applies an event about what guards a workflow.
pub(super) fn guarded(world: &mut World, id: WorkflowId, event: &Event) {
    with_workflow(world, id, |workflow| {
        if let Event::LimitsSet { limits } = event {
            workflow.account.limits = *limits;
        }
        if let Event::FellBack { .. } = event {
            workflow.independent = true;
        }
        if let Event::LockWanted { fence, paths, mode, until } = event
            && let Some(hold) = workflow.holds.get_mut(fence)
        {
            let (paths, mode, until) = (paths.clone(), *mode, *until);
            hold.wants = Some(WantedFiles { paths, mode, until });
        }
    });
}

/// Whether a handoff waits for a person.
pub(super) fn waits(approval: Option<&Approval>) -> bool {
    match approval {
        Some(Approval::Waits { .. }) => true,
        Some(Approval::Standing { .. }) | None => false,
    }
}

/// The state of a handoff that goes to an agent, by what guards it.
pub(super) fn first_state(
    approval: Option<&Approval>,
    answer_by: Option<Timestamp>,
    queued: bool,
) -> State {
    match approval {
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
    // Neither does what is inside Baton.
    let person = person || *agent == AgentId::error_monitor();
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

/// A person said yes to a handoff, and it goes to whoever it is for.
pub(super) fn goes_out(world: &mut World, id: WorkflowId, handoff: HandoffId, at: Timestamp) {
    let known = world.workflows.get(&id).and_then(|workflow| workflow.handoffs.get(&handoff));
    if let Some(to) = known.filter(|known| counts(known)).map(|known| known.to.clone()) {
        sent(world, &to, handoff, at);
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
        Event::Failed { .. }
        | Event::Rejected { .. }
        | Event::Rerouted { .. }
        | Event::Reassigned { .. } => (),
        // It goes on, or somebody waits for it.
        Event::Initiated { .. }
        | Event::Approved { .. }
        | Event::Accepted { .. }
        | Event::Returned { .. }
        | Event::Unverified { .. }
        | Event::Deferred { .. }
        | Event::Queued { .. }
        | Event::Undelivered { .. }
        | Event::Resent { .. }
        | Event::Reminded { .. }
        | Event::Escalated { .. } => (),
        // These are about no handoff.
        Event::Started { .. }
        | Event::GroupOpened { .. }
        | Event::Aggregated { .. }
        | Event::Reclaimed { .. }
        | Event::Overdue { .. }
        | Event::Progressed { .. }
        | Event::VariablesSet { .. }
        | Event::ArtifactAdded { .. }
        | Event::ArtifactMarked { .. }
        | Event::Locked { .. }
        | Event::Unlocked { .. }
        | Event::Closed { .. }
        | Event::Registered { .. }
        | Event::TokenIssued { .. }
        | Event::TokenRevoked { .. }
        | Event::HealthReported { .. }
        | Event::PolicySet { .. }
        | Event::TagMoved(_)
        | Event::Defined(_)
        | Event::Moved(_)
        | Event::StepFailed(_)
        | Event::BreakerReset
        | Event::LimitsSet { .. }
        | Event::FellBack { .. }
        | Event::LockWanted { .. }
        | Event::Settled { .. }
        | Event::Pruned { .. } => (),
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
    let (model, cost) = (result.model.clone(), result.cost.unwrap_or_default());
    workflow.used(fence, &Usage { tokens, model, cost });
}
