//! Workflow definitions, and what moves the work that follows them.

use axum::Json;
use axum::extract::State;
use baton_engine::DefinitionLine;
use baton_protocol::command::{FailStep, MoveTo, RaiseSignal};
use baton_protocol::definition::Definition;
use baton_protocol::id::WorkflowId;

use super::{Answered, Shared};
use crate::api::{Api, Change, get, post};
use crate::caller::Caller;
use crate::wire::Named;

pub(super) fn routes(api: Api) -> Api {
    const WORKFLOW: &[(&str, &[&str])] = &[("id", &["workflow"])];
    api.section("definitions", "How work of one kind travels, and what moves it.")
        .route(
            get("/v1/definitions", "list_definitions", "Lists the definitions that are known")
                .answers::<Vec<DefinitionLine>>(200, "The definitions, by name and version."),
            list,
        )
        .route(
            get("/v1/definitions/{name}", "show_definition", "Shows a definition")
                .path::<String>("name", "Its name, for the newest, or `name@version`.")
                .answers::<Definition>(200, "The definition.")
                .refuses(&["unknown-definition"]),
            show,
        )
        .change(
            post("/v1/definitions", "define", "Makes a definition known")
                .detail("Only a person may. A version never changes once it is known."),
            Change::of::<Definition>("define"),
        )
        .change(
            post("/v1/workflows/{id}/fail", "fail_step", "Says that the step at hand failed")
                .detail("The error monitor tries it again, or ends the work with the reason.")
                .path::<WorkflowId>("id", "Which workflow."),
            Change::of::<FailStep>("fail_step").placed(WORKFLOW),
        )
        .change(
            post("/v1/workflows/{id}/signal", "raise_signal", "Raises a signal")
                .detail("The rules of the definition say what follows.")
                .path::<WorkflowId>("id", "Which workflow."),
            Change::of::<RaiseSignal>("raise_signal").placed(WORKFLOW),
        )
        .change(
            post("/v1/workflows/{id}/move", "move_to", "Moves work to another state")
                .detail("Only a person may, and only along a declared transition.")
                .path::<WorkflowId>("id", "Which workflow."),
            Change::of::<MoveTo>("move_to").placed(WORKFLOW),
        )
}

async fn list(State(app): Shared, Caller(_): Caller) -> Answered<Vec<DefinitionLine>> {
    Ok(Json(app.engine.definitions().await?))
}

async fn show(State(app): Shared, Caller(_): Caller, named: Named) -> Answered<Definition> {
    Ok(Json(app.engine.definition(named.parsed("name")?).await?))
}
