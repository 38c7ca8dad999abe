//! History as messages between agents.

use axum::extract::State;
use baton_engine::view::{Message, MessageType};
use baton_engine::{MessageQuery, Page};
use baton_protocol::command::Actor;
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
            .detail(
                "Agents hear what concerns them, and so does whoever asks on behalf of one. A page \
                 may be short although there is more.",
            )
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
    /// The newest so many instead, up to 1000, the oldest of them first; without a cursor.
    last: Option<usize>,
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
    let viewer = ears(viewer);
    if let Some(most) = asked.last {
        if query.after.is_some() {
            let detail = "not together with a cursor; the newest have no page before them";
            return Err(Problem::bad_input(Some("last".to_owned()), detail));
        }
        let items = app.engine.latest_messages(viewer, query, most).await?;
        return Ok(Paged::new(&here, items, None::<u64>));
    }
    let Page { items, next } = app.engine.messages(viewer, query).await?;
    Ok(Paged::new(&here, items, next))
}

/// Who listens: whoever asks on behalf of an agent hears what that agent would hear, so that a
/// person can see what reaches it.
pub(super) fn ears(viewer: Actor) -> Actor {
    match viewer {
        Actor::OperatorAs(agent) => Actor::Agent(agent),
        Actor::Operator | Actor::Agent(_) | Actor::Viewer | Actor::Coordinator => viewer,
    }
}

pub(super) fn kind_of(word: &str) -> Result<MessageType, Problem> {
    let kind = typed(serde_json::Value::from(word), "");
    kind.map_err(|problem| Problem::bad_input(Some("type".to_owned()), problem.detail()))
}
