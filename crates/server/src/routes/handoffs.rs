//! Handoffs: passing work on, answering, bringing it back.

use axum::Json;
use axum::extract::State;
use baton_engine::view::{Answer, CompactView, HandoffLine, HandoffView, Package};
use baton_engine::{HandoffQuery, Page};
use baton_protocol::command::{Accept, Cancel, Defer, GiveBack, Pass, Reassign, Reject};
use baton_protocol::id::{AgentId, HandoffId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::wait::{Waiting, until};
use super::{Answered, Shared, Which};
use crate::api::{Api, Change, get, post};
use crate::caller::Caller;
use crate::wire::{Asked, Here, Named, Paged, Paging, Problem};

const HANDOFF: &[(&str, &[&str])] = &[("id", &["handoff"])];
const WHICH: &str = "Which handoff.";

pub(super) fn routes(api: Api) -> Api {
    let api = api.section("handoffs", "Control, context and responsibility, passed on.");
    answers(reads(api))
}

fn reads(api: Api) -> Api {
    api.route(
        get("/v1/handoffs", "list_handoffs", "Lists handoffs of live workflows, the oldest first")
            .query::<HandoffsAsked>()
            .answers::<Vec<HandoffLine>>(200, "A page of handoffs.")
            .in_pages(),
        list,
    )
    .change(
        post("/v1/handoffs", "pass", "Passes work on; without a workflow it begins one")
            .detail("The type is sequential, delegation, broadcast or escalation."),
        Change::of::<Pass>("pass").making(place),
    )
    .route(
        get("/v1/handoffs/{id}", "show_handoff", "Shows one handoff, live or over")
            .path::<HandoffId>("id", WHICH)
            .query::<Waiting>()
            .answers::<HandoffView>(200, "The handoff.")
            .refuses(&["unknown-handoff"]),
        show,
    )
    .route(
        get("/v1/handoffs/{id}/package", "show_package", "Shows everything that its holder gets")
            .path::<HandoffId>("id", WHICH)
            .answers::<Package>(200, "The package.")
            .refuses(&["unknown-handoff"]),
        package,
    )
    .route(
        get("/v1/handoffs/{id}/compact", "show_compact", "Shows a handoff in 500 tokens at most")
            .path::<HandoffId>("id", WHICH)
            .answers::<CompactView>(200, "The compact artifact.")
            .refuses(&["unknown-handoff"]),
        compact,
    )
}

fn answers(api: Api) -> Api {
    api.change(
        post("/v1/handoffs/{id}/accept", "accept", "Takes a handoff; the answer has the fence")
            .path::<HandoffId>("id", WHICH),
        Change::of::<Accept>("accept").placed(HANDOFF),
    )
    .change(
        post("/v1/handoffs/{id}/reject", "reject", "Turns a handoff away")
            .path::<HandoffId>("id", WHICH),
        Change::of::<Reject>("reject").placed(HANDOFF),
    )
    .change(
        post("/v1/handoffs/{id}/defer", "defer", "Asks for time before answering")
            .path::<HandoffId>("id", WHICH),
        Change::of::<Defer>("defer").placed(HANDOFF),
    )
    .change(
        post("/v1/handoffs/{id}/return", "return", "Brings a result back")
            .path::<HandoffId>("id", WHICH),
        Change::of::<GiveBack>("return").placed(HANDOFF),
    )
    .change(
        post("/v1/handoffs/{id}/cancel", "cancel", "Takes a handoff back")
            .path::<HandoffId>("id", WHICH),
        Change::of::<Cancel>("cancel").placed(HANDOFF),
    )
    .change(
        post("/v1/handoffs/{id}/reassign", "reassign_handoff", "Gives it to another")
            .detail("Only a person may.")
            .path::<HandoffId>("id", WHICH),
        Change::of::<Reassign>("reassign").placed(&[("id", &["what", "handoff"])]),
    )
}

/// A broadcast has many; the workflow shows them all.
fn place(answer: &Answer) -> Option<String> {
    let handoff = answer.handoff.map(|id| format!("/v1/handoffs/{id}"));
    handoff.or(answer.workflow.map(|id| format!("/v1/workflows/{id}")))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HandoffsAsked {
    /// Those that are over, too.
    #[serde(default)]
    state: Which,
    /// Passed by or to this agent.
    agent: Option<AgentId>,
    /// At most so many, up to 1000.
    limit: Option<usize>,
    /// Where the page begins: from the `Link` of the one before.
    cursor: Option<String>,
}

async fn list(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<HandoffsAsked>,
    here: Here,
) -> Result<Paged<Vec<HandoffLine>>, Problem> {
    let cursor = Paging::cursor(asked.cursor.as_deref())?;
    let (all, agent, limit) = (asked.state == Which::All, asked.agent, asked.limit);
    let query = HandoffQuery { all, agent, questions: false, limit, cursor };
    let Page { items, next } = app.engine.handoffs(viewer, query).await?;
    Ok(Paged::new(&here, items, next))
}

async fn show(
    State(app): Shared,
    Caller(viewer): Caller,
    named: Named,
    Asked(asked): Asked<Waiting>,
) -> Answered<HandoffView> {
    let id: HandoffId = named.parsed("id")?;
    let done = |view: &HandoffView| matches!(view.line.state.as_str(), "completed" | "failed");
    let ask = || app.engine.handoff(viewer.clone(), id);
    Ok(Json(until(&app, asked.wait, done, ask).await?))
}

async fn compact(
    State(app): Shared,
    Caller(viewer): Caller,
    named: Named,
) -> Answered<CompactView> {
    Ok(Json(app.engine.compact(viewer, named.parsed("id")?).await?))
}

async fn package(State(app): Shared, Caller(viewer): Caller, named: Named) -> Answered<Package> {
    Ok(Json(app.engine.package(viewer, named.parsed("id")?).await?))
}
