//! Who calls. It comes from the credential or from the socket, never from the payload.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use baton_engine::{Credential, QueryError};
use baton_protocol::command::Actor;
use baton_protocol::id::AgentId;
use tokio::net::UnixStream;

use crate::marks;
use crate::routes::App;
use crate::tenure::Within;
use crate::wire::Problem;

/// How long whoever asks too fast is kept waiting for an answer.
const HELD_MAX: Duration = Duration::from_millis(100);

/// What is known of the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    /// A process on this machine, at the workspace's socket.
    Socket {
        /// It runs as the system user of the coordinator.
        same_user: bool,
        /// It, or one of its ancestors, was started as an agent.
        marked: bool,
    },
    /// Anybody.
    Network,
}

impl Peer {
    pub(crate) fn of(stream: &UnixStream) -> Self {
        let Ok(peer) = stream.peer_cred() else {
            return Self::Socket { same_user: false, marked: true };
        };
        let same_user = peer.uid() == rustix::process::geteuid().as_raw();
        // Without a process id nobody can tell, and whoever cannot be told apart is an agent.
        let marked = peer.pid().is_none_or(marks::is_marked);
        Self::Socket { same_user, marked }
    }
}

/// The one who calls.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Actor);

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        Ok(Self(Known::from_request_parts(parts, app).await?.actor))
    }
}

/// The one who calls, and by what credential, for whoever must know when that ends.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) actor: Actor,
    /// The token itself with what was found about it; the operator at the socket has none.
    pub(crate) credential: Option<(String, Credential)>,
}

impl FromRequestParts<Arc<App>> for Known {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let token = parts.headers.contains_key(header::AUTHORIZATION);
        let known = Self::tell(parts, app).await;
        app.metrics.called(known.as_ref().ok().map(|known| &known.actor), token);
        known
    }
}

impl Known {
    async fn tell(parts: &Parts, app: &App) -> Result<Self, Problem> {
        let headers = &parts.headers;
        let credential = match headers.get(header::AUTHORIZATION) {
            Some(header) => {
                let known = by_token(app, header.to_str().unwrap_or("")).await?;
                // What one request asks of others counts as one.
                if parts.extensions.get::<Within>().is_none() {
                    in_time(app.rates.take(known.1.token, Instant::now())).await?;
                }
                Some(known)
            }
            None => None,
        };
        let actor = match &credential {
            Some((_, credential)) => credential.actor.clone(),
            None => {
                let peer = parts.extensions.get();
                if let Some(Peer::Network) | None = peer {
                    in_time(app.rates.take_wrong(Instant::now())).await?;
                }
                at_socket(peer)?
            }
        };
        let actor = match actor {
            Actor::Operator => operator(app, headers).await?,
            other @ (Actor::Agent(_)
            | Actor::OperatorAs(_)
            | Actor::Viewer
            | Actor::Coordinator) => {
                as_itself(headers)?;
                other
            }
        };
        Ok(Self { actor, credential })
    }
}

/// Whoever shows no token is the operator, if it is at the socket and could be a person.
fn at_socket(peer: Option<&Peer>) -> Result<Actor, Problem> {
    match peer {
        Some(Peer::Socket { same_user: true, marked: false }) => Ok(Actor::Operator),
        Some(Peer::Socket { same_user: true, marked: true }) => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "operator-only",
            "this process was started as an agent and cannot act as the operator",
            "set BATON_TOKEN to the agent's token (`baton token create --agent NAME`)",
        )),
        Some(Peer::Socket { same_user: false, .. }) => Err(Problem::unauthorized(
            "another system user runs this workspace",
            "ask its operator for a token and set BATON_TOKEN",
        )),
        Some(Peer::Network) | None => Err(Problem::unauthorized(
            "there is no token in this request",
            "send `Authorization: Bearer TOKEN`; `baton token create` makes one",
        )),
    }
}

/// The person who runs the workspace, who may act for an agent by naming it.
async fn operator(app: &App, headers: &HeaderMap) -> Result<Actor, Problem> {
    let Some(name) = headers.get("baton-as") else { return Ok(Actor::Operator) };
    let agent: Result<AgentId, _> = name.to_str().unwrap_or("").parse();
    match agent {
        Ok(agent) if agent.is_operator() => Ok(Actor::Operator),
        Ok(agent) => {
            app.engine.agent(Actor::Operator, agent.clone()).await?;
            Ok(Actor::OperatorAs(agent))
        }
        Err(error) => Err(Problem::bad_input(Some("as".to_owned()), error.to_string())),
    }
}

/// Only the operator acts for others.
fn as_itself(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key("baton-as") {
        let detail = "only the operator may act for an agent, and this token is not the operator's";
        let hint = "leave out Baton-As: an agent acts as itself";
        return Err(Problem::new(StatusCode::FORBIDDEN, "operator-only", detail, hint));
    }
    Ok(())
}

/// The token in a header; the word before it may be written in any case.
pub(crate) fn bearer(header: &str) -> &str {
    match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        Some(_) | None => "",
    }
}

async fn by_token(app: &App, header: &str) -> Result<(String, Credential), Problem> {
    let token = bearer(header);
    if token.is_empty() {
        in_time(app.rates.take_wrong(Instant::now())).await?;
        return Err(Problem::unauthorized(
            "there is no bearer token in the Authorization header",
            "send `Authorization: Bearer TOKEN`, with that word before the token",
        ));
    }
    let found = app.engine.authenticate(token).await.map_err(QueryError::from)?;
    let Some(found) = found else {
        in_time(app.rates.take_wrong(Instant::now())).await?;
        return Err(Problem::unauthorized(
            "this token is unknown, revoked or expired",
            "ask the operator for a new one (`baton token create --agent NAME`)",
        ));
    };
    Ok((token.to_owned(), found))
}

/// Tells whoever asks too fast to wait, and lets it wait for that word too: a loop that does not
/// listen would else take the processor from the others.
async fn in_time(taken: Result<(), Duration>) -> Result<(), Problem> {
    let Err(pause) = taken else { return Ok(()) };
    Box::pin(tokio::time::sleep(pause.min(HELD_MAX))).await;
    let millis = pause.as_millis().max(1);
    let hint = format!("ask again in {millis} ms, and more slowly from then on");
    let detail = "too many requests in a short time";
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-fast", detail, hint);
    Err(problem.with_header(header::RETRY_AFTER, pause.as_secs().max(1).to_string()))
}
