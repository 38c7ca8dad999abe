//! The routes, and what they share.

mod commands;
mod events;
mod proof;
mod reads;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use baton_engine::Engine;
use tokio::sync::watch;

use self::events::Listeners;

use crate::guard;
use crate::idle;
use crate::idle::Activity;
use crate::metrics::{self, Metrics};
use crate::rate::Rates;
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
    pub(crate) metrics: Metrics,
    /// The names under which callers on the network may ask for this coordinator.
    pub(crate) hosts: Vec<String>,
}

/// All routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(reads::ready))
        .route("/metrics", get(metrics::metrics))
        .route("/v1/status", get(reads::status))
        .route("/v1/commands", post(commands::submit))
        .route("/v1/agents", get(reads::agents))
        .route("/v1/agents/{id}", get(reads::agent))
        .route("/v1/workflows", get(reads::workflows))
        .route("/v1/workflows/{id}", get(reads::workflow))
        .route("/v1/handoffs", get(reads::handoffs))
        .route("/v1/handoffs/{id}", get(reads::handoff))
        .route("/v1/handoffs/{id}/package", get(reads::package))
        .route("/v1/inbox", get(reads::inbox))
        .route("/v1/find/{prefix}", get(reads::find))
        .route("/v1/audit", get(reads::audit))
        .route("/v1/audit/verify", get(proof::verify))
        .route("/v1/audit/checkpoint", get(proof::checkpoint))
        .route("/v1/audit/export", post(proof::export))
        .route("/v1/audit/prune", get(proof::prunable))
        .route("/v1/events", get(events::events))
        .route("/v1/stats", get(reads::stats))
        .route("/v1/locks", get(reads::locks))
        .route("/v1/tokens", post(commands::create_token))
        .route("/v1/backup", post(commands::backup))
        .route("/v1/stop", post(commands::stop))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(axum::middleware::from_fn_with_state(app.clone(), guard::look))
        .layer(axum::middleware::from_fn_with_state(app.clone(), idle::note))
        .layer(axum::middleware::from_fn_with_state(app.clone(), metrics::watch))
        .with_state(app)
}

async fn nowhere() -> Problem {
    let hint = "docs/http.md lists the routes";
    Problem::new(StatusCode::NOT_FOUND, "no-such-route", "there is nothing at this path", hint)
}

async fn not_so() -> Problem {
    let hint = "docs/http.md lists the routes and their methods";
    let status = StatusCode::METHOD_NOT_ALLOWED;
    Problem::new(status, "no-such-method", "this path does not take that method", hint)
}
