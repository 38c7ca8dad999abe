//! Whether an agent is well.

use crate::command::{Actor, ReportHealth, Submission};
use crate::event::{Decision, Event, StreamId};
use crate::limits::HEALTH_FAILURES_MAX;
use crate::refusal::Refusal;
use crate::world::World;

/// Decides whether a report on an agent changes anything. An agent speaks only of itself.
///
/// What is known already is not written again, so heartbeats cost nothing.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    report: &ReportHealth,
) -> Result<Decision, Refusal> {
    match &ask.actor {
        Actor::Operator | Actor::Coordinator => (),
        Actor::Viewer => return Err(Refusal::ViewOnly),
        Actor::Agent(agent) | Actor::OperatorAs(agent) if *agent == report.agent => (),
        Actor::Agent(agent) | Actor::OperatorAs(agent) => {
            let what = "report on other agents";
            return Err(Refusal::OperatorOnly { what, agent: agent.clone() });
        }
    }
    let health = world.agent(&report.agent)?.health;
    let known = match report.healthy {
        true => health.failures == 0 && health.unavailable_since.is_none(),
        false => health.failures >= HEALTH_FAILURES_MAX,
    };
    let event = Event::HealthReported { healthy: report.healthy, note: report.note.clone() };
    let events = if known { Vec::new() } else { vec![event] };
    Ok(Decision { stream: StreamId::Agent(report.agent.clone()), events, effects: Vec::new() })
}
