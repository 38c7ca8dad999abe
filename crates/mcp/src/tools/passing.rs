//! Giving work away, asking somebody above, and hearing what became of it.

use std::time::Duration;

use rmcp::model::{
    InputRequiredResult, InputResponses, JsonObject, ProgressNotificationParam, Tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Call, Done, Nature, Taken, line, tool, without_nothing};
use crate::approval::{self, Answered, Questions, Seen, Word};
use crate::desk::Said;
use crate::holds::Hold;

/// How long a delegate has unless the sender says otherwise.
const DELEGATE_FOR: &str = "1h";
/// How long `await_handoff` waits unless it is told otherwise; clients give up after a minute.
const WAIT_SECONDS: u64 = 45;
const WAIT_SECONDS_MAX: u64 = 55;
/// How often whoever waits is told that it is still waited.
const SIGN_EVERY: u64 = 5;

pub(super) fn list() -> Vec<Tool> {
    vec![
        tool::<HandOff, Handed>(
            "handoff_to_agent",
            Nature::Adds,
            "Give work to another agent. delegate: its result comes back to you. transfer: it \
             takes over for good. Without `work`, new work begins.",
        ),
        tool::<Escalate, Done>(
            "escalate_handoff",
            Nature::Adds,
            "Ask somebody above (reviewer, architect, a person) to decide; your hold pauses.",
        ),
        tool::<Wait, Waited>(
            "await_handoff",
            Nature::Reads,
            "Wait for a handoff's end; answers `pending` in under a minute: call again.",
        ),
        tool::<Which, Waited>("get_handoff", Nature::Reads, "Show a handoff and its result."),
        tool::<Cancel, Done>("cancel_handoff", Nature::Ends, "Take back a handoff you passed."),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HandOff {
    /// Receiving agent; omit to have one chosen by capabilities
    to: Option<String>,
    /// Why, in a sentence
    reason: String,
    /// What to do and when it is done
    task: Option<String>,
    mode: Option<Mode>,
    capabilities: Option<Vec<String>>,
    /// Whatever else the receiver must know
    context: Option<JsonObject>,
    /// Files to point to
    artifacts: Option<Vec<String>>,
    priority: Option<Priority>,
    /// Such as 30m; for delegate
    timeout: Option<String>,
    /// Handoff or workflow id, if you pass on what you hold
    work: Option<String>,
    fence: Option<u64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Delegate,
    Transfer,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    Normal,
    High,
    Critical,
}

/// What became of a pass.
#[derive(Serialize, JsonSchema)]
pub(super) struct Handed {
    /// sent, queued, approval_required or failed
    status: String,
    handoff: String,
    workflow: String,
    to: String,
    /// What to do next
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A pass that is done, or that waits for a person's word through the client.
pub(super) enum Passed {
    Done(Handed),
    Asks(InputRequiredResult),
}

pub(super) async fn hand_off(
    call: &Call<'_>,
    taken: Taken,
    questions: &Questions<Seen>,
    (answers, state): (Option<InputResponses>, Option<String>),
) -> Result<Passed, Said> {
    if let Some(state) = state {
        return second_round(call, questions, &state, answers.as_ref()).await;
    }
    let ask: HandOff = taken.read()?;
    let mode = ask.mode.unwrap_or_default();
    let hold = match (&ask.work, ask.fence) {
        (None, None) => None,
        (work, fence) => Some(call.held(work.as_deref(), fence).await?),
    };
    let answer = call.talk.command("pass", body(ask, mode, hold.as_ref())).await?;
    // From here on it is passed: no error may make the model try again.
    match (&hold, mode) {
        // Until somebody takes it, it may come back.
        (Some(_), Mode::Transfer) => call.holds.doubt(),
        (None, Mode::Delegate) => remember_own(call, &answer).await,
        (Some(_), Mode::Delegate) | (None, Mode::Transfer) => (),
    }
    let handoff = answer["handoff"].as_str().unwrap_or_default().to_owned();
    let told = match approval::ask(call, questions, &handoff).await {
        Ok(Answered::Later(question)) => return Ok(Passed::Asks(question)),
        Ok(Answered::Word(seen, word)) => {
            approval::settle(&call.talk, &seen, word).await.unwrap_or_else(|said| Some(said.text()))
        }
        Ok(Answered::NotNeeded) | Err(_) => None,
    };
    Ok(Passed::Done(handed(call, &answer, told).await))
}

/// A retry with a person's answer is about the handoff that was asked about, and never a new one.
async fn second_round(
    call: &Call<'_>,
    questions: &Questions<Seen>,
    state: &str,
    answers: Option<&InputResponses>,
) -> Result<Passed, Said> {
    let Some(seen) = questions.asked(state) else {
        let message = "this session asked no such question, or it was answered already";
        return Err(Said::new("no-such-question", message, "list_inbox shows what you passed on"));
    };
    // Whoever says now that it cannot ask a person brings no person's word.
    let word = match approval::can_ask(call) {
        true => approval::read(answers),
        false => Word::None,
    };
    let told = approval::settle(&call.talk, &seen, word).await?;
    questions.answered(state);
    let passed = json!({ "handoff": seen.handoff });
    Ok(Passed::Done(handed(call, &passed, told).await))
}

/// The command that this comes to.
fn body(ask: HandOff, mode: Mode, hold: Option<&Hold>) -> Value {
    let mut pass = json!({ "reason": ask.reason });
    if let Some(hold) = hold {
        pass["workflow"] = json!(hold.workflow);
        pass["fence"] = json!(hold.fence);
    }
    if let Some(to) = ask.to {
        pass["to_agent"] = json!(to);
    }
    if let Some(priority) = ask.priority {
        pass["priority"] = json!(priority);
    }
    let mut context = json!({});
    if let Some(task) = ask.task {
        context["task_id"] = json!(task);
    }
    if let Some(custom) = ask.context {
        context["custom"] = Value::Object(custom);
    }
    if let Some(paths) = ask.artifacts {
        context["artifacts"] = paths.iter().map(|path| json!({ "path": path })).collect();
    }
    pass["context"] = context;
    if let Some(capabilities) = ask.capabilities {
        let required = |id: &String| json!({ "capability_id": id });
        let required: Value = capabilities.iter().map(required).collect();
        pass["validation"] = json!({ "required_capabilities": required });
    }
    if mode == Mode::Delegate {
        pass["type"] = json!("delegation");
        let timeout = ask.timeout.unwrap_or_else(|| DELEGATE_FOR.to_owned());
        pass["return_protocol"] = json!({ "timeout": timeout });
    }
    pass
}

/// Work that began with a delegation is held by whoever delegated.
async fn remember_own(call: &Call<'_>, answer: &Value) {
    let Some(workflow) = answer["workflow"].as_str() else { return };
    // If it cannot be read, the session must say the fence later.
    let inbox = call.talk.read("/v1/inbox").await.unwrap_or_default();
    let held = inbox["holding"].as_array().into_iter().flatten();
    let own = held.filter(|hold| hold["workflow"] == workflow && hold["handoff"].is_null());
    for hold in own {
        let fence = hold["fence"].as_u64().unwrap_or_default();
        call.took(Hold { workflow: workflow.to_owned(), handoff: None, fence });
    }
}

/// What the sender is told of its handoff, from what was recorded and where it stands now.
async fn handed(call: &Call<'_>, passed: &Value, told: Option<String>) -> Handed {
    let id = |name: &str| passed[name].as_str().unwrap_or_default().to_owned();
    let handoff = id("handoff");
    let Ok(view) = call.talk.read(format!("/v1/handoffs/{handoff}")).await else {
        let next = "it is passed, and cannot be read now: get_handoff shows where it stands";
        let (workflow, to) = (id("workflow"), String::new());
        let (status, next) = ("sent".to_owned(), Some(told.unwrap_or_else(|| next.to_owned())));
        return Handed { status, handoff, workflow, to, next };
    };
    let line = line(&view);
    let (status, next) = match line.state.as_str() {
        "awaiting_approval" => {
            let how = approval::how(&handoff, &view);
            ("approval_required", Some(told.map_or(how.clone(), |told| format!("{told}\n{how}"))))
        }
        "queued" => ("queued", Some("the receiver is full; it comes in turn".to_owned())),
        "failed" => ("failed", told.or(line.detail)),
        _ => ("sent", Some("await_handoff waits for its end".to_owned())),
    };
    let status = status.to_owned();
    Handed { status, handoff: line.handoff, workflow: line.workflow, to: line.to, next }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Escalate {
    question: String,
    /// What you think, and why you may not decide it
    assessment: String,
    to: Option<String>,
    work: Option<String>,
    fence: Option<u64>,
}

pub(super) async fn escalate(call: &Call<'_>, taken: Taken) -> Result<Done, Said> {
    let ask: Escalate = taken.read()?;
    let hold = call.held(ask.work.as_deref(), ask.fence).await?;
    let mut pass = json!({
        "workflow": hold.workflow,
        "fence": hold.fence,
        "type": "escalation",
        "reason": ask.question,
        "audit": { "decision_rationale": ask.assessment },
    });
    if let Some(to) = ask.to {
        pass["to_agent"] = json!(to);
    }
    let answer = call.talk.command("pass", pass).await?;
    let mut done = Done::of("asked", &answer);
    // The answer names what is suspended; the question is a handoff of its own.
    let inbox = call.talk.read("/v1/inbox").await.unwrap_or_default();
    let passed = inbox["passed"].as_array().into_iter().flatten();
    let mut question = passed
        .filter(|line| line["workflow"] == hold.workflow.as_str() && line["type"] == "escalation");
    done.handoff = question.next_back().and_then(|line| line["id"].as_str()).map(str::to_owned);
    Ok(done)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    handoff: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    handoff: String,
    /// At most 55
    seconds: Option<u64>,
}

/// Where a handoff stands.
#[derive(Serialize, JsonSchema)]
pub(super) struct Waited {
    /// done, failed or pending
    status: &'static str,
    #[serde(flatten)]
    line: super::Line,
    /// The holder's last words
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
    /// Who had it and did not take it
    #[serde(skip_serializing_if = "Option::is_none")]
    tried: Option<Vec<String>>,
    /// What travels with it
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Value>,
    /// While you hold it
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<u64>,
    /// What came back
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// What to do next
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn waited(view: &Value) -> Waited {
    let line = line(view);
    let status = match line.state.as_str() {
        "completed" => "done",
        "failed" => "failed",
        _ => "pending",
    };
    Waited {
        status,
        line,
        progress: None,
        tried: {
            let tried = view["tried"].as_array().into_iter().flatten();
            let tried: Vec<_> = tried.filter_map(|agent| agent.as_str()).collect();
            (!tried.is_empty()).then(|| tried.into_iter().map(str::to_owned).collect())
        },
        context: None,
        fence: view["fence"].as_u64(),
        result: Some(view["result"].clone()).filter(|result| !result.is_null()),
        next: None,
    }
}

/// Adds what is left to do: whoever began the work and has everything back must end it, or it is
/// held for ever.
async fn with_next(call: &Call<'_>, mut waited: Waited) -> Waited {
    if waited.status == "pending" {
        return waited;
    }
    let inbox = call.talk.read("/v1/inbox").await.unwrap_or_default();
    let about = |part: &str| {
        let lines = inbox[part].as_array().into_iter().flatten();
        lines.filter(|line| line["workflow"] == waited.line.workflow.as_str()).count()
    };
    let owned =
        inbox["holding"].as_array().into_iter().flatten().find(|hold| {
            hold["workflow"] == waited.line.workflow.as_str() && hold["owner"] == true
        });
    if let (Some(hold), 0) = (owned, about("passed")) {
        waited.next = Some(format!(
            "you hold this work (fence {}): go on with it, or return_handoff with `work` {} \
             completes it",
            hold["fence"], waited.line.workflow,
        ));
    }
    waited
}

pub(super) async fn get(call: &Call<'_>, taken: Taken) -> Result<Waited, Said> {
    let Which { handoff } = taken.read()?;
    let handoff = call.talk.handoff(&handoff).await?;
    let mut view = call.talk.read(format!("/v1/handoffs/{handoff}")).await?;
    let mut waited = waited(&view);
    let mut context = view["context"].take();
    without_nothing(&mut context);
    waited.context = Some(context).filter(|context| !context.is_null());
    let work = call.talk.read(format!("/v1/workflows/{}", waited.line.workflow)).await;
    let work = work.unwrap_or_default();
    let mut holds = work["holds"].as_array().into_iter().flatten();
    let held = holds.find(|hold| hold["handoff"] == handoff.as_str());
    waited.progress = held.and_then(|hold| hold["progress"].as_str()).map(str::to_owned);
    Ok(with_next(call, waited).await)
}

pub(super) async fn wait(call: &Call<'_>, taken: Taken) -> Result<Waited, Said> {
    let ask: Wait = taken.read()?;
    let handoff = call.talk.handoff(&ask.handoff).await?;
    let seconds = ask.seconds.unwrap_or(WAIT_SECONDS).min(WAIT_SECONDS_MAX);
    let begun = Instant::now();
    let end = begun + Duration::from_secs(seconds);
    loop {
        let left = end.saturating_duration_since(Instant::now()).as_secs().min(SIGN_EVERY);
        let wait = if left == 0 { String::new() } else { format!("?wait={left}s") };
        let asked = call.talk.read(format!("/v1/handoffs/{handoff}{wait}"));
        let now = tokio::select! {
            asked = asked => waited(&asked?),
            // Whoever asked no longer wants to know; nothing is undone by leaving.
            () = call.context.ct.cancelled() => {
                return Err(Said::new("cancelled", "the wait was called off", ""));
            }
        };
        if now.status != "pending" || left == 0 || Instant::now() >= end {
            return Ok(with_next(call, now).await);
        }
        sign(call, begun.elapsed(), seconds, &now).await;
    }
}

/// Shows whoever waits that it is still waited, if it asked to be shown.
async fn sign(call: &Call<'_>, waited: Duration, of: u64, now: &Waited) {
    let Some(token) = call.context.meta.get_progress_token() else { return };
    let mut sign = ProgressNotificationParam::new(token, waited.as_secs_f64());
    sign.total = Some(of as f64);
    sign.message = Some(format!("{} is {} by {}", now.line.title, now.line.state, now.line.to));
    // A client that does not hear it hears the answer.
    let _ = call.context.peer.notify_progress(sign).await;
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cancel {
    handoff: String,
    reason: String,
}

pub(super) async fn cancel(call: &Call<'_>, taken: Taken) -> Result<Done, Said> {
    let Cancel { handoff, reason } = taken.read()?;
    let handoff = call.talk.handoff(&handoff).await?;
    let body = json!({ "handoff": handoff, "reason": reason });
    let answer = call.talk.command("cancel", body).await?;
    Ok(Done::of("cancelled", &answer))
}
