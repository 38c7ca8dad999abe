//! The engine on a ledger in memory and on a clock that is moved by hand.

use baton_engine::view::Found;
use baton_engine::{AuditQuery, Clock, Engine, QueryError, SubmitError, WorkflowQuery};
use baton_protocol::agent::Grant;
use baton_protocol::command::{Actor, Submission};
use serde_json::{Value, json};

mod calls;
mod flow;
mod heartbeats;
mod messages;
mod objects;
mod replay;
mod rules;
mod runs;
mod scene;
mod teams;

use scene::{Scene, agent};

#[tokio::test]
async fn time_brings_reminder_timeout_and_resend_also_across_a_restart() {
    let mut scene = Scene::new().await;
    let passed = scene.delegate(json!({ "timeout": "20s", "on_timeout": "retry" })).await;
    scene.accept(&passed).await;
    assert_eq!(scene.engine.wake_due().await.expect("woken"), 0);
    for (span, then) in [("20s", "accepted"), ("10s", "queued"), ("2s", "initiated")] {
        scene.later(span);
        scene.ledger.restart().expect("the lines read back");
        assert_eq!(scene.engine.wake_due().await.expect("woken"), 1, "after {span}");
        assert_eq!(scene.state(&passed).await, then);
    }
    let again = scene.accept(&passed).await;
    assert_eq!(again.fence.map(|fence| fence.0), Some(3));
    assert!(scene.engine.next_wake().await.expect("known") > Some(scene.clock.now()));
}

#[tokio::test]
async fn a_notify_command_runs_once_and_is_settled() {
    let mut scene = Scene::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let script = r#"echo "$BATON_NEWS $BATON_AGENT $BATON_HANDOFF" >> "$0""#;
    let file = folder.path().join("news");
    let argv = json!(["sh", "-c", script, file]);
    let profile = json!({ "register": { "id": "builder", "notify": argv } });
    scene.ask(Actor::Operator, profile).await;

    let passed = scene.delegate(json!({ "timeout": "1h" })).await;
    // The effect was written with the events: whoever comes after a crash carries it out.
    scene.ledger.restart().expect("the lines read back");
    assert_eq!(scene.engine.run_effects().await.expect("carried out"), 1);
    assert_eq!(scene.engine.run_effects().await.expect("carried out"), 0);
    scene.ledger.restart().expect("the lines read back");
    assert_eq!(scene.engine.run_effects().await.expect("carried out"), 0);

    let news = std::fs::read_to_string(file).expect("it was told");
    let handoff = passed.handoff.expect("a handoff");
    assert_eq!(news, format!("arrived builder {handoff}\n"));
}

#[tokio::test]
async fn a_program_that_cannot_run_does_not_stop_the_outbox() {
    let mut scene = Scene::new().await;
    let profile = json!({ "register": { "id": "builder", "notify": ["/no/such/program"] } });
    scene.ask(Actor::Operator, profile).await;
    scene.delegate(json!({ "timeout": "1h" })).await;
    assert_eq!(scene.engine.run_effects().await.expect("carried out"), 1);
    assert_eq!(scene.engine.status().await.expect("status").outbox, 0);
}

#[tokio::test]
async fn a_lock_that_lapsed_is_nobodys() {
    let mut scene = Scene::new().await;
    let passed = scene.delegate(json!({ "timeout": "1h" })).await;
    let lock = json!({
        "workflow": passed.workflow, "fence": 1, "paths": ["src/main.rs"], "for": "10s",
    });
    scene.ask(Actor::Agent(agent("planner")), json!({ "lock": lock })).await;
    // What is told of the work itself is told by its records, and no record says that it lapsed.
    let told = async |scene: &Scene| {
        let locks = scene.engine.locks(Actor::Operator).await.expect("the locks");
        (locks.len(), scene.engine.gauges().await.expect("gauges").locks)
    };
    assert_eq!(told(&scene).await, (1, 1));
    scene.later("10s");
    assert_eq!(told(&scene).await, (0, 0));
}

#[tokio::test]
async fn a_large_body_lies_beside_the_ledger_and_comes_back_whole() {
    let mut scene = Scene::new().await;
    let history: Vec<Value> = (0..200)
        .map(|n| json!({ "role": "user", "content": format!("message {n}: {n:040}") }))
        .collect();
    let command = json!({ "pass": {
        "to_agent": "builder", "reason": "build it",
        "context": { "conversation_history": history },
    }});
    let passed = scene.ask(Actor::Agent(agent("planner")), command).await;
    let stored = serde_json::to_string(&passed.events).expect("json");
    assert!(stored.contains("sha256") && !stored.contains("message 17"));
    let id = passed.handoff.expect("a handoff");
    let view = scene.engine.handoff(Actor::Operator, id).await.expect("it is there");
    assert_eq!(view.context.conversation_history, Some(json!(history)));
}

#[tokio::test]
async fn a_workflow_that_left_memory_is_told_from_its_records() {
    let mut scene = Scene::new().await;
    let passed = scene.delegate(json!({ "timeout": "1h" })).await;
    let accepted = scene.accept(&passed).await;
    let give = json!({ "return": {
        "handoff": passed.handoff, "fence": accepted.fence, "status": "success",
        "result": { "content_type": "text", "body": "it works" },
        "context_updates": { "variables_changed": { "port": 8080 } },
    }});
    scene.ask(Actor::Agent(agent("builder")), give).await;
    let complete = json!({ "complete": { "workflow": passed.workflow, "fence": 1 } });
    scene.ask(Actor::Agent(agent("planner")), complete).await;

    let id = passed.workflow.expect("a workflow");
    let view = scene.engine.workflow(Actor::Operator, id).await.expect("it is there");
    assert_eq!(view.line.status, "completed");
    assert_eq!(view.context_variables["custom"]["port"], 8080);
    let handoff = passed.handoff.expect("a handoff");
    let told = scene.engine.handoff(Actor::Operator, handoff).await.expect("it is there");
    assert_eq!(told.result.expect("a result")["result"]["body"], "it works");
    let found =
        scene.engine.find(Actor::Operator, &handoff.to_string()[..13]).await.expect("found");
    assert_eq!(found, Found::Handoff(handoff));
    let all = WorkflowQuery { all: true, ..Default::default() };
    assert_eq!(scene.engine.workflows(Actor::Operator, all).await.expect("listed").items.len(), 1);
}

#[tokio::test]
async fn an_agent_sees_its_own_work_and_no_other() {
    let mut scene = Scene::new().await;
    scene.ask(Actor::Operator, json!({ "register": { "id": "rival" } })).await;
    let passed = scene.delegate(json!({ "timeout": "1h" })).await;
    let (workflow, handoff) = (passed.workflow.expect("w"), passed.handoff.expect("h"));
    let rival = || Actor::Agent(agent("rival"));
    let builder = || Actor::Agent(agent("builder"));
    assert!(matches!(
        scene.engine.workflow(rival(), workflow).await,
        Err(QueryError::Refused(refusal)) if refusal.code() == "unknown-workflow"
    ));
    assert!(scene.engine.handoff(rival(), handoff).await.is_err());
    // Whoever is asked sees the handoff; the whole work only once it has taken it.
    assert!(scene.engine.handoff(builder(), handoff).await.is_ok());
    assert!(scene.engine.workflow(builder(), workflow).await.is_err());
    scene.accept(&passed).await;
    assert!(scene.engine.workflow(builder(), workflow).await.is_ok());
    let all = scene.engine.audit(rival(), AuditQuery::default()).await.expect("answered");
    assert_eq!(all, Vec::<Value>::new());
    let query = AuditQuery { workflow: Some(workflow), ..AuditQuery::default() };
    assert!(scene.engine.audit(rival(), query).await.is_err());
    assert!(scene.engine.find(rival(), &workflow.to_string()).await.is_err());
    assert!(scene.engine.find(builder(), &workflow.to_string()).await.is_ok());
}

#[tokio::test]
async fn a_token_is_good_until_it_expires_or_is_revoked() {
    let mut scene = Scene::new().await;
    let day = "1d".parse().ok();
    let create = async |scene: &Scene, name: &str, grant: Grant, span| {
        scene.engine.create_token(Actor::Operator, agent(name), grant, span, None).await
    };
    let made = create(&scene, "builder", Grant::Act, day).await.expect("a token");
    let who = async |scene: &Scene, token: &str| {
        let found = scene.engine.authenticate(token).await.expect("looked up");
        found.map(|credential| credential.actor)
    };
    // The second time it is known without asking the ledger.
    for _ in 0..2 {
        assert_eq!(who(&scene, &made.token).await, Some(Actor::Agent(agent("builder"))));
    }
    let operator = create(&scene, "operator", Grant::Act, None).await.expect("a token");
    assert_eq!(who(&scene, &operator.token).await, Some(Actor::Operator));
    let viewer = create(&scene, "operator", Grant::View, None).await.expect("a token");
    assert_eq!(who(&scene, &viewer.token).await, Some(Actor::Viewer));
    let refused = create(&scene, "builder", Grant::View, None).await;
    assert!(matches!(refused, Err(SubmitError::Refused(r)) if r.code() == "view-of-agent"));
    for wrong in
        ["", "bt1_builder_", "bt1_planner_x", &made.token[1..], &format!("{}0", made.token)]
    {
        assert_eq!(who(&scene, wrong).await, None, "{wrong}");
    }
    scene.later("1d");
    assert_eq!(who(&scene, &made.token).await, None);

    let other = create(&scene, "builder", Grant::Act, None).await.expect("a token");
    assert!(who(&scene, &other.token).await.is_some());
    let revocations = scene.engine.revocations();
    let revoke = json!({ "revoke_token": { "agent": "builder", "token": other.id } });
    scene.ask(Actor::Operator, revoke).await;
    assert_eq!(who(&scene, &other.token).await, None);
    assert!(revocations.has_changed().expect("the engine is there"));
    let by_agent = Actor::Agent(agent("builder"));
    let refused =
        scene.engine.create_token(by_agent, agent("builder"), Grant::Act, None, None).await;
    assert!(matches!(refused, Err(SubmitError::Refused(r)) if r.code() == "operator-only"));
}

#[tokio::test]
async fn the_audit_says_what_the_specification_asks_for() {
    let mut scene = Scene::new().await;
    let passed = scene.delegate(json!({ "timeout": "1h" })).await;
    scene.later("3s");
    let accepted = scene.accept(&passed).await;
    scene.later("2s");
    let give = json!({ "return": {
        "handoff": passed.handoff, "fence": accepted.fence, "status": "partial",
        "audit": { "tokens_consumed": 512, "notes": "half of it" },
    }});
    scene.ask(Actor::Agent(agent("builder")), give).await;
    let query = AuditQuery { handoff: passed.handoff, ..AuditQuery::default() };
    let records = scene.engine.audit(Actor::Operator, query).await.expect("answered");
    let types: Vec<_> = records.iter().map(|r| r["audit"]["event_type"].clone()).collect();
    assert_eq!(types, [json!("initiated"), json!("accepted"), json!("completed")]);
    let last = &records[2]["audit"];
    assert_eq!(last["outcome"], "partial");
    assert_eq!(last["duration_ms"], 5_000);
    assert_eq!(last["tokens_consumed"], 512);
    assert_eq!(last["from_agent"], "planner");
    assert_eq!(last["to_agent"], "builder");
    assert_eq!(last["handoff_type"], "delegation");
    assert_eq!(last["risk_level"], "medium");
    let hash = last["context_snapshot"]["context_variables_hash"].as_str().expect("a hash");
    assert_eq!(hash.len(), 64);
    assert_eq!(last["trace_id"].as_str().map(str::len), Some(32));
    assert_eq!(last["span_id"].as_str().map(str::len), Some(16));
    assert_eq!(scene.engine.verify(None, None).await.expect("checked").problem, None);
}

#[tokio::test]
async fn an_inbox_is_ordered_by_priority_then_age() {
    let mut scene = Scene::new().await;
    for (reason, priority) in [
        ("first low", "low"),
        ("first", "normal"),
        ("second", "P2"),
        ("now", "urgent"),
        ("soon", "P1"),
    ] {
        let command = json!({ "pass": {
            "to_agent": "builder", "reason": reason, "priority": priority,
        }});
        scene.ask(Actor::Agent(agent("planner")), command).await;
        scene.later("1s");
    }
    let inbox = scene.engine.inbox(agent("builder")).await.expect("an inbox");
    let order: Vec<_> = inbox.waiting.iter().map(|line| line.reason.as_str()).collect();
    assert_eq!(order, ["now", "soon", "first", "second", "first low"]);
}

#[tokio::test]
async fn one_key_for_two_workflows_names_two_commands() {
    let mut scene = Scene::new().await;
    let planner = || Actor::Agent(agent("planner"));
    let mut works = Vec::new();
    for title in ["one", "two"] {
        works.push(scene.ask(planner(), json!({ "start": { "title": title } })).await.workflow);
    }
    let mut passed = Vec::new();
    for workflow in [works[0], works[1], works[0]] {
        let command = json!({ "pass": {
            "workflow": workflow, "fence": 1, "to_agent": "builder", "reason": "your turn",
        }});
        let command = serde_json::from_value(command).expect("a command");
        let submission = Submission::keyed(planner(), "k1", command);
        passed.push(scene.engine.submit(submission).await.expect("it is taken"));
    }
    assert_eq!(passed[0], passed[2], "the same asking has the same answer");
    assert_ne!(passed[0].handoff, passed[1].handoff);
    let inbox = scene.engine.inbox(agent("builder")).await.expect("an inbox");
    assert_eq!(inbox.waiting.len(), 2);
}

#[tokio::test]
async fn one_key_asks_for_one_thing() {
    let mut scene = Scene::new().await;
    let planner = || Actor::Agent(agent("planner"));
    let started = scene.ask(planner(), json!({ "start": { "title": "keyed" } })).await;
    let keyed = |command: Value| {
        let command = serde_json::from_value(command).expect("a command");
        Submission::keyed(planner(), "k1", command)
    };
    let set = |n: u64| {
        json!({ "set_variables": {
            "workflow": started.workflow, "fence": 1, "changes": { "a": n },
        }})
    };
    let first = scene.engine.submit(keyed(set(1))).await.expect("it is taken");
    assert_eq!(scene.engine.submit(keyed(set(1))).await.expect("the same"), first);
    for other in [set(2), json!({ "complete": { "workflow": started.workflow, "fence": 1 } })] {
        let refused = scene.engine.submit(keyed(other)).await;
        assert!(matches!(refused, Err(SubmitError::Refused(r)) if r.code() == "key-reused"));
    }
    let titles = ["one", "two"].map(|title| keyed(json!({ "start": { "title": title } })));
    let [one, two] = titles;
    scene.engine.submit(one).await.expect("it is taken");
    let refused = scene.engine.submit(two).await;
    assert!(matches!(refused, Err(SubmitError::Refused(r)) if r.code() == "key-reused"));
}

#[tokio::test]
async fn an_artifact_says_who_made_it_and_whether_it_can_be_relied_on() {
    let mut scene = Scene::new().await;
    let planner = || Actor::Agent(agent("planner"));
    let started = scene.ask(planner(), json!({ "start": { "title": "Write it down" } })).await;
    let id = started.workflow.expect("a workflow");
    let add = json!({ "add_artifact": {
        "workflow": id, "fence": 1,
        "artifact": { "type": "document", "path": "docs/plan.md", "description": "the plan" },
    }});
    scene.ask(planner(), add).await;
    let view = scene.engine.workflow(Actor::Operator, id).await.expect("it is there");
    let artifact = serde_json::to_value(&view.artifacts[0]).expect("json");
    assert_eq!(artifact["type"], "document");
    assert_eq!(artifact["path"], "docs/plan.md");
    assert_eq!(artifact["created_by"], "planner");
    assert_eq!(artifact["status"], "draft");
    let mark = json!({ "mark_artifact": {
        "workflow": id, "fence": 1, "artifact": artifact["id"], "status": "final",
    }});
    scene.ask(planner(), mark).await;
    let view = scene.engine.workflow(Actor::Operator, id).await.expect("it is there");
    let artifact = serde_json::to_value(&view.artifacts[0]).expect("json");
    assert_eq!(artifact["status"], "final");
}

#[tokio::test]
async fn a_delegates_package_has_only_what_was_shared() {
    let mut scene = Scene::new().await;
    let planner = || Actor::Agent(agent("planner"));
    let variables = json!({ "branch": "login", "plan": "secret" });
    let start = json!({ "start": { "title": "Share", "variables": variables } });
    let started = scene.ask(planner(), start).await;
    let pass = json!({ "pass": {
        "workflow": started.workflow, "fence": 1, "to_agent": "builder", "type": "delegation",
        "reason": "build it", "context": { "share": ["branch"] },
        "return_protocol": { "timeout": "1h" },
    }});
    let passed = scene.ask(planner(), pass).await;
    scene.accept(&passed).await;
    let builder = Actor::Agent(agent("builder"));
    let id = passed.handoff.expect("a handoff");
    let package = scene.engine.package(builder, id).await.expect("it is there");
    let custom = &package.handoff.context.context_variables["custom"];
    assert_eq!(*custom, json!({ "branch": "login" }));
}

#[tokio::test]
async fn a_check_of_the_ledger_reads_the_bodies_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::open(folder.path()).expect("a ledger");
    let long = "word ".repeat(2_000);
    let pass = json!({ "pass": {
        "to_agent": "builder", "reason": "build it",
        "context": { "conversation_history": [{ "role": "user", "content": long }] },
    }});
    for (key, command) in [("a", json!({ "register": { "id": "builder" } })), ("b", pass)] {
        let command = serde_json::from_value(command).expect("a command");
        let submission = Submission::keyed(Actor::Operator, key, command);
        engine.submit(submission).await.expect("it is taken");
    }
    assert_eq!(engine.verify(None, None).await.expect("checked").problem, None);
    std::fs::remove_dir_all(folder.path().join("blobs")).expect("removed");
    let problem = engine.verify(None, None).await.expect("checked").problem.expect("found");
    assert!(problem.contains("record 3"), "{problem}");
}
