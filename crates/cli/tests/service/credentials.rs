//! Every route with every wrong credential. A route that is not in the table fails the test.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::net::{Answer, Request, Service};
use crate::passed;

/// Who gets through.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Guard {
    /// Whoever asks.
    Anybody,
    /// Every credential that is in force; each sees what is its own.
    Look,
    /// Those who have or had a part in the work, the operator and viewers. To others it is not
    /// there.
    Part,
    /// Like that, and never a viewer, because it changes something.
    Change,
    /// Every agent, because it begins something of its own, and never a viewer.
    Begin,
    /// Operators and viewers.
    Watch,
    /// Operators.
    Operator,
}

use Guard::{Anybody, Begin, Change, Look, Operator, Part, Watch};

/// Every operation, by its name in the OpenAPI document, with a body that an operator could send.
#[rustfmt::skip]
const TABLE: &[(&str, Guard, &str)] = &[
    ("accept", Change, "{}"),
    ("approve", Change, r#"{"hash": "0"}"#),
    ("deny", Change, r#"{"reason": "no"}"#),
    ("fall_back", Change, r#"{"fence": 2, "reason": "b is down"}"#),
    ("reset_breaker", Operator, ""),
    ("set_limits", Change, r#"{"handoffs": 9}"#),
    ("set_policy", Operator, "{}"),
    ("define", Operator, DEFINITION),
    ("fail_step", Change, r#"{"fence": 1, "error": {"errorType": "x", "errorMessage": "y"}}"#),
    ("raise_signal", Change, r#"{"signal": "GO"}"#),
    ("move_to", Change, r#"{"state": "done", "reason": "x"}"#),
    ("list_definitions", Look, ""),
    ("show_definition", Look, ""),
    ("show_policy", Watch, ""),
    ("add_artifact", Change, r#"{"fence": 2, "artifact": {"type": "code", "path": "a.txt"}}"#),
    ("backup", Operator, r#"{"to": "/nowhere/at/all"}"#),
    ("batch", Begin, r#"{"command": {"start": {"title": "x"}}}"#),
    ("cancel", Change, r#"{"reason": "no"}"#),
    ("cancel_workflow", Change, r#"{"reason": "no"}"#),
    ("checkpoint", Operator, ""),
    ("command", Begin, r#"{"start": {"title": "x"}}"#),
    ("complete", Change, r#"{"fence": 1}"#),
    ("create_token", Operator, r#"{"agent": "builder"}"#),
    ("decide", Change, r#"{"approved": true, "decision": "yes"}"#),
    ("defer", Change, r#"{"reason": "later"}"#),
    ("docs", Anybody, ""),
    ("export", Operator, r#"{"to": "/nowhere/at/all"}"#),
    ("find", Part, ""),
    ("goto", Change, r#"{"fence": 1, "goto": "END"}"#),
    ("health", Anybody, ""),
    ("heartbeat", Change, ""),
    ("list_agents", Look, ""),
    ("list_approvals", Look, ""),
    ("list_artifacts", Part, ""),
    ("list_handoffs", Look, ""),
    ("list_locks", Look, ""),
    ("list_messages", Look, ""),
    ("list_records", Look, ""),
    ("list_variables", Part, ""),
    ("list_workflows", Look, ""),
    ("listen", Look, ""),
    ("lock", Change, r#"{"workflow": "W", "fence": 2, "paths": ["a.txt"], "mode": "exclusive"}"#),
    ("metrics", Watch, ""),
    ("mark_artifact", Change, r#"{"fence": 2, "status": "final"}"#),
    ("openapi", Anybody, ""),
    ("pass", Begin, r#"{"to_agent": "builder", "reason": "x"}"#),
    ("ping", Anybody, ""),
    ("progress", Change, r#"{"fence": 2, "note": "x"}"#),
    ("prunable", Operator, ""),
    ("prune", Operator, ""),
    ("put_agent", Operator, "{}"),
    ("readiness", Anybody, ""),
    ("reassign_handoff", Change, r#"{"to_agent": "rival", "reason": "x"}"#),
    ("reassign_workflow", Change, r#"{"to_agent": "rival", "reason": "x"}"#),
    ("register", Operator, r#"{"id": "newcomer"}"#),
    ("reject", Change, r#"{"reason": "no"}"#),
    ("replay_workflow", Part, ""),
    ("report_health", Change, r#"{"healthy": false}"#),
    ("return", Change, r#"{"fence": 2, "status": "success"}"#),
    ("revoke_token", Operator, ""),
    ("set_variable", Change, r#"{"fence": 2, "value": 1}"#),
    ("set_variables", Change, r#"{"fence": 2, "changes": {"a": 1}}"#),
    ("show_agent", Look, ""),
    ("show_flow", Part, ""),
    ("show_handoff", Part, ""),
    ("show_inbox", Look, ""),
    ("show_log", Part, ""),
    ("show_compact", Part, ""),
    ("show_package", Part, ""),
    ("show_secret", Operator, ""),
    ("show_stats", Look, ""),
    ("show_status", Look, ""),
    ("show_variable", Part, ""),
    ("show_workflow", Part, ""),
    ("start", Begin, r#"{"title": "x"}"#),
    ("stop", Operator, ""),
    ("unlock", Change, ""),
    ("verify", Operator, ""),
    ("what_if", Operator, r#"{"policy": {}}"#),
];

/// A definition by a name that routes are asked for.
const DEFINITION: &str = r#"{"workflow": "colour", "version": 1, "agents": {"builder": {}},
    "start": "one", "states": {"one": {"agent": "builder"}, "done": {"end": "completed"},
    "failed": {"end": "failed"}}, "transitions": {"one": ["done", "failed"]},
    "rules": [{"id": "r", "from": "builder", "trigger": "ONE_COMPLETE", "reason": "done",
    "next_state": "done"}]}"#;

/// A route, as the document tells it, for the work of `builder`.
struct Route {
    operation: String,
    method: String,
    path: String,
    media: String,
}

fn routes(document: &Value, workflow: &str, handoff: &str, last: &Value) -> Vec<Route> {
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let id = match path.split('/').nth(2) {
                Some("workflows") => workflow,
                Some("agents") => "builder",
                _ => handoff,
            };
            let path = path
                .replace("{id}", id)
                .replace("{prefix}", workflow)
                .replace("{name}", "colour")
                .replace("{artifact}", "00000000-0000-4000-8000-000000000000")
                .replace("{token}", "00000000-0000-4000-8000-000000000000");
            let query = match operation["operationId"].as_str() {
                Some("unlock") => format!("?workflow={workflow}&fence=2&path=a.txt"),
                Some("replay_workflow") => format!("?seq={last}"),
                _ => String::new(),
            };
            let content = operation["requestBody"]["content"].as_object();
            let media = content.and_then(|content| content.keys().next().cloned());
            routes.push(Route {
                operation: operation["operationId"].as_str().expect("a name").to_owned(),
                method: method.to_ascii_uppercase(),
                path: format!("{path}{query}"),
                media: media.unwrap_or_else(|| "application/json".to_owned()),
            });
        }
    }
    routes
}

/// A token that was in force until just now.
fn expired(service: &Service) -> String {
    let token = service.token(&["--agent", "rival", "--for", "1s"]);
    let begun = Instant::now();
    while service.ask(&Request::get("/v1/workflows").by(&token)).status != 401 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not expire");
        // Its time must pass on the coordinator's clock; this only paces the looking.
        std::thread::sleep(Duration::from_millis(20));
    }
    token
}

fn revoked(service: &Service) -> String {
    let token = service.token(&["--agent", "rival"]);
    let tokens = service.desk.json(&["token", "list", "--agent", "rival"]);
    let newest = tokens.as_array().and_then(|all| all.last()).expect("a token").clone();
    service.desk.run(&["token", "revoke", newest["id"].as_str().expect("an id")]).ok();
    token
}

#[test]
fn every_route_refuses_every_wrong_credential() {
    let service = Service::paced(&["builder", "rival"], 0);
    let operator = service.token(&["--operator"]);
    let (rival, viewer) = (service.token(&["--agent", "rival"]), service.token(&["--viewer"]));
    let wrong =
        [None, Some("bt1_rival_0".to_owned()), Some(expired(&service)), Some(revoked(&service))];
    let (workflow, handoff) = passed(&service, &operator, "builder");
    let set = json!({"set_variables": {
        "workflow": workflow, "fence": 1, "changes": {"colour": "red"},
    }});
    assert_eq!(service.command(&operator, set).status, 200);
    let definition: Value = serde_json::from_str(DEFINITION).expect("JSON");
    assert_eq!(service.command(&operator, json!({"define": definition})).status, 200);
    let document = service.ask(&Request::get("/v1/openapi.json")).json();
    let records = || service.read(&operator, "/v1/status")["records"].clone();
    let before = records();
    let routes = routes(&document, &workflow, &handoff, &before);
    let named: BTreeSet<_> = routes.iter().map(|route| route.operation.as_str()).collect();
    let known: BTreeSet<_> = TABLE.iter().map(|(name, ..)| *name).collect();
    assert_eq!(named, known, "the table and the document name different operations");

    let mut open = Vec::new();
    for route in &routes {
        let (_, guard, body) = TABLE.iter().find(|row| row.0 == route.operation).expect("a row");
        let body = body.replace("\"W\"", &json!(workflow).to_string());
        let ask = |token: Option<&str>| ask(&service, route, &body, token);
        for token in &wrong {
            let status = ask(token.as_deref()).status;
            let expected = if *guard == Anybody { 200 } else { 401 };
            assert_eq!(status, expected, "{} {} by {token:?}", route.method, route.path);
        }
        let mut refused = |token: &str, statuses: &[u16]| {
            let answer = ask(Some(token));
            if !statuses.contains(&answer.status) {
                let (method, path, body) = (&route.method, &route.path, &answer.body);
                open.push(format!("{method} {path}: {} {body}", answer.status));
            }
        };
        match guard {
            Anybody => (),
            Look => refused(&viewer, &[200]),
            Part => {
                refused(&rival, &[404]);
                refused(&viewer, &[200]);
            }
            Change => {
                refused(&rival, &[403, 404]);
                refused(&viewer, &[403]);
            }
            // What one line of a batch asks is refused in its own line.
            Begin if route.operation == "batch" => {
                let answer = ask(Some(&viewer));
                assert!(answer.body.contains("view-only"), "{answer:?}");
            }
            Begin => refused(&viewer, &[403]),
            Watch => {
                refused(&rival, &[403]);
                refused(&viewer, &[200]);
            }
            Operator => {
                refused(&rival, &[403]);
                refused(&viewer, &[403]);
            }
        }
    }
    assert!(open.is_empty(), "{}", open.join("\n"));
    assert_eq!(records(), before, "something was recorded");
}

fn ask(service: &Service, route: &Route, body: &str, token: Option<&str>) -> Answer {
    let request = Request::new(&route.method, &route.path, body).with("content-type", &route.media);
    let request = match token {
        Some(token) => request.by(token),
        None => request,
    };
    match route.operation.as_str() {
        // Its answer has no end.
        "listen" => request.begun(&service.address),
        _ => service.ask(&request),
    }
}
