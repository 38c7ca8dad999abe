//! Taking a handoff back, or calling a whole workflow off.

use crate::command::{Actor, Cancel, CancelWorkflow, Submission};
use crate::decide::{group, news};
use crate::definition::{End, StateName};
use crate::effect::{Effect, News};
use crate::event::{Decision, Event, Moved, StreamId};
use crate::handoff::{Detail, Handoff, Kind};
use crate::id::{AgentId, Fence, WorkflowId};
use crate::machine::Step;
use crate::refusal::{Refusal, Unmoved};
use crate::text::Text;
use crate::workflow::{Ending, Workflow};
use crate::world::World;

/// Decides whether the asker may take the handoff back, with all that was passed on under it.
pub(super) fn handoff(
    world: &World,
    ask: &Submission,
    cancel: &Cancel,
) -> Result<Decision, Refusal> {
    let (id, workflow, handoff) = world.handoff(cancel.handoff)?;
    let by = allowed(ask, &handoff.terms.from_agent)?;
    not_a_look(ask, handoff)?;
    not_a_step(workflow, handoff)?;
    if handoff.state.is_over() {
        let ending = handoff.state.word();
        return Err(Refusal::HandoffOver { handoff: cancel.handoff, ending });
    }
    let ended = Ended { world, id, workflow, by, reason: cancel.reason.clone() };
    let (events, effects) = ended.with_all_under(handoff);
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}

/// Decides whether the asker may call the workflow off.
pub(super) fn workflow(
    world: &World,
    ask: &Submission,
    cancel: &CancelWorkflow,
) -> Result<Decision, Refusal> {
    let id = cancel.workflow;
    let workflow = world.workflow(id)?;
    let owner = workflow.owning().map_or_else(AgentId::operator, |hold| hold.agent.clone());
    let by = allowed(ask, &owner)?;
    let ended = Ended { world, id, workflow, by: by.clone(), reason: cancel.reason.clone() };
    let (mut events, effects) = ended.all();
    events.extend(cancelled(world, workflow, &by, &cancel.reason));
    let released = workflow.owning().map(|hold| hold.locks.iter().cloned().collect());
    let ending = Ending::Cancelled { reason: cancel.reason.clone() };
    let released = released.unwrap_or_default();
    events.push(Event::Closed { by, ending, released, usage: None });
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}

/// The move to the state in which work that is called off ends, if its definition has one. No
/// transition is asked for: it can be called off wherever it is.
fn cancelled(world: &World, workflow: &Workflow, by: &AgentId, reason: &Text) -> Option<Event> {
    let machine = workflow.machine.as_deref()?;
    let definition = world.definitions.get(&machine.definition)?;
    let ends = |state: &&StateName| {
        definition.states.get(*state).is_some_and(|spec| spec.end == Some(End::Cancelled))
    };
    let after = definition.after(&machine.state).iter().find(ends);
    let state = after.or_else(|| definition.states.keys().find(ends))?;
    let step = Box::new(Step::of(definition, state, None, None, 0));
    let moved = Moved::ending(machine.state.clone(), step, by.clone());
    Some(Event::Moved(Box::new(Moved { reason: reason.clone(), ..moved })))
}

/// Only the one who passed it, or a person, takes work back.
fn allowed(ask: &Submission, owner: &AgentId) -> Result<AgentId, Refusal> {
    let agent = ask.actor.agent();
    match &ask.actor {
        Actor::Operator | Actor::Coordinator => Ok(agent),
        Actor::Viewer => Err(Refusal::ViewOnly),
        Actor::Agent(_) | Actor::OperatorAs(_) if agent == *owner => Ok(agent),
        Actor::Agent(_) | Actor::OperatorAs(_) => {
            Err(Refusal::NotYours { agent, owner: owner.clone() })
        }
    }
}

/// What a rule passed on is not taken back: nobody would have the work then.
fn not_a_step(workflow: &Workflow, handoff: &Handoff) -> Result<(), Refusal> {
    match (&workflow.machine, &handoff.terms.step) {
        (Some(machine), Some(_)) if !handoff.state.is_over() => {
            let (definition, state) = (machine.definition.clone(), machine.state.clone());
            Err(Unmoved::RulesDecide { definition, state }.into())
        }
        _ => Ok(()),
    }
}

/// What Baton raised about an agent is not for agents to put away.
fn not_a_look(ask: &Submission, handoff: &Handoff) -> Result<(), Refusal> {
    let look = match &handoff.terms.kind {
        Kind::Escalation(asked) => asked.matter.is_a_look(),
        Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => false,
    };
    match &ask.actor {
        Actor::Agent(agent) | Actor::OperatorAs(agent) if look => {
            let what = "cancel what the coordinator raised";
            Err(Refusal::OperatorOnly { what, agent: agent.clone() })
        }
        Actor::Viewer => Err(Refusal::ViewOnly),
        Actor::Agent(_) | Actor::OperatorAs(_) | Actor::Operator | Actor::Coordinator => Ok(()),
    }
}

type Outcome = (Vec<Event>, Vec<Effect>);

/// Handoffs that end because what they hang from ended.
pub(super) struct Ended<'a> {
    pub(super) world: &'a World,
    pub(super) id: WorkflowId,
    pub(super) workflow: &'a Workflow,
    pub(super) by: AgentId,
    pub(super) reason: Text,
}

impl Ended<'_> {
    /// Ends everything open, whatever it hangs from, the deepest first.
    pub(super) fn all(&self) -> Outcome {
        let fence_of_open =
            |fence: Fence| self.workflow.open().any(|handoff| handoff.state.fence() == Some(fence));
        let highest = self.workflow.open().filter(|h| !fence_of_open(h.terms.parent));
        self.decided(self.each(highest))
    }

    /// Ends everything open that was passed under the hold `fence`, the deepest first.
    pub(super) fn all_under(&self, fence: Fence) -> Outcome {
        self.decided(self.each(self.workflow.open_under(fence)))
    }

    /// Ends `handoff` and everything open under it, the deepest first.
    fn with_all_under(&self, handoff: &Handoff) -> Outcome {
        self.decided(self.ends(handoff))
    }

    /// Adds that broadcasts are decided whose copies end here.
    fn decided(&self, (mut events, effects): Outcome) -> Outcome {
        let ended = events.iter().filter_map(|event| match event {
            Event::Failed { handoff, .. } => Some((*handoff, false)),
            _ => None,
        });
        let ended: Vec<_> = ended.collect();
        events.extend(group::decided(self.workflow, &ended));
        (events, effects)
    }

    fn each<'h>(&self, handoffs: impl Iterator<Item = &'h Handoff>) -> Outcome {
        let (mut events, mut effects) = (Vec::new(), Vec::new());
        for handoff in handoffs {
            let (more_events, more_effects) = self.ends(handoff);
            events.extend(more_events);
            effects.extend(more_effects);
        }
        (events, effects)
    }

    fn ends(&self, handoff: &Handoff) -> Outcome {
        let held = handoff.state.fence();
        let (mut events, mut effects) = match held {
            Some(fence) => self.each(self.workflow.open_under(fence)),
            None => (Vec::new(), Vec::new()),
        };
        let hold = held.and_then(|fence| self.workflow.holds.get(&fence));
        let released = hold.map(|hold| hold.locks.iter().cloned().collect()).unwrap_or_default();
        let detail = Detail::Cancelled { by: self.by.clone(), reason: self.reason.clone() };
        let id = handoff.terms.id;
        events.push(Event::Failed { handoff: id, detail, released });
        effects.extend(news::tell(self.world, &handoff.to, self.id, id, News::Cancelled));
        (events, effects)
    }
}
