//! Checking the ledger, exporting from it, and what a prune would drop. All of it is the
//! operator's: it reads everything.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use baton_engine::Export;
use baton_engine::view::{Exported, Prunable, Signed, Verified};
use baton_protocol::id::WorkflowId;
use baton_protocol::retention::Prune;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{App, operator_only};
use crate::api::{Api, Change, get, post};
use crate::caller::Caller;
use crate::wire::{Asked, Input, Problem};

pub(super) fn routes(api: Api) -> Api {
    api.route(
        get("/v1/audit/verify", "verify", "Checks every record, body and checkpoint")
            .query::<VerifyAsked>()
            .answers::<Verified>(200, "What the check found.")
            .refuses(&["view-only"]),
        verify,
    )
    .route(
        get("/v1/audit/checkpoint", "checkpoint", "Signs everything durable")
            .answers::<Signed>(200, "The newest checkpoint and its key.")
            .refuses(&["view-only"]),
        checkpoint,
    )
    .route(
        post("/v1/audit/export", "export", "Writes records to a file that can be checked")
            .detail(
                "It changes nothing in the ledger and takes no key. A file that is there is not \
                 written over.",
            )
            .takes::<ExportInput>()
            .answers::<Exported>(200, "What was written.")
            .refuses(&["unknown-workflow", "disk-full"]),
        export,
    )
    .route(
        get("/v1/audit/prune", "prunable", "Shows what a prune would drop")
            .answers::<Prunable>(200, "Work that is over and past its period.")
            .refuses(&["view-only"]),
        prunable,
    )
    .change(
        post("/v1/audit/prune", "prune", "Drops records of work that is past its period"),
        Change::of::<Prune>("prune").bare(),
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct VerifyAsked {
    /// A key that was kept elsewhere.
    key: Option<String>,
    /// A checkpoint that was kept elsewhere.
    since: Option<String>,
}

async fn verify(
    State(app): State<Arc<App>>,
    Caller(viewer): Caller,
    Asked(asked): Asked<VerifyAsked>,
) -> Result<Json<Verified>, Problem> {
    operator_only(&viewer, "check the whole ledger")?;
    Ok(Json(app.engine.verify(asked.key.as_deref(), asked.since).await?))
}

async fn checkpoint(
    State(app): State<Arc<App>>,
    Caller(viewer): Caller,
) -> Result<Json<Signed>, Problem> {
    operator_only(&viewer, "see the checkpoint")?;
    Ok(Json(app.engine.checkpoint().await?))
}

/// Asks for a bundle.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportInput {
    /// The file, as an absolute path on the coordinator's machine.
    #[schemars(with = "String")]
    to: PathBuf,
    /// Only of this workflow.
    #[serde(default)]
    workflow: Option<WorkflowId>,
    /// From this checkpoint on.
    #[serde(default)]
    since: Option<String>,
}

async fn export(
    State(app): State<Arc<App>>,
    Caller(actor): Caller,
    Input(input): Input<ExportInput>,
) -> Result<Json<Exported>, Problem> {
    operator_only(&actor, "export the ledger")?;
    let ExportInput { to, workflow, since } = input;
    if !to.is_absolute() {
        let detail = "a relative path; expected an absolute one".to_owned();
        return Err(Problem::bad_input(Some("to".to_owned()), detail));
    }
    Ok(Json(app.engine.export(Export { workflow, since, to }).await?))
}

async fn prunable(
    State(app): State<Arc<App>>,
    Caller(viewer): Caller,
) -> Result<Json<Prunable>, Problem> {
    operator_only(&viewer, "see what can be pruned")?;
    Ok(Json(app.engine.prunable().await?))
}
