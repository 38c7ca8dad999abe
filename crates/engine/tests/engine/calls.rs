//! Agents that are web services, on loopback.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use baton_protocol::command::Actor;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::sync::Semaphore;

use crate::scene::{Stage, agent};

/// A service that gives its answers one after the other: a status and a body, or where to go.
pub(crate) struct Service {
    pub(crate) url: String,
    heard: Arc<Heard>,
    task: tokio::task::JoinHandle<()>,
}

struct Heard {
    answers: Mutex<VecDeque<String>>,
    calls: Mutex<Vec<(HeaderMap, Bytes)>>,
    gate: Semaphore,
    at_once: Mutex<(usize, usize)>,
}

impl Service {
    /// One that answers at once.
    pub(crate) async fn start(answers: &[&str]) -> Self {
        Self::gated(answers, Semaphore::MAX_PERMITS).await
    }

    /// One that answers as often as it is let.
    async fn gated(answers: &[&str], open: usize) -> Self {
        let heard = Arc::new(Heard {
            answers: Mutex::new(answers.iter().map(|answer| (*answer).to_owned()).collect()),
            calls: Mutex::new(Vec::new()),
            gate: Semaphore::new(open),
            at_once: Mutex::new((0, 0)),
        });
        let app = Router::new().fallback(answer).with_state(heard.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
        Self { url, heard, task }
    }

    pub(crate) fn calls(&self) -> Vec<(HeaderMap, Bytes)> {
        self.heard.calls.lock().expect("calls").clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(heard): State<Arc<Heard>>, headers: HeaderMap, body: Bytes) -> Response {
    heard.calls.lock().expect("calls").push((headers, body));
    {
        let mut at_once = heard.at_once.lock().expect("a count");
        at_once.0 += 1;
        at_once.1 = at_once.1.max(at_once.0);
    }
    heard.gate.acquire().await.expect("open").forget();
    heard.at_once.lock().expect("a count").0 -= 1;
    let answer = heard.answers.lock().expect("answers").pop_front();
    let answer = answer.unwrap_or_else(|| "500 no more answers".to_owned());
    let (status, rest) = answer.split_once(' ').unwrap_or((&answer, ""));
    let status: StatusCode = status.parse().expect("a status");
    match status.is_redirection() {
        true => (status, [(header::LOCATION, rest.to_owned())]).into_response(),
        false => (status, rest.to_owned()).into_response(),
    }
}

async fn staged(answers: &[&str]) -> (Stage, Service) {
    let mut stage = Stage::new().await;
    let service = Service::start(answers).await;
    let reach = json!({ "http": { "url": service.url } });
    stage.register(json!({ "id": "builder", "reach": reach })).await;
    (stage, service)
}

/// A delegation that goes to nobody else.
async fn delegate(stage: &mut Stage) -> baton_engine::view::Answer {
    let command = json!({ "pass": {
        "to_agent": "builder", "type": "delegation", "reason": "build it",
        "return_protocol": { "timeout": "1h" }, "routing": { "on_rejection": "fail" },
    }});
    stage.scene.ask(Actor::Agent(agent("planner")), command).await
}

#[tokio::test]
async fn a_call_is_signed_and_its_answer_is_the_result() {
    let (mut stage, service) = staged(&[r#"200 {"built": true}"#]).await;
    let passed = delegate(&mut stage).await;
    let view = stage.state(&passed, "completed").await;
    assert_eq!(view.result.expect("a result")["result"]["body"]["built"], true);

    let calls = service.calls();
    let [(headers, body)] = calls.as_slice() else { panic!("{} calls", calls.len()) };
    let package: Value = serde_json::from_slice(body).expect("a package");
    assert_eq!(package["handoff"]["id"], json!(passed.handoff));
    let of = |name: &str| headers[name].to_str().expect("a header").to_owned();
    assert_eq!(of("baton-agent"), "builder");
    assert_eq!(of("baton-handoff"), passed.handoff.expect("a handoff").to_string());
    let secret = stage.scene.engine.webhook_secret(agent("builder")).await.expect("a secret");
    let signature = of("baton-signature");
    let (time, proof) = signature.split_once(",v1=").expect("two parts");
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(format!("{}.", time.strip_prefix("t=").expect("a time")).as_bytes());
    mac.update(body);
    let digits: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(proof, digits);
}

#[tokio::test]
async fn a_service_may_accept_now_and_answer_later() {
    let (mut stage, _service) = staged(&["202"]).await;
    let passed = delegate(&mut stage).await;
    stage.state(&passed, "accepted").await;
    stage.settled().await;
    let builder = Actor::Agent(agent("builder"));
    let id = passed.handoff.expect("a handoff");
    let package = stage.scene.engine.package(builder.clone(), id).await.expect("a package");
    let give = json!({ "return": {
        "handoff": id, "fence": package.fence, "status": "success",
        "result": { "content_type": "text", "body": "built" },
    }});
    stage.scene.ask(builder, give).await;
    stage.state(&passed, "completed").await;
}

#[tokio::test]
async fn a_service_that_failed_with_whole_work_is_called_again_after_the_decision() {
    let (mut stage, service) = staged(&[r#"200 {"goto": 7}"#, "200 done"]).await;
    let pass = json!({ "pass": { "to_agent": "builder", "reason": "build it" } });
    let passed = stage.scene.ask(Actor::Agent(agent("planner")), pass).await;
    let reason = stage.decide("try once more").await;
    assert!(reason.contains("bad command object"), "{reason}");
    stage.settled().await;
    let workflow = passed.workflow.expect("a workflow");
    let view = stage.scene.engine.workflow(Actor::Operator, workflow).await.expect("it is there");
    assert_eq!(view.line.status, "completed");
    let calls = service.calls();
    let [(first, _), (second, _)] = calls.as_slice() else { panic!("{} calls", calls.len()) };
    assert!(!first.contains_key("baton-answer") && second.contains_key("baton-answer"));
    assert_ne!(first["baton-delivery"], second["baton-delivery"], "they are two calls");
}

#[tokio::test]
async fn a_service_that_says_no_has_rejected_it() {
    let (mut stage, _service) = staged(&["422 not my trade"]).await;
    let passed = delegate(&mut stage).await;
    let view = stage.state(&passed, "failed").await;
    let detail = view.line.detail.expect("a detail");
    assert!(detail.contains("422") && detail.contains("not my trade"), "{detail}");
    assert_eq!(view.line.resends, 0);
}

#[tokio::test]
async fn a_service_in_trouble_is_called_again_a_little_later_each_time() {
    let (mut stage, service) = staged(&["500", "503", "429", "200 at last"]).await;
    let passed = delegate(&mut stage).await;
    for (resends, pause) in [(1, "2s"), (2, "4s"), (3, "8s")] {
        stage
            .until(&passed, |view| {
                (view.line.state.as_str(), view.line.resends) == ("queued", resends)
            })
            .await;
        stage.settled().await;
        assert_eq!(stage.scene.engine.wake_due().await.expect("woken"), 0, "before {pause}");
        stage.scene.later(pause);
        assert_eq!(stage.scene.engine.wake_due().await.expect("woken"), 1, "after {pause}");
    }
    let view = stage.state(&passed, "completed").await;
    assert_eq!(view.result.expect("a result")["result"]["body"], "at last");
    assert_eq!(service.calls().len(), 4);
}

#[tokio::test]
async fn a_service_that_stays_in_trouble_is_unavailable() {
    let (mut stage, service) = staged(&[]).await;
    let passed = delegate(&mut stage).await;
    for pause in ["2s", "4s", "8s"] {
        stage.state(&passed, "queued").await;
        stage.scene.later(pause);
        stage.scene.engine.wake_due().await.expect("woken");
    }
    let view = stage.state(&passed, "failed").await;
    assert_eq!(view.line.detail.as_deref(), Some("unavailable"));
    assert_eq!(service.calls().len(), 4);
    let builder = stage.scene.engine.agent(Actor::Operator, agent("builder")).await.expect("known");
    assert_eq!(builder.status, "unavailable");
}

#[tokio::test]
async fn whoever_is_called_does_not_decide_whom_baton_calls() {
    let within = Service::start(&["200 from elsewhere"]).await;
    let onward = format!("307 {}", within.url);
    let (mut stage, _first) = staged(&[onward.as_str()]).await;
    let passed = delegate(&mut stage).await;
    let view = stage.state(&passed, "completed").await;
    assert_eq!(view.result.expect("a result")["result"]["body"], "from elsewhere");
    assert_eq!(within.calls()[0].1[..1], b"{"[..], "the body goes along");

    for inside in ["http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "file:///"]
    {
        let (mut stage, service) = staged(&[format!("308 {inside}").as_str()]).await;
        let passed = delegate(&mut stage).await;
        let detail = stage.state(&passed, "failed").await.line.detail.expect("a detail");
        assert!(detail.contains("rejected"), "{inside}: {detail}");
        assert_eq!(service.calls().len(), 1);
    }
}

#[tokio::test]
async fn a_call_that_is_sent_on_for_ever_ends() {
    let (mut stage, service) = staged(&["307 /hook"; 20]).await;
    let passed = delegate(&mut stage).await;
    stage.state(&passed, "queued").await;
    assert_eq!(service.calls().len(), 6, "the first and five hops");
}

#[tokio::test]
async fn an_address_that_nobody_allowed_is_not_called() {
    let mut stage = Stage::allowing(&[]).await;
    let service = Service::start(&["200 never"]).await;
    let reach = json!({ "http": { "url": service.url } });
    stage.register(json!({ "id": "builder", "reach": reach })).await;
    let passed = delegate(&mut stage).await;
    let detail = stage.state(&passed, "failed").await.line.detail.expect("a detail");
    assert!(detail.contains("[outgoing]"), "{detail}");
    assert_eq!(service.calls().len(), 0);
}

#[tokio::test]
async fn no_more_calls_are_out_than_an_agent_can_hold() {
    let mut stage = Stage::new().await;
    let service = Service::gated(&["200 a", "200 b", "200 c"], 0).await;
    let reach = json!({ "http": { "url": service.url } });
    stage.register(json!({ "id": "builder", "reach": reach, "max_concurrent_tasks": 1 })).await;
    let mut passed = Vec::new();
    for _ in 0..3 {
        passed.push(delegate(&mut stage).await);
    }
    service.heard.gate.add_permits(3);
    for one in &passed {
        stage.state(one, "completed").await;
    }
    assert_eq!(service.heard.at_once.lock().expect("a count").1, 1);
    assert_eq!(service.calls().len(), 3);
}
