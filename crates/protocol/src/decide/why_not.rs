//! Why an agent does not get a handoff that is meant for it, found by the coordinator before the
//! agent is asked.

use crate::agent::{Agent, Fit, Profile, Role};
use crate::decide::retry::{self, Why};
use crate::handoff::{Cause, Handoff, Priority, Terms};
use crate::text::Text;
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// Why this agent cannot take it, whoever else there is, if so.
pub(super) fn unfit(profile: &Profile, terms: &Terms) -> Option<Why> {
    if profile.fit(&terms.required_capabilities) == Fit::None {
        return Some(Why { cause: Cause::CapabilityMismatch, reason: mismatch(profile, terms) });
    }
    let most = profile.autonomy_budget.max_risk;
    let risky = terms.risk_level > most && profile.role != Role::Human;
    risky.then(|| Why { cause: Cause::Risk, reason: too_risky(profile, terms) })
}

/// Why an agent that could take it is passed over, if so and if there is another.
pub(super) fn passed_over(
    world: &World,
    workflow: Option<&Workflow>,
    to: &Agent,
    begun: &Handoff,
    now: Timestamp,
) -> Option<Why> {
    let unwell = !to.health.is_good() || !to.breaker.admits(now);
    if unwell
        && to.profile.role != Role::Human
        && let Some(next) = retry::next(world, workflow, begun, Cause::Unwell, now)
    {
        // Work that can wait rather waits for its receiver than for a person.
        let urgent = begun.terms.priority == Priority::Critical;
        let why = Why { cause: Cause::Unwell, reason: not_well(to) };
        return (urgent || next.profile.role != Role::Human).then_some(why);
    }
    if world.has_room(to, begun.terms.priority) {
        return None;
    }
    retry::next(world, workflow, begun, Cause::AtCapacity, now)?;
    Some(Why { cause: Cause::AtCapacity, reason: retry::at_capacity(world, begun) })
}

fn not_well(to: &Agent) -> Text {
    let id = &to.profile.id;
    let words = match to.health.is_good() {
        true => format!("unavailable: {id} failed too often of late"),
        false => format!("unavailable: {id} is not well"),
    };
    words.parse().expect("a name of limited length makes a text")
}

/// Why an agent with none of the capabilities does not take it.
fn mismatch(profile: &Profile, terms: &Terms) -> Text {
    let asked = terms.required_capabilities.iter().take(8);
    let asked: Vec<_> = asked.map(|requirement| requirement.capability_id.as_str()).collect();
    let words = format!("capability_mismatch: {} has none of {}", profile.id, asked.join(", "));
    words.parse().expect("names of limited length make a text")
}

/// Why an agent that may take only so much risk does not take it.
fn too_risky(profile: &Profile, terms: &Terms) -> Text {
    let risk = serde_json::to_value(terms.risk_level).unwrap_or_default();
    let most = serde_json::to_value(profile.autonomy_budget.max_risk).unwrap_or_default();
    let (risk, most) = (risk.as_str().unwrap_or("?"), most.as_str().unwrap_or("?"));
    let words = format!("risk: {} may take {most} risk at most, this is {risk}", profile.id);
    words.parse().expect("names of limited length make a text")
}
