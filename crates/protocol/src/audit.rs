//! The audit record of a handoff's event, with the fields that auditors ask for.
//!
//! It is written beside the event in the same ledger record, so the ledger is the audit.

use serde::Serialize;

use crate::agent::Risk;
use crate::event::Event;
use crate::handoff::{Detail, Handoff, Return, ReturnStatus, State};
use crate::id::{AgentId, HandoffId, WorkflowId};
use crate::time::Timestamp;
use crate::trace::TraceParent;
use crate::variables::VariableName;
use crate::workflow::Workflow;
use crate::world::World;

/// What the audit says about one event of a handoff.
#[derive(Debug, Serialize)]
pub struct AuditRecord<'a> {
    handoff_id: HandoffId,
    timestamp: Timestamp,
    event_type: &'static str,
    from_agent: &'a AgentId,
    to_agent: &'a AgentId,
    handoff_type: &'static str,
    reason: &'a str,
    context_snapshot: Snapshot<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_rationale: Option<&'a str>,
    risk_level: Risk,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_consumed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// Whoever it is for does not know of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    withheld: bool,
    trace_id: String,
    span_id: String,
}

/// The work as it was when the event was recorded.
#[derive(Debug, Serialize)]
struct Snapshot<'a> {
    task_id: TaskId<'a>,
    task_status: &'a str,
    context_variables_hash: &'a str,
    artifact_count: usize,
}

/// A subtask goes by the sender's words, the whole work by its id.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum TaskId<'a> {
    Subtask(&'a str),
    Workflow(WorkflowId),
}

/// Returns the audit record of `event`, or nothing if it is not about a handoff.
///
/// `world` is the one after the event.
pub fn audit<'a>(world: &'a World, event: &'a Event, at: Timestamp) -> Option<AuditRecord<'a>> {
    let (id, workflow, handoff) = world.handoff(event.handoff()?).ok()?;
    let terms = &handoff.terms;
    let ended = ending(event);
    let resolved = ended.is_some() || matches!(event, Event::Rejected { .. });
    let span = TraceParent::of_handoff(terms.traceparent, id, terms.id);
    Some(AuditRecord {
        handoff_id: terms.id,
        timestamp: at,
        event_type: event.word(),
        from_agent: &terms.from_agent,
        to_agent: &handoff.to,
        handoff_type: terms.kind.word(),
        reason: reason(event, handoff),
        context_snapshot: snapshot(id, workflow, handoff),
        decision_rationale: terms.decision_rationale.as_ref().map(|words| words.as_str()),
        risk_level: terms.risk_level,
        duration_ms: resolved.then(|| at.millis_since(handoff.initiated_at)),
        tokens_consumed: result(event).and_then(|result| result.tokens_consumed),
        outcome: ended,
        withheld: handoff.is_withheld(),
        trace_id: span.trace_id(),
        span_id: span.span_id(),
    })
}

fn snapshot<'a>(id: WorkflowId, workflow: &'a Workflow, handoff: &'a Handoff) -> Snapshot<'a> {
    let task_id = match &handoff.terms.task {
        Some(words) => TaskId::Subtask(words.as_str()),
        None => TaskId::Workflow(id),
    };
    Snapshot {
        task_id,
        task_status: task_status(workflow, handoff),
        context_variables_hash: workflow.variables.digest(),
        artifact_count: workflow.artifacts.len(),
    }
}

/// What the workflow says of itself, or what follows from the handoff's state.
fn task_status<'a>(workflow: &'a Workflow, handoff: &Handoff) -> &'a str {
    let said = "task_status".parse::<VariableName>().ok();
    let said = said.and_then(|name| workflow.variables.find(&name)?.value.as_value().as_str());
    said.unwrap_or(match &handoff.state {
        State::AwaitingApproval { .. }
        | State::Queued { .. }
        | State::Initiated { .. }
        | State::Deferred { .. } => "pending",
        State::Accepted { .. } | State::Returned { .. } => "in_progress",
        State::Suspended { .. } => "blocked",
        State::Completed { .. } => "complete",
        State::Failed { .. } => "failed",
    })
}

fn reason<'a>(event: &'a Event, handoff: &'a Handoff) -> &'a str {
    match event {
        Event::Rejected { reason, .. }
        | Event::Deferred { reason, .. }
        | Event::Rerouted { reason, .. }
        | Event::Reassigned { reason, .. } => reason.as_str(),
        Event::Failed { detail, .. } => match detail {
            Detail::Rejected { reason }
            | Detail::Cancelled { reason, .. }
            | Detail::Denied { reason, .. } => reason.as_str(),
            Detail::Unapproved => "unapproved",
            Detail::Unavailable => "unavailable",
            Detail::TimedOut => "timed_out",
            Detail::Error { .. } => "error",
            Detail::PassedOn { .. } => "passed_on",
        },
        _ => handoff.terms.reason.as_str(),
    }
}

fn result(event: &Event) -> Option<&Return> {
    match event {
        Event::Completed { result, .. } => result.as_deref(),
        Event::Failed { detail: Detail::Error { result }, .. } => Some(result),
        _ => None,
    }
}

fn ending(event: &Event) -> Option<&'static str> {
    match event {
        Event::Completed { result, .. } => match result.as_ref().map(|result| result.status) {
            Some(ReturnStatus::Partial) => Some("partial"),
            Some(ReturnStatus::Success) | None => Some("success"),
            Some(ReturnStatus::Failed | ReturnStatus::Timeout) => Some("failed"),
        },
        Event::Failed { .. } => Some("failed"),
        _ => None,
    }
}
