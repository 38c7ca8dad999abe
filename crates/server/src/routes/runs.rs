//! Agents that Baton runs or calls: what they say, and that they are there.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use baton_engine::LogPage;
use baton_protocol::id::{AgentId, HandoffId};
use baton_protocol::limits::WAIT_MAX;
use baton_protocol::time::Allowance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answered, Shared, operator_only};
use crate::api::{Api, get, post};
use crate::caller::Caller;
use crate::wire::{Asked, Named, Problem};

pub(super) fn routes(api: Api) -> Api {
    api.section("runs", "Agents that Baton runs or calls by itself.")
        .route(
            get("/v1/handoffs/{id}/log", "show_log", "Shows what the runs for a handoff said")
                .detail("Secrets are masked. `next` is the `after` of the next part.")
                .path::<HandoffId>("id", "Which handoff.")
                .query::<LogAsked>()
                .answers::<LogPage>(200, "A part of the log.")
                .refuses(&["unknown-handoff"]),
            log,
        )
        .route(
            post("/v1/agents/{id}/heartbeat", "heartbeat", "Says that an agent is there")
                .detail("An agent speaks only of itself. What is no news is not recorded.")
                .path::<AgentId>("id", "Which agent.")
                .may_be_refused_as("report_health")
                .answers_nothing(204, "Noted.")
                .refuses(&["view-only"]),
            heartbeat,
        )
        .route(
            get("/v1/agents/{id}/secret", "show_secret", "Shows what signs calls to an agent")
                .detail("Only the operator may.")
                .path::<AgentId>("id", "Which agent.")
                .answers::<Secret>(200, "The secret.")
                .refuses(&["view-only"]),
            secret,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogAsked {
    /// From which byte on.
    #[serde(default)]
    after: u64,
    /// Answers as soon as there is more, and after so long at the latest; at most a minute.
    wait: Option<Allowance>,
}

/// What the runs for a handoff said, from a byte on. It waits until there is more, if asked to.
async fn log(
    State(app): Shared,
    Caller(viewer): Caller,
    named: Named,
    Asked(asked): Asked<LogAsked>,
) -> Answered<LogPage> {
    let id: HandoffId = named.parsed("id")?;
    let wait = asked.wait.map_or(Duration::ZERO, |span| {
        Duration::from_micros(span.min(WAIT_MAX).as_micros().unsigned_abs())
    });
    let deadline = tokio::time::Instant::now() + wait;
    let (mut grown, mut changes) = (app.engine.logs_grown(), app.engine.changes());
    let mut stopping = app.stopping.subscribe();
    loop {
        grown.mark_unchanged();
        changes.mark_unchanged();
        let page = app.engine.log(viewer.clone(), id, asked.after).await?;
        if page.over || !page.text.is_empty() || *stopping.borrow_and_update() {
            return Ok(Json(page));
        }
        tokio::select! {
            _ = grown.changed() => (),
            changed = changes.changed() => if changed.is_err() { return Ok(Json(page)) },
            _ = stopping.changed() => (),
            () = tokio::time::sleep_until(deadline) => return Ok(Json(page)),
        }
    }
}

/// An agent says that it is there.
async fn heartbeat(
    State(app): Shared,
    Caller(actor): Caller,
    named: Named,
) -> Result<StatusCode, Problem> {
    app.engine.heartbeat(actor, named.parsed("id")?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The secret that signs what is sent to an agent.
#[derive(Serialize, JsonSchema)]
struct Secret {
    /// Whose.
    agent: AgentId,
    /// The secret, which begins with `whsec_`.
    secret: String,
}

/// Shows the secret to the operator, who gives it to the service.
async fn secret(State(app): Shared, Caller(actor): Caller, named: Named) -> Answered<Secret> {
    operator_only(&actor, "see webhook secrets")?;
    let agent: AgentId = named.parsed("id")?;
    let secret = app.engine.webhook_secret(agent.clone()).await?;
    Ok(Json(Secret { agent, secret }))
}
