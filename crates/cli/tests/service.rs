//! The coordinator as a service: tokens, the network, live events. Through the real binary.

#[path = "service/credentials.rs"]
mod credentials;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "cli/desk.rs"]
mod desk;
#[path = "service/net.rs"]
mod net;
#[path = "service/storm.rs"]
mod storm;

use desk::Desk;
use net::{Events, Heard, Request, Service};
use serde_json::{Value, json};

/// Starts work as the operator and passes it to the agent. Returns the workflow and the handoff.
fn passed(service: &Service, operator: &str, to: &str) -> (String, String) {
    let start = json!({"start": {"title": "a page"}});
    let started = service.command(operator, start).json();
    let workflow = started["workflow"].as_str().expect("a workflow").to_owned();
    let pass = json!({"pass": {
        "workflow": workflow, "to_agent": to, "type": "delegation", "reason": "yours",
        "return_protocol": {"timeout": "1h"},
    }});
    let answer = service.command(operator, pass);
    let handoff = answer.json()["handoff"].as_str().map(str::to_owned);
    (workflow, handoff.unwrap_or_else(|| panic!("{answer:?}")))
}

#[test]
fn people_and_agents_elsewhere_work_as_they_do_here() {
    let service = Service::with(&["builder"]);
    let operator = service.token(&["--operator"]);
    let builder = service.token(&["--agent", "builder"]);
    let viewer = service.token(&["--viewer"]);
    let workflow = service.run(&operator, &["start", "Add a page", "--quiet"]).ok();
    let workflow = workflow.trim();
    let pass = ["pass", workflow, "--to", "builder", "--reason", "design is done", "--quiet"];
    let handoff = service.run(&operator, &pass).ok();
    let handoff = handoff.trim();
    assert!(service.run(&builder, &["inbox"]).ok().contains("design is done"));
    service.run(&builder, &["accept", handoff]).ok();
    assert!(service.run(&viewer, &["list"]).ok().contains("Add a page"));
    let refused = service.run(&viewer, &["cancel", workflow, "--reason", "no"]).fails(3);
    assert!(refused.contains("may look at everything and change nothing"), "{refused}");
    service.run(&builder, &["complete", workflow, "--fence", "2"]).ok();
    assert!(service.run(&operator, &["show", workflow]).ok().contains("completed"));
    let named = service.run(&builder, &["inbox", "--as", "builder"]).fails(3);
    assert!(named.contains("only the operator may act as builder"), "{named}");
    assert!(service.run(&operator, &["inbox", "--as", "builder"]).ok().contains("nothing waits"));
    let nobody = service.run("bt1_builder_0", &["inbox"]).fails(3);
    assert!(nobody.contains("unknown, revoked or expired"), "{nobody}");
}

#[test]
fn a_door_that_was_left_open_by_mistake_does_not_open() {
    let desk = Desk::new();
    let clear = desk.run(&["serve", "--listen", "0.0.0.0:0"]).fails(1);
    assert!(clear.contains("tokens in clear text"), "{clear}");
    let nobody = desk.run(&["serve", "--listen", "0.0.0.0:0", "--clear-text"]).fails(1);
    assert!(nobody.contains("there is no token yet"), "{nobody}");
    let no_key = desk.run(&["serve", "--listen", "127.0.0.1:0", "--tls-cert", "x"]).fails(2);
    assert!(no_key.contains("--tls-key"), "{no_key}");
    let words = ["serve", "--listen", "127.0.0.1:0", "--tls-cert", "no.pem", "--tls-key", "no.pem"];
    let no_file = desk.run(&words).fails(1);
    assert!(no_file.contains("cannot use no.pem"), "{no_file}");
    let remote = desk.run(&["list", "--url", "http://127.0.0.1:1"]).fails(2);
    assert!(remote.contains("wants a token"), "{remote}");
}

#[test]
fn a_browser_that_was_lured_here_is_turned_away() {
    let service = Service::with(&[]);
    let viewer = service.token(&["--viewer"]);
    let list = || Request::get("/v1/workflows").by(&viewer);
    assert_eq!(service.ask(&list()).status, 200);
    let lured = service.ask(&list().with("host", "evil.example"));
    assert_eq!(lured.problem(), (421, "wrong-host".to_owned()));
    let page = service.ask(&list().with("origin", "http://evil.example"));
    assert_eq!(page.problem(), (403, "wrong-origin".to_owned()));
    assert!(!page.headers.iter().any(|line| line.starts_with("access-control")), "{page:?}");
    let own = format!("http://{}", service.address);
    assert_eq!(service.ask(&list().with("origin", own)).status, 200);
}

#[test]
fn whoever_listens_hears_everything_once_also_after_coming_back() {
    let service = Service::with(&["builder"]);
    let operator = service.token(&["--operator"]);
    let mut live = Events::listen(&service, &Request::get("/v1/events").by(&operator));
    let (workflow, handoff) = passed(&service, &operator, "builder");
    let builder = service.token(&["--agent", "builder"]);
    let accepted = service.command(&builder, json!({"accept": {"handoff": handoff}})).json();
    let kinds = |heard: &[Heard]| heard.iter().map(|one| one.kind.clone()).collect::<Vec<_>>();
    let heard = live.take(3);
    assert_eq!(kinds(&heard), ["TASK_CREATED", "AGENT_HANDOFF", "TASK_STARTED"]);
    assert_eq!(heard[1].data["payload"]["handoff"]["toAgent"], "builder");
    drop(live);

    let fence = accepted["fence"].clone();
    let give = json!({"return": {"handoff": handoff, "fence": fence, "status": "success"}});
    assert_eq!(service.command(&builder, give).status, 200);
    let again = Request::get("/v1/events").by(&operator).with("last-event-id", &heard[1].id);
    let mut again = Events::listen(&service, &again);
    assert_eq!(kinds(&again.take(2)), ["TASK_STARTED", "TASK_COMPLETED"]);

    let path = format!("/v1/events?after=0&workflow={workflow}&type=AGENT_HANDOFF,TASK_COMPLETED");
    let mut some = Events::listen(&service, &Request::get(&path).by(&operator));
    assert_eq!(kinds(&some.take(2)), ["AGENT_HANDOFF", "TASK_COMPLETED"]);
    let unknown = service.ask(&Request::get("/v1/events?type=NOISE").by(&operator));
    assert_eq!(unknown.problem(), (422, "bad-input".to_owned()));
}

#[test]
fn an_agent_hears_of_its_own_work_and_of_no_other() {
    let service = Service::with(&["builder", "rival"]);
    let operator = service.token(&["--operator"]);
    let rival = service.token(&["--agent", "rival"]);
    let mut hears = Events::listen(&service, &Request::get("/v1/events?after=0").by(&rival));
    let (secret, _) = passed(&service, &operator, "builder");
    let (_, own) = passed(&service, &operator, "rival");
    let first = hears.next().expect("an event");
    assert_eq!(first.data["payload"]["handoff"]["id"], Value::from(own));
    let path = format!("/v1/events?workflow={secret}");
    assert_eq!(service.ask(&Request::get(&path).by(&rival)).status, 404);
}

#[test]
fn a_token_that_is_taken_away_ends_what_it_opened() {
    let service = Service::with(&[]);
    let viewer = service.token(&["--viewer"]);
    let mut live = Events::listen(&service, &Request::get("/v1/events").by(&viewer));
    let tokens = service.desk.json(&["token", "list"]);
    let id = tokens[0]["id"].as_str().expect("a token").to_owned();
    service.desk.run(&["token", "revoke", &id]).ok();
    let end = live.next().expect("a last word");
    assert_eq!((end.kind.as_str(), end.data["code"].as_str()), ("end", Some("unauthorized")));
    assert_eq!(live.next(), None);
    let after = service.ask(&Request::get("/v1/workflows").by(&viewer));
    assert_eq!(after.problem(), (401, "unauthorized".to_owned()));
}

#[test]
fn a_token_that_is_taken_away_ends_what_an_mcp_client_hears() {
    use std::io::{BufRead, Read};
    let service = Service::with(&["builder"]);
    let builder = service.token(&["--agent", "builder"]);
    let (version, method) = ("2026-07-28", "subscriptions/listen");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let inbox = json!({ "resourceSubscriptions": ["baton://inbox"] });
    let params = json!({ "notifications": inbox, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let listens = Request::post("/mcp", &body)
        .by(&builder)
        .with("accept", "application/json, text/event-stream")
        .with("mcp-protocol-version", version)
        .with("mcp-method", method);
    let mut stream = listens.open(&service.address).expect("a connection");
    let mut line = String::new();
    while !line.starts_with("data:") {
        line.clear();
        assert_ne!(stream.read_line(&mut line).expect("a line"), 0, "it ended");
    }
    let tokens = service.desk.json(&["token", "list", "--agent", "builder"]);
    let id = tokens[0]["id"].as_str().expect("a token").to_owned();
    service.desk.run(&["token", "revoke", &id]).ok();
    stream.read_to_string(&mut line).expect("an end, and in time");
}

#[test]
fn a_token_that_is_taken_away_ends_what_waits_or_is_still_being_sent() {
    use std::io::{Read, Write};
    let service = Service::with(&["builder"]);
    let builder = service.token(&["--agent", "builder"]);
    let waiting = Request::get("/v1/inbox?wait=60s").by(&builder);
    let mut waiting = waiting.open(&service.address).expect("a connection");
    let mut sending = std::net::TcpStream::connect(&service.address).expect("a connection");
    let body = r#"{"start": {"title": "after the end"}}"#;
    let head = format!(
        "POST /v1/commands HTTP/1.0\r\nhost: {}\r\nauthorization: Bearer {builder}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        service.address,
        body.len()
    );
    sending.write_all(head.as_bytes()).expect("sent");
    sending.write_all(&body.as_bytes()[..10]).expect("sent");
    let records = service.desk.json(&["status"])["records"].clone();
    let tokens = service.desk.json(&["token", "list", "--agent", "builder"]);
    let id = tokens[0]["id"].as_str().expect("a token").to_owned();
    service.desk.run(&["token", "revoke", &id]).ok();
    for answer in [&mut waiting as &mut dyn Read, &mut sending] {
        let mut text = String::new();
        answer.read_to_string(&mut text).expect("an answer");
        assert!(text.starts_with("HTTP/1.0 401"), "{text}");
    }
    // The revocation is all that was recorded.
    let after = service.desk.json(&["status"])["records"].as_u64();
    assert_eq!(after, records.as_u64().map(|count| count + 1));
}

#[test]
fn what_is_not_there_is_not_exported() {
    let service = Service::with(&[]);
    let operator = service.token(&["--operator"]);
    let to = service.desk.path().join("bundle.jsonl");
    let unknown = "00000000-0000-4000-8000-000000000000";
    let body = json!({"to": to, "workflow": unknown}).to_string();
    let answer = service.ask(&Request::post("/v1/audit/export", &body).by(&operator));
    assert_eq!(answer.problem(), (404, "unknown-workflow".to_owned()));
    assert!(!to.exists());
}

#[test]
fn a_viewer_sees_neither_commands_nor_credentials() {
    let desk = Desk::new();
    let add = ["agent", "add", "runner", "--command", "echo hush", "--notify", "echo hush"];
    desk.run(&add).ok();
    desk.run(&["agent", "add", "caller", "--http", "http://a.example/x?key=hush"]).ok();
    let service = Service::on(desk, &["--listen", "127.0.0.1:0"]);
    let viewer = service.token(&["--viewer"]);
    for path in ["/v1/agents", "/v1/agents/caller", "/v1/audit", "/v1/messages"] {
        let told = service.read(&viewer, path).to_string();
        assert!(told.contains("caller"), "{path}: {told}");
        assert!(!told.contains("hush") && !told.contains("digest"), "{path}: {told}");
    }
}

#[test]
fn a_stream_tells_that_the_coordinator_ends_and_where_to_go_on() {
    let service = Service::with(&["builder"]);
    let viewer = service.token(&["--viewer"]);
    let mut live = Events::listen(&service, &Request::get("/v1/events").by(&viewer));
    service.desk.run(&["stop"]).ok();
    let end = live.next().expect("a last word");
    assert_eq!((end.kind.as_str(), end.data["code"].as_str()), ("end", Some("stopping")));
    assert!(end.data["after"].is_u64(), "{end:?}");
}

#[test]
fn one_mad_agent_is_slowed_and_the_others_are_not() {
    let service = Service::paced(&["mad", "calm"], 5);
    let (mad, calm) = (service.token(&["--agent", "mad"]), service.token(&["--agent", "calm"]));
    let answers = (0..60).map(|_| service.ask(&Request::get("/v1/inbox").by(&mad)));
    let slowed: Vec<_> = answers.filter(|answer| answer.status == 429).collect();
    assert!(!slowed.is_empty());
    assert_eq!(slowed[0].problem().1, "too-fast");
    let wait = |line: &String| line.to_ascii_lowercase().starts_with("retry-after:");
    assert!(slowed[0].headers.iter().any(wait), "{:?}", slowed[0]);
    assert_eq!(service.ask(&Request::get("/v1/inbox").by(&calm)).status, 200);
    let nobody = || service.ask(&Request::get("/v1/inbox"));
    assert_eq!(nobody().status, 401);
    let mut answers = std::iter::repeat_with(nobody).take(1_000);
    assert!(answers.any(|answer| answer.status == 429), "whoever shows no token is slowed as well");
    assert_eq!(service.ask(&Request::get("/v1/inbox").by(&calm)).status, 200);
    assert_eq!(service.ask(&Request::get("/healthz")).status, 200, "anybody may ask for it");
}

#[test]
fn one_token_does_not_take_every_connection_to_wait_on() {
    let service = Service::paced(&["mad", "calm"], 0);
    let (mad, calm) = (service.token(&["--agent", "mad"]), service.token(&["--agent", "calm"]));
    let wait = Request::get("/v1/inbox?wait=60s").by(&mad);
    let open = || wait.open(&service.address).expect("room");
    let mut waiting: Vec<_> = std::iter::repeat_with(open).take(256).collect();
    let one_more = || service.ask(&Request::get("/v1/inbox").by(&mad));
    // What is asked here may come before one that waits, and take its place; then another waits.
    let mut answers = std::iter::repeat_with(one_more).take(400);
    let refused = answers.find(|answer| {
        let answered = answer.status == 200;
        waiting.extend(answered.then(open));
        !answered
    });
    let refused = refused.expect("there are too many");
    assert_eq!(refused.problem(), (429, "too-many-requests".to_owned()));
    assert_eq!(service.ask(&Request::get("/v1/inbox").by(&calm)).status, 200);
    drop(waiting);
    let mut answers = std::iter::repeat_with(one_more).take(10_000);
    assert!(answers.any(|answer| answer.status == 200), "who left makes room");
}

#[test]
fn a_batch_is_no_way_around_the_pace() {
    let service = Service::paced(&[], 50);
    let operator = service.token(&["--operator"]);
    let line = r#"{"command":{"start":{"title":"a page"}}}"#;
    let lines = format!("{line}\n").repeat(200);
    let batch = Request::post("/v1/batch", &lines).by(&operator);
    let begun = std::time::Instant::now();
    let answer = service.ask(&batch.with("content-type", "application/x-ndjson"));
    let done = answer.body.lines().filter(|line| line.contains(r#""status":200"#)).count();
    assert_eq!(done, 200, "nobody has to ask again");
    // Two seconds' worth come at once, and the rest as fast as they would alone.
    assert!(begun.elapsed().as_millis() >= 1_900, "{:?}", begun.elapsed());
}

#[test]
fn whoever_waits_for_work_is_woken_at_once() {
    let service = Service::with(&["builder"]);
    let operator = service.token(&["--operator"]);
    let builder = service.token(&["--agent", "builder"]);
    let begun = std::time::Instant::now();
    let waiting = Request::get("/v1/inbox?wait=60s").by(&builder);
    let mut stream = waiting.open(&service.address).expect("a connection");
    let (_, handoff) = passed(&service, &operator, "builder");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).expect("an answer");
    assert!(text.contains(&handoff), "{text}");
    assert!(begun.elapsed().as_secs() < 30, "it slept through");
}

#[test]
fn a_coordinator_is_known_by_its_certificate() {
    let desk = Desk::with(&["builder"]);
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (cert, key) = (desk.path().join("cert.pem"), desk.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    let how = ["--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let service = Service::on(desk, &how);
    let viewer = service.token(&["--viewer"]);
    let port = service.address.rsplit_once(':').expect("a port").1;
    let url = format!("https://localhost:{port}");
    let trust = cert.display().to_string();
    let env = [("BATON_TOKEN", viewer.as_str()), ("BATON_URL", url.as_str())];
    let unknown = service.desk.run_with(&["list"], &env).fails(1);
    assert!(unknown.contains("cannot reach"), "{unknown}");
    let known = [&env[..], &[("BATON_CA", trust.as_str())]].concat();
    service.desk.run_with(&["list"], &known).ok();
}

#[test]
fn mcp_over_http_is_for_agents_and_a_session_is_its_owners() {
    let service = Service::on(Desk::with(&["builder", "tester"]), &["--listen", "127.0.0.1:0"]);
    let (builder, tester) =
        (service.token(&["--agent", "builder"]), service.token(&["--agent", "tester"]));
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    })
    .to_string();
    let ask = |body: &str, token: &str, session: Option<&str>| {
        let accept = "application/json, text/event-stream";
        let request = Request::post("/mcp", body).by(token).with("accept", accept);
        let request = request.with("content-type", "application/json");
        let request = match session {
            Some(session) => request.with("mcp-session-id", session),
            None => request,
        };
        service.ask(&request)
    };
    assert_eq!(service.ask(&Request::post("/mcp", &hello)).status, 401);
    for whose in ["--operator", "--viewer"] {
        let refused = ask(&hello, &service.token(&[whose]), None);
        assert_eq!(refused.problem(), (403, "agent-only".to_owned()), "{whose}");
    }
    let begun = ask(&hello, &builder, None);
    assert_eq!(begun.status, 200, "{begun:?}");
    let session = begun.headers.iter().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = session.expect("a session").to_owned();
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    assert_eq!(ask(list, &tester, Some(&session)).status, 404, "it is another's");
    let inited = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(ask(inited, &builder, Some(&session)).status, 202);
    let inbox = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_inbox"}}"#;
    let answer = ask(inbox, &builder, Some(&session));
    assert!(answer.body.contains("builder"), "it is who its token says: {answer:?}");
    let me = service.desk.json(&["token", "list", "--agent", "builder"]);
    let id = me[0]["id"].as_str().expect("an id");
    service.desk.run(&["token", "revoke", id]).ok();
    assert_eq!(ask(inbox, &builder, Some(&session)).status, 401);
}
