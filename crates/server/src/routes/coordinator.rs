//! The coordinator itself: how it is, a copy of its ledger, and its end.

use std::path::PathBuf;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use baton_engine::view::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answered, Shared, operator_only};
use crate::api::{Api, get, post};
use crate::caller::{Caller, Peer};
use crate::wire::{Input, Problem};

pub(super) fn routes(api: Api) -> Api {
    api.section("coordinator", "The one process that has the ledger open.")
        .route(
            get("/healthz", "health", "Answers while the coordinator does")
                .for_anybody()
                .answers_as::<String>(200, "text/plain", "`ok`."),
            async || "ok",
        )
        .route(
            get("/readyz", "readiness", "Answers while the coordinator takes work")
                .for_anybody()
                .answers_as::<String>(200, "text/plain", "`ready`.")
                .refuses(&["stopping"]),
            ready,
        )
        .route(
            get("/v1/ping", "ping", "Does nothing, for whoever measures what the rest costs")
                .for_anybody()
                .answers::<Pong>(200, "Nothing of interest."),
            async || Json(Pong { pong: true }),
        )
        .route(
            get("/v1/status", "show_status", "Shows how the coordinator is")
                .detail("At the workspace's socket nobody needs to say who asks.")
                .answers::<Status>(200, "Its condition."),
            status,
        )
        .route(
            post("/v1/backup", "backup", "Copies the ledger while work goes on")
                .detail("It changes nothing in the ledger and takes no key.")
                .takes::<BackupInput>()
                .answers::<BackupAnswer>(200, "What was copied.")
                .refuses(&["disk-full"]),
            backup,
        )
        .route(
            post("/v1/stop", "stop", "Ends the coordinator; whoever needs it next starts another")
                .answers_nothing(202, "It ends.")
                .refuses(&["view-only"]),
            stop,
        )
}

async fn status(State(app): Shared, mut parts: Parts) -> Answered<Status> {
    if !matches!(parts.extensions.get(), Some(Peer::Socket { .. })) {
        Caller::from_request_parts(&mut parts, &app).await?;
    }
    let status = app.engine.status().await?;
    Ok(Json(Status { url: app.url.clone(), ..status }))
}

async fn ready(State(app): Shared) -> Result<&'static str, Problem> {
    if *app.stopping.borrow() {
        let hint = "ask another time, or another coordinator";
        let detail = "the coordinator is about to end";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", detail, hint));
    }
    app.engine.status().await?;
    Ok("ready")
}

/// An answer without content.
#[derive(Serialize, JsonSchema)]
struct Pong {
    /// Always.
    pong: bool,
}

/// Asks for a copy.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BackupInput {
    /// An empty or new folder, as an absolute path on the coordinator's machine.
    #[schemars(with = "String")]
    to: PathBuf,
}

/// What was copied.
#[derive(Serialize, JsonSchema)]
struct BackupAnswer {
    /// How many files.
    files: u64,
    /// How many bytes.
    bytes: u64,
}

async fn backup(
    State(app): Shared,
    Caller(actor): Caller,
    Input(input): Input<BackupInput>,
) -> Answered<BackupAnswer> {
    operator_only(&actor, "back the ledger up")?;
    if !input.to.is_absolute() {
        let detail = "a relative path; expected an absolute one".to_owned();
        return Err(Problem::bad_input(Some("to".to_owned()), detail));
    }
    let (files, bytes) = app.engine.backup(input.to).await?;
    Ok(Json(BackupAnswer { files, bytes }))
}

async fn stop(State(app): Shared, Caller(actor): Caller) -> Result<StatusCode, Problem> {
    operator_only(&actor, "stop the coordinator")?;
    app.stopping.send_replace(true);
    Ok(StatusCode::ACCEPTED)
}
