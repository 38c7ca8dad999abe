//! Bringing a result back. It is applied whole, with the completion, or not at all.

use crate::command::guarding::tokens_said;
use crate::command::{GiveBack, Submission};
use crate::decide::guard::limits;
use crate::decide::{artifact, check, course, group, news, variables};
use crate::effect::News;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Content, Detail, Handoff, Kind, Matter, Return, ReturnStatus, State};
use crate::id::{Fence, WorkflowId};
use crate::policy::Money;
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
    let success = matches!(give.status, ReturnStatus::Success | ReturnStatus::Partial);
    let result = priced(world, workflow, give, result, success)?;
    let part = (id, workflow, handoff);
    if !success {
        return failed(world, part, result);
    }
    let decision = succeeded(world, ask, part, result.clone(), now)?;
    // A copy that comes too late changes nothing, so there is nothing to check.
    match handoff.terms.checks.is_empty() || group::is_late(workflow, handoff) {
        true => Ok(decision),
        // It could end so; whether it does is for its checks to say.
        false => Ok(check::begin(part, result)),
    }
}

/// A handoff, and the work that it is of.
pub(super) type PartOf<'a> = (WorkflowId, &'a Workflow, &'a Handoff);

/// Ends a handoff with what came back.
pub(super) fn succeeded(
    world: &World,
    ask: &Submission,
    part: PartOf<'_>,
    result: Return,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let ended = completed(world, ask, part, result.clone(), now)?;
    Ok(ends(world, part, ended, &result, true))
}

/// Ends a handoff with a failure that came back.
pub(super) fn failed(world: &World, part: PartOf<'_>, result: Return) -> Result<Decision, Refusal> {
    let (_, workflow, handoff) = part;
    let detail = Detail::Error { result: Box::new(result.clone()) };
    let released = nothing_open(workflow, result.fence)?;
    let ended = Event::Failed { handoff: handoff.terms.id, detail, released };
    Ok(ends(world, part, ended, &result, false))
}

/// The event with which a handoff ends, and all that follows from it.
fn ends(
    world: &World,
    (id, workflow, handoff): PartOf<'_>,
    ended: Event,
    result: &Return,
    success: bool,
) -> Decision {
    let (mut events, mut told) = (vec![ended], vec![handoff]);
    for (lower, event) in flows_down(workflow, handoff, result, success) {
        events.push(event);
        told.push(lower);
    }
    let tell = |answered: &Handoff| {
        news::tell(world, &answered.terms.from_agent, id, answered.terms.id, News::Returned)
    };
    let mut effects: Vec<_> = told.into_iter().filter_map(tell).collect();
    if let Some(decided) = group::ended(workflow, handoff, success) {
        events.push(decided);
        effects.extend(group::told(world, id, handoff));
    }
    Decision { stream: StreamId::Workflow(id), events, effects }
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
    // Prices may have changed since, and its checks may have run.
    let same = |before: &Return| {
        let (cost, evidence) = (before.cost, before.evidence.clone());
        *before == Return { cost, evidence, ..result.clone() }
    };
    let again = |before: &Return| match same(before) {
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
        State::AwaitingApproval { .. }
        | State::Queued { .. }
        | State::Initiated { .. }
        | State::Deferred { .. } => Err(not_held(handoff, result)),
        State::Suspended { escalation, .. } => {
            Err(Refusal::Suspended { agent: handoff.to.clone(), handoff: *escalation })
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
    (id, workflow, handoff): PartOf<'_>,
    result: Return,
    now: Timestamp,
) -> Result<Event, Refusal> {
    let (late, is_copy) = (group::is_late(workflow, handoff), handoff.terms.kind.group().is_some());
    let released = nothing_open(workflow, result.fence)?;
    let agent = handoff.to.clone();
    let not_holder = Refusal::NotHolder { agent: agent.clone(), workflow: id };
    let hold = workflow.holds.get(&result.fence).ok_or(not_holder)?;
    let handoff = handoff.terms.id;
    if late {
        // It is recorded, and changes nothing.
        let (result, (variables, artifacts)) = (Some(Box::new(result)), Default::default());
        return Ok(Event::Completed { handoff, result, variables, artifacts, late, released });
    }
    let profile = &world.agent(&agent)?.profile;
    course::fits(Some(workflow), &result.report)?;
    let changed = &result.variables_changed;
    let variables = match is_copy {
        true => variables::first_come(workflow, hold, profile, changed, now)?,
        false => variables::changes(workflow, hold, profile, changed, None, now)?,
    };
    let artifacts = artifact::named(Some(workflow), ask, &result.artifacts_produced, &agent, now)?;
    let result = Some(Box::new(result));
    Ok(Event::Completed { handoff, result, variables, artifacts, late, released })
}

/// A decision, a no like a yes, goes down to the one who asked first: whoever passed the question
/// on is answered with it, too.
fn flows_down<'a>(
    workflow: &'a Workflow,
    handoff: &'a Handoff,
    result: &Return,
    success: bool,
) -> Vec<(&'a Handoff, Event)> {
    let mut events = Vec::new();
    let mut answered = handoff;
    while let Some(lower) = asked_below(workflow, answered) {
        let Some(fence) = lower.state.fence() else { break };
        let hold = workflow.holds.get(&fence);
        let released = hold.map(|hold| hold.locks.iter().cloned().collect()).unwrap_or_default();
        let relayed = Return {
            fence,
            variables_changed: Default::default(),
            artifacts_produced: Vec::new(),
            report: None,
            tokens_consumed: None,
            cost: None,
            evidence: None,
            ..result.clone()
        };
        let (id, result) = (lower.terms.id, Box::new(relayed));
        let event = match success {
            true => Event::Completed {
                handoff: id,
                result: Some(result),
                variables: Default::default(),
                artifacts: Vec::new(),
                late: false,
                released,
            },
            false => Event::Failed { handoff: id, detail: Detail::Error { result }, released },
        };
        events.push((lower, event));
        answered = lower;
    }
    events
}

/// The question that `handoff` passed on, if it did.
fn asked_below<'a>(workflow: &'a Workflow, handoff: &Handoff) -> Option<&'a Handoff> {
    let is_question = |handoff: &Handoff| match &handoff.terms.kind {
        Kind::Escalation(asked) => asked.matter == Matter::Question,
        Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => false,
    };
    let hold = workflow.holds.get(&handoff.terms.parent).filter(|_| is_question(handoff))?;
    let lower = workflow.handoffs.get(&hold.handoff?)?;
    // Work that was taken over is no question: whoever has it asked for itself, and goes on.
    let passed_on = is_question(lower) && matches!(lower.state, State::Suspended { .. });
    passed_on.then_some(lower)
}

/// Refuses a return while the holder waits for others; else tells which locks end with it.
fn nothing_open(workflow: &Workflow, fence: Fence) -> Result<Vec<crate::lock::FilePath>, Refusal> {
    let blocking = workflow.open_under(fence).filter(|handoff| workflow.blocks(handoff));
    let open: Vec<_> = blocking.map(|handoff| handoff.terms.id).collect();
    if !open.is_empty() {
        return Err(Refusal::SegmentOpen { open });
    }
    let hold = workflow.holds.get(&fence);
    Ok(hold.map(|hold| hold.locks.iter().cloned().collect()).unwrap_or_default())
}

/// The result with what it cost. Only a failure may have used more than there was: what is done is
/// told, and what it brings does not count.
fn priced(
    world: &World,
    workflow: &Workflow,
    give: &GiveBack,
    result: Return,
    success: bool,
) -> Result<Return, Refusal> {
    let audit = &give.audit;
    let Some(tokens) = result.tokens_consumed else { return Ok(result) };
    let cost = world.policy.cost(tokens, audit.output_tokens, audit.model.as_ref());
    if success {
        limits::fits(workflow, workflow.payer(give.fence), tokens, cost)?;
    }
    let cost = Some(cost).filter(|cost| *cost > Money::default());
    Ok(Return { cost, ..result })
}

fn result(give: &GiveBack) -> Return {
    let content = give.result.as_ref();
    Return {
        fence: give.fence,
        status: give.status,
        content: content.map(|c| Content { content_type: c.content_type, body: c.body.clone() }),
        variables_changed: give.context_updates.variables_changed.clone(),
        artifacts_produced: give.context_updates.artifacts_produced.clone(),
        report: give.context_updates.report.clone(),
        tokens_consumed: tokens_said(
            give.audit.tokens_consumed,
            give.audit.output_tokens,
            give.context_updates.report.as_deref(),
        ),
        model: give.audit.model.clone(),
        cost: None,
        notes: give.audit.notes.clone(),
        evidence: None,
    }
}
