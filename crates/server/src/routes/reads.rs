//! Reading things. Each answers from committed state.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use baton_engine::view::{
    AgentView, Found, HandoffLine, HandoffView, Inbox, LockView, Package, Stats, Status,
    WorkflowLine, WorkflowView,
};
use baton_engine::{AuditQuery, HandoffQuery, WorkflowQuery};
use baton_protocol::command::Actor;
use baton_protocol::id::{AgentId, HandoffId, WorkflowId};
use baton_protocol::limits::{PAGE_ROWS_MAX, WAIT_MAX};
use baton_protocol::time::{Allowance, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::caller::{Caller, Peer};
use crate::routes::App;
use crate::wire::Problem;

/// Records on a page of the audit, unless asked for otherwise.
const AUDIT_PAGE: usize = 100;

type Answered<T> = Result<Json<T>, Problem>;
type Shared = State<Arc<App>>;

/// The parameters of a query, with the bad one named.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(asked)| Self(asked))
            .map_err(|error| Problem::bad_input(None, error.body_text()))
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    field: &str,
    text: &str,
) -> Result<T, Problem> {
    text.parse()
        .map_err(|error: T::Err| Problem::bad_input(Some(field.to_owned()), error.to_string()))
}

/// Does nothing, for whoever measures what the rest costs.
pub(crate) async fn ping() -> Json<Value> {
    Json(serde_json::json!({ "pong": true }))
}

/// How the coordinator is. At the socket nobody needs to say who asks.
pub(crate) async fn status(State(app): Shared, mut parts: Parts) -> Answered<Status> {
    if !matches!(parts.extensions.get(), Some(Peer::Socket { .. })) {
        Caller::from_request_parts(&mut parts, &app).await?;
    }
    let status = app.engine.status().await?;
    Ok(Json(Status { url: app.url.clone(), ..status }))
}

/// Whether work can be given to this coordinator now.
pub(crate) async fn ready(State(app): Shared) -> Result<&'static str, Problem> {
    let hint = "ask another time, or another coordinator";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    if *app.stopping.borrow() {
        return Err(Problem::new(status, "stopping", "the coordinator is about to end", hint));
    }
    app.engine.status().await?;
    Ok("ready")
}

pub(crate) async fn agents(State(app): Shared, Caller(viewer): Caller) -> Answered<Vec<AgentView>> {
    Ok(Json(app.engine.agents(viewer).await?))
}

pub(crate) async fn agent(
    State(app): Shared,
    Caller(viewer): Caller,
    Path(id): Path<String>,
) -> Answered<AgentView> {
    Ok(Json(app.engine.agent(viewer, parsed("id", &id)?).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowsAsked {
    #[serde(default)]
    status: Which,
    limit: Option<usize>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Which {
    #[default]
    Open,
    All,
}

pub(crate) async fn workflows(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<WorkflowsAsked>,
) -> Answered<Vec<WorkflowLine>> {
    let query = WorkflowQuery { all: matches!(asked.status, Which::All), limit: asked.limit };
    Ok(Json(app.engine.workflows(viewer, query).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waiting {
    wait: Option<Allowance>,
}

pub(crate) async fn workflow(
    State(app): Shared,
    Caller(viewer): Caller,
    Path(id): Path<String>,
    Asked(asked): Asked<Waiting>,
) -> Answered<WorkflowView> {
    let id: WorkflowId = parsed("id", &id)?;
    let done = |view: &WorkflowView| view.line.status != "open";
    let ask = || app.engine.workflow(viewer.clone(), id);
    Ok(Json(until(&app, asked.wait, done, ask).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandoffsAsked {
    #[serde(default)]
    state: Which,
    agent: Option<AgentId>,
    limit: Option<usize>,
}

pub(crate) async fn handoffs(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<HandoffsAsked>,
) -> Answered<Vec<HandoffLine>> {
    let all = matches!(asked.state, Which::All);
    let query = HandoffQuery { all, agent: asked.agent, limit: asked.limit };
    Ok(Json(app.engine.handoffs(viewer, query).await?))
}

pub(crate) async fn handoff(
    State(app): Shared,
    Caller(viewer): Caller,
    Path(id): Path<String>,
    Asked(asked): Asked<Waiting>,
) -> Answered<HandoffView> {
    let id: HandoffId = parsed("id", &id)?;
    let done = |view: &HandoffView| matches!(view.line.state.as_str(), "completed" | "failed");
    let ask = || app.engine.handoff(viewer.clone(), id);
    Ok(Json(until(&app, asked.wait, done, ask).await?))
}

pub(crate) async fn package(
    State(app): Shared,
    Caller(viewer): Caller,
    Path(id): Path<String>,
) -> Answered<Package> {
    Ok(Json(app.engine.package(viewer, parsed("id", &id)?).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InboxAsked {
    agent: Option<AgentId>,
    wait: Option<Allowance>,
}

pub(crate) async fn inbox(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<InboxAsked>,
) -> Answered<Inbox> {
    let agent = asked.agent.unwrap_or_else(|| viewer.agent());
    if let Actor::Agent(own) = &viewer
        && *own != agent
    {
        return Err(baton_protocol::refusal::Refusal::UnknownAgent { agent }.into());
    }
    let ask = || app.engine.inbox(agent.clone());
    Ok(Json(until(&app, asked.wait, |inbox| !inbox.waiting.is_empty(), ask).await?))
}

pub(crate) async fn find(
    State(app): Shared,
    Caller(viewer): Caller,
    Path(prefix): Path<String>,
) -> Answered<Found> {
    Ok(Json(app.engine.find(viewer, &prefix).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditAsked {
    workflow: Option<WorkflowId>,
    handoff: Option<HandoffId>,
    from: Option<AgentId>,
    to: Option<AgentId>,
    agent: Option<AgentId>,
    #[serde(rename = "type")]
    kind: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    after: Option<u64>,
    limit: Option<usize>,
    newest: Option<bool>,
}

/// Records, and where the next page begins.
#[derive(Serialize)]
pub(crate) struct AuditAnswer {
    records: Vec<Value>,
    next: Option<u64>,
}

pub(crate) async fn audit(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<AuditAsked>,
) -> Answered<AuditAnswer> {
    let kinds = asked.kind.iter().flat_map(|kinds| kinds.split(',')).map(str::to_owned).collect();
    let newest = asked.newest.unwrap_or(false);
    let limit = asked.limit.unwrap_or(AUDIT_PAGE).min(PAGE_ROWS_MAX);
    let query = AuditQuery {
        workflow: asked.workflow,
        handoff: asked.handoff,
        from: asked.from,
        to: asked.to,
        agent: asked.agent,
        kinds,
        since: asked.since,
        until: asked.until,
        after: asked.after,
        before: None,
        limit: Some(limit),
        newest,
    };
    let records = app.engine.audit(viewer, query).await?;
    let more = !newest && records.len() == limit;
    let next = records.last().filter(|_| more).and_then(|record| record["seq"].as_u64());
    Ok(Json(AuditAnswer { records, next }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatsAsked {
    workflow: Option<WorkflowId>,
}

pub(crate) async fn stats(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<StatsAsked>,
) -> Answered<Stats> {
    Ok(Json(match asked.workflow {
        Some(id) => app.engine.workflow_stats(viewer, id).await?,
        None => app.engine.stats().await?,
    }))
}

pub(crate) async fn locks(State(app): Shared, _: Caller) -> Answered<Vec<LockView>> {
    Ok(Json(app.engine.locks().await?))
}

/// Asks again with every change until `done`, or until the time is up.
async fn until<T, F: Future<Output = Result<T, baton_engine::QueryError>>>(
    app: &App,
    wait: Option<Allowance>,
    done: impl Fn(&T) -> bool,
    ask: impl Fn() -> F,
) -> Result<T, Problem> {
    let wait = wait.map_or(Duration::ZERO, |span| {
        Duration::from_micros(u64::try_from(span.min(WAIT_MAX).as_micros()).unwrap_or(0))
    });
    let mut changes = app.engine.changes();
    let mut stopping = app.stopping.subscribe();
    let deadline = tokio::time::Instant::now() + wait;
    loop {
        changes.mark_unchanged();
        let answer = ask().await?;
        if done(&answer) || *stopping.borrow_and_update() {
            return Ok(answer);
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return Ok(answer) },
            _ = stopping.changed() => (),
            () = tokio::time::sleep_until(deadline) => return Ok(answer),
        }
    }
}
