//! What concerns an agent, what an id names, and the counts.

use axum::Json;
use axum::extract::State;
use baton_engine::view::{Found, Inbox, Stats};
use baton_protocol::command::Actor;
use baton_protocol::id::{AgentId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Allowance;
use schemars::JsonSchema;
use serde::Deserialize;

use super::wait::until;
use super::{Answered, Shared};
use crate::api::{Api, get};
use crate::caller::Caller;
use crate::wire::{Asked, Named};

pub(super) fn routes(api: Api) -> Api {
    api.section("inbox", "What concerns an agent, and what there is.")
        .route(
            get("/v1/inbox", "show_inbox", "Shows what concerns an agent")
                .query::<InboxAsked>()
                .answers::<Inbox>(200, "The inbox."),
            inbox,
        )
        .route(
            get("/v1/find/{prefix}", "find", "Finds what an id, or its beginning, names")
                .path::<String>("prefix", "Hexadecimal digits.")
                .answers::<Found>(200, "What it names.")
                .refuses(&["not-found", "ambiguous-id"]),
            find,
        )
        .route(
            get("/v1/stats", "show_stats", "Counts")
                .detail(
                    "An agent's cover the live work that it has or had a part in, and no records.",
                )
                .query::<StatsAsked>()
                .answers::<Stats>(200, "The counts.")
                .refuses(&["unknown-workflow"]),
            stats,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InboxAsked {
    /// Whose; absent means the caller's.
    agent: Option<AgentId>,
    /// Answers as soon as something waits, and after so long at the latest; at most a minute.
    wait: Option<Allowance>,
}

async fn inbox(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<InboxAsked>,
) -> Answered<Inbox> {
    let agent = asked.agent.unwrap_or_else(|| viewer.agent());
    if let Actor::Agent(own) = &viewer
        && *own != agent
    {
        return Err(Refusal::UnknownAgent { agent }.into());
    }
    let ask = || app.engine.inbox(agent.clone());
    Ok(Json(until(&app, asked.wait, |inbox| !inbox.waiting.is_empty(), ask).await?))
}

async fn find(State(app): Shared, Caller(viewer): Caller, named: Named) -> Answered<Found> {
    let prefix: String = named.parsed("prefix")?;
    Ok(Json(app.engine.find(viewer, &prefix).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatsAsked {
    /// Of this workflow only.
    workflow: Option<WorkflowId>,
}

async fn stats(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<StatsAsked>,
) -> Answered<Stats> {
    Ok(Json(match asked.workflow {
        Some(id) => app.engine.workflow_stats(viewer, id).await?,
        None => app.engine.stats(viewer).await?,
    }))
}
