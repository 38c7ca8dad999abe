//! Prompts: a handoff in words, put before the model by the person.

use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role,
};

use crate::brief;
use crate::desk::{Said, Talk};

const ACCEPT: &str = "accept_handoff";
const REVIEW: &str = "escalation_review";

/// The prompts there are.
pub(crate) fn list() -> Vec<Prompt> {
    let which = |about: &str| {
        let handoff = PromptArgument::new("handoff").with_description(about).with_required(false);
        Some(vec![handoff])
    };
    vec![
        Prompt::new(
            ACCEPT,
            Some("The brief of a handoff: what is to be done, with what, and how to bring it back"),
            which("Which one; otherwise the most urgent that waits"),
        ),
        Prompt::new(
            REVIEW,
            Some("A question that was escalated to you, and what those below think of it"),
            which("Which one; otherwise the most urgent question that waits"),
        ),
    ]
}

/// One of them, filled in.
pub(crate) async fn get(
    talk: &Talk<'_>,
    request: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let review = match request.name.as_str() {
        ACCEPT => false,
        REVIEW => true,
        other => {
            let message = format!("there is no prompt `{other}`");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let named = request.arguments.as_ref().and_then(|all| all.get("handoff"));
    let named = named.and_then(|value| value.as_str()).filter(|id| !id.is_empty());
    let handoff = match named {
        Some(id) => talk.handoff(id).await.map_err(|said| refused(&said))?,
        None => waiting(talk, review).await?,
    };
    let view = talk.read(format!("/v1/handoffs/{handoff}")).await.map_err(|said| refused(&said))?;
    let page = if review { brief::review(&view) } else { brief::accept(&view) };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, page)]))
}

/// What stands in the way of a prompt or a completion.
pub(crate) fn refused(said: &Said) -> ErrorData {
    let data = serde_json::json!({ "code": said.code, "hint": said.hint });
    ErrorData::invalid_params(said.message.clone(), Some(data))
}

/// The most urgent handoff, or question, that waits.
async fn waiting(talk: &Talk<'_>, question: bool) -> Result<String, ErrorData> {
    let inbox = talk.read("/v1/inbox").await.map_err(|said| refused(&said))?;
    let mut waiting = inbox["waiting"].as_array().into_iter().flatten();
    let first = waiting.find(|one| !question || one["type"] == "escalation");
    let id = first.and_then(|one| one["id"].as_str()).map(str::to_owned);
    let what = if question { "question" } else { "handoff" };
    id.ok_or_else(|| ErrorData::invalid_params(format!("no {what} waits for you"), None))
}
