//! History as messages between agents.

use axum::extract::State;
use baton_engine::view::{Message, MessageType};
use baton_engine::{MessageQuery, Page};
use baton_protocol::id::{AgentId, WorkflowId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Shared;
use super::audit::PAGE_ROWS;
use crate::api::{Api, get};
use crate::caller::Caller;
use crate::wire::{Asked, Here, Paged, Paging, Problem, typed};

pub(super) fn routes(api: Api) -> Api {
    api.section("messages", "Each record as a message between agents, from any point on.").route(
        get("/v1/messages", "list_messages", "Lists messages, the oldest first")
            .detail("Agents hear what concerns them. A page may be short although there is more.")
            .query::<MessagesAsked>()
            .answers::<Vec<Message>>(200, "A page of messages.")
            .in_pages()
            .refuses(&["unknown-workflow"]),
        list,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessagesAsked {
    /// Of these types, with commas between them: `AGENT_HANDOFF,TASK_STARTED`.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// From or to this agent.
    agent: Option<AgentId>,
    /// Of this workflow.
    workflow: Option<WorkflowId>,
    /// At most so many, up to 1000.
    limit: Option<usize>,
    /// Where the page begins: a message's `seq`, or from the `Link` of the page before.
    cursor: Option<String>,
}

async fn list(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<MessagesAsked>,
    here: Here,
) -> Result<Paged<Vec<Message>>, Problem> {
    let kinds = asked.kind.iter().flat_map(|kinds| kinds.split(','));
    let types = kinds.map(kind_of).collect::<Result<Vec<MessageType>, Problem>>()?;
    let query = MessageQuery {
        types,
        agent: asked.agent,
        workflow: asked.workflow,
        after: Paging::cursor(asked.cursor.as_deref())?,
        limit: Some(asked.limit.unwrap_or(PAGE_ROWS)),
    };
    let Page { items, next } = app.engine.messages(viewer, query).await?;
    Ok(Paged::new(&here, items, next))
}

pub(super) fn kind_of(word: &str) -> Result<MessageType, Problem> {
    let kind = typed(serde_json::Value::from(word), "");
    kind.map_err(|problem| Problem::bad_input(Some("type".to_owned()), problem.detail()))
}
