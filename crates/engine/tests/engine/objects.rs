//! Agents that answer with command objects, as real processes and over HTTP.

use baton_engine::view::{Answer, WorkflowView};
use baton_protocol::command::Actor;
use serde_json::{Value, json};

use crate::calls::Service;
use crate::scene::{Stage, agent};

async fn command(stage: &mut Stage, name: &str, script: &str) {
    let reach = json!({ "command": { "argv": ["sh", "-c", script] } });
    stage.register(json!({ "id": name, "reach": reach })).await;
}

/// Passes the whole work to `to`.
async fn begin(stage: &mut Stage, to: &str) -> Answer {
    let pass = json!({ "pass": { "to_agent": to, "reason": "add caching" } });
    stage.scene.ask(Actor::Agent(agent("planner")), pass).await
}

async fn closed(stage: &Stage, begun: &Answer) -> WorkflowView {
    let id = begun.workflow.expect("a workflow");
    let mut changes = stage.scene.engine.changes();
    loop {
        changes.mark_unchanged();
        let view = stage.scene.engine.workflow(Actor::Operator, id).await.expect("it is there");
        if view.line.status != "open" {
            return view;
        }
        changes.changed().await.expect("the ledger goes on");
    }
}

/// A scout that says which task it had, and an architect that sends two of them out and goes on
/// when both are back.
async fn team(stage: &mut Stage) {
    let scout = r#"task=$(grep -o '"task_id":"[a-z]*"' | head -n 1 | cut -d '"' -f 4)
        echo "{\"goto\": \"END\", \"update\": {\"found\": \"$task is fast\", \"metrics\":
            {\"tokens_used\": 10, \"retry_count\": 1}, \"workflow_state\":
            {\"completed_steps\": [\"$task\"]}}}""#;
    command(stage, "scout", scout).await;
    let architect = r#"package=$(cat)
        if [ -z "$BATON_RETURNED" ]; then
            echo '{"goto": [["scout", {"task": "redis", "depth": 2}],
                {"agent": "scout", "task": "caching"}], "update": {"validated": true,
                "workflow_state": {"phase": "research", "next_phase": "planning",
                    "remaining_steps": ["redis", "caching", "planning"]},
                "metrics": {"tokens_used": 100, "time_elapsed": 1.5}}, "graph": "parent"}'
        else
            fast=$(echo "$package" | grep -o '[a-z]* is fast' | sort -u | tr '\n' ' ')
            echo "{\"goto\": \"END\", \"update\": {\"reason\": \"all found\",
                \"context\": {\"fast\": \"$fast\", \"ids\": \"$BATON_RETURNED\"},
                \"artifacts\": {\"Plan\": \"plan.md\", \"Report\": null},
                \"workflow_state\": {\"phase\": \"planning\", \"next_phase\": null},
                \"metrics\": {\"tokens_used\": 1, \"score\": 93}}}"
        fi"#;
    command(stage, "architect", architect).await;
}

#[tokio::test]
async fn one_that_sends_tasks_out_goes_on_when_they_are_back() {
    let mut stage = Stage::new().await;
    team(&mut stage).await;
    let begun = begin(&mut stage, "architect").await;
    let view = closed(&stage, &begun).await;
    assert_eq!(view.line.status, "completed");
    let custom = &view.context_variables["custom"];
    assert_eq!(custom["fast"], "caching is fast redis is fast ");
    let sent: Vec<_> = view.handoffs.iter().filter(|one| one.kind == "broadcast").collect();
    assert_eq!(sent.len(), 2);
    for one in &sent {
        let ids = custom["ids"].as_str().expect("ids");
        assert!(one.to_agent == agent("scout") && ids.contains(&one.id.to_string()), "{ids}");
    }
    let redis = sent.iter().find(|one| one.task.as_deref() == Some("redis")).expect("redis");
    let redis = stage.scene.engine.handoff(Actor::Operator, redis.id).await.expect("it is there");
    let told = serde_json::to_value(&redis.context.custom).expect("JSON");
    assert_eq!(told, json!({ "depth": 2, "validated": true }));
    assert_eq!(redis.result.expect("a result")["audit"]["tokens_consumed"], 10);

    let state = serde_json::to_value(&view.workflow_state).expect("JSON");
    let mut done = view.workflow_state.completed_steps.clone();
    done.sort();
    assert_eq!((&state["phase"], &state["next_phase"]), (&json!("planning"), &Value::Null));
    assert_eq!(serde_json::to_value(done).expect("JSON"), json!(["caching", "redis"]));
    assert_eq!(state["remaining_steps"], json!(["planning"]));
    let metrics = serde_json::to_value(&view.metrics).expect("JSON");
    let expected =
        json!({ "tokens_used": 121, "time_elapsed": 1.5, "retry_count": 2, "score": 93 });
    assert_eq!(metrics, expected);
    let made: Vec<_> = view.artifacts.iter().map(|made| made.produced.path.to_string()).collect();
    assert_eq!(made, ["plan.md"], "what is not made yet is nothing");
    let ending = view.ending.expect("an ending").to_string();
    assert!(ending.contains("all found"), "{ending}");
}

#[tokio::test]
async fn one_that_waits_for_what_it_sent_out_still_does_after_a_restart() {
    let mut stage = Stage::new().await;
    team(&mut stage).await;
    let gate = stage.workspace.path().join("gate");
    std::process::Command::new("mkfifo").arg(&gate).status().expect("a gate");
    let scout = "read go < gate; echo '{\"goto\": \"END\", \"update\": {\"a\": \"it is fast\"}}'";
    command(&mut stage, "scout", scout).await;
    let begun = begin(&mut stage, "architect").await;
    let id = begun.workflow.expect("a workflow");
    let out = async |stage: &Stage| {
        let mut changes = stage.scene.engine.changes();
        loop {
            changes.mark_unchanged();
            let view = stage.scene.engine.workflow(Actor::Operator, id).await.expect("it is there");
            if view.handoffs.iter().filter(|one| one.state == "accepted").count() == 2 {
                return;
            }
            changes.changed().await.expect("the ledger goes on");
        }
    };
    out(&stage).await;
    stage.restart().await;
    out(&stage).await;
    // Held open for both: the second must not find it closed when the first has its word.
    let mut held = std::fs::OpenOptions::new().read(true).write(true).open(&gate).expect("a gate");
    std::io::Write::write_all(&mut held, b"go\ngo\n").expect("it is open");
    let view = closed(&stage, &begun).await;
    assert_eq!(view.context_variables["custom"]["fast"], "it is fast ");
    assert_eq!(view.metrics.tokens_used, 101, "the architect spoke twice");
}

#[tokio::test]
async fn a_bad_object_is_a_failed_run_and_names_the_field() {
    let mut stage = Stage::new().await;
    stage.script(r#"echo '{"goto": [{"agent": "planner", "task": ""}]}'"#).await;
    let passed = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    let view = stage.state(&passed, "failed").await;
    let detail = view.line.detail.expect("a detail");
    assert!(detail.contains("goto[0].task: an empty text"), "{detail}");
    assert_eq!(view.result.expect("a result")["result"]["body"]["field"], "goto[0].task");

    // So is one that the rules refuse: it went to itself.
    stage.script(r#"echo '{"goto": "builder"}'"#).await;
    let passed = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    let detail = stage.state(&passed, "failed").await.line.detail.expect("a detail");
    assert!(detail.contains("cannot pass work to itself"), "{detail}");
}

#[tokio::test]
async fn a_service_is_called_again_when_what_it_sent_out_is_back() {
    let mut stage = Stage::new().await;
    command(&mut stage, "scout", "echo fine").await;
    let answers = [
        r#"200 {"goto": [["scout", {"task": "redis"}]]}"#,
        r#"200 {"goto": "scout", "update": {"next_task": "build it"}}"#,
    ];
    let service = Service::start(&answers).await;
    let reach = json!({ "http": { "url": service.url } });
    stage.register(json!({ "id": "builder", "reach": reach })).await;
    let begun = begin(&mut stage, "builder").await;
    let view = closed(&stage, &begun).await;
    let calls = service.calls();
    let [_, (_, body)] = calls.as_slice() else { panic!("{} calls", calls.len()) };
    let package: Value = serde_json::from_slice(body).expect("a package");
    assert_eq!(package["returned"][0]["task"], "redis");
    assert_eq!(package["returned"][0]["result"]["result"]["body"], "fine");
    // The clock stands still, so nothing but their ids tells them apart.
    let mut told: Vec<_> = view.handoffs.iter().map(|one| (&*one.kind, &*one.reason)).collect();
    told.sort_unstable();
    let whole = [("sequential", "add caching"), ("sequential", "build it")];
    assert_eq!(told, [[("broadcast", "passed on")].as_slice(), &whole].concat());
}
