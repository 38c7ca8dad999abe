//! What an event about one handoff changes.

use std::collections::BTreeSet;

use super::hold::{answered, end_hold, hold, resumed, set_hold_due, take_load};
use super::{guard, keep, with_workflow, write};
use crate::account::{Account, Limits, is_part};
use crate::course::Report;
use crate::event::{Approval, Event};
use crate::handoff::{Attempts, Cause, Detail, Due, Handoff, Kind, Return, State, Terms};
use crate::id::{AgentId, Fence, HandoffId, WorkflowId};
use crate::limits::LOCK_LEASE;
use crate::planted::{Bug, planted};
use crate::time::Timestamp;
use crate::variables::Changes;
use crate::workflow::Workflow;
use crate::world::{Timer, World};

/// Applies an event about one handoff.
pub(super) fn evolve_handoff(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    guard::judged(world, id, event, at);
    match event {
        Event::Initiated { .. } | Event::Accepted { .. } => begun(world, id, event, at),
        // The attempt is over; what becomes of the handoff follows in the next event.
        Event::Rejected { by, cause, .. } => rejected(world, by, *cause, at),
        Event::Deferred { .. } => deferred(world, id, event),
        Event::Resent { handoff, answer_by } => set_state(world, id, *handoff, |handoff| {
            let called = matches!(handoff.state, State::Queued { until: None, .. });
            State::Initiated { answer_by: *answer_by, called }
        }),
        Event::Undelivered { handoff, resend_at, .. } => resend(world, id, *handoff, *resend_at),
        Event::Reminded { handoff, due } => set_state(world, id, *handoff, |handoff| {
            let mut state = handoff.state.clone();
            if let State::Accepted { due: next, .. } = &mut state {
                *next = Some(*due);
            }
            state
        }),
        Event::TimedOut { handoff, fence, resend_at, .. } => {
            end_hold(world, id, *fence);
            resend_at.iter().for_each(|until| resend(world, id, *handoff, *until));
        }
        Event::Returned { .. } | Event::Unverified { .. } => checked(world, id, event, at),
        Event::Completed { handoff, result, variables, artifacts, late, .. } => {
            with_workflow(world, id, |workflow| {
                apply_result(workflow, *handoff, result.as_deref(), variables, at);
                keep(workflow, artifacts);
                reported(workflow, result.as_deref(), *late);
            });
            completed(world, id, *handoff, result.as_deref(), at);
        }
        Event::Failed { handoff, detail, .. } => failed(world, id, *handoff, detail, at),
        Event::Queued { .. } | Event::Rerouted { .. } | Event::Reassigned { .. } => {
            moved(world, id, event, at);
        }
        Event::Approved { .. } => approved(world, id, event, at),
        // These are about the workflow, or belong to other streams.
        Event::Started { .. }
        | Event::GroupOpened { .. }
        | Event::Aggregated { .. }
        | Event::Reclaimed { .. }
        | Event::Overdue { .. }
        | Event::Escalated { .. }
        | Event::Progressed { .. }
        | Event::VariablesSet { .. }
        | Event::ArtifactAdded { .. }
        | Event::ArtifactMarked { .. }
        | Event::Locked { .. }
        | Event::Unlocked { .. }
        | Event::Closed { .. }
        | Event::Registered { .. }
        | Event::TokenIssued { .. }
        | Event::TokenRevoked { .. }
        | Event::HealthReported { .. }
        | Event::PolicySet { .. }
        | Event::TagMoved(_)
        | Event::Defined(_)
        | Event::Moved(_)
        | Event::StepFailed(_)
        | Event::BreakerReset
        | Event::LimitsSet { .. }
        | Event::FellBack { .. }
        | Event::LockWanted { .. }
        | Event::Settled { .. }
        | Event::Pruned { .. } => (),
    }
}

/// Its receiver asked for time.
fn deferred(world: &mut World, id: WorkflowId, event: &Event) {
    let Event::Deferred { handoff, by, reason, until } = event else { return };
    answered(world, by);
    let (until, reason) = (*until, reason.clone());
    set_state(world, id, *handoff, |_| State::Deferred { until, reason });
}

/// Takes in what a result reports about the whole work; of one that came late only what it cost.
fn reported(workflow: &mut Workflow, result: Option<&Return>, late: bool) {
    let report = result.and_then(|result| result.report.as_deref());
    match late {
        true => workflow.reported(report.map(Report::cost).as_ref()),
        false => workflow.reported(report),
    }
}

/// A result waits for its checks, or they failed and its holder goes on under the same number.
fn checked(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    match event {
        Event::Returned { handoff, result } => {
            // What it took is spent, whatever comes of it.
            with_workflow(world, id, |workflow| guard::charge(workflow, result.fence, result));
            checking(world, id, *handoff, result.fence, at);
            set_state(world, id, *handoff, |handoff| match &handoff.state {
                State::Accepted { fence, since, due, .. } => {
                    let (fence, since, due) = (*fence, *since, *due);
                    State::Returned { fence, result: result.clone(), at, since, due }
                }
                other => other.clone(),
            });
        }
        Event::Unverified { handoff, evidence } => {
            let mut used = None;
            set_state(world, id, *handoff, |handoff| match &handoff.state {
                State::Returned { fence, result, at: returned, since, due } => {
                    used = Some(result.clone());
                    handoff.unverified = handoff.unverified.saturating_add(1);
                    handoff.evidence = Some(evidence.clone());
                    State::Accepted {
                        fence: *fence,
                        since: *since,
                        estimated_completion: None,
                        due: due.map(|due| due.shifted(*returned, at)),
                    }
                }
                other => other.clone(),
            });
            if let Some(result) = used {
                with_workflow(world, id, |workflow| {
                    workflow.reported(result.report.as_deref().map(Report::cost).as_ref());
                });
            }
        }
        _ => (),
    }
}

/// Its holder is there, and keeps its locks for as long as its checks may take: nobody changes
/// meanwhile what they look at.
fn checking(world: &mut World, id: WorkflowId, handoff: HandoffId, fence: Fence, at: Timestamp) {
    let Some(workflow) = world.workflows.get(&id) else { return };
    let Some(known) = workflow.handoffs.get(&handoff) else { return };
    let ends = known.terms.checks.iter().fold(at, |ends, check| check.timeout.after(ends));
    let locks = workflow.holds.get(&fence).map(|hold| hold.locks.clone()).unwrap_or_default();
    let by = known.to.clone();
    world.locks.renew(locks.into_iter(), id, fence, LOCK_LEASE.after(ends));
    answered(world, &by);
}

/// A person said yes: it goes on as if it began now.
fn approved(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    let Event::Approved { handoff, hash, answer_by, queued, standing } = event else { return };
    guard::stands(world, standing.as_ref());
    guard::goes_out(world, id, *handoff, at);
    let (hash, answer_by, queued) = (hash.clone(), *answer_by, *queued);
    set_state(world, id, *handoff, |handoff| {
        handoff.approved = Some(hash);
        match queued {
            true => State::Queued { until: None, give_up: answer_by },
            false => State::Initiated { answer_by, called: false },
        }
    });
}

/// It is sent again later, and that counts.
fn resend(world: &mut World, id: WorkflowId, handoff: HandoffId, until: Timestamp) {
    set_state(world, id, handoff, |handoff| {
        handoff.attempts.resends += 1;
        handoff.unverified = 0;
        State::Queued { until: Some(until), give_up: None }
    });
}

/// An attempt ended: whoever said no is there, and whoever did not answer is not.
fn rejected(world: &mut World, by: &AgentId, cause: Cause, at: Timestamp) {
    match cause {
        Cause::Answer => answered(world, by),
        Cause::Unavailable => {
            if let Some(agent) = world.agents.get_mut(by) {
                agent.health.unavailable_since = Some(at);
            }
        }
        // The coordinator said no in its name.
        Cause::CapabilityMismatch | Cause::Risk | Cause::AtCapacity | Cause::Unwell => (),
    }
}

/// Applies an event with which a handoff or a holding begins.
fn begun(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    match event {
        Event::Initiated { terms, variables, artifacts, report, answer_by, queued, guarded } => {
            let state = guard::first_state(guarded.approval.as_ref(), *answer_by, *queued);
            initiated(world, id, terms, state, at);
            with_workflow(world, id, |workflow| {
                write(workflow, terms.parent, variables, &terms.from_agent, at);
                keep(workflow, artifacts);
                workflow.reported(report.as_deref());
            });
            guard::began(world, id, terms, guarded, at);
        }
        Event::Accepted {
            handoff,
            by,
            fence,
            return_by,
            estimated_completion,
            done_by,
            slice,
            ..
        } => {
            accepted(world, id, (*handoff, by, *fence), slice, at);
            set_state(world, id, *handoff, |_| State::Accepted {
                fence: *fence,
                since: at,
                estimated_completion: *estimated_completion,
                due: return_by.map(Due::Return),
            });
            set_hold_due(world, id, *fence, *done_by);
        }
        _ => (),
    }
}

/// Applies an event that changes who has a handoff to answer.
fn moved(world: &mut World, id: WorkflowId, event: &Event, at: Timestamp) {
    match event {
        Event::Queued { handoff, give_up, .. } => {
            let give_up = *give_up;
            set_state(world, id, *handoff, |_| State::Queued { until: None, give_up });
        }
        Event::Rerouted { handoff, to, gap, answer_by, approval, .. } => {
            taken_over(world, id, *handoff, to, approval.as_ref(), at);
            let state = guard::first_state(approval.as_ref(), *answer_by, false);
            let (to, gap) = (to.clone(), gap.clone());
            set_state(world, id, *handoff, |handoff| {
                handoff.attempts.reroutes += u8::from(!planted(Bug::RerouteNotCounted));
                handoff.gap = gap;
                // Whoever has it now begins anew, and sees what was shown before.
                handoff.unverified = 0;
                let before = std::mem::replace(&mut handoff.to, to);
                handoff.tried.insert(before);
                state
            });
        }
        Event::Reassigned { handoff, to, gap, answer_by, .. } => {
            taken_over(world, id, *handoff, to, None, at);
            let held = handoff_fence(world, id, *handoff);
            if let Some(fence) = held {
                end_hold(world, id, fence);
            }
            let (to, gap, answer_by) = (to.clone(), gap.clone(), *answer_by);
            set_state(world, id, *handoff, |handoff| {
                handoff.gap = gap;
                // Whoever has it now begins anew, and sees what was shown before.
                handoff.unverified = 0;
                let before = std::mem::replace(&mut handoff.to, to);
                handoff.tried.insert(before);
                State::Initiated { answer_by, called: false }
            });
        }
        _ => (),
    }
}

/// Another agent is asked from now on.
fn taken_over(
    world: &mut World,
    id: WorkflowId,
    handoff: HandoffId,
    to: &AgentId,
    approval: Option<&Approval>,
    at: Timestamp,
) {
    let known = world.workflows.get(&id).and_then(|workflow| workflow.handoffs.get(&handoff));
    if known.is_some_and(|known| !matches!(known.terms.kind, Kind::Escalation(_))) {
        guard::joined(world, id, to);
        if !guard::waits(approval) {
            guard::sent(world, to, handoff, at);
        }
    }
}

/// Changes where a handoff stands, and with it when the coordinator must look at it again and
/// its place among those that wait for room.
pub(super) fn set_state(
    world: &mut World,
    id: WorkflowId,
    handoff_id: HandoffId,
    next: impl FnOnce(&mut Handoff) -> State,
) {
    let Some(workflow) = world.workflows.get_mut(&id) else { return };
    let Some(handoff) = workflow.handoffs.get_mut(&handoff_id) else { return };
    let slept_until = handoff.state.wake_at();
    world.queues.leave(handoff);
    let withheld = handoff.is_withheld();
    handoff.state = next(handoff);
    // What ends while it waits for a person never reached anybody.
    handoff.withheld = withheld && handoff.state.is_over();
    world.queues.enter(handoff);
    let sleeps_until = handoff.state.wake_at();
    if slept_until != sleeps_until {
        let timer = Timer::Handoff(handoff_id);
        if let Some(at) = slept_until {
            world.timers.remove(&(at, timer));
        }
        world.timers.extend(sleeps_until.map(|at| (at, timer)));
    }
}

fn handoff_fence(world: &World, id: WorkflowId, handoff: HandoffId) -> Option<Fence> {
    world.workflows.get(&id)?.handoffs.get(&handoff)?.state.fence()
}

fn initiated(world: &mut World, id: WorkflowId, terms: &Terms, state: State, at: Timestamp) {
    let handoff = Handoff {
        to: terms.to_agent.clone(),
        terms: terms.clone(),
        initiated_at: at,
        attempts: Attempts::default(),
        tried: BTreeSet::new(),
        gap: terms.gap.clone(),
        approved: None,
        withheld: false,
        unverified: 0,
        evidence: None,
        // Set below, with everything that follows from it.
        state: State::Queued { until: None, give_up: None },
    };
    world.homes.insert(terms.id, id);
    with_workflow(world, id, |workflow| {
        workflow.handoffs.insert(terms.id, handoff);
    });
    set_state(world, id, terms.id, |_| state);
}

fn accepted(
    world: &mut World,
    id: WorkflowId,
    (handoff_id, by, fence): (HandoffId, &AgentId, Fence),
    slice: &Limits,
    at: Timestamp,
) {
    let Some(workflow) = world.workflows.get_mut(&id) else {
        return;
    };
    let seen = workflow.variables.clock();
    workflow.fence = fence;
    let mut held = hold(by, Some(handoff_id), seen, at);
    let part = workflow.handoffs.get(&handoff_id).is_some_and(is_part);
    held.account = part.then_some(Account { limits: *slice, ..Account::default() });
    workflow.holds.insert(fence, held);
    workflow.readers.insert(by.clone());
    let terms = workflow.handoffs.get(&handoff_id).map(|handoff| &handoff.terms);
    let sequential = terms.is_some_and(|terms| terms.kind == Kind::Sequential);
    let step = terms.and_then(|terms| terms.step.as_ref());
    let waits = step.is_some_and(|step| step.waits);
    if sequential {
        let before = std::mem::replace(&mut workflow.owner, fence);
        end_hold(world, id, before);
    }
    if !waits {
        take_load(world, by, id, fence);
    }
    answered(world, by);
}

fn completed(
    world: &mut World,
    id: WorkflowId,
    handoff_id: HandoffId,
    result: Option<&Return>,
    at: Timestamp,
) {
    // A sequential handoff is over when it is accepted, and its receiver goes on holding the work;
    // every other hold ends with its handoff.
    let workflow = world.workflows.get(&id);
    let Some(handoff) = workflow.and_then(|w| w.handoffs.get(&handoff_id)) else { return };
    let ends = handoff.terms.kind != Kind::Sequential;
    if let State::Accepted { .. } = handoff.state {
        let by = handoff.to.clone();
        answered(world, &by);
    }
    finish(world, id, handoff_id, ends, |_| State::Completed {
        at,
        result: result.cloned().map(Box::new),
    });
    resumed(world, id, handoff_id, at);
}

fn failed(
    world: &mut World,
    id: WorkflowId,
    handoff_id: HandoffId,
    detail: &Detail,
    at: Timestamp,
) {
    if let Detail::Error { result } = detail
        && result.evidence.is_none()
    {
        let workflow = world.workflows.get(&id);
        let by = workflow.and_then(|w| Some(w.handoffs.get(&handoff_id)?.to.clone()));
        by.iter().for_each(|by| answered(world, by));
        with_workflow(world, id, |workflow| {
            guard::charge(workflow, result.fence, result);
            workflow.reported(result.report.as_deref().map(Report::cost).as_ref());
        });
    }
    finish(world, id, handoff_id, true, |handoff| {
        if let Detail::Error { result: failed } = detail
            && let Some(evidence) = &failed.evidence
        {
            handoff.unverified = handoff.unverified.saturating_add(1);
            handoff.evidence = Some(evidence.clone());
        }
        State::Failed { at, detail: detail.clone() }
    });
    resumed(world, id, handoff_id, at);
}

fn finish(
    world: &mut World,
    id: WorkflowId,
    handoff_id: HandoffId,
    ends_hold: bool,
    next: impl FnOnce(&mut Handoff) -> State,
) {
    let held = handoff_fence(world, id, handoff_id);
    if let Some(fence) = held.filter(|_| ends_hold) {
        end_hold(world, id, fence);
    }
    set_state(world, id, handoff_id, next);
}

fn apply_result(
    workflow: &mut Workflow,
    handoff_id: HandoffId,
    result: Option<&Return>,
    variables: &Changes,
    at: Timestamp,
) {
    let Some(result) = result else { return };
    // What was checked was charged when it came back.
    if result.evidence.is_none() {
        guard::charge(workflow, result.fence, result);
    }
    let Some(handoff) = workflow.handoffs.get(&handoff_id) else {
        return;
    };
    let by = handoff.to.clone();
    write(workflow, result.fence, variables, &by, at);
}
