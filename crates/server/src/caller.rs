//! Who calls. It comes from the credential or from the socket, never from the payload.

use std::sync::Arc;

use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::serve::IncomingStream;
use baton_protocol::command::Actor;
use baton_protocol::id::AgentId;
use tokio::net::UnixListener;

use crate::marks;
use crate::routes::App;
use crate::wire::Problem;

/// What the socket knows of the process at its other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// It runs as the system user of the coordinator.
    same_user: bool,
    /// It, or one of its ancestors, was started as an agent.
    marked: bool,
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        let Ok(peer) = stream.io().peer_cred() else {
            return Self { same_user: false, marked: true };
        };
        let same_user = peer.uid() == rustix::process::geteuid().as_raw();
        // Without a process id nobody can tell, and whoever cannot be told apart is an agent.
        let marked = peer.pid().is_none_or(marks::is_marked);
        Self { same_user, marked }
    }
}

/// The one who calls.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Actor);

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let State(app) = State::<Arc<App>>::from_request_parts(parts, app)
            .await
            .unwrap_or_else(|never| match never {});
        if let Some(token) = parts.headers.get(header::AUTHORIZATION) {
            return by_token(&app, token.to_str().unwrap_or("")).await;
        }
        let peer = ConnectInfo::<Peer>::from_request_parts(parts, &app).await;
        match peer {
            Ok(ConnectInfo(Peer { same_user: true, marked: false })) => {
                let caller = operator(&parts.headers)?;
                if let Actor::OperatorAs(agent) = &caller.0 {
                    app.engine.agent(Actor::Operator, agent.clone()).await?;
                }
                Ok(caller)
            }
            Ok(ConnectInfo(Peer { same_user: true, marked: true })) => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "operator-only",
                "this process was started as an agent and cannot act as the operator",
                "set BATON_TOKEN to the agent's token (`baton token create --agent NAME`)",
            )),
            Ok(ConnectInfo(Peer { same_user: false, .. })) | Err(_) => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "another system user runs this workspace",
                "ask its operator for a token and set BATON_TOKEN",
            )),
        }
    }
}

/// The person at the terminal, who may act for an agent by naming it.
fn operator(headers: &HeaderMap) -> Result<Caller, Problem> {
    let Some(name) = headers.get("baton-as") else { return Ok(Caller(Actor::Operator)) };
    let agent: Result<AgentId, _> = name.to_str().unwrap_or("").parse();
    match agent {
        Ok(agent) if agent.is_operator() => Ok(Caller(Actor::Operator)),
        Ok(agent) => Ok(Caller(Actor::OperatorAs(agent))),
        Err(error) => Err(Problem::bad_input(Some("as".to_owned()), error.to_string())),
    }
}

async fn by_token(app: &App, header: &str) -> Result<Caller, Problem> {
    let token = header.strip_prefix("Bearer ").unwrap_or("");
    let agent = app.engine.authenticate(token).await.map_err(baton_engine::QueryError::from)?;
    agent.map(|agent| Caller(Actor::Agent(agent))).ok_or_else(|| {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "this token is unknown, revoked or expired",
            "the operator can make a new one: `baton token create --agent NAME`",
        )
    })
}
