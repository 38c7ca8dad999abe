//! The routes, and what they share. Each file adds its own, described, to the [`Api`].

mod agents;
mod approvals;
mod artifacts;
mod audit;
mod batch;
mod commands;
mod coordinator;
mod definitions;
mod described;
mod events;
mod guards;
mod handoffs;
mod inbox;
mod locks;
mod messages;
mod proof;
mod replay;
mod runs;
mod tokens;
mod variables;
mod wait;
mod workflows;

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Json, Router};
use baton_engine::Engine;
use baton_protocol::command::Actor;
use baton_protocol::refusal::Refusal;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use self::events::Listeners;
use crate::api::Api;
use crate::idle::Activity;
use crate::mcp;
use crate::metrics::{self, Metrics};
use crate::passage;
use crate::rate::Rates;
use crate::tenure::UnderWay;
use crate::wire::Problem;

/// What every request needs.
pub(crate) struct App {
    pub(crate) engine: Arc<Engine>,
    pub(crate) activity: Activity,
    /// Whether the coordinator is about to end; those who wait then stop waiting.
    pub(crate) stopping: watch::Sender<bool>,
    /// Where it listens on the network, if it does.
    pub(crate) url: Option<String>,
    pub(crate) rates: Rates,
    pub(crate) listeners: Listeners,
    pub(crate) under_way: UnderWay,
    pub(crate) metrics: Metrics,
    /// The names under which callers on the network may ask for this coordinator.
    pub(crate) hosts: Vec<String>,
}

type Answered<T> = Result<Json<T>, Problem>;
type Shared = State<Arc<App>>;

/// All routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    let described = all().into_router().fallback(nowhere).method_not_allowed_fallback(not_so);
    let described = watched(described, &app).with_state(app.clone());
    let mcp = watched(mcp::route(described.clone(), app.clone()), &app);
    described.merge(mcp)
}

/// Routes with all that is looked at before and after each request.
fn watched<S: Clone + Send + Sync + 'static>(routes: Router<S>, app: &Arc<App>) -> Router<S> {
    routes.layer(axum::middleware::from_fn_with_state(app.clone(), passage::pass))
}

/// All routes with their descriptions, in the order in which people read them.
fn all() -> Api {
    let api = workflows::routes(Api::new());
    let api = variables::routes(api);
    let api = artifacts::routes(api);
    let api = handoffs::routes(api);
    let api = inbox::routes(api);
    let api = approvals::routes(api);
    let api = definitions::routes(api);
    let api = guards::routes(api);
    let api = locks::routes(api);
    let api = agents::routes(api);
    let api = runs::routes(api);
    let api = tokens::routes(api);
    let api = messages::routes(api);
    let api = events::routes(api);
    let api = audit::routes(api);
    let api = proof::routes(api);
    let api = replay::routes(api);
    let api = commands::routes(api);
    let api = batch::routes(api);
    let api = coordinator::routes(api);
    let api = metrics::routes(api);
    described::routes(api)
}

/// The OpenAPI document of every route there is.
pub fn openapi() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| all().document());
    &DOCUMENT
}

/// Whether what is over is asked for, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Which {
    /// Only what is not over.
    #[default]
    Open,
    /// Everything.
    All,
}

/// Refuses agents what only a person may do.
fn operator_only(actor: &Actor, what: &'static str) -> Result<(), Problem> {
    match actor {
        Actor::Operator => Ok(()),
        Actor::Agent(agent) | Actor::OperatorAs(agent) => {
            let agent = agent.clone();
            Err(Refusal::OperatorOnly { what, agent }.into())
        }
        Actor::Viewer => Err(Refusal::ViewOnly.into()),
        Actor::Coordinator => Err(Refusal::CoordinatorOnly.into()),
    }
}

async fn nowhere() -> Problem {
    let hint = "/v1/docs lists the routes";
    Problem::new(StatusCode::NOT_FOUND, "no-such-route", "there is nothing at this path", hint)
}

async fn not_so() -> Problem {
    let hint = "/v1/docs lists the routes and their methods";
    let status = StatusCode::METHOD_NOT_ALLOWED;
    Problem::new(status, "no-such-method", "this path does not take that method", hint)
}

#[cfg(test)]
mod tests;
