//! What a person sets: the rules, limits, breakers; and a holder that goes on alone.

use crate::account::Limits;
use crate::command::{FallBack, ResetBreaker, SetLimits, Submission};
use crate::decide::guard::limits;
use crate::decide::holder;
use crate::event::{Decision, Event, StreamId};
use crate::policy::{Breaker, Policy};
use crate::refusal::Refusal;
use crate::world::World;

/// Decides whether the asker may set the rules. The same rules again change nothing.
pub(super) fn set(world: &World, ask: &Submission, policy: &Policy) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "set the policy")?;
    policy.check()?;
    let events = match world.policy == *policy {
        true => Vec::new(),
        false => vec![Event::PolicySet { policy: Box::new(policy.clone()) }],
    };
    Ok(Decision { stream: StreamId::Workspace, events, effects: Vec::new() })
}

/// Decides whether the asker may let an agent have new work again.
pub(super) fn reset_breaker(
    world: &World,
    ask: &Submission,
    reset: &ResetBreaker,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "reset a circuit breaker")?;
    let closed = world.agent(&reset.agent)?.breaker == Breaker::default();
    let events = if closed { Vec::new() } else { vec![Event::BreakerReset] };
    let stream = StreamId::Agent(reset.agent.clone());
    Ok(Decision { stream, events, effects: Vec::new() })
}

/// Decides whether the asker may change what a workflow may use. Less than was used is allowed: it
/// only means that there is nothing left.
pub(super) fn set_limits(
    world: &World,
    ask: &Submission,
    set: &SetLimits,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "change limits")?;
    let workflow = world.workflow(set.workflow)?;
    let known = workflow.account.limits;
    let limits = Limits {
        class: known.class,
        handoffs: set.handoffs.or(known.handoffs),
        agents: set.agents.or(known.agents),
        tokens: set.tokens.or(known.tokens),
        cost: set.cost.or(known.cost),
    };
    limits::priced(&world.policy, &limits)?;
    let events = if limits == known { Vec::new() } else { vec![Event::LimitsSet { limits }] };
    Ok(Decision { stream: StreamId::Workflow(set.workflow), events, effects: Vec::new() })
}

/// Decides whether the asker may go on alone. It holds the work, and from now on agents keep what
/// they have of it.
pub(super) fn fall_back(
    world: &World,
    ask: &Submission,
    fall: &FallBack,
) -> Result<Decision, Refusal> {
    let workflow = world.workflow(fall.workflow)?;
    let (fence, hold) = holder::hold(fall.workflow, workflow, ask, fall.fence)?;
    let event = Event::FellBack { fence, by: hold.agent.clone(), reason: fall.reason.clone() };
    let events = if workflow.independent { Vec::new() } else { vec![event] };
    Ok(Decision { stream: StreamId::Workflow(fall.workflow), events, effects: Vec::new() })
}
