//! The coordinator at the other end of a line, for whoever waits without holding others up.

use std::time::Duration;

use baton_protocol::trace::TraceParent;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use super::{Reply, reading};
use crate::caller::Caller;
use crate::failure::{self, Failure};
use crate::launch;
use crate::line::{Line, Lost};
use crate::workspace::Workspace;

/// Bytes of one answer; far above what a page of a view can hold.
pub(super) const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// A line, and who speaks on it.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(super) line: Line,
    pub(super) caller: Caller,
}

/// A question on its way.
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Option<String>,
    pub(super) key: Option<String>,
    pub(super) within: Duration,
    /// Whether asking again is the same as asking once.
    pub(super) repeatable: bool,
}

impl Remote {
    pub(crate) fn new(line: Line, caller: Caller) -> Self {
        Self { line, caller }
    }

    /// The workspace, if it is on this machine.
    pub(super) fn workspace(&self) -> Option<&Workspace> {
        match &self.line {
            Line::Socket(workspace) => Some(workspace),
            Line::Network(_) => None,
        }
    }

    /// Reads a view, or sends a body under a key: the status, and what was said.
    pub(crate) async fn ask(
        &self,
        path: &str,
        body: Option<String>,
        key: Option<String>,
        within: Duration,
    ) -> Result<(u16, String), Failure> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let reading = reading(path.to_owned(), Duration::ZERO);
        let answered = self.asked(&Ask { method, body, key, within, ..reading }).await?;
        Ok((answered.status, answered.reply.json))
    }

    /// Hears a coordinator that is there, from its first word on.
    pub(crate) async fn listen(&self, path: &str) -> Result<Incoming, Failure> {
        let ask = reading(path.to_owned(), Duration::ZERO);
        let request = self.request(&ask);
        let request = request.map_err(|e| self.told(broken(&e), &ask))?;
        let sent = self.send(request).await;
        let (answer, _) = sent.map_err(|lost| self.told(lost, &ask))?;
        match answer.status().as_u16() {
            200..=299 => Ok(answer.into_body()),
            status => Err(failure::from_reply(status, "")),
        }
    }

    /// Asks, has the coordinator started if need be, and asks once more if it died meanwhile.
    pub(super) async fn asked(&self, ask: &Ask) -> Result<Answered, Failure> {
        let mut broken = false;
        let mut launched = false;
        loop {
            match (self.once(ask).await, self.workspace()) {
                (Ok(answered), _) => return Ok(answered),
                (Err(Lost::NobodyThere), Some(workspace)) if !launched => {
                    launched = true;
                    // Others may be under way on this thread while the coordinator comes up.
                    let workspace = workspace.clone();
                    let up = tokio::task::spawn_blocking(move || launch::launch(&workspace)).await;
                    up.map_err(|error| Failure::failed(error.to_string(), "try again"))??;
                }
                (Err(Lost::Broken(_)), _) if !broken && ask.repeatable => {
                    broken = true;
                    launched = false;
                }
                (Err(lost), _) => return Err(self.told(lost, ask)),
            }
        }
    }

    /// Asks a coordinator that is there.
    pub(super) async fn once(&self, ask: &Ask) -> Result<Answered, Lost> {
        let exchanged = tokio::time::timeout(ask.within, self.exchange(ask)).await;
        exchanged.unwrap_or(Err(Lost::Late))
    }

    async fn exchange(&self, ask: &Ask) -> Result<Answered, Lost> {
        let request = self.request(ask).map_err(|e| broken(&e))?;
        let (answer, connection) = self.send(request).await?;
        let status = answer.status().as_u16();
        let next = answer.headers().get("link").and_then(|link| link.to_str().ok());
        let next = next.and_then(next_page).map(str::to_owned);
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        connection.abort();
        let bytes = body.map_err(|e| broken(&e))?.to_bytes();
        let json = String::from_utf8(bytes.to_vec()).map_err(|e| broken(&e))?;
        Ok(Answered { status, reply: Reply { json, next } })
    }

    /// Sends a request on a connection of its own. The task that drives the connection goes on
    /// while the answer's body is read.
    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, JoinHandle<hyper::Result<()>>), Lost> {
        let stream = self.line.connect().await?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|e| broken(&e))?;
        let connection = tokio::spawn(connection);
        let answer = sender.send_request(request).await.map_err(|e| broken(&e))?;
        Ok((answer, connection))
    }

    pub(super) fn request(&self, ask: &Ask) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(&ask.path)
            .header("host", self.line.host())
            .header("accept", "application/json");
        if let Some(key) = &ask.key {
            request = request.header("idempotency-key", key);
        }
        if ask.body.is_some() {
            request = request.header("content-type", "application/json");
        }
        if let Ok(parent) = std::env::var("TRACEPARENT") {
            // Whoever traces this process says so in its environment; nonsense there is its own.
            let parent = parent.parse::<TraceParent>().ok();
            request = parent
                .into_iter()
                .fold(request, |request, parent| request.header("traceparent", parent.to_string()));
        }
        request = match &self.caller {
            Caller::Operator => request,
            Caller::OperatorAs(agent) => request.header("baton-as", agent.as_str()),
            Caller::Bearer { token, on_behalf } => {
                let request = request.header("authorization", format!("Bearer {token}"));
                match on_behalf {
                    Some(agent) => request.header("baton-as", agent.as_str()),
                    None => request,
                }
            }
        };
        request.body(Full::from(ask.body.clone().unwrap_or_default()))
    }

    pub(super) fn told(&self, lost: Lost, ask: &Ask) -> Failure {
        let log = self.workspace().map(|workspace| format!("see {}; ", workspace.log().display()));
        let log = log.unwrap_or_default();
        let mut hint = format!("{log}the same verb with the same --key is safe");
        if !ask.repeatable {
            hint = "it was not asked again, because it may have made a token: `baton token list` \
                    shows what there is, and `baton token revoke` ends what nobody got"
                .to_owned();
        }
        match lost {
            Lost::NobodyThere => match &self.line {
                Line::Socket(_) => Failure::failed("the coordinator went away", hint),
                Line::Network(address) => Failure::failed(
                    format!("nobody answers at {address}"),
                    "check the address, and that `baton serve --listen` runs there",
                ),
            },
            Lost::Broken(why) => {
                if let Line::Network(address) = &self.line
                    && address.is_clear()
                {
                    hint += "; where TLS is spoken, ask with https://";
                }
                Failure::failed(format!("the coordinator broke off the connection: {why}"), hint)
            }
            Lost::Unreachable(why) => Failure::failed(
                format!("cannot reach the coordinator: {why}"),
                match &self.line {
                    Line::Socket(_) => {
                        "the workspace must be yours to use: see who owns its .baton/run"
                    }
                    Line::Network(_) => {
                        "check the address and the network, and whether TLS is spoken there; \
                         BATON_CA names a certificate to trust"
                    }
                },
            ),
            Lost::Late => Failure::failed("the coordinator did not answer in time", hint),
        }
    }
}

pub(super) fn broken(error: &dyn std::fmt::Display) -> Lost {
    Lost::Broken(error.to_string())
}

/// An answer, be it yes or no.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) reply: Reply,
}

impl Answered {
    pub(super) fn granted(self) -> Result<Reply, Failure> {
        match self.status {
            200..=299 => Ok(self.reply),
            status => Err(failure::from_reply(status, &self.reply.json)),
        }
    }
}

/// The path of the next page, as a `Link` header names it.
fn next_page(link: &str) -> Option<&str> {
    link.strip_prefix('<')?.strip_suffix(">; rel=\"next\"")
}
