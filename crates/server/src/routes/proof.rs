//! Checking the ledger, exporting from it, and what a prune would drop. All of it is the
//! operator's: it reads everything.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use baton_engine::Export;
use baton_engine::view::{Exported, Prunable, Signed, Verified};
use baton_protocol::id::WorkflowId;
use serde::Deserialize;

use crate::caller::Caller;
use crate::routes::App;
use crate::routes::commands::operator_only;
use crate::routes::reads::Asked;
use crate::wire::{Input, Problem};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyAsked {
    key: Option<String>,
    since: Option<String>,
}

pub(crate) async fn verify(
    State(app): State<Arc<App>>,
    Caller(viewer): Caller,
    Asked(asked): Asked<VerifyAsked>,
) -> Result<Json<Verified>, Problem> {
    operator_only(&viewer, "check the whole ledger")?;
    Ok(Json(app.engine.verify(asked.key.as_deref(), asked.since).await?))
}

pub(crate) async fn checkpoint(
    State(app): State<Arc<App>>,
    Caller(viewer): Caller,
) -> Result<Json<Signed>, Problem> {
    operator_only(&viewer, "see the checkpoint")?;
    Ok(Json(app.engine.checkpoint().await?))
}

/// Asks for a bundle.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportInput {
    to: PathBuf,
    #[serde(default)]
    workflow: Option<WorkflowId>,
    #[serde(default)]
    since: Option<String>,
}

pub(crate) async fn export(
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

pub(crate) async fn prunable(
    State(app): State<Arc<App>>,
    Caller(viewer): Caller,
) -> Result<Json<Prunable>, Problem> {
    operator_only(&viewer, "see what can be pruned")?;
    Ok(Json(app.engine.prunable().await?))
}
