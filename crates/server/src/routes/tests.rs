//! The routes as callers see them: what the document says, keys, pages, versions and batches.

mod scene;

use std::collections::BTreeSet;
use std::io;

use axum::body::{Body, Bytes};
use baton_protocol::event::Event;
use baton_protocol::limits::REQUEST_BYTES_MAX;
use futures_util::stream;
use serde_json::{Value, json};

use super::openapi;
use scene::Scene;

/// All operations of the document.
fn operations() -> Vec<(String, String)> {
    let paths = openapi()["paths"].as_object().expect("paths");
    let each = |(path, methods): (&String, &Value)| {
        let methods = methods.as_object().expect("methods").keys();
        methods.map(|method| (method.to_uppercase(), path.clone())).collect::<Vec<_>>()
    };
    paths.iter().flat_map(each).collect()
}

#[test]
fn every_reference_of_the_document_leads_somewhere_and_every_operation_has_its_own_name() {
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => (),
        }
    }
    let mut found = BTreeSet::new();
    references(openapi(), &mut found);
    for reference in &found {
        let pointer = reference.strip_prefix('#').expect("inside the document");
        assert!(openapi().pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    let mut names = BTreeSet::new();
    for (method, path) in operations() {
        let operation = &openapi()["paths"][&path][method.to_lowercase()];
        let name = operation["operationId"].as_str().expect("a name");
        assert!(names.insert(name), "{name} is there twice");
        let told = operation["summary"].as_str().is_some_and(|words| !words.is_empty());
        assert!(told, "{method} {path} says nothing");
    }
}

#[tokio::test]
async fn every_operation_of_the_document_is_a_route_and_its_answers_are_described() {
    let scene = Scene::new().await;
    for (method, path) in operations() {
        // A stream has no end, and this one has its own tests.
        if path == "/v1/events" {
            continue;
        }
        let id = if path.starts_with("/v1/agents") { "nobody" } else { scene::NOTHING };
        let at = path.replace("{id}", id).replace("{name}", "db").replace("{prefix}", "zz");
        let at = at.replace("{artifact}", scene::NOTHING).replace("{token}", scene::NOTHING);
        let body = ["POST", "PUT"].contains(&method.as_str()).then(|| json!({}));
        let answer = scene.ask(&method, &at, body).await;
        let code = answer.body["code"].as_str().unwrap_or("");
        assert!(!code.starts_with("no-such-route") && !code.starts_with("no-such-method"), "{at}");
    }
    let stranger = scene.ask("GET", "/v1/nothing", None).await;
    assert_eq!((stranger.status, &stranger.body["code"]), (404, &json!("no-such-route")));
    let patched = scene.ask("PATCH", "/v1/agents", None).await;
    assert_eq!((patched.status, &patched.body["code"]), (405, &json!("no-such-method")));
}

#[tokio::test]
async fn the_answers_of_a_played_story_fit_the_document() {
    let scene = Scene::new().await;
    let story = scene.play().await;
    let home = format!("/v1/workflows/{}", story.workflow);
    for path in [
        "/v1/status".to_owned(),
        "/v1/workflows?status=all".to_owned(),
        home.clone(),
        format!("{home}/flow"),
        format!("{home}/flow?format=mermaid"),
        format!("{home}/flow?format=dot"),
        format!("{home}/flow?format=svg"),
        format!("{home}/variables"),
        format!("{home}/variables/db"),
        format!("{home}/artifacts"),
        "/v1/handoffs?state=all".to_owned(),
        format!("/v1/handoffs/{}", story.handoff),
        format!("/v1/handoffs/{}/compact", story.handoff),
        format!("/v1/handoffs/{}/package", story.handoff),
        "/v1/inbox?agent=builder".to_owned(),
        "/v1/approvals".to_owned(),
        format!("/v1/find/{}", story.workflow),
        "/v1/stats".to_owned(),
        format!("/v1/stats?workflow={}", story.workflow),
        "/v1/locks".to_owned(),
        "/v1/agents".to_owned(),
        "/v1/agents/builder".to_owned(),
        "/v1/messages".to_owned(),
        "/v1/audit".to_owned(),
        "/v1/audit?newest=true&limit=3".to_owned(),
        "/v1/docs".to_owned(),
    ] {
        // `ask` holds every answer against the document.
        let answer = scene.ask("GET", &path, None).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_key_is_answered_the_same_again_and_refused_for_something_else() {
    let scene = Scene::new().await;
    for (method, path, body, other) in [
        ("POST", "/v1/workflows", json!({ "title": "a" }), json!({ "title": "b" })),
        ("POST", "/v1/agents", json!({ "id": "x" }), json!({ "id": "x", "role": "reviewer" })),
        ("PUT", "/v1/agents/y", json!({}), json!({ "role": "reviewer" })),
        (
            "POST",
            "/v1/handoffs",
            json!({ "to_agent": "builder", "reason": "a" }),
            json!({ "to_agent": "builder", "reason": "b" }),
        ),
        (
            "POST",
            "/v1/commands",
            json!({ "start": { "title": "a" } }),
            json!({ "start": { "title": "b" } }),
        ),
    ] {
        let key = format!("{method} {path}");
        let first = scene.ask_under(&key, method, path, body.clone()).await;
        let again = scene.ask_under(&key, method, path, body).await;
        assert!((200..300).contains(&first.status), "{key}: {}", first.body);
        assert_eq!((again.status, again.body), (first.status, first.body), "{key}");
        assert_eq!(again.headers.get("location"), first.headers.get("location"), "{key}");
        let refused = scene.ask_under(&key, method, path, other).await;
        assert_eq!((refused.status, &refused.body["code"]), (409, &json!("key-reused")), "{key}");
    }
    let one = scene.ask_under("k", "POST", "/v1/workflows", json!({ "title": "a" })).await;
    let start = json!({ "start": { "title": "a" } });
    let two = scene.ask_under("k", "POST", "/v1/commands", start).await;
    assert_eq!(one.body, two.body, "a key means the same wherever it is sent");
}

#[tokio::test]
async fn a_token_is_shown_once_and_a_repeat_names_it() {
    let scene = Scene::new().await;
    let asked = json!({ "agent": "builder" });
    let made = scene.ask_under("t", "POST", "/v1/tokens", asked.clone()).await;
    assert_eq!(made.status, 201);
    let again = scene.ask_under("t", "POST", "/v1/tokens", asked).await;
    assert_eq!((again.status, &again.body["code"]), (409, &json!("token-shown")));
    let id = made.body["id"].as_str().expect("an id");
    assert!(again.body["detail"].as_str().expect("words").contains(id), "{}", again.body);
    let other = json!({ "agent": "builder", "for": "1h" });
    let other = scene.ask_under("t", "POST", "/v1/tokens", other).await;
    assert_eq!(other.body["code"], "key-reused");
}

#[tokio::test]
async fn a_version_guards_a_write() {
    let scene = Scene::new().await;
    let started = scene.ask("POST", "/v1/workflows", Some(json!({ "title": "a" }))).await;
    let path = format!("{}/variables/db", started.headers["location"].to_str().expect("text"));
    let write = async |value: &str, header: Option<(&str, &str)>| {
        let answer = scene.ask_with(header, "PUT", &path, Some(json!({ "value": value }))).await;
        (answer.status, answer.body["code"].as_str().unwrap_or("").to_owned())
    };
    let stale = (412, "stale-variable".to_owned());
    let done = (200, String::new());
    assert_eq!(write("a", Some(("if-match", "\"1\""))).await, stale, "there is none yet");
    assert_eq!(write("a", Some(("if-match", "*"))).await, stale, "there is none yet");
    assert_eq!(write("a", Some(("if-none-match", "*"))).await, done);
    assert_eq!(write("b", Some(("if-none-match", "*"))).await, stale, "now there is one");
    let read = scene.ask("GET", &path, None).await;
    assert_eq!(read.headers["etag"], "\"1\"");
    assert_eq!(write("b", Some(("if-match", "\"1\""))).await, done);
    assert_eq!(write("c", Some(("if-match", "\"1\""))).await, stale, "it moved");
    assert_eq!(write("c", Some(("if-match", "one"))).await, (422, "bad-input".to_owned()));
}

#[tokio::test]
async fn pages_lead_through_the_whole_list_and_nothing_is_told_twice() {
    let scene = Scene::new().await;
    for n in 0..7 {
        let pass = json!({ "to_agent": "builder", "reason": format!("work {n}") });
        let passed = scene.ask("POST", "/v1/handoffs", Some(pass)).await;
        if n % 3 == 0 {
            let workflow = passed.body["workflow"].as_str().expect("an id");
            let path = format!("/v1/workflows/{workflow}/cancel");
            scene.ask("POST", &path, Some(json!({ "reason": "enough" }))).await;
        }
    }
    let rows = async |path: &str| {
        let body = scene.ask("GET", path, None).await.body;
        body.get("records").unwrap_or(&body).as_array().expect("rows").clone()
    };
    for list in [
        "/v1/workflows?status=all",
        "/v1/workflows?status=open",
        "/v1/handoffs?state=all",
        "/v1/agents?",
        "/v1/messages?",
        "/v1/audit?",
        "/v1/audit?newest=true",
    ] {
        let whole = rows(list).await;
        let mut told = Vec::new();
        let mut next = Some(format!("{list}&limit=2"));
        while let Some(path) = next.take() {
            let answer = scene.ask("GET", &path, None).await;
            let rows = answer.body.get("records").unwrap_or(&answer.body).clone();
            told.extend(rows.as_array().expect("rows").clone());
            let link = answer.headers.get("link").map(|link| link.to_str().expect("text"));
            next = link.map(|link| link[1..link.find('>').expect("a link")].to_owned());
            assert!(told.len() <= whole.len(), "{list} does not end");
        }
        assert_eq!(told, whole, "{list}");
    }
    let wrong = scene.ask("GET", "/v1/workflows?cursor=x", None).await;
    assert_eq!((wrong.status, &wrong.body["field"]), (422, &json!("cursor")));
}

#[tokio::test]
async fn each_line_of_a_batch_is_for_itself() {
    let scene = Scene::new().await;
    let lines = concat!(
        r#"{"key":"a","command":{"start":{"title":"a"}}}"#,
        "\n\nnot json\n",
        r#"{"key":"b","command":{"accept":{"handoff":"8c5d0f62-3f5e-4b0e-9c2a-0d9c41a7f4b1"}}}"#,
        "\r\n",
        r#"{"command":{"start":{"title":""}}}"#,
        "\n",
        r#"{"key":"a","command":{"start":{"title":"a"}}}"#,
    );
    let answers = scene.batch(lines.to_owned()).await;
    let statuses: Vec<_> = answers.iter().map(|one| one["status"].as_u64().expect("one")).collect();
    assert_eq!(statuses, [200, 422, 404, 422, 200]);
    let numbers: Vec<_> = answers.iter().map(|one| one["line"].as_u64().expect("one")).collect();
    assert_eq!(numbers, [1, 3, 4, 5, 6], "a blank line is a line");
    assert_eq!(answers[0]["answer"], answers[4]["answer"], "one key, one asking");
    assert_eq!(answers[3]["problem"]["field"], "command.start.title");
    let headers = [("idempotency-key", "k"), ("content-type", "application/x-ndjson")];
    let refused = scene.send("POST", "/v1/batch", &headers, lines.into()).await;
    assert_eq!((refused.status, &refused.body["field"]), (422, &json!("Idempotency-Key")));
}

#[tokio::test]
async fn a_batch_ends_at_its_limits_and_says_so() {
    use baton_protocol::limits::{BATCH_BYTES_MAX, BATCH_LINES_MAX, REQUEST_BYTES_MAX};
    let scene = Scene::new().await;
    let answers = scene.batch("x\n".repeat(BATCH_LINES_MAX + 5)).await;
    assert_eq!(answers.len(), BATCH_LINES_MAX + 1);
    assert_eq!(answers[BATCH_LINES_MAX]["problem"]["code"], "too-large");
    let long = format!("x\n{}\nx\n", "y".repeat(REQUEST_BYTES_MAX + 1));
    let answers = scene.batch(long).await;
    let codes: Vec<_> = answers.iter().map(|one| one["problem"]["code"].clone()).collect();
    assert_eq!(codes, ["bad-input", "too-large"]);
    let blank = scene.batch("\n".repeat(BATCH_BYTES_MAX + 1)).await;
    assert_eq!(blank[0]["problem"]["code"], "too-large", "blank lines are read no further");
}

#[tokio::test]
async fn a_batch_that_breaks_off_is_done_up_to_there_and_says_so() {
    let scene = Scene::new().await;
    let line = r#"{"command":{"start":{"title":"a"}}}"#.to_owned() + "\n";
    let dead = Err(io::Error::other("the line is dead"));
    let lines = stream::iter([Ok(Bytes::from(line)), dead]);
    let kind = ("content-type", "application/x-ndjson");
    let got = scene.send("POST", "/v1/batch", &[kind], Body::from_stream(lines)).await;
    let text = got.body.as_str().expect("lines");
    let answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [done, cut] = answers.as_slice() else { panic!("{text}") };
    assert!(done.to_string().contains("started"), "{done}");
    assert!(
        cut.to_string().contains("bad-input") && cut.to_string().contains("broke off"),
        "{cut}"
    );
    let made = scene.ask("GET", "/v1/workflows", None).await;
    assert_eq!(made.body.as_array().map(Vec::len), Some(1), "what came before was done");
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_named() {
    let scene = Scene::new().await;
    let path = format!("/v1/handoffs/{}/accept", scene::NOTHING);
    let twice = scene.ask("POST", &path, Some(json!({ "handoff": scene::NOTHING }))).await;
    assert_eq!((twice.status, &twice.body["field"]), (422, &json!("handoff")));
    let pass = json!({ "to_agent": "B", "reason": "a" });
    let named = scene.ask("POST", "/v1/handoffs", Some(pass)).await;
    assert_eq!((named.status, &named.body["field"]), (422, &json!("to_agent")));
    let twice = r#"{ "title": "a", "title": "b" }"#;
    for (path, body) in [
        ("/v1/workflows", twice.to_owned()),
        ("/v1/workflows", format!(r#"{{ "title": "a", "constraints": {twice} }}"#)),
        ("/v1/commands", format!(r#"{{ "start": {twice} }}"#)),
    ] {
        let named = scene.send("POST", path, &[], body.into()).await;
        assert_eq!((named.status, &named.body["detail"]), (422, &json!("duplicate field `title`")));
    }
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let deep = scene.send("POST", "/v1/workflows", &[], deep.into()).await;
    assert_eq!((deep.status, &deep.body["code"]), (422, &json!("bad-input")));
    let form = ("content-type", "application/x-www-form-urlencoded");
    let form = scene.send("POST", "/v1/workflows", &[form], "title=a".into()).await;
    assert_eq!((form.status, &form.body["code"]), (415, &json!("not-json")));
    let limit = scene.ask("GET", "/v1/workflows?limit=x", None).await;
    assert_eq!((limit.status, &limit.body["field"]), (422, &json!("limit")));
    for other in ["bt1_builder_0123", "Basic YTpi"] {
        let scheme = scene.ask_with(Some(("authorization", other)), "GET", "/v1/inbox", None).await;
        let detail = scheme.body["detail"].as_str().expect("a detail");
        assert!(scheme.status == 401 && detail.contains("no bearer token"), "{}", scheme.body);
    }
    let broken = stream::once(async { Err::<Bytes, _>(io::Error::other("the line is dead")) });
    let broken = scene.send("POST", "/v1/workflows", &[], Body::from_stream(broken)).await;
    let detail = broken.body["detail"].as_str().expect("a detail");
    assert!(broken.status == 422 && detail.contains("broke off"), "{}", broken.body);
    let large = scene.send("POST", "/v1/workflows", &[], vec![b' '; REQUEST_BYTES_MAX + 1].into());
    assert_eq!(large.await.status, 413);
}

#[tokio::test]
async fn records_are_asked_for_by_types_that_there_are() {
    let scene = Scene::new().await;
    scene.play().await;
    let some = scene.ask("GET", "/v1/audit?type=started,locked", None).await;
    assert_eq!(some.body["records"].as_array().map(Vec::len), Some(2), "{}", some.body);
    let none = scene.ask("GET", "/v1/audit?type=started,lockd", None).await;
    assert_eq!((none.status, &none.body["field"]), (422, &json!("type")));
    let detail = none.body["detail"].as_str().expect("a detail");
    assert!(detail.starts_with("`lockd` is no type of record") && detail.contains("locked"));
    let schema = &openapi()["components"]["schemas"]["Event"]["oneOf"];
    let types = schema.as_array().expect("the events").iter();
    let types: BTreeSet<_> =
        types.filter_map(|event| event["properties"]["type"]["const"].as_str()).collect();
    assert_eq!(types, BTreeSet::from(Event::WORDS), "every event can be asked for");
}

#[tokio::test]
async fn an_agent_at_the_socket_reads_no_metrics_of_others() {
    let scene = Scene::new().await;
    assert_eq!(scene.ask("GET", "/metrics", None).await.status, 200);
    let refused = scene.for_an_agent().ask("GET", "/metrics", None).await;
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!("operator-only")));
}

#[tokio::test]
async fn an_agent_that_was_known_so_is_not_made_again() {
    let scene = Scene::new().await;
    let profile = json!({ "id": "quiet" });
    let made = scene.ask("POST", "/v1/agents", Some(profile.clone())).await;
    assert_eq!(
        (made.status, &made.headers["location"]),
        (201, &"/v1/agents/quiet".parse().unwrap())
    );
    let again = scene.ask("POST", "/v1/agents", Some(profile)).await;
    assert_eq!((again.status, &again.body["events"]), (200, &json!([])));
}

#[tokio::test]
async fn a_question_is_listed_and_decided() {
    let scene = Scene::new().await;
    let story = scene.play().await;
    let open = scene.ask("GET", "/v1/approvals", None).await;
    assert_eq!(open.body[0]["id"], json!(story.question), "{}", open.body);
    let path = format!("/v1/approvals/{}/decide", story.question);
    let yes = json!({ "approved": true, "decision": "yes" });
    let decided = scene.ask_under("d", "POST", &path, yes.clone()).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    let again = scene.ask_under("d", "POST", &path, yes).await;
    assert_eq!(again.body, decided.body, "asking twice is asking once");
    let open = scene.ask("GET", "/v1/approvals", None).await;
    assert_eq!(open.body, json!([]));
    let other = format!("/v1/approvals/{}/decide", story.handoff);
    let no = json!({ "approved": false, "decision": "no" });
    let refused = scene.ask("POST", &other, Some(no)).await;
    assert_eq!(refused.body["code"], "not-a-question");
}

#[tokio::test]
async fn an_agent_that_went_away_between_taking_and_deciding_decides_under_the_same_key() {
    let scene = Scene::new().await;
    let reviewer = json!({ "id": "reviewer", "role": "reviewer" });
    scene.ask("POST", "/v1/agents", Some(reviewer)).await;
    let made = scene.ask("POST", "/v1/tokens", Some(json!({ "agent": "reviewer" }))).await;
    let token = format!("Bearer {}", made.body["token"].as_str().expect("a token"));
    let builder = Some(("baton-as", "builder"));
    let start = Some(json!({ "title": "a page" }));
    let work = scene.ask_with(builder, "POST", "/v1/workflows", start).await;
    let question = json!({
        "workflow": work.body["workflow"], "fence": 1, "type": "escalation", "reason": "may I?",
        "to_agent": "reviewer", "audit": { "decision_rationale": "it is not mine to decide" },
    });
    let asked = scene.ask_with(builder, "POST", "/v1/handoffs", Some(question)).await;
    assert_eq!(asked.status, 201, "{}", asked.body);
    let id = asked.body["handoff"].as_str().expect("a question").to_owned();
    let by = |key| [("authorization", token.as_str()), ("idempotency-key", key)];
    // What the decision does first is done, and then its process was killed.
    let accept = format!("/v1/handoffs/{id}/accept");
    let taken = scene.send("POST", &accept, &by("k accept"), "{}".into()).await;
    assert_eq!(taken.status, 200, "{}", taken.body);
    let decide = format!("/v1/approvals/{id}/decide");
    let yes = || json!({ "approved": true, "decision": "yes" }).to_string().into();
    let stranger = scene.send("POST", &decide, &by("other"), yes()).await;
    assert_eq!(stranger.body["code"], "fence-required", "{}", stranger.body);
    let decided = scene.send("POST", &decide, &by("k"), yes()).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    let again = scene.send("POST", &decide, &by("k"), yes()).await;
    assert_eq!(again.body, decided.body);
}

#[tokio::test]
async fn who_wants_to_hear_little_hears_what_it_needs_to_go_on() {
    let scene = Scene::new().await;
    let start = json!({ "title": "a login page" });
    let key = ("idempotency-key", "k-1");
    for wish in ["return=minimal", "respond-async, Return=\"minimal\"; foo=bar"] {
        let headers = [key, ("prefer", wish)];
        let body = start.to_string().into();
        let brief = scene.send("POST", "/v1/workflows", &headers, body).await;
        assert_eq!((brief.status, &brief.body["events"]), (201, &json!([])), "{wish}");
        assert!(brief.body["workflow"].is_string() && brief.body["fence"].is_number());
        assert!(brief.headers.contains_key("location"));
        let whole = scene.ask_under("k-1", "POST", "/v1/workflows", start.clone()).await;
        assert_eq!(whole.body["workflow"], brief.body["workflow"], "it was one asking");
        assert!(!whole.body["events"].as_array().expect("events").is_empty());
    }
    let brief = [("prefer", "return=minimal")];
    let quiet = json!({ "id": "quiet" }).to_string();
    let made = scene.send("POST", "/v1/agents", &brief, quiet.into()).await;
    assert_eq!((made.status, &made.body["events"]), (201, &json!([])));
    assert_eq!(made.headers["location"], "/v1/agents/quiet", "where it is, it hears all the same");
}

#[tokio::test]
async fn a_lock_tells_strangers_who_has_a_file_and_not_for_what() {
    let scene = Scene::new().await;
    let story = scene.play().await;
    scene.ask("PUT", "/v1/agents/rival", Some(json!({}))).await;
    for (agent, seen) in [("builder", true), ("rival", false)] {
        let made = scene.ask("POST", "/v1/tokens", Some(json!({ "agent": agent }))).await;
        let token = format!("Bearer {}", made.body["token"].as_str().expect("a token"));
        let by_token = Some(("authorization", token.as_str()));
        let locks = scene.ask_with(by_token, "GET", "/v1/locks", None).await;
        let lock = &locks.body[0];
        assert_eq!((&lock["path"], &lock["by"]), (&json!("src/main.rs"), &json!("operator")));
        assert_eq!(lock["workflow"] == story.workflow.as_str(), seen, "{agent}: {lock}");
        assert_eq!(lock.get("fence").is_some(), seen, "{agent}: {lock}");
    }
}
