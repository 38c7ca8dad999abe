//! Guardrails: the rules of the workspace, and what a person decides about work that they stopped.

use axum::Json;
use axum::extract::State;
use baton_protocol::command::{Approve, Deny, FallBack, ResetBreaker, SetLimits};
use baton_protocol::id::{AgentId, HandoffId, WorkflowId};
use baton_protocol::policy::Policy;

use super::{Answered, Shared};
use crate::api::{Api, Change, get, post, put};
use crate::caller::Caller;

pub(super) fn routes(api: Api) -> Api {
    const HANDOFF: &[(&str, &[&str])] = &[("id", &["handoff"])];
    const WORKFLOW: &[(&str, &[&str])] = &[("id", &["workflow"])];
    api.section("guardrails", "The rules of the workspace, and what people decide under them.")
        .route(
            get("/v1/policy", "show_policy", "Shows the rules in force")
                .answers::<Policy>(200, "The policy.")
                .refuses(&["operator-only"]),
            show,
        )
        .change(
            put("/v1/policy", "set_policy", "Sets the rules")
                .detail("What is left out is as it is by default. Only a person may."),
            Change::of::<Policy>("set_policy"),
        )
        .change(
            post("/v1/handoffs/{id}/approve", "approve", "Says yes to a handoff that waits")
                .detail("Only a person may, and never to what comes from itself.")
                .path::<HandoffId>("id", "Which handoff."),
            Change::of::<Approve>("approve").placed(HANDOFF),
        )
        .change(
            post("/v1/handoffs/{id}/deny", "deny", "Says no to a handoff that waits")
                .detail("Only a person may.")
                .path::<HandoffId>("id", "Which handoff."),
            Change::of::<Deny>("deny").placed(HANDOFF),
        )
        .change(
            put("/v1/workflows/{id}/limits", "set_limits", "Changes what a workflow may use")
                .detail("Only a person may.")
                .path::<WorkflowId>("id", "Which workflow."),
            Change::of::<SetLimits>("set_limits").placed(WORKFLOW),
        )
        .change(
            post("/v1/workflows/{id}/fall-back", "fall_back", "Says that a holder goes on alone")
                .path::<WorkflowId>("id", "Which workflow."),
            Change::of::<FallBack>("fall_back").placed(WORKFLOW),
        )
        .change(
            post("/v1/agents/{id}/breaker/reset", "reset_breaker", "Closes a circuit breaker")
                .detail("The agent gets new work again at once. Only a person may.")
                .path::<AgentId>("id", "Which agent."),
            Change::of::<ResetBreaker>("reset_breaker").placed(&[("id", &["agent"])]).bare(),
        )
}

async fn show(State(app): Shared, Caller(viewer): Caller) -> Answered<Policy> {
    Ok(Json(app.engine.policy(viewer).await?))
}
