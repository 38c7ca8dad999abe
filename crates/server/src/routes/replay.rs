//! The past: a workflow as it was at a moment, and what other rules would have made of it.

use axum::Json;
use axum::extract::State;
use baton_engine::AsOf;
use baton_engine::view::{Replayed, WhatIf};
use baton_protocol::id::WorkflowId;
use baton_protocol::policy::Policy;
use baton_protocol::time::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answered, Shared, operator_only};
use crate::api::{Api, get, post};
use crate::caller::Caller;
use crate::wire::{Asked, Input, Named, Problem};

pub(super) fn routes(api: Api) -> Api {
    let api = api.section("past", "What was, told again from the records.").route(
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
    );
    api.route(
        post("/v1/what-if", "what_if", "Decides recorded handoffs again under another policy")
            .detail(
                "Lists what would differ, each decision by itself in the world as it was. Nothing \
                 is recorded. Only a person may.",
            )
            .takes::<WhatIfAsked>()
            .answers::<WhatIf>(200, "What would differ.")
            .refuses(&["bad-rule", "rule-twice", "too-many", "operator-only", "view-only"]),
        what_if,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WhatIfAsked {
    /// The other rules; what is left out is as it is by default.
    policy: Policy,
    /// Handoffs that were recorded from then on; a week, if nobody says.
    #[serde(default)]
    since: Option<Timestamp>,
}

async fn what_if(
    State(app): Shared,
    Caller(actor): Caller,
    Input(asked): Input<WhatIfAsked>,
) -> Answered<WhatIf> {
    operator_only(&actor, "ask what other rules would change")?;
    Ok(Json(app.engine.what_if(asked.policy, asked.since).await?))
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
