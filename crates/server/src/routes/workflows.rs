//! Workflows: one piece of work and its handoffs.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use baton_engine::view::{Answer, WorkflowLine, WorkflowView};
use baton_engine::{Page, WorkflowQuery};
use baton_flow::Flow;
use baton_protocol::command::{CancelWorkflow, Complete, Goto, Progress, Reassign, Start};
use baton_protocol::id::WorkflowId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::wait::{Waiting, until};
use super::{Answered, Shared, Which};
use crate::api::{Api, Change, get, post};
use crate::caller::Caller;
use crate::wire::{Asked, Here, Named, Paged, Paging, Problem};

const MERMAID: &str = "text/vnd.mermaid";
const DOT: &str = "text/vnd.graphviz";
const SVG: &str = "image/svg+xml";

pub(super) fn routes(api: Api) -> Api {
    const WORKFLOW: &[(&str, &[&str])] = &[("id", &["workflow"])];
    let which = "Which workflow.";
    api.section("workflows", "One piece of work and its handoffs.")
        .route(
            get("/v1/workflows", "list_workflows", "Lists workflows, the newest first")
                .detail("Agents see live ones that they had a part in.")
                .query::<WorkflowsAsked>()
                .answers::<Vec<WorkflowLine>>(200, "A page of workflows.")
                .in_pages(),
            list,
        )
        .change(
            post("/v1/workflows", "start", "Begins a workflow; whoever asks holds it"),
            Change::of::<Start>("start").making(place),
        )
        .route(
            get("/v1/workflows/{id}", "show_workflow", "Shows one workflow, live or over")
                .path::<WorkflowId>("id", which)
                .query::<Waiting>()
                .answers::<WorkflowView>(200, "The workflow.")
                .refuses(&["unknown-workflow"]),
            show,
        )
        .route(
            get("/v1/workflows/{id}/flow", "show_flow", "Draws one workflow, live or over")
                .detail(
                    "Agents are its nodes, handoffs its edges. `format` says as what: `json` is \
                     the graph, `mermaid`, `dot` and `svg` are drawings of it.",
                )
                .path::<WorkflowId>("id", which)
                .query::<FlowAsked>()
                .answers::<Flow>(200, "The graph, or a drawing of it.")
                .or_text(&[MERMAID, DOT, SVG])
                .refuses(&["unknown-workflow"]),
            flow,
        )
        .change(
            post("/v1/workflows/{id}/progress", "progress", "Says how it goes; renews locks")
                .path::<WorkflowId>("id", which),
            Change::of::<Progress>("progress").placed(WORKFLOW),
        )
        .change(
            post("/v1/workflows/{id}/goto", "goto", "Says where the work goes next")
                .detail(
                    "A command object: it becomes a pass, a broadcast, a return or a completion, \
                     as the asker's hold allows.",
                )
                .path::<WorkflowId>("id", which)
                .example(json!({ "fence": 2, "goto": "END", "update": { "reason": "done" } })),
            Change::of::<Goto>("goto").placed(WORKFLOW),
        )
        .change(
            post("/v1/workflows/{id}/complete", "complete", "Ends a workflow")
                .path::<WorkflowId>("id", which),
            Change::of::<Complete>("complete").placed(WORKFLOW),
        )
        .change(
            post("/v1/workflows/{id}/cancel", "cancel_workflow", "Calls a workflow off")
                .path::<WorkflowId>("id", which),
            Change::of::<CancelWorkflow>("cancel_workflow").placed(WORKFLOW),
        )
        .change(
            post("/v1/workflows/{id}/reassign", "reassign_workflow", "Gives all of it to another")
                .detail("Only a person may.")
                .path::<WorkflowId>("id", which),
            Change::of::<Reassign>("reassign").placed(&[("id", &["what", "workflow"])]),
        )
}

fn place(answer: &Answer) -> Option<String> {
    answer.workflow.map(|id| format!("/v1/workflows/{id}"))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorkflowsAsked {
    /// Closed ones, too.
    #[serde(default)]
    status: Which,
    /// At most so many, up to 1000.
    limit: Option<usize>,
    /// Where the page begins: from the `Link` of the one before.
    cursor: Option<String>,
}

async fn list(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<WorkflowsAsked>,
    here: Here,
) -> Result<Paged<Vec<WorkflowLine>>, Problem> {
    let cursor = Paging::cursor(asked.cursor.as_deref())?;
    let query = WorkflowQuery { all: asked.status == Which::All, limit: asked.limit, cursor };
    let Page { items, next } = app.engine.workflows(viewer, query).await?;
    Ok(Paged::new(&here, items, next))
}

async fn show(
    State(app): Shared,
    Caller(viewer): Caller,
    named: Named,
    Asked(asked): Asked<Waiting>,
) -> Answered<WorkflowView> {
    let id: WorkflowId = named.parsed("id")?;
    let done = |view: &WorkflowView| view.line.status != "open";
    let ask = || app.engine.workflow(viewer.clone(), id);
    Ok(Json(until(&app, asked.wait, done, ask).await?))
}

/// How a workflow is drawn.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// The graph itself.
    #[default]
    Json,
    /// A Mermaid flowchart.
    Mermaid,
    /// The DOT language of Graphviz.
    Dot,
    /// A drawing.
    Svg,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FlowAsked {
    /// As what.
    #[serde(default)]
    format: Format,
}

async fn flow(
    State(app): Shared,
    Caller(viewer): Caller,
    named: Named,
    Asked(asked): Asked<FlowAsked>,
) -> Result<Response, Problem> {
    let id: WorkflowId = named.parsed("id")?;
    let flow = app.engine.flow(viewer, id).await?;
    let text = |media: &'static str, text: String| {
        // A drawing that is opened by itself must never run or load anything.
        let policy = "default-src 'none'; style-src 'unsafe-inline'";
        let media = format!("{media}; charset=utf-8");
        let heads = [
            (header::CONTENT_TYPE, media.as_str()),
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        (heads, text).into_response()
    };
    Ok(match asked.format {
        Format::Json => Json(flow).into_response(),
        Format::Mermaid => text(MERMAID, baton_flow::mermaid(&flow)),
        Format::Dot => text(DOT, baton_flow::dot(&flow)),
        Format::Svg => text(SVG, baton_flow::svg(&flow)),
    })
}
