//! Ending a workflow: its last holder says that it is done.

use crate::command::{Complete, Submission};
use crate::decide::cancel::Ended;
use crate::decide::guard::limits;
use crate::decide::{artifact, course, holder, variables};
use crate::event::{Decision, Event, StreamId};
use crate::handoff::Kind;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::workflow::Ending;
use crate::world::World;

/// Decides whether the asker may end the workflow.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    complete: &Complete,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let workflow = world.workflow(complete.workflow)?;
    if workflow.machine.is_some() {
        return super::unjudged(world, ask, now);
    }
    let (fence, hold) = holder::hold(complete.workflow, workflow, ask, complete.fence)?;
    if let (true, Some(owning)) = (fence != workflow.owner, workflow.owning()) {
        let owner = owning.agent.clone();
        return Err(Refusal::NotOwner { agent: hold.agent.clone(), owner });
    }
    let passed = workflow.open().find(|handoff| handoff.terms.kind == Kind::Sequential);
    if let Some(handoff) = passed {
        return Err(Refusal::PassPending { handoff: handoff.terms.id, to: handoff.to.clone() });
    }
    let blocking = workflow.open().filter(|handoff| workflow.blocks_owner(handoff));
    let open: Vec<_> = blocking.map(|handoff| handoff.terms.id).collect();
    if !open.is_empty() {
        return Err(Refusal::SegmentOpen { open });
    }
    let (used, report) = (&complete.used, &complete.context_updates.report);
    let usage = limits::usage(&world.policy, used.as_ref(), report.as_deref());
    if let Some(usage) = &usage {
        limits::fits(workflow, workflow.payer(fence), usage.tokens, usage.cost)?;
    }
    // Copies of a broadcast that is decided may still be out; nobody will take what they bring.
    let by = hold.agent.clone();
    let reason = "the work is over".parse().expect("a fixed text within its limits");
    let id = complete.workflow;
    let (mut events, effects) = Ended { world, id, workflow, by: by.clone(), reason }.all();
    let updates = &complete.context_updates;
    course::fits(Some(workflow), &updates.report)?;
    let profile = &world.agent(&hold.agent)?.profile;
    let changed = &updates.variables_changed;
    let ending = Ending::Completed {
        result: complete.result.clone(),
        note: complete.note.clone(),
        variables: variables::changes(workflow, hold, profile, changed, None, now)?,
        artifacts: artifact::named(Some(workflow), ask, &updates.artifacts_produced, &by, now)?,
        report: updates.report.clone(),
    };
    let released = hold.locks.iter().cloned().collect();
    events.push(Event::Closed { by, ending, released, usage });
    let stream = StreamId::Workflow(complete.workflow);
    Ok(Decision { stream, events, effects })
}
