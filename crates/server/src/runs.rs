//! Agents that Baton runs or calls: what they say, and that they are there.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use baton_engine::LogPage;
use baton_protocol::id::{AgentId, HandoffId};
use baton_protocol::limits::WAIT_MAX;
use baton_protocol::time::Allowance;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::commands::operator_only;
use crate::problem::Problem;
use crate::reads::Asked;
use crate::routes::App;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogAsked {
    #[serde(default)]
    after: u64,
    wait: Option<Allowance>,
}

/// What the runs for a handoff said, from a byte on. It waits until there is more, if asked to.
pub(crate) async fn log(
    State(app): State<Arc<App>>,
    Caller(viewer): Caller,
    Path(id): Path<String>,
    Asked(asked): Asked<LogAsked>,
) -> Result<Json<LogPage>, Problem> {
    let id: HandoffId = named(&id)?;
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
pub(crate) async fn heartbeat(
    State(app): State<Arc<App>>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    app.engine.heartbeat(actor, named(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The secret that signs what is sent to an agent.
#[derive(Serialize)]
pub(crate) struct Secret {
    agent: AgentId,
    secret: String,
}

/// Shows the secret to the operator, who gives it to the service.
pub(crate) async fn secret(
    State(app): State<Arc<App>>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Result<Json<Secret>, Problem> {
    operator_only(&actor, "see webhook secrets")?;
    let agent: AgentId = named(&id)?;
    let secret = app.engine.webhook_secret(agent.clone()).await?;
    Ok(Json(Secret { agent, secret }))
}

fn named<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Problem> {
    text.parse()
        .map_err(|error: T::Err| Problem::bad_input(Some("id".to_owned()), error.to_string()))
}
