//! The past: a workflow as it was at a moment.

use axum::Json;
use axum::extract::State;
use baton_engine::AsOf;
use baton_engine::view::Replayed;
use baton_protocol::id::WorkflowId;
use baton_protocol::time::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answered, Shared};
use crate::api::{Api, get};
use crate::caller::Caller;
use crate::wire::{Asked, Named, Problem};

pub(super) fn routes(api: Api) -> Api {
    api.section("past", "What was, told again from the records.").route(
        get("/v1/workflows/{id}/replay", "replay_workflow", "Shows a workflow as it was once")
            .detail(
                "Give `at` or `seq`. It is told again from the workflow's own records, whether it \
                 is open or over; nothing is decided again.",
            )
            .path::<WorkflowId>("id", "Which workflow.")
            .query::<MomentAsked>()
            .answers::<Replayed>(200, "The workflow at that moment.")
            .refuses(&["unknown-workflow"]),
        replay,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MomentAsked {
    /// With all that was recorded by then.
    at: Option<Timestamp>,
    /// Right after the record of this number.
    seq: Option<u64>,
}

impl MomentAsked {
    fn moment(self) -> Result<AsOf, Problem> {
        match (self.at, self.seq) {
            (Some(at), None) => Ok(AsOf::Time(at)),
            (None, Some(seq)) => Ok(AsOf::Record(seq)),
            (Some(_), Some(_)) | (None, None) => {
                let detail = "no moment is named; expected either `at` or `seq`";
                Err(Problem::bad_input(Some("at".to_owned()), detail))
            }
        }
    }
}

async fn replay(
    State(app): Shared,
    Caller(viewer): Caller,
    named: Named,
    Asked(asked): Asked<MomentAsked>,
) -> Answered<Replayed> {
    let id: WorkflowId = named.parsed("id")?;
    Ok(Json(app.engine.replay(viewer, id, asked.moment()?).await?))
}
