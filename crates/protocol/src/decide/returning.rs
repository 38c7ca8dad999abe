//! Bringing a result back. It is applied whole, with the completion, or not at all.

use crate::command::{GiveBack, Submission};
use crate::decide::{artifact, news, variables};
use crate::effect::News;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Content, Detail, Handoff, Return, ReturnStatus, State};
use crate::id::{Fence, WorkflowId};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// Decides whether the asker may return this result.
///
/// The same result twice is one return: a holder that did not hear the answer may ask again.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    give: &GiveBack,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let (id, workflow, handoff) = world.handoff(give.handoff)?;
    let by = ask.actor.agent();
    if handoff.to != by {
        let to = handoff.to.clone();
        return Err(Refusal::ForAnother { handoff: give.handoff, to, asker: by });
    }
    let result = result(give);
    match standing(handoff, &result)? {
        Standing::Held(fence) if fence == give.fence => (),
        Standing::Held(_) if give.fence > workflow.fence => {
            return Err(Refusal::UnknownFence { given: give.fence });
        }
        Standing::Held(fence) => {
            let current = Some((handoff.to.clone(), fence));
            return Err(Refusal::StaleFence { given: give.fence, current });
        }
        Standing::Repeated => {
            let stream = StreamId::Workflow(id);
            return Ok(Decision { stream, events: Vec::new(), effects: Vec::new() });
        }
    }
    let events = match give.status {
        ReturnStatus::Success | ReturnStatus::Partial => {
            vec![completed(world, ask, (id, workflow), give, result, now)?]
        }
        ReturnStatus::Failed | ReturnStatus::Timeout => {
            let detail = Detail::Error { result: Box::new(result) };
            let released = nothing_open(workflow, give.fence)?;
            vec![Event::Failed { handoff: give.handoff, detail, released }]
        }
    };
    let sender = &handoff.terms.from_agent;
    let effects = news::tell(world, sender, id, give.handoff, News::Returned).into_iter().collect();
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}

/// Whether there is something to return.
enum Standing {
    /// The handoff is held under this number.
    Held(Fence),
    /// This very result came back before.
    Repeated,
}

fn standing(handoff: &Handoff, result: &Return) -> Result<Standing, Refusal> {
    let id = handoff.terms.id;
    let again = |before: &Return| match before == result {
        true => Ok(Standing::Repeated),
        false => Err(Refusal::AlreadyReturned { handoff: id }),
    };
    match &handoff.state {
        State::Accepted { fence, .. } => Ok(Standing::Held(*fence)),
        State::Returned { result: before, .. }
        | State::Completed { result: Some(before), .. }
        | State::Failed { detail: Detail::Error { result: before }, .. } => again(before),
        State::Completed { result: None, .. } => {
            Err(Refusal::HandoffOver { handoff: id, ending: "passed for good" })
        }
        State::Failed { detail, .. } => {
            Err(Refusal::HandoffOver { handoff: id, ending: detail.word() })
        }
        State::AwaitingApproval
        | State::Queued { .. }
        | State::Initiated { .. }
        | State::Deferred { .. } => Err(not_held(handoff, result)),
        State::Suspended { .. } => {
            Err(Refusal::NotAccepted { handoff: id, state: "suspended until a decision comes" })
        }
    }
}

/// A holder whose attempt timed out shows a fence that is no longer in force; whoever never
/// accepted is told to do that first.
fn not_held(handoff: &Handoff, result: &Return) -> Refusal {
    match handoff.attempts.resends {
        0 => Refusal::NotAccepted { handoff: handoff.terms.id, state: handoff.state.word() },
        _ => Refusal::StaleFence { given: result.fence, current: None },
    }
}

fn completed(
    world: &World,
    ask: &Submission,
    (id, workflow): (WorkflowId, &Workflow),
    give: &GiveBack,
    result: Return,
    now: Timestamp,
) -> Result<Event, Refusal> {
    let released = nothing_open(workflow, give.fence)?;
    let agent = ask.actor.agent();
    let not_holder = Refusal::NotHolder { agent: agent.clone(), workflow: id };
    let hold = workflow.holds.get(&give.fence).ok_or(not_holder)?;
    let profile = &world.agent(&agent)?.profile;
    let updates = &give.context_updates;
    let variables =
        variables::changes(workflow, hold, profile, &updates.variables_changed, None, now)?;
    let artifacts = artifact::named(Some(workflow), ask, &updates.artifacts_produced, &agent, now)?;
    let result = Some(Box::new(result));
    Ok(Event::Completed { handoff: give.handoff, result, variables, artifacts, released })
}

/// Refuses a return while the holder waits for others; else tells which locks end with it.
fn nothing_open(workflow: &Workflow, fence: Fence) -> Result<Vec<crate::lock::FilePath>, Refusal> {
    let open: Vec<_> = workflow.open_under(fence).map(|handoff| handoff.terms.id).collect();
    if !open.is_empty() {
        return Err(Refusal::SegmentOpen { open });
    }
    let hold = workflow.holds.get(&fence);
    Ok(hold.map(|hold| hold.locks.iter().cloned().collect()).unwrap_or_default())
}

fn result(give: &GiveBack) -> Return {
    let content = give.result.as_ref();
    Return {
        fence: give.fence,
        status: give.status,
        content: content.map(|c| Content { content_type: c.content_type, body: c.body.clone() }),
        variables_changed: give.context_updates.variables_changed.clone(),
        artifacts_produced: give.context_updates.artifacts_produced.clone(),
        tokens_consumed: give.audit.tokens_consumed,
        notes: give.audit.notes.clone(),
    }
}
