//! A coordinator in a temporary folder, and callers at its socket.

use std::fs;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use baton_server::{Listen, Network, Options, ServeError, Socket};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// How long a coordinator may take to come up.
const UP_WITHIN: Duration = Duration::from_secs(30);

/// What was answered.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        serde_json::from_str(&self.text).expect("JSON")
    }
}

/// A coordinator that runs.
pub(crate) struct Desk {
    folder: TempDir,
    options: Options,
    running: JoinHandle<Result<(), ServeError>>,
}

impl Desk {
    /// A fresh coordinator that knows these agents.
    pub(crate) async fn open(otlp: Option<String>, agents: &[&str]) -> Self {
        Self::with(otlp, None, agents).await
    }

    /// The same, on the network as well.
    pub(crate) async fn on_the_network(agents: &[&str]) -> Self {
        let listen = Listen::At(([127, 0, 0, 1], 0).into());
        let network = Network { listen, tls: None, clear_text: false, hosts: Vec::new() };
        Self::with(None, Some(network), agents).await
    }

    async fn with(otlp: Option<String>, network: Option<Network>, agents: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join(".baton")).expect("a folder");
        let options = Options {
            workspace: folder.path().to_owned(),
            idle_after: None,
            retention: Default::default(),
            packing: Default::default(),
            audit_dir: None,
            outgoing: Default::default(),
            accept_loss: false,
            network,
            requests_per_second: None,
            otlp,
        };
        let desk = Self::start(folder, options).await;
        for agent in agents {
            desk.command(&[], json!({"register": {"id": agent}})).await;
        }
        desk
    }

    async fn start(folder: TempDir, options: Options) -> Self {
        let serving = options.clone();
        let running = std::thread::spawn(move || baton_server::serve(&serving));
        let desk = Self { folder, options, running };
        let up = async {
            while connect(desk.folder.path()).await.is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(UP_WITHIN, up).await.expect("a coordinator");
        desk
    }

    /// Ends the coordinator and starts another on the same ledger.
    pub(crate) async fn restart(self) -> Self {
        let (folder, options) = self.end().await;
        Self::start(folder, options).await
    }

    /// Ends the coordinator.
    pub(crate) async fn close(self) {
        drop(self.end().await);
    }

    async fn end(self) -> (TempDir, Options) {
        assert_eq!(self.ask("POST", "/v1/stop", &[], "").await.status, 202);
        let Self { folder, options, running } = self;
        let ended = tokio::task::spawn_blocking(|| running.join()).await.expect("a thread");
        ended.expect("no panic").expect("a clean end");
        (folder, options)
    }

    /// Asks for a change that is not refused.
    pub(crate) async fn command(&self, headers: &[(&str, &str)], command: Value) -> Value {
        self.ask("POST", "/v1/commands", headers, &command.to_string()).await.json()
    }

    pub(crate) async fn ask_with(&self, method: &str, path: &str, body: Value) -> Reply {
        self.ask(method, path, &[], &body.to_string()).await
    }

    /// Asks at the socket.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let stream = connect(self.folder.path()).await.expect("a socket");
        let mut request = Request::builder().method(method).uri(path).header("host", "baton");
        for (name, value) in headers.iter().chain(&[("content-type", "application/json")]) {
            request = request.header(*name, *value);
        }
        exchange(stream, request.body(Full::from(body.to_owned())).expect("a request")).await
    }

    /// Asks on the network.
    pub(crate) async fn over_the_network(&self, path: &str, authorization: Option<&str>) -> Reply {
        let status = self.ask("GET", "/v1/status", &[], "").await.json();
        let url = status["url"].as_str().expect("an address").to_owned();
        let address = url.strip_prefix("http://").expect("clear text");
        let stream = TcpStream::connect(address).await.expect("a connection");
        let mut request = Request::builder().uri(path).header("host", address);
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        exchange(stream, request.body(Full::default()).expect("a request")).await
    }
}

async fn connect(workspace: &Path) -> Option<UnixStream> {
    let socket = Socket::of(&workspace.join(".baton")).ok()?;
    UnixStream::connect(socket.path()).await.ok()
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Reply {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.expect("an answer");
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    Reply { status, text: String::from_utf8(bytes.to_vec()).expect("UTF-8") }
}
