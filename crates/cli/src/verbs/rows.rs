//! Tables and lists that several verbs show.

use baton_engine::view::{
    BroadcastView, EscalationView, HandoffLine, HoldView, Verification, VerificationView,
    WorkflowLine,
};
use baton_protocol::artifact::Artifact;
use baton_protocol::course::{Metrics, WorkflowState};
use baton_protocol::handoff::{Assessment, CheckEnd, Transferred};
use baton_protocol::open::OpenKeys;
use baton_protocol::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::show::Page;
use crate::show::table::Table;
use crate::show::text::indented;
use crate::show::time::{both, relative};

/// The word that stands for `value` on the wire.
pub(crate) fn word_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

/// JSON as people want to read it: text as text, anything else spread over lines.
pub(crate) fn readable(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // The ledger says where a body lies; people want what it says.
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("inline") => {
            readable(&fields["inline"])
        }
        other => indented(&other.to_string()),
    }
}

/// Workflows, one a row.
pub(crate) fn workflows(lines: &[WorkflowLine], now: Timestamp) -> Table {
    let mut table = Table::new(&["ID", "TITLE", "STATUS", "OWNER", "OPEN", "STARTED"], &[1]);
    for line in lines {
        table.row([
            line.id.short(),
            line.title.clone(),
            line.status.clone(),
            line.owner.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            line.open_handoffs.to_string(),
            relative(line.started_at, now),
        ]);
    }
    table
}

/// Handoffs as anybody sees them.
pub(crate) fn handoffs(lines: &[HandoffLine], now: Timestamp) -> Table {
    let header = ["ID", "FROM", "TO", "TYPE", "STATE", "REASON", "BEGAN"];
    let mut table = Table::new(&header, &[5]);
    for line in lines {
        table.row([
            line.id.short(),
            line.from_agent.to_string(),
            line.to_agent.to_string(),
            line.kind.clone(),
            line.state.clone(),
            line.task.as_ref().unwrap_or(&line.reason).clone(),
            relative(line.initiated_at, now),
        ]);
    }
    table
}

/// Handoffs as their receiver sees them.
pub(crate) fn received(lines: &[HandoffLine], now: Timestamp) -> Table {
    let header = ["ID", "FROM", "PRIORITY", "TYPE", "STATE", "REASON", "BEGAN"];
    let mut table = Table::new(&header, &[5]);
    for line in lines {
        table.row([
            line.id.short(),
            line.from_agent.to_string(),
            line.priority.to_string(),
            line.kind.clone(),
            line.state.clone(),
            line.task.as_ref().unwrap_or(&line.reason).clone(),
            relative(line.initiated_at, now),
        ]);
    }
    table
}

/// Handoffs as their sender sees them.
pub(crate) fn sent(lines: &[HandoffLine], now: Timestamp) -> Table {
    let mut table = Table::new(&["ID", "TO", "TYPE", "STATE", "REASON", "BEGAN"], &[4]);
    for line in lines {
        table.row([
            line.id.short(),
            line.to_agent.to_string(),
            line.kind.clone(),
            line.state.clone(),
            line.detail.as_ref().or(line.task.as_ref()).unwrap_or(&line.reason).clone(),
            relative(line.initiated_at, now),
        ]);
    }
    table
}

/// What a broadcast has come to, in a line.
pub(crate) fn broadcast(view: &BroadcastView) -> String {
    let BroadcastView { expected, successes, failures, .. } = view;
    let outcome = view.outcome.as_deref().unwrap_or("not decided yet");
    let counts = format!("{successes} of {expected} succeeded, {failures} failed");
    let id = view.group.to_string();
    let id = id.get(..8).unwrap_or(&id);
    format!("{id}: {} must succeed: {counts}; {outcome}", word_of(&view.aggregation))
}

/// What each level has thought of a question so far.
pub(crate) fn trail(page: &mut Page, asked: Option<&EscalationView>) {
    let Some(asked) = asked else { return };
    page.field("level", format!("{} of 3 ({})", asked.level, word_of(&asked.matter)));
    let said = |step: &Assessment| format!("{} ({}): {}", step.by, word_of(&step.role), step.words);
    page.field("so far", asked.trail.iter().map(said).collect::<Vec<_>>().join("\n"));
}

/// What agents have in hand.
pub(crate) fn holds(holds: &[HoldView], now: Timestamp) -> Table {
    let header = ["WORKFLOW", "AGENT", "FENCE", "HANDOFF", "DUE", "TITLE", "PROGRESS"];
    let mut table = Table::new(&header, &[5, 6]);
    for hold in holds {
        table.row([
            hold.workflow.short(),
            hold.agent.to_string(),
            hold.fence.to_string(),
            hold.handoff.map_or_else(|| "-".to_owned(), |id| id.short()),
            match (hold.waits_for, hold.due) {
                (Some(question), _) => format!("waits {}", question.short()),
                (None, Some(at)) => relative(at, now),
                (None, None) => "-".to_owned(),
            },
            hold.title.clone(),
            match (&hold.verification, &hold.progress) {
                (Some(known), _) => checked(known.standing),
                (None, Some(words)) => words.clone(),
                (None, None) => "-".to_owned(),
            },
        ]);
    }
    table
}

/// How it stands with what was returned under a hold that goes on.
fn checked(standing: Verification) -> String {
    match standing {
        Verification::Reported => "returned; its checks run",
        Verification::Unverified => "its checks failed; `baton show` tells why",
        Verification::Verified => "verified",
    }
    .to_owned()
}

/// The variables that somebody wrote; those that Baton keeps are shown elsewhere.
pub(crate) fn variables(page: &mut Page, context: &Value) {
    let mut lines = Vec::new();
    let words = ["task_status", "task_priority", "decisions_made"];
    let named = words.iter().filter_map(|name| Some((*name, context.get(name)?)));
    let custom = context["custom"].as_object().into_iter().flatten();
    for (name, value) in named.chain(custom.map(|(name, value)| (name.as_str(), value))) {
        lines.push(format!("{name} = {value}"));
    }
    if !lines.is_empty() {
        page.field("variables", lines.join("\n"));
    }
}

/// Products, one a line.
pub(crate) fn artifacts(page: &mut Page, artifacts: &[Artifact]) {
    let lines: Vec<_> = artifacts
        .iter()
        .map(|artifact| {
            let made = &artifact.produced;
            let (kind, status) = (word_of(&made.kind), word_of(&made.status));
            format!("{} {} ({kind}, {status})", artifact.id.short(), made.path)
        })
        .collect();
    if !lines.is_empty() {
        page.field("artifacts", lines.join("\n"));
    }
}

/// How far a workflow is, and what it has cost, as its holders reported.
pub(crate) fn course(page: &mut Page, state: &WorkflowState, metrics: &Metrics) {
    let phase = match (&state.phase, &state.next_phase) {
        (None, None) => None,
        (Some(phase), None) => Some(phase.to_string()),
        (Some(phase), Some(next)) => Some(format!("{phase}, then {next}")),
        (None, Some(next)) => Some(format!("next {next}")),
    };
    page.field_if("phase", phase);
    for (name, steps) in [("done", &state.completed_steps), ("to do", &state.remaining_steps)] {
        let steps: Vec<_> = steps.iter().map(ToString::to_string).collect();
        page.field_if(name, (!steps.is_empty()).then(|| steps.join(", ")));
    }
    if *metrics != Metrics::default() {
        let Metrics { tokens_used, time_elapsed, retry_count, open } = metrics;
        let counted = format!("{tokens_used} tokens, {time_elapsed}, {retry_count} retries");
        let open = open.iter().map(|(name, value)| format!("{name} {}", value.as_value()));
        let all: Vec<_> = std::iter::once(counted).chain(open).collect();
        page.field("reported", all.join(", "));
    }
}

/// Keys of its own that came with a handoff.
pub(crate) fn custom(page: &mut Page, custom: &OpenKeys) {
    let lines: Vec<_> =
        custom.iter().map(|(name, value)| format!("{name} = {}", value.as_value())).collect();
    page.field_if("told", (!lines.is_empty()).then(|| lines.join("\n")));
}

/// What a holder brought back.
pub(crate) fn result(page: &mut Page, result: &Value) {
    page.field_if("status", result["status"].as_str());
    let content = &result["result"];
    if !content.is_null() {
        page.field("result", readable(&content["body"]));
    }
    let audit = &result["audit"];
    page.field_if("tokens", audit["tokens_consumed"].as_u64());
    page.field_if("notes", audit["notes"].as_str());
}

/// What was made of a conversation, in one line.
pub(crate) fn transferred(of: &Transferred) -> String {
    let mut words = format!(
        "{} of {} messages, {} of {} tokens ({})",
        of.messages,
        of.messages_before,
        of.tokens,
        of.tokens_before,
        word_of(&of.mode),
    );
    for said in of.repairs.iter().chain(&of.notes) {
        words.push_str(&format!("; {said}"));
    }
    words
}

/// Whether what came back is more than a word, and what its checks showed.
pub(crate) fn verification(page: &mut Page, known: &VerificationView) {
    page.field("standing", known.standing.word());
    let Some(evidence) = &known.evidence else { return };
    let dirty = if evidence.uncommitted { ", with changes that no commit has" } else { "" };
    page.field_if("commit", evidence.commit.as_ref().map(|commit| format!("{commit}{dirty}")));
    for run in &evidence.checks {
        let how = match &run.ended {
            CheckEnd::Exited { code: 0 } => "passed".to_owned(),
            CheckEnd::Exited { code } => format!("failed with exit code {code}"),
            CheckEnd::Signalled { signal } => format!("ended by signal {signal}"),
            CheckEnd::TimedOut => "ended after its time limit".to_owned(),
            CheckEnd::NotStarted { why } => format!("could not be started: {why}"),
        };
        page.field("check", format!("`{}` {how} ({} ms)", run.run, run.duration_ms));
        let failed = run.ended != CheckEnd::Exited { code: 0 };
        page.field_if("it said", run.output_tail.as_ref().filter(|_| failed));
    }
    page.field_if("refused", evidence.refused.as_ref());
}

/// How a workflow ended.
pub(crate) fn ending(page: &mut Page, ending: &Value) {
    let at = ending["at"].as_str().and_then(|at| at.parse().ok());
    page.field_if("ended", at.map(|at| both(at, page.now)));
    page.field_if("by", ending["by"].as_str());
    let how = &ending["as"];
    page.field_if("note", how["note"].as_str());
    page.field_if("reason", how["reason"].as_str());
    if !how["result"].is_null() {
        page.field("result", readable(&how["result"]));
    }
}
