//! Approvals: questions that climbed to somebody who may decide, and the decision.

use axum::Json;
use axum::extract::State;
use baton_engine::view::{Answer, HandoffLine, HandoffView};
use baton_engine::{HandoffQuery, Page};
use baton_protocol::command::{
    Accept, Actor, Command, ContextUpdates, GiveBack, ResultContent, ReturnAudit,
};
use baton_protocol::handoff::{ContentType, ReturnStatus};
use baton_protocol::id::{AgentId, Fence, HandoffId};
use baton_protocol::refusal::Refusal;
use baton_protocol::text::{Body, Text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Answered, App, Shared};
use crate::api::{Api, get, post, submit};
use crate::caller::Caller;
use crate::wire::{Asked, Here, Input, Key, Named, Paged, Paging, Problem};

pub(super) fn routes(api: Api) -> Api {
    api.section("approvals", "What waits for somebody who may decide.")
        .route(
            get(
                "/v1/approvals",
                "list_approvals",
                "Lists what waits for a decision, the oldest first",
            )
            .detail(
                "Questions to somebody above, and handoffs that a person must approve. Agents \
                     see those that they asked, or that they are asked.",
            )
            .query::<ApprovalsAsked>()
            .answers::<Vec<HandoffLine>>(200, "A page of them.")
            .in_pages(),
            list,
        )
        .route(
            post("/v1/approvals/{id}/decide", "decide", "Decides a question")
                .detail(
                    "Takes the question, if nobody has yet, and sends the decision back to the \
                     one who asked, whose work then goes on.",
                )
                .path::<HandoffId>("id", "Which question.")
                .takes::<Decision>()
                .example(json!({ "approved": true, "decision": "keep both for a month" }))
                .may_be_refused_as("accept")
                .changes("return")
                .refuses(&["not-a-question"])
                .answers::<Answer>(200, "What was recorded."),
            decide,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApprovalsAsked {
    /// Asked of this agent, or by it.
    agent: Option<AgentId>,
    /// At most so many, up to 1000.
    limit: Option<usize>,
    /// Where the page begins: from the `Link` of the one before.
    cursor: Option<String>,
}

async fn list(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<ApprovalsAsked>,
    here: Here,
) -> Result<Paged<Vec<HandoffLine>>, Problem> {
    let cursor = Paging::cursor(asked.cursor.as_deref())?;
    let (agent, limit) = (asked.agent, asked.limit);
    let query = HandoffQuery { all: false, agent, questions: true, limit, cursor };
    let Page { items, next } = app.engine.handoffs(viewer, query).await?;
    Ok(Paged::new(&here, items, next))
}

/// A decision.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalDecision")]
struct Decision {
    /// Whether it is yes; no means that the one who asked hears that it failed.
    approved: bool,
    /// In words.
    decision: Text,
    /// The number of the hold, if the question was taken before; the operator may leave it out.
    #[serde(default)]
    fence: Option<Fence>,
}

async fn decide(
    State(app): Shared,
    Caller(actor): Caller,
    key: Key,
    named: Named,
    Input(decision): Input<Decision>,
) -> Answered<Answer> {
    let handoff: HandoffId = named.parsed("id")?;
    let fence = match decision.fence {
        Some(fence) => fence,
        None => held(&app, &actor, &key, handoff).await?,
    };
    let words = serde_json::Value::String(decision.decision.into());
    let words = words.try_into().map_err(|error: baton_protocol::text::TextError| {
        Problem::bad_input(Some("decision".to_owned()), error.to_string())
    })?;
    let status = if decision.approved { ReturnStatus::Success } else { ReturnStatus::Failed };
    let content_type = ContentType::Text;
    let give = GiveBack {
        handoff,
        fence,
        status,
        result: Some(ResultContent { content_type, body: Body::Inline(words) }),
        context_updates: ContextUpdates::default(),
        audit: ReturnAudit::default(),
    };
    submit(&app, actor, &key, Command::Return(Box::new(give))).await.map(Json)
}

/// The fence of the asker's hold on the question, taking it first if nobody has.
async fn held(app: &App, actor: &Actor, key: &Key, id: HandoffId) -> Result<Fence, Problem> {
    if *actor == Actor::Viewer {
        return Err(Refusal::ViewOnly.into());
    }
    let view: HandoffView = app.engine.handoff(actor.clone(), id).await?;
    if view.escalation.is_none() {
        let detail = format!("handoff {id} is a {}, not a question", view.line.kind);
        let hint = "accept it, then return it";
        let status = axum::http::StatusCode::CONFLICT;
        return Err(Problem::new(status, "not-a-question", detail, hint));
    }
    let returned = view.result.as_ref().and_then(|result| result["fence"].as_u64()).map(Fence);
    // A process that was given up for dead must not decide with its successor's fence.
    let held = view.line.fence.filter(|_| !matches!(actor, Actor::Agent(_)));
    if let Some(fence) = held.or(returned) {
        return Ok(fence);
    }
    let unknown = || Refusal::FenceRequired { agent: actor.agent() };
    if view.line.fence.is_some() && key.as_str().is_none() {
        return Err(unknown().into());
    }
    let accept = Command::Accept(Accept::of(id));
    let answer = match submit(app, actor.clone(), &key.part("accept"), accept).await {
        // It is held, and not by what was asked under this key.
        Err(_) if view.line.fence.is_some() => return Err(unknown().into()),
        answer => answer?,
    };
    answer.fence.ok_or_else(|| Refusal::NotAccepted { handoff: id, state: "answered" }.into())
}
