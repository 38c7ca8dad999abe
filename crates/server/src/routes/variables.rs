//! What a workflow knows. The version of a variable is its `ETag`, and `If-Match` guards a write.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use baton_engine::view::Answer;
use baton_protocol::command::{Actor, Command, SetVariables};
use baton_protocol::id::{Fence, WorkflowId};
use baton_protocol::text::VariableValue;
use baton_protocol::variables::{Changes, Variable, VariableName};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Answered, App, Shared};
use crate::api::{Api, Change, get, post, put, submit};
use crate::caller::Caller;
use crate::wire::{Input, Key, Named, Problem};

pub(super) fn routes(api: Api) -> Api {
    let one = "/v1/workflows/{id}/variables/{name}";
    api.section("variables", "What a workflow knows.")
        .route(
            get("/v1/workflows/{id}/variables", "list_variables", "Shows all variables")
                .path::<WorkflowId>("id", "Of which workflow.")
                .answers::<BTreeMap<String, Variable>>(200, "The variables, by name.")
                .refuses(&["unknown-workflow"]),
            list,
        )
        .change(
            post("/v1/workflows/{id}/variables", "set_variables", "Writes several, all or none")
                .path::<WorkflowId>("id", "Of which workflow."),
            Change::of::<SetVariables>("set_variables").placed(&[("id", &["workflow"])]),
        )
        .route(
            get(one, "show_variable", "Shows one variable")
                .path::<WorkflowId>("id", "Of which workflow.")
                .path::<VariableName>("name", "Which variable.")
                .answers::<Variable>(200, "The variable.")
                .with("ETag", "Its version, for `If-Match`.")
                .refuses(&["unknown-workflow", "no-such-variable"]),
            show,
        )
        .route(
            put(one, "set_variable", "Writes one variable")
                .detail(
                    "With `If-Match` it is written only if it still has that version (`*`: if it \
                     is there at all), with `If-None-Match: *` only if it is not there yet.",
                )
                .path::<WorkflowId>("id", "Of which workflow.")
                .path::<VariableName>("name", "Which variable.")
                .header("If-Match", "The `ETag` that the writer has seen, or `*`.")
                .header("If-None-Match", "`*`: only if there is none.")
                .takes::<Written>()
                .example(json!({ "value": "postgres", "fence": 2 }))
                .changes("set_variables")
                .refuses_as(412, "stale-variable")
                .answers::<Answer>(200, "What was recorded."),
            write,
        )
}

async fn list(
    State(app): Shared,
    Caller(viewer): Caller,
    named: Named,
) -> Answered<BTreeMap<String, Variable>> {
    Ok(Json(app.engine.variables(viewer, named.parsed("id")?).await?))
}

async fn show(
    State(app): Shared,
    Caller(viewer): Caller,
    named: Named,
) -> Result<Response, Problem> {
    let (id, name): (WorkflowId, VariableName) = (named.parsed("id")?, named.parsed("name")?);
    let Some(variable) = find(&app, viewer, id, &name).await? else {
        let detail = format!("workflow {id} has no variable {name}");
        let hint = format!("GET /v1/workflows/{id}/variables shows what there is");
        return Err(Problem::new(StatusCode::NOT_FOUND, "no-such-variable", detail, hint));
    };
    let tag = HeaderValue::from_str(&format!("\"{}\"", variable.version));
    let mut response = Json(variable).into_response();
    if let Ok(tag) = tag {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

async fn find(
    app: &App,
    viewer: Actor,
    id: WorkflowId,
    name: &VariableName,
) -> Result<Option<Variable>, Problem> {
    Ok(app.engine.variables(viewer, id).await?.remove(name.as_str()))
}

/// A new value.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "VariableWrite")]
struct Written {
    /// What it says from now on.
    value: VariableValue,
    /// The writer's hold. Only the operator may leave it out.
    #[serde(default)]
    fence: Option<Fence>,
}

/// What must be so for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// Nothing beyond the rules.
    None,
    /// There is one.
    Exists,
    /// It has this version still.
    Version(u64),
    /// There is none yet.
    Absent,
}

fn guard(headers: &HeaderMap) -> Result<Guard, Problem> {
    let said = |name: header::HeaderName| {
        headers.get(&name).map(|value| (name, value.to_str().unwrap_or("").trim().to_owned()))
    };
    let wrong = |name: &header::HeaderName, expected: &str| {
        let detail = format!("not a condition that can be met; expected {expected}");
        Problem::bad_input(Some(name.to_string()), detail)
    };
    match (said(header::IF_MATCH), said(header::IF_NONE_MATCH)) {
        (None, None) => Ok(Guard::None),
        (Some((_, tag)), None) if tag == "*" => Ok(Guard::Exists),
        (Some((name, tag)), None) => {
            let version = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
            // One version has one tag: `"+1"` and `"01"` were never given out.
            let version =
                version.and_then(|tag| tag.parse().ok().filter(|n: &u64| n.to_string() == tag));
            version.map(Guard::Version).ok_or_else(|| wrong(&name, "one ETag, or `*`"))
        }
        (None, Some((_, tag))) if tag == "*" => Ok(Guard::Absent),
        (_, Some((name, _))) => Err(wrong(&name, "`*`, and no If-Match beside it")),
    }
}

async fn write(
    State(app): State<Arc<App>>,
    Caller(actor): Caller,
    key: Key,
    named: Named,
    headers: HeaderMap,
    Input(Written { value, fence }): Input<Written>,
) -> Answered<Answer> {
    let workflow: WorkflowId = named.parsed("id")?;
    let name: VariableName = named.parsed("name")?;
    let guard = guard(&headers)?;
    if matches!(guard, Guard::Exists | Guard::Version(_))
        && find(&app, actor.clone(), workflow, &name).await?.is_none()
    {
        // A variable never goes away, so what is not there never had the version asked for.
        let detail = format!("workflow {workflow} has no variable {name}");
        let hint = "write it without If-Match";
        let status = StatusCode::PRECONDITION_FAILED;
        return Err(Problem::new(status, "stale-variable", detail, hint));
    }
    let if_version = match guard {
        Guard::None | Guard::Exists => None,
        Guard::Version(version) => Some(version),
        // No write has this version, so any that happened stands in the way.
        Guard::Absent => Some(0),
    };
    let changes = Changes::from([(name, value)]);
    let set = SetVariables { workflow, fence, changes, if_version };
    let answer = submit(&app, actor, &key, Command::SetVariables(set)).await;
    match answer {
        Err(problem) if guard != Guard::None && problem.code() == "stale-variable" => {
            Err(problem.of_precondition())
        }
        answer => answer.map(Json),
    }
}
