//! Handoffs that go to another agent, about whom nobody asked a person yet.

use super::approval::{announced, waits};
use crate::decide::news;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::Terms;
use crate::id::{AgentId, HandoffId};
use crate::policy::Matched;
use crate::time::Timestamp;
use crate::world::World;

/// A handoff that a decision sends to another agent.
#[derive(Clone, Copy, Debug)]
pub struct Moves<'a> {
    /// What it is about.
    pub terms: &'a Terms,
    /// Who had it.
    pub from: &'a AgentId,
    /// Who gets it.
    pub to: &'a AgentId,
}

/// The same decision, but what it sends to another agent waits for a person where `judge` finds a
/// rule that nobody was asked about.
///
/// Who is asked instead is found while deciding, so a rule about it can only be judged afterwards.
/// What was found is recorded with the move, like any rule by which a handoff waits.
pub fn asked_again(
    world: &World,
    mut decision: Decision,
    now: Timestamp,
    judge: impl Fn(&Decision, Moves<'_>) -> Option<Matched>,
) -> Decision {
    let StreamId::Workflow(id) = decision.stream else { return decision };
    for n in 0..decision.events.len() {
        let Event::Rerouted { handoff, from, to, .. } = &decision.events[n] else { continue };
        let Some(terms) = terms_of(world, &decision, *handoff) else { continue };
        let Some(matched) = judge(&decision, Moves { terms, from, to }) else { continue };
        let arrived = news::arrived(world, to, id, *handoff);
        let announced = announced(world, id, &Terms { to_agent: to.clone(), ..terms.clone() });
        decision.effects.retain(|effect| !arrived.contains(effect));
        decision.effects.extend(announced);
        if let Event::Rerouted { approval, answer_by, .. } = &mut decision.events[n] {
            (*approval, *answer_by) = (Some(waits(matched, now)), None);
        }
    }
    without_queues(decision)
}

/// What waits for a person does not wait for room yet.
fn without_queues(mut decision: Decision) -> Decision {
    let waits = |event: &Event| {
        let Event::Rerouted { handoff, approval: Some(_), .. } = event else { return None };
        Some(*handoff)
    };
    let waits: Vec<HandoffId> = decision.events.iter().filter_map(waits).collect();
    let queued =
        |event: &Event| matches!(event, Event::Queued { handoff, .. } if waits.contains(handoff));
    decision.events.retain(|event| !queued(event));
    decision
}

/// The terms of a handoff that is there, or that a decision begins.
fn terms_of<'a>(world: &'a World, decision: &'a Decision, id: HandoffId) -> Option<&'a Terms> {
    let begun = decision.events.iter().find_map(|event| {
        let Event::Initiated { terms, .. } = event else { return None };
        Some(&**terms).filter(|terms| terms.id == id)
    });
    begun.or_else(|| world.handoff(id).ok().map(|(_, _, handoff)| &handoff.terms))
}
