//! Artifacts: what a workflow has produced, by reference.

use axum::Json;
use axum::extract::State;
use baton_engine::view::Answer;
use baton_protocol::artifact::Artifact;
use baton_protocol::command::{AddArtifact, MarkArtifact};
use baton_protocol::id::{ArtifactId, WorkflowId};

use super::{Answered, Shared};
use crate::api::{Api, Change, get, post};
use crate::caller::Caller;
use crate::wire::Named;

pub(super) fn routes(api: Api) -> Api {
    let of = "Of which workflow.";
    api.section("artifacts", "What work produces, by reference.")
        .route(
            get("/v1/workflows/{id}/artifacts", "list_artifacts", "Lists what was produced")
                .path::<WorkflowId>("id", of)
                .answers::<Vec<Artifact>>(200, "The artifacts.")
                .refuses(&["unknown-workflow"]),
            list,
        )
        .change(
            post("/v1/workflows/{id}/artifacts", "add_artifact", "Makes an artifact known")
                .path::<WorkflowId>("id", of),
            Change::of::<AddArtifact>("add_artifact")
                .placed(&[("id", &["workflow"])])
                .making(place),
        )
        .change(
            post(
                "/v1/workflows/{id}/artifacts/{artifact}/mark",
                "mark_artifact",
                "Says whether an artifact can be relied on",
            )
            .path::<WorkflowId>("id", of)
            .path::<ArtifactId>("artifact", "Which artifact."),
            Change::of::<MarkArtifact>("mark_artifact")
                .placed(&[("id", &["workflow"]), ("artifact", &["artifact"])]),
        )
}

fn place(answer: &Answer) -> Option<String> {
    answer.workflow.map(|id| format!("/v1/workflows/{id}/artifacts"))
}

async fn list(State(app): Shared, Caller(viewer): Caller, named: Named) -> Answered<Vec<Artifact>> {
    Ok(Json(app.engine.workflow(viewer, named.parsed("id")?).await?.artifacts))
}
