//! Giving work from a stuck holder to another. A person does this; the old fence is dead.

use crate::agent::Role;
use crate::command::{Reassign, Reassigned, Submission};
use crate::decide::arrival::{self, Arrival};
use crate::decide::cancel::Ended;
use crate::decide::guard::limits;
use crate::decide::{holder, news};
use crate::effect::News;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Handoff, Kind, State, Terms, Trigger};
use crate::id::{AgentId, HandoffId, WorkflowId};
use crate::limits::ESCALATION_LEVELS_MAX;
use crate::machine::Step;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// Decides whether work goes to another agent.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    reassign: &Reassign,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "reassign work")?;
    world.agent(&reassign.to_agent)?;
    match reassign.what {
        Reassigned::Handoff(id) => handoff(world, reassign, id, now),
        Reassigned::Workflow(id) => workflow(world, ask, reassign, id, now),
    }
}

/// A handoff goes to another agent; what its holder passed on ends with its hold.
fn handoff(
    world: &World,
    reassign: &Reassign,
    handoff_id: HandoffId,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let (id, workflow, handoff) = world.handoff(handoff_id)?;
    if handoff.state.is_over() {
        let ending = handoff.state.word();
        return Err(Refusal::HandoffOver { handoff: handoff_id, ending });
    }
    let to = reassign.to_agent.clone();
    if handoff.terms.from_agent == to {
        return Err(Refusal::SelfPass { agent: to });
    }
    if let State::AwaitingApproval { .. } = handoff.state {
        return Err(Refusal::NotApproved { handoff: handoff_id });
    }
    may_have(world, workflow, handoff, &to)?;
    limits::may_join(world, workflow, &to)?;
    let by = AgentId::operator();
    let ended = Ended { world, id, workflow, by, reason: reassign.reason.clone() };
    let held = handoff.state.fence();
    let (mut events, mut effects) = held.map(|fence| ended.all_under(fence)).unwrap_or_default();
    let hold = held.and_then(|fence| workflow.holds.get(&fence));
    let released = hold.map(|hold| hold.locks.iter().cloned().collect()).unwrap_or_default();
    let agent = world.agent(&to)?;
    let Arrival { answer_by, queued } =
        arrival::at(world, Some(workflow), agent, &handoff.terms, now);
    let gap = agent.profile.gap(&handoff.terms.required_capabilities);
    let (reason, by) = (reassign.reason.clone(), to.clone());
    effects.extend(news::tell(world, &handoff.to, id, handoff_id, News::Cancelled));
    if !queued {
        effects.extend(news::arrived(world, &to, id, handoff_id));
    }
    let moved = Event::Reassigned { handoff: handoff_id, to, reason, gap, answer_by, released };
    events.push(moved);
    if queued {
        events.push(Event::Queued { handoff: handoff_id, by, give_up: answer_by });
    }
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}

/// Refuses a receiver that the kind of handoff rules out.
fn may_have(
    world: &World,
    workflow: &Workflow,
    handoff: &Handoff,
    to: &AgentId,
) -> Result<(), Refusal> {
    match &handoff.terms.kind {
        Kind::Sequential | Kind::Delegation(_) => Ok(()),
        Kind::Broadcast(copy) => {
            // Nobody has two voices, also not one after the other.
            let same = |other: &&Handoff| other.terms.kind.group() == Some(copy.group);
            let mut others = workflow.handoffs.values().filter(same);
            match others.any(|other| other.to == *to && other.terms.id != handoff.terms.id) {
                true => Err(Refusal::TwiceNamed { agent: to.clone() }),
                false => Ok(()),
            }
        }
        Kind::Escalation(asked) => {
            let role = |agent| world.agents.get(agent).map(|agent| agent.profile.role);
            let spoke = asked.trail.iter().any(|step| step.by == *to);
            // The last level is a person, whoever moves it.
            let last = asked.level >= ESCALATION_LEVELS_MAX && role(to) != Some(Role::Human);
            match role(to) > role(&handoff.terms.from_agent) && !spoke && !last {
                true => Ok(()),
                false => Err(Refusal::NotAbove { agent: to.clone() }),
            }
        }
    }
}

/// The whole work is taken from its owner and passed to another.
fn workflow(
    world: &World,
    ask: &Submission,
    reassign: &Reassign,
    id: WorkflowId,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let workflow = world.workflow(id)?;
    limits::may_join(world, workflow, &reassign.to_agent)?;
    let by = AgentId::operator();
    let ended = Ended { world, id, workflow, by: by.clone(), reason: reassign.reason.clone() };
    let (mut events, mut effects) = ended.all();
    let released = workflow.owning().map(|hold| hold.locks.iter().cloned().collect());
    let (fence, reason) = (workflow.fence.next(), reassign.reason.clone());
    let released = released.unwrap_or_default();
    events.push(Event::Reclaimed { by: by.clone(), fence, reason, released });
    let to_agent = reassign.to_agent.clone();
    if to_agent != by {
        let handoff = ask.id.handoff();
        let to = world.agent(&to_agent)?;
        let told = news::arrived(world, &to_agent, id, handoff);
        let step = workflow.machine.as_ref();
        let step = step.map(|machine| Step { first: false, ..machine.step.clone() });
        let terms = Box::new(Terms {
            trigger: Trigger::ExplicitRequest,
            priority: workflow.priority,
            step: step.map(Box::new),
            by_person: true,
            traceparent: workflow.trace_under(id, workflow.owner),
            ..Terms::plain(handoff, (by, fence), to_agent, reassign.reason.clone())
        });
        let Arrival { answer_by, queued } = arrival::at(world, Some(workflow), to, &terms, now);
        effects.extend(told.into_iter().filter(|_| !queued));
        let (variables, artifacts, report, guarded) = Default::default();
        events.push(Event::Initiated {
            terms,
            variables,
            artifacts,
            report,
            answer_by,
            queued,
            guarded,
        });
    }
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}
