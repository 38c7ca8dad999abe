//! `/mcp`: MCP over streamable HTTP. What it does goes through the same routes as everything else,
//! with the credential of the request that asked for it.

#[cfg(feature = "conformance")]
mod hang_up;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header, request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use baton_mcp::{Ask, Asker, Desk, Hold, Pieces, Server, Told, Unheard};
use baton_protocol::command::Actor;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use http_body_util::{BodyExt, Limited};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager as OpenSessions;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tower::ServiceExt;

use crate::caller::{Known, Peer};
use crate::routes::App;
use crate::tenure::Within;
use crate::wire::Problem;

/// Bytes of one message, as for every other body.
const MESSAGE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of one answer of ours that is passed on.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long a session that nobody uses is kept.
const SESSION_IDLE: Duration = Duration::from_secs(60 * 60);
/// Sessions at once; the oldest revisions have one for each client.
const SESSIONS_MAX: usize = 1_024;
const SESSIONS_OF_ONE_MAX: usize = 64;
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
/// The first revision without sessions.
const STATELESS_SINCE: &str = "2026-07-28";

/// The routes themselves, as a desk: a request goes straight in.
struct Inside {
    routes: Router,
}

impl Inside {
    async fn send(
        &self,
        from: &Asker,
        method: Method,
        path: &str,
        (body, key): (Body, Option<String>),
    ) -> Result<Response, Unheard> {
        let asked = from.get::<request::Parts>().ok_or_else(|| unheard("nobody asked"))?;
        let mut request = Request::builder().method(method).uri(path);
        if let Some(credential) = asked.headers.get(header::AUTHORIZATION) {
            request = request.header(header::AUTHORIZATION, credential);
        }
        if let Some(host) = asked.headers.get(header::HOST) {
            request = request.header(header::HOST, host);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        request = request.header(header::CONTENT_TYPE, "application/json");
        let mut request = request.body(body).map_err(|error| unheard(&error.to_string()))?;
        request.extensions_mut().insert(Within);
        if let Some(peer) = asked.extensions.get::<Peer>() {
            request.extensions_mut().insert(*peer);
        }
        self.routes.clone().oneshot(request).await.map_err(|never| match never {})
    }
}

fn unheard(why: &str) -> Unheard {
    Unheard { sentence: why.to_owned(), hint: "try again".to_owned() }
}

impl Desk for Inside {
    fn ask<'a>(&'a self, from: &'a Asker, ask: Ask) -> BoxFuture<'a, Result<Told, Unheard>> {
        async move {
            let (method, body) = match &ask.body {
                Some(body) => (Method::POST, Body::from(body.to_string())),
                None => (Method::GET, Body::empty()),
            };
            let answer = self.send(from, method, &ask.path, (body, ask.key)).await?;
            let status = answer.status().as_u16();
            let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(|error| unheard(&error.to_string()))?.to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            Ok(Told { status, body })
        }
        .boxed()
    }

    fn listen<'a>(
        &'a self,
        from: &'a Asker,
        path: String,
    ) -> BoxFuture<'a, Result<Pieces, Unheard>> {
        async move {
            let answer = self.send(from, Method::GET, &path, (Body::empty(), None)).await?;
            match answer.status().is_success() {
                true => {
                    let pieces = answer.into_body().into_data_stream();
                    Ok(StreamExt::boxed(pieces.map(|piece| piece.map_err(io::Error::other))))
                }
                false => Err(unheard("the coordinator does not tell its events")),
            }
        }
        .boxed()
    }

    /// A credential on the network is no proof of a person.
    fn as_person(&self, _: Ask) -> BoxFuture<'_, Option<Result<Told, Unheard>>> {
        std::future::ready(None).boxed()
    }

    fn has_person(&self) -> bool {
        false
    }

    /// Only who stands in the workspace can tell two names of one file.
    fn file(&self, path: &str) -> Result<String, Unheard> {
        Ok(path.to_owned())
    }

    fn note(&self, _: &[Hold]) {}

    /// Sessions come and go here without a word, so none can be told to live.
    fn held_beside(&self, _: &str) -> bool {
        false
    }

    #[cfg(feature = "conformance")]
    fn hang_up(&self, from: &Asker) {
        hang_up::end(from);
    }
}

/// Whose sessions there are. Each belongs to whoever opened it.
struct Keeper {
    app: Arc<App>,
    sessions: Arc<OpenSessions>,
    owners: Mutex<HashMap<String, Actor>>,
}

impl Keeper {
    fn owners(&self) -> MutexGuard<'_, HashMap<String, Actor>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `caller` may go on with this session. What nobody opened is answered further in.
    fn may_use(&self, session: &str, caller: &Actor) -> bool {
        self.owners().get(session).is_none_or(|owner| owner == caller)
    }

    /// Whether another session of this caller fits; those that ended by themselves make room.
    async fn has_room(&self, caller: &Actor) -> bool {
        let open = self.sessions.sessions.read().await;
        let mut owners = self.owners();
        owners.retain(|id, _| open.contains_key(id.as_str()));
        let own = owners.values().filter(|owner| *owner == caller).count();
        owners.len() < SESSIONS_MAX && own < SESSIONS_OF_ONE_MAX
    }
}

/// The route, on top of all others.
pub(crate) fn route(routes: Router, app: Arc<App>) -> Router {
    let desk = Arc::new(Inside { routes });
    let mut sessions = OpenSessions::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE);
    let sessions = Arc::new(sessions);
    // Names and origins are looked at before, as for every route.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(MESSAGE_BYTES_MAX);
    let ending = config.cancellation_token.clone();
    let mut stopping = app.stopping.subscribe();
    tokio::spawn(async move {
        // Streams end with the coordinator; one that is gone ends them, too.
        let _ = stopping.wait_for(|stopping| *stopping).await;
        ending.cancel();
    });
    let service =
        StreamableHttpService::new(move || Ok(Server::new(desk.clone())), sessions.clone(), config);
    let keeper = Arc::new(Keeper { app, sessions, owners: Mutex::default() });
    let route = Router::new().route_service("/mcp", service);
    #[cfg(feature = "conformance")]
    let route = route.layer(axum::middleware::from_fn(hang_up::lead));
    route.layer(axum::middleware::from_fn_with_state(keeper, own_session))
}

/// Lets each caller use its own sessions and no others.
async fn own_session(State(keeper): State<Arc<Keeper>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let known = match Known::from_request_parts(&mut parts, &keeper.app).await {
        Ok(known) => known,
        Err(problem) => return problem.into_response(),
    };
    if !matches!(known.actor, Actor::Agent(_)) {
        let detail = "an MCP session acts as one agent, and this caller is none";
        let hint = "send an agent's token (`baton token create --agent NAME`)";
        return Problem::new(StatusCode::FORBIDDEN, "agent-only", detail, hint).into_response();
    }
    let named = parts.headers.get(SESSION).map(text);
    let version = parts.headers.get(VERSION).map(text);
    let begins = version.is_none_or(|version| version.as_str() < STATELESS_SINCE);
    match &named {
        Some(id) if !keeper.may_use(id, &known.actor) => {
            // In the words that one gets which nobody opened.
            return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
        }
        None if begins && !keeper.has_room(&known.actor).await => {
            let detail = format!(
                "{SESSIONS_OF_ONE_MAX} sessions of this agent are open, or {SESSIONS_MAX} in all"
            );
            let hint = "end one with DELETE";
            let status = StatusCode::TOO_MANY_REQUESTS;
            return Problem::new(status, "too-many-sessions", detail, hint).into_response();
        }
        Some(_) | None => (),
    }
    let answer = next.run(Request::from_parts(parts, body)).await;
    if let (None, Some(begun)) = (named, answer.headers().get(SESSION)) {
        keeper.owners().insert(text(begun), known.actor);
    }
    answer
}

fn text(value: &HeaderValue) -> String {
    value.to_str().unwrap_or_default().to_owned()
}
