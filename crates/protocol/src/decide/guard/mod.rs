//! Guardrails: whether a handoff that could begin also should.
//!
//! They are decided with everything else, on the same states, before anything is recorded: however
//! many ask at once, no limit is ever passed.

pub(super) mod approval;
pub(super) mod cycle;
pub(super) mod limits;
mod loops;
pub(super) mod reroute;

use crate::agent::{Agent, Role};
use crate::command::{Actor, Pass};
use crate::event::Guarded;
use crate::id::{AgentId, Fence, WorkflowId};
use crate::policy::Breaker;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// A handoff to one or several that is about to begin.
pub(super) struct Begins<'a> {
    pub(super) world: &'a World,
    pub(super) actor: &'a Actor,
    pub(super) pass: &'a Pass,
    pub(super) id: WorkflowId,
    /// The work, with the event that begins it applied if this does.
    pub(super) workflow: &'a Workflow,
    pub(super) agent: &'a AgentId,
    pub(super) fence: Fence,
    /// Whether the sender waits for what comes back.
    pub(super) blocking: bool,
    pub(super) to: Vec<&'a Agent>,
    pub(super) now: Timestamp,
}

/// Refuses a handoff that should not begin, and tells what is recorded with one that may.
///
/// What a person passes on is its own affair: only what agents begin is counted, switched off, or
/// taken for a loop.
pub(super) fn check(begins: &Begins<'_>) -> Result<Guarded, Refusal> {
    let counted = match begins.actor {
        // What the error monitor tries again was counted when it began.
        Actor::Agent(agent) | Actor::OperatorAs(agent) => *agent != AgentId::error_monitor(),
        Actor::Operator | Actor::Viewer | Actor::Coordinator => false,
    };
    if counted && begins.workflow.independent {
        return Err(Refusal::HandoffsDisabled);
    }
    for (n, to) in begins.to.iter().enumerate() {
        breaker(to, begins.now)?;
        only_one_tries(to, &begins.to[..n])?;
    }
    let context = loops::context(begins.pass, begins.workflow);
    if counted {
        loops::check(begins, &context)?;
    }
    if begins.blocking {
        for to in &begins.to {
            cycle::of_handoff(begins.world, begins, to)?;
        }
    }
    let usage = limits::check(begins, counted)?;
    Ok(Guarded { counted, context: Some(context), usage, approval: None })
}

/// Refuses a second handoff of the same pass to an agent that one handoff may try.
fn only_one_tries(to: &Agent, before: &[&Agent]) -> Result<(), Refusal> {
    let again = before.iter().any(|other| other.profile.id == to.profile.id);
    match to.breaker {
        Breaker::Open { .. } if again && to.profile.role != Role::Human => {
            let (agent, state) = (to.profile.id.clone(), to.breaker.word());
            Err(Refusal::CircuitBreakerOpen { agent, state, until: None })
        }
        Breaker::Open { .. } | Breaker::Closed { .. } | Breaker::HalfOpen { .. } => Ok(()),
    }
}

/// Refuses an agent that failed too often of late. People are not measured like that.
pub(super) fn breaker(to: &Agent, now: Timestamp) -> Result<(), Refusal> {
    if to.profile.role == Role::Human || to.breaker.admits(now) {
        return Ok(());
    }
    let until = match to.breaker {
        Breaker::Open { until } => Some(until),
        Breaker::Closed { .. } | Breaker::HalfOpen { .. } => None,
    };
    let (agent, state) = (to.profile.id.clone(), to.breaker.word());
    Err(Refusal::CircuitBreakerOpen { agent, state, until })
}
