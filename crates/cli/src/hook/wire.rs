//! One connection to a coordinator that is already there, for all that a hook asks.
//!
//! A hook must never keep a person waiting, so nothing here starts a coordinator, asks twice, or
//! tells why it got no answer: no answer is as good as none there.

use std::time::Duration;

use baton_protocol::command::Command;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;

use super::trace;
use crate::caller::Caller;
use crate::identity::Identity;
use crate::line::Line;
use crate::workspace::Workspace;

/// How long a hook talks to the coordinator in all.
const WITHIN: Duration = Duration::from_millis(250);
/// Bytes of one answer.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The connection.
pub(crate) struct Wire {
    sender: SendRequest<Full<Bytes>>,
    token: String,
}

/// Talks to the coordinator of `workspace` for as long as a hook may; nothing if there is none, or
/// a slow one.
pub(crate) fn talk<T>(
    workspace: &Workspace,
    identity: &Identity,
    say: impl AsyncFnOnce(&mut Wire) -> Option<T>,
) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let talked = tokio::time::timeout(WITHIN, async {
            let mut wire = Wire::to(workspace, identity).await?;
            say(&mut wire).await
        });
        talked.await.unwrap_or_else(|_| {
            trace("the coordinator did not answer in time");
            None
        })
    })
}

impl Wire {
    async fn to(workspace: &Workspace, identity: &Identity) -> Option<Self> {
        let token = match &identity.caller {
            Caller::Bearer { token, .. } => token.clone(),
            Caller::Operator | Caller::OperatorAs(_) => return None,
        };
        let stream = Line::Socket(workspace.clone()).connect().await;
        let stream = stream.inspect_err(|lost| trace(&format!("{lost:?}"))).ok()?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some(Self { sender, token })
    }

    /// Reads a view.
    pub(crate) async fn read<T: DeserializeOwned>(&mut self, path: &str) -> Option<T> {
        let (status, bytes) = self.ask(Method::GET, path, None).await?;
        if !(200..300).contains(&status) {
            trace(&format!("{path}: {status}"));
            return None;
        }
        let read = serde_json::from_slice(&bytes);
        read.inspect_err(|error| trace(&format!("{path}: {error}"))).ok()
    }

    /// Says that the agent is there.
    pub(crate) async fn beat(&mut self, identity: &Identity) {
        let path = format!("/v1/agents/{}/heartbeat", identity.agent);
        self.ask(Method::POST, &path, None).await;
    }

    /// Asks for a change, and says whether it was made. Under the same key it is made once.
    pub(crate) async fn command(&mut self, command: &Command, key: &str) -> bool {
        let Ok(body) = serde_json::to_string(command) else { return false };
        let asked = self.ask(Method::POST, "/v1/commands", Some((body, key))).await;
        let done = asked.as_ref().is_some_and(|(status, _)| (200..300).contains(status));
        if let (false, Some((_, bytes))) = (done, asked) {
            trace(&String::from_utf8_lossy(&bytes));
        }
        done
    }

    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<(String, &str)>,
    ) -> Option<(u16, Bytes)> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "baton")
            .header("accept", "application/json")
            .header("authorization", format!("Bearer {}", self.token));
        let mut text = String::new();
        if let Some((body, key)) = body {
            request = request.header("content-type", "application/json");
            request = request.header("idempotency-key", key);
            text = body;
        }
        self.sender.ready().await.ok()?;
        let answer = self.sender.send_request(request.body(Full::from(text)).ok()?).await.ok()?;
        let status = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await.ok()?;
        Some((status, body.to_bytes()))
    }
}
