//! The routes on a ledger in memory. Every answer is held against the document.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use baton_engine::{Engine, MemoryLedger, SystemClock};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::ServiceExt;

use crate::caller::Peer;
use crate::idle::Activity;
use crate::rate::Rates;
use crate::routes::{App, openapi, router};

/// An id that nothing has.
pub(super) const NOTHING: &str = "8c5d0f62-3f5e-4b0e-9c2a-0d9c41a7f4b1";
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

pub(super) struct Scene {
    router: Router,
    /// Who is at the socket.
    peer: Peer,
}

/// What a caller got.
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// The ids of what a story made.
pub(super) struct Story {
    pub(super) workflow: String,
    pub(super) handoff: String,
    pub(super) question: String,
}

impl Scene {
    /// Routes with an agent behind them.
    pub(super) async fn new() -> Self {
        let engine = Engine::on(Arc::new(MemoryLedger::default()), Arc::new(SystemClock));
        let app = App {
            engine: Arc::new(engine),
            activity: Activity::default(),
            stopping: watch::Sender::new(false),
            url: None,
            rates: Rates::new(None),
            listeners: Default::default(),
            under_way: Default::default(),
            metrics: Default::default(),
            hosts: Vec::new(),
        };
        let peer = Peer::Socket { same_user: true, marked: false };
        let scene = Self { router: router(Arc::new(app)), peer };
        scene.ask("PUT", "/v1/agents/builder", Some(json!({ "capabilities": ["rust"] }))).await;
        scene
    }

    /// The same routes, asked by a process that was started as an agent.
    pub(super) fn for_an_agent(&self) -> Self {
        let peer = Peer::Socket { same_user: true, marked: true };
        Self { router: self.router.clone(), peer }
    }

    /// Plays a delegation with variables, an artifact, a lock and a question to a person.
    pub(super) async fn play(&self) -> Story {
        let text = |got: &Got, name: &str| got.body[name].as_str().expect("an id").to_owned();
        let started = json!({ "title": "a login page", "variables": { "db": "pg" } });
        let workflow = text(&self.ask("POST", "/v1/workflows", Some(started)).await, "workflow");
        let home = format!("/v1/workflows/{workflow}");
        let artifact = json!({ "artifact": { "path": "src/main.rs" } });
        self.done("POST", &format!("{home}/artifacts"), artifact).await;
        let lock = json!({ "workflow": workflow, "paths": ["src/main.rs"] });
        self.done("POST", "/v1/locks", lock).await;
        let pass = json!({
            "workflow": workflow, "to_agent": "builder", "type": "delegation",
            "reason": "build it", "return_protocol": { "timeout": "1h" },
        });
        let handoff = text(&self.done("POST", "/v1/handoffs", pass).await, "handoff");
        let builder = Some(("baton-as", "builder"));
        let accept = format!("/v1/handoffs/{handoff}/accept");
        let accepted = self.ask_with(builder, "POST", &accept, None).await;
        let fence = &accepted.body["fence"];
        let progress = json!({ "fence": fence, "note": "half", "percent": 50 });
        self.ask_with(builder, "POST", &format!("{home}/progress"), Some(progress)).await;
        let question = json!({
            "workflow": workflow, "fence": fence, "type": "escalation", "reason": "may I?",
            "audit": { "decision_rationale": "it is not mine to decide" },
        });
        let asked = self.ask_with(builder, "POST", "/v1/handoffs", Some(question)).await;
        let events = asked.body["events"].as_array().expect("events");
        let question = events.iter().find(|event| event["type"] == "initiated");
        let question = question.expect("a question")["terms"]["id"].as_str().expect("an id");
        Story { workflow, handoff, question: question.to_owned() }
    }

    async fn done(&self, method: &str, path: &str, body: Value) -> Got {
        let got = self.ask(method, path, Some(body)).await;
        assert!((200..300).contains(&got.status), "{method} {path}: {}", got.body);
        got
    }

    pub(super) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Got {
        self.ask_with(None, method, path, body).await
    }

    pub(super) async fn ask_under(&self, key: &str, method: &str, path: &str, body: Value) -> Got {
        self.ask_with(Some(("idempotency-key", key)), method, path, Some(body)).await
    }

    pub(super) async fn ask_with(
        &self,
        header: Option<(&str, &str)>,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Got {
        let bytes = body.map(|body| body.to_string()).unwrap_or_default();
        let headers: Vec<_> = header.into_iter().collect();
        self.send(method, path, &headers, bytes.into()).await
    }

    /// Sends lines and returns the answers.
    pub(super) async fn batch(&self, lines: String) -> Vec<Value> {
        let kind = ("content-type", "application/x-ndjson");
        let got = self.send("POST", "/v1/batch", &[kind], lines.into()).await;
        let text = got.body.as_str().expect("lines").to_owned();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Got {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.extension(self.peer).body(body).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, ANSWER_BYTES_MAX).await.expect("a body");
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let kind = head.headers.get("content-type").map(|kind| kind.to_str().expect("text"));
        let json = kind.is_some_and(|kind| kind.ends_with("json") && !kind.contains("ndjson"));
        let body = match json {
            true => serde_json::from_str(&text).expect("JSON"),
            false => Value::String(text),
        };
        let got = Got { status: head.status.as_u16(), headers: head.headers, body };
        described(method, path, &got);
        got
    }
}

/// Fails unless the document says that this operation can answer so.
fn described(method: &str, path: &str, got: &Got) {
    let path = path.split('?').next().unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |described: &String| {
        let named: Vec<&str> = described.split('/').collect();
        let same = |(one, other): (&&str, &&str)| one.starts_with('{') || one == other;
        named.len() == parts.len() && named.iter().zip(&parts).all(same)
    };
    let paths = openapi()["paths"].as_object().expect("paths");
    // What is written out goes before what is named, as in the router.
    let found = paths.get_key_value(path).or_else(|| paths.iter().find(|(path, _)| fits(path)));
    let operation = found.and_then(|(_, methods)| methods.get(method.to_lowercase()));
    let Some(operation) = operation else {
        assert!([404, 405].contains(&got.status), "{method} {path} is not described");
        return;
    };
    let response = &operation["responses"][got.status.to_string()];
    assert!(!response.is_null(), "{method} {path} answers {}: {}", got.status, got.body);
    let kind = got.headers.get("content-type").map(|kind| kind.to_str().expect("text"));
    let Some(kind) = kind.and_then(|kind| kind.split(';').next()) else { return };
    let content = &response["content"][kind];
    assert!(!content.is_null(), "{method} {path} answers {} as {kind}", got.status);
    if kind.ends_with("json") && !kind.contains("ndjson") {
        let mut schema = content["schema"].clone();
        schema["components"] = openapi()["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        if let Err(error) = validator.validate(&got.body) {
            let at = error.instance_path().to_string();
            panic!("{method} {path}: {error} at {at}\n{}", got.body);
        }
    }
}
