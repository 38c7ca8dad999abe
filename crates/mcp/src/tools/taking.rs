//! Taking work, and bringing it back.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Call, Done, Line, Nature, Taken, line, tool, without_nothing};
use crate::desk::Said;
use crate::holds::Hold;

/// Handoffs that are tried when none is named.
const TRIED_MAX: usize = 5;
/// Handoffs of each kind that one answer tells of.
const LINES_MAX: usize = 30;

pub(super) fn list() -> Vec<Tool> {
    vec![
        tool::<Nothing, Inbox>(
            "list_inbox",
            Nature::Reads,
            "What waits for you, what you hold, what you passed on, what came back.",
        ),
        tool::<Accept, Accepted>(
            "accept_handoff",
            Nature::Adds,
            "Take a handoff (default: the most urgent). Gives its package and your fence.",
        ),
        tool::<Reject, Done>("reject_handoff", Nature::Ends, "Turn a waiting handoff away."),
        tool::<Defer, Done>("defer_handoff", Nature::Adds, "Ask for time before answering."),
        tool::<Progress, Done>(
            "report_progress",
            Nature::Adds,
            "Say how it goes; also renews your locks.",
        ),
        tool::<GiveBack, Done>(
            "return_handoff",
            Nature::Ends,
            "Bring back the result of what you hold; work that you own is completed.",
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Inbox {
    agent: String,
    waiting: Vec<Line>,
    holding: Vec<Holding>,
    passed: Vec<Line>,
    results: Vec<Line>,
    /// Those left out
    more: usize,
}

#[derive(Serialize, JsonSchema)]
struct Holding {
    workflow: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    handoff: Option<String>,
    title: String,
    fence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<String>,
}

pub(super) async fn inbox(call: &Call<'_>, taken: Taken) -> Result<Inbox, Said> {
    let Nothing {} = taken.read()?;
    let view = call.talk.read("/v1/inbox").await?;
    let all = |name: &str| view[name].as_array().cloned().unwrap_or_default();
    let mut more = 0;
    let mut lines = |name: &str| {
        let all = all(name);
        more += all.len().saturating_sub(LINES_MAX);
        all.iter().take(LINES_MAX).map(line).collect::<Vec<_>>()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut waiting = lines("waiting");
    waiting.extend(lines("queued"));
    let (passed, results) = (lines("passed"), lines("results"));
    let held = all("holding");
    let holding = held.iter().map(|hold| Holding {
        workflow: text(&hold["workflow"]),
        handoff: hold["handoff"].as_str().map(str::to_owned),
        title: text(&hold["title"]),
        fence: hold["fence"].as_u64().unwrap_or_default(),
        due: hold["due"].as_str().map(str::to_owned),
    });
    Ok(Inbox {
        agent: text(&view["agent"]),
        waiting,
        holding: holding.collect(),
        passed,
        results,
        more,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Accept {
    handoff: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Accepted {
    fence: u64,
    workflow: String,
    handoff: String,
    /// All that travels: task, context, artifacts, what came back before
    package: Value,
}

pub(super) async fn accept(call: &Call<'_>, taken: Taken) -> Result<Accepted, Said> {
    let Accept { handoff } = taken.read()?;
    let (handoff, answer) = match handoff {
        Some(handoff) => {
            let handoff = call.talk.handoff(&handoff).await?;
            let answer = match call.talk.command("accept", json!({ "handoff": handoff })).await {
                Ok(answer) => answer,
                // A session that came back asks for what its agent has in hand already; one beside
                // another that has it would do the work twice.
                Err(said) if said.code == ALREADY && !call.talk.desk.held_beside(&handoff) => {
                    held_already(call, &handoff).await.ok_or(said)?
                }
                Err(said) => return Err(said),
            };
            (handoff, answer)
        }
        None => accept_first(call).await?,
    };
    // From here on it is held, whatever can be read of it now.
    let fence = answer["fence"].as_u64().unwrap_or_default();
    let workflow = answer["workflow"].as_str().unwrap_or_default().to_owned();
    call.took(Hold { workflow: workflow.clone(), handoff: Some(handoff.clone()), fence });
    let package = call.talk.read(format!("/v1/handoffs/{handoff}/package")).await;
    let package = match package {
        Ok(mut package) => {
            without_nothing(&mut package);
            package
        }
        Err(said) => {
            let where_it_is = format!("baton://handoffs/{handoff}/package");
            json!({ "unread": said.text(), "read_it_at": where_it_is })
        }
    };
    Ok(Accepted { fence, workflow, handoff, package })
}

/// What the coordinator says of a handoff that somebody has taken.
const ALREADY: &str = "already-accepted";

/// The hold that a handoff brought to this agent before.
async fn held_already(call: &Call<'_>, handoff: &str) -> Option<Value> {
    let inbox = call.talk.read("/v1/inbox").await.ok()?;
    let mut held = inbox["holding"].as_array()?.iter();
    held.find(|hold| hold["handoff"] == handoff).cloned()
}

/// Takes the most urgent of those that wait. Another session of the same agent may be quicker; then
/// the next one is tried.
async fn accept_first(call: &Call<'_>) -> Result<(String, Value), Said> {
    let inbox = call.talk.read("/v1/inbox").await?;
    let waiting = inbox["waiting"].as_array().into_iter().flatten();
    let queued = inbox["queued"].as_array().map_or(0, Vec::len);
    let mut refused = match queued {
        0 => Said::new("nothing-waits", "no handoff waits for you", ""),
        queued => {
            let held = inbox["holding"].as_array().map_or(0, Vec::len);
            let message = format!("you hold {held} things and are full; {queued} wait for room");
            let hint = "return_handoff ends what is done, also work that you began; list_inbox \
                        shows it";
            Said::new("agent-full", message, hint)
        }
    };
    for id in waiting.filter_map(|line| line["id"].as_str()).take(TRIED_MAX) {
        match call.talk.command("accept", json!({ "handoff": id })).await {
            Ok(answer) => return Ok((id.to_owned(), answer)),
            Err(said) => refused = said,
        }
    }
    Err(refused)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reject {
    handoff: String,
    reason: String,
}

pub(super) async fn reject(call: &Call<'_>, taken: Taken) -> Result<Done, Said> {
    let Reject { handoff, reason } = taken.read()?;
    let handoff = call.talk.handoff(&handoff).await?;
    let body = json!({ "handoff": handoff, "reason": reason });
    Ok(Done::of("rejected", &call.talk.command("reject", body).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Defer {
    handoff: String,
    reason: String,
    /// Such as 10m
    r#for: Option<String>,
}

pub(super) async fn defer(call: &Call<'_>, taken: Taken) -> Result<Done, Said> {
    let Defer { handoff, reason, r#for: span } = taken.read()?;
    let handoff = call.talk.handoff(&handoff).await?;
    let mut body = json!({ "handoff": handoff, "reason": reason });
    if let Some(span) = span {
        body["for"] = json!(span);
    }
    Ok(Done::of("deferred", &call.talk.command("defer", body).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Progress {
    note: String,
    /// 0 to 100
    percent: Option<u8>,
    /// Handoff or workflow id; needless while you hold one thing
    work: Option<String>,
    /// This session remembers it
    fence: Option<u64>,
}

pub(super) async fn progress(call: &Call<'_>, taken: Taken) -> Result<Done, Said> {
    let Progress { note, percent, work, fence } = taken.read()?;
    let hold = call.held(work.as_deref(), fence).await?;
    let mut body = json!({ "workflow": hold.workflow, "fence": hold.fence, "note": note });
    if let Some(percent) = percent {
        body["percent"] = json!(percent);
    }
    Ok(Done::of("noted", &call.talk.command("progress", body).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GiveBack {
    /// Text, or any JSON
    result: Value,
    status: Option<Status>,
    /// In a sentence
    note: Option<String>,
    work: Option<String>,
    fence: Option<u64>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    #[default]
    Success,
    Partial,
    Failed,
}

pub(super) async fn give_back(call: &Call<'_>, taken: Taken) -> Result<Done, Said> {
    let ask: GiveBack = taken.read()?;
    let hold = call.held(ask.work.as_deref(), ask.fence).await?;
    let returns = match &hold.handoff {
        Some(handoff) => {
            let view = call.talk.read(format!("/v1/handoffs/{handoff}")).await?;
            view["return_protocol"]["expected"].as_bool().unwrap_or(false)
        }
        None => false,
    };
    let done = match (returns, &hold.handoff) {
        (true, Some(handoff)) => {
            let content_type = if ask.result.is_string() { "text" } else { "json" };
            let mut body = json!({
                "handoff": handoff,
                "fence": hold.fence,
                "status": ask.status.unwrap_or_default(),
                "result": { "content_type": content_type, "body": ask.result },
            });
            if let Some(note) = ask.note {
                body["audit"] = json!({ "notes": note });
            }
            Done::of("returned", &call.talk.command("return", body).await?)
        }
        (false, _) | (true, None) => {
            if let Some(status @ (Status::Partial | Status::Failed)) = ask.status {
                let word = json!(status);
                let message = format!("work that you own cannot be completed as {word}");
                let hint = "hand it to somebody who can go on, or escalate_handoff";
                return Err(Said::new("cannot-complete", message, hint));
            }
            let mut body = json!({
                "workflow": hold.workflow, "fence": hold.fence, "result": ask.result
            });
            if let Some(note) = ask.note {
                body["note"] = json!(note);
            }
            Done::of("completed", &call.talk.command("complete", body).await?)
        }
    };
    call.ended(&hold);
    Ok(done)
}
