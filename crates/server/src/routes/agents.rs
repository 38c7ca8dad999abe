//! Agents: who can take work.

use axum::Json;
use axum::extract::State;
use baton_engine::view::{AgentView, Answer};
use baton_protocol::agent::Profile;
use baton_protocol::command::ReportHealth;
use baton_protocol::event::Event;
use baton_protocol::id::AgentId;
use baton_protocol::limits::AGENTS_MAX;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answered, Shared};
use crate::api::{Api, Change, get, post, put};
use crate::caller::Caller;
use crate::wire::{Asked, Here, Named, Paged, Paging, Problem};

pub(super) fn routes(api: Api) -> Api {
    api.section("agents", "Who can take work, what they can do, and how they are reached.")
        .route(
            get("/v1/agents", "list_agents", "Lists agents by name")
                .query::<AgentsAsked>()
                .answers::<Vec<AgentView>>(200, "A page of agents.")
                .in_pages(),
            list,
        )
        .change(
            post("/v1/agents", "register", "Makes an agent known, or changes what is known")
                .answers::<Answer>(200, "It was known like this already."),
            Change::of::<Profile>("register").making(place),
        )
        .route(
            get("/v1/agents/{id}", "show_agent", "Shows one agent")
                .path::<AgentId>("id", "Which agent.")
                .answers::<AgentView>(200, "The agent."),
            show,
        )
        .change(
            put("/v1/agents/{id}", "put_agent", "Makes this agent known as the body says")
                .path::<AgentId>("id", "Which agent."),
            Change::of::<Profile>("register").placed(&[("id", &["id"])]),
        )
        .change(
            post("/v1/agents/{id}/health", "report_health", "Says that an agent is well, or not")
                .detail("An agent speaks only of itself.")
                .path::<AgentId>("id", "Which agent."),
            Change::of::<ReportHealth>("report_health").placed(&[("id", &["agent"])]),
        )
}

fn place(answer: &Answer) -> Option<String> {
    answer.events.iter().find_map(|event| match event {
        Event::Registered { profile } => Some(format!("/v1/agents/{}", profile.id)),
        _ => None,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentsAsked {
    /// At most so many; absent means all.
    limit: Option<usize>,
    /// Where the page begins: from the `Link` of the one before.
    cursor: Option<String>,
}

async fn list(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<AgentsAsked>,
    here: Here,
) -> Result<Paged<Vec<AgentView>>, Problem> {
    let after: Option<AgentId> = Paging::cursor(asked.cursor.as_deref())?;
    let mut agents = app.engine.agents(viewer).await?;
    if let Some(after) = after {
        agents.retain(|agent| agent.profile.id > after);
    }
    let most = asked.limit.unwrap_or(AGENTS_MAX).clamp(1, AGENTS_MAX);
    let more = agents.len() > most;
    agents.truncate(most);
    let next = agents.last().filter(|_| more).map(|agent| agent.profile.id.clone());
    Ok(Paged::new(&here, agents, next))
}

async fn show(State(app): Shared, Caller(viewer): Caller, named: Named) -> Answered<AgentView> {
    Ok(Json(app.engine.agent(viewer, named.parsed("id")?).await?))
}
