//! Changing things: one route, every command.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use baton_engine::NewToken;
use baton_engine::view::Answer;
use baton_protocol::agent::Grant;
use baton_protocol::command::{Actor, Command, Submission};
use baton_protocol::id::{AgentId, CommandId};
use baton_protocol::limits::KEY_BYTES_MAX;
use baton_protocol::time::Allowance;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::routes::App;
use crate::wire::{Input, Problem};

/// Takes any command.
pub(crate) async fn submit(
    State(app): State<Arc<App>>,
    Caller(actor): Caller,
    headers: HeaderMap,
    Input(mut command): Input<Command>,
) -> Result<Json<Answer>, Problem> {
    follow(&headers, &mut command);
    let submission = match headers.get("idempotency-key") {
        Some(key) => Submission::keyed(actor, checked(key)?, command),
        None => Submission { id: fresh()?, actor, command },
    };
    Ok(Json(app.engine.submit(submission).await?))
}

/// Lets the command be part of the trace that the request is part of, unless it says otherwise.
/// A header that names no span is as good as none: that is what its standard asks for.
fn follow(headers: &HeaderMap, command: &mut Command) {
    let given = headers.get("traceparent").and_then(|header| header.to_str().ok()?.parse().ok());
    let place = match command {
        Command::Pass(pass) => &mut pass.context.traceparent,
        Command::Accept(accept) => &mut accept.traceparent,
        _ => return,
    };
    *place = place.or(given);
}

/// A key as a caller may choose it.
fn checked(key: &HeaderValue) -> Result<&str, Problem> {
    let key = key.to_str().ok().filter(|key| (1..=KEY_BYTES_MAX).contains(&key.len()));
    key.ok_or_else(|| {
        let detail = format!("not a key; expected 1 to {KEY_BYTES_MAX} printable ASCII bytes");
        Problem::bad_input(Some("Idempotency-Key".to_owned()), detail)
    })
}

/// A name that nobody had before.
fn fresh() -> Result<CommandId, Problem> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let detail = format!("the system gives no random bytes: {error}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", detail, "send a key of your own")
    })?;
    Ok(CommandId::from_bytes(bytes))
}

/// Asks for a token.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenInput {
    agent: AgentId,
    #[serde(default)]
    grant: Grant,
    #[serde(default, rename = "for")]
    span: Option<Allowance>,
}

/// Makes a token. Its secret is in this answer and nowhere else.
pub(crate) async fn create_token(
    State(app): State<Arc<App>>,
    Caller(actor): Caller,
    Input(input): Input<TokenInput>,
) -> Result<Json<NewToken>, Problem> {
    Ok(Json(app.engine.create_token(actor, input.agent, input.grant, input.span).await?))
}

/// Asks for a copy.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackupInput {
    to: PathBuf,
}

/// What was copied.
#[derive(Serialize)]
pub(crate) struct BackupAnswer {
    files: u64,
    bytes: u64,
}

/// Copies the ledger while work goes on.
pub(crate) async fn backup(
    State(app): State<Arc<App>>,
    Caller(actor): Caller,
    Input(input): Input<BackupInput>,
) -> Result<Json<BackupAnswer>, Problem> {
    operator_only(&actor, "back the ledger up")?;
    if !input.to.is_absolute() {
        let detail = "a relative path; expected an absolute one".to_owned();
        return Err(Problem::bad_input(Some("to".to_owned()), detail));
    }
    let (files, bytes) = app.engine.backup(input.to).await?;
    Ok(Json(BackupAnswer { files, bytes }))
}

/// Ends the coordinator; whoever needs it next starts another.
pub(crate) async fn stop(
    State(app): State<Arc<App>>,
    Caller(actor): Caller,
) -> Result<StatusCode, Problem> {
    operator_only(&actor, "stop the coordinator")?;
    app.stopping.send_replace(true);
    Ok(StatusCode::ACCEPTED)
}

/// Refuses agents what only a person may do.
pub(crate) fn operator_only(actor: &Actor, what: &'static str) -> Result<(), Problem> {
    match actor {
        Actor::Operator => Ok(()),
        Actor::Agent(agent) | Actor::OperatorAs(agent) => {
            let agent = agent.clone();
            Err(baton_protocol::refusal::Refusal::OperatorOnly { what, agent }.into())
        }
        Actor::Viewer => Err(baton_protocol::refusal::Refusal::ViewOnly.into()),
        Actor::Coordinator => Err(baton_protocol::refusal::Refusal::CoordinatorOnly.into()),
    }
}
