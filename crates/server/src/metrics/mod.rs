//! Metrics at `/metrics`, in the text format that Prometheus reads.
//!
//! What is counted here begins anew with the process: requests, by route and by who called. The
//! rest is read from the engine when somebody asks. No label has more values than is written here.

mod state;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::{Method, header, request::Parts};
use axum::response::{IntoResponse, Response};
use baton_protocol::command::Actor;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use self::state::Snapshot;
use crate::api::{Api, get};
use crate::caller::{Caller, Peer};
use crate::routes::App;
use crate::wire::Problem;

/// What the text says it is.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Bounds of what requests take, in seconds. Whoever waits for news may wait a minute.
const SECONDS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 10.0, 60.0];

/// What is counted of the requests.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Requests, Histogram, fn() -> Histogram>,
    callers: Family<Callers, Counter>,
}

/// Which requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Requests {
    method: &'static str,
    route: Route,
    status: u16,
}

/// The template of a route, never the path that was asked for; none is nowhere.
#[derive(Clone, Debug)]
struct Route(Option<MatchedPath>);

impl Route {
    fn as_str(&self) -> &str {
        self.0.as_ref().map_or("nowhere", MatchedPath::as_str)
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Route {}

impl Hash for Route {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.as_str().encode(encoder)
    }
}

/// Who called, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Callers {
    role: &'static str,
    credential: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let requests = Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> _);
        let callers = Family::default();
        let mut registry = Registry::with_prefix("baton");
        registry.register_with_unit(
            "http_request_duration",
            "How long requests took until their answer began, by route template",
            Unit::Seconds,
            requests.clone(),
        );
        registry.register(
            "requests",
            "Requests by the role of whoever called and by what told who that is",
            callers.clone(),
        );
        Self { registry, requests, callers }
    }
}

impl Metrics {
    /// Counts somebody who called; nobody is whoever was turned away.
    pub(crate) fn called(&self, actor: Option<&Actor>, token: bool) {
        let role = match actor {
            Some(Actor::Operator | Actor::OperatorAs(_)) => "operator",
            Some(Actor::Agent(_)) => "agent",
            Some(Actor::Viewer) => "viewer",
            Some(Actor::Coordinator) => "coordinator",
            None => "refused",
        };
        let credential = if token { "token" } else { "none" };
        self.callers.get_or_create(&Callers { role, credential }).inc();
    }
}

pub(crate) fn routes(api: Api) -> Api {
    let text = "Every metric, in the OpenMetrics text format.";
    api.route(
        get("/metrics", "metrics", "Shows metrics for Prometheus")
            .detail(
                "At the workspace's socket a person need not say who asks. Otherwise it takes a \
                 token of the operator's, or of a viewer.",
            )
            .answers_as::<String>(200, "application/openmetrics-text", text)
            .refuses(&["operator-only"]),
        metrics,
    )
}

/// A request that is measured and told of in the log: what was asked for, never by which words.
pub(crate) struct Measured {
    begun: Instant,
    method: &'static str,
    route: Route,
}

impl Measured {
    pub(crate) fn begin(request: &Request) -> Self {
        let route = Route(request.extensions().get::<MatchedPath>().cloned());
        Self { begun: Instant::now(), method: word(request.method()), route }
    }

    pub(crate) fn end(self, metrics: &Metrics, answer: &Response) {
        let Self { begun, method, route } = self;
        let (took, status) = (begun.elapsed(), answer.status().as_u16());
        let ms = took.as_secs_f64() * 1e3;
        tracing::debug!(method, route = route.as_str(), status, ms, "answered");
        let requests = Requests { method, route, status };
        metrics.requests.get_or_create(&requests).observe(took.as_secs_f64());
    }
}

/// The method, if it is one that anybody uses.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// All metrics. At the socket a person need not say who asks; an agent there is told as little of
/// others' work as on the network. A token of the operator's that may only look is enough.
async fn metrics(State(app): State<Arc<App>>, mut parts: Parts) -> Result<Response, Problem> {
    if !matches!(parts.extensions.get(), Some(Peer::Socket { marked: false, .. })) {
        let Caller(actor) = Caller::from_request_parts(&mut parts, &app).await?;
        if let Actor::Agent(agent) = actor {
            let what = "read the metrics";
            return Err(baton_protocol::refusal::Refusal::OperatorOnly { what, agent }.into());
        }
    }
    app.engine.measure().await.map_err(baton_engine::QueryError::from)?;
    let snapshot = Snapshot::take(&app.engine).await?;
    let mut state = Registry::with_prefix("baton");
    state.register_collector(Box::new(snapshot));
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = encode_registry(&mut text, &state)
        .and_then(|()| encode_registry(&mut text, &app.metrics.registry))
        .and_then(|()| encode_eof(&mut text));
    Ok(([(header::CONTENT_TYPE, TEXT)], text).into_response())
}
