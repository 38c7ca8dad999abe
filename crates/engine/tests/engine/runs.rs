//! Agents that are commands, as real processes.

use baton_protocol::command::Actor;
use serde_json::json;

use crate::scene::{Stage, agent};

fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The process that a run named with `pid N`.
fn named(said: &str) -> String {
    let rest = said.split("pid ").nth(1).expect("a process");
    rest.split_whitespace().next().expect("its number").to_owned()
}

#[tokio::test]
async fn a_command_agent_gets_the_package_and_its_output_comes_back() {
    let mut stage = Stage::new().await;
    let cat = json!({ "id": "builder", "reach": { "command": { "argv": ["/bin/cat"] } } });
    stage.register(cat).await;
    let passed = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    let view = stage.state(&passed, "completed").await;
    let result = &view.result.expect("a result")["result"];
    assert_eq!(result["content_type"], "json");
    assert_eq!(result["body"]["fence"], 2);
    assert_eq!(result["body"]["handoff"]["reason"], "build it");

    let facts = r#"cmp -s - "$BATON_PACKAGE" && echo same; pwd -P; echo "$BATON_AGENT"
        echo "$BATON_HANDOFF $BATON_WORKFLOW $BATON_FENCE"; echo "$BATON_WORKSPACE" >&2"#;
    stage.script(facts).await;
    let passed = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    let view = stage.state(&passed, "completed").await;
    let (id, home) = (view.line.id, view.line.workflow);
    let place = stage.workspace.path().canonicalize().expect("a folder");
    let expected = format!("same\n{}\nbuilder\n{id} {home} 2", place.display());
    assert_eq!(view.result.expect("a result")["result"]["body"], expected);
    assert!(stage.said(&passed, &place.display().to_string()).await.contains("same"));
    stage.settled().await;
    let left = std::fs::read_dir(place.join(".baton/run/runs")).expect("a folder").count();
    assert_eq!(left, 0, "neither package nor trace stays behind");
}

#[tokio::test]
async fn a_command_that_fails_brings_back_how_it_ended() {
    let mut stage = Stage::new().await;
    stage.script("echo half; echo broken >&2; exit 3").await;
    let passed = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    let view = stage.state(&passed, "failed").await;
    let result = view.result.expect("a result");
    assert_eq!(result["status"], "failed");
    assert_eq!(result["result"]["body"]["exit_code"], 3);
    let tail = result["result"]["body"]["output_tail"].as_str().expect("a tail");
    assert!(tail.contains("half") && tail.contains("broken"), "{tail}");

    let gone = json!({ "command": { "argv": ["/no/such/program"] } });
    stage.register(json!({ "id": "builder", "reach": gone })).await;
    let passed = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    let detail = stage.state(&passed, "failed").await.line.detail.expect("a detail");
    assert!(detail.contains("could not start"), "{detail}");
}

#[tokio::test]
async fn whole_work_is_completed_or_somebody_above_is_asked_and_then_it_goes_on() {
    let mut stage = Stage::new().await;
    stage.script("[ -n \"$BATON_ANSWER\" ] || exit 1; echo '{\"shipped\": true}'").await;
    let pass = json!({ "pass": { "to_agent": "builder", "reason": "build it" } });
    let passed = stage.scene.ask(Actor::Agent(agent("planner")), pass).await;
    let reason = stage.decide("try again").await;
    assert!(reason.contains("exit code 1"), "{reason}");
    stage.settled().await;
    let workflow = passed.workflow.expect("a workflow");
    let view = stage.scene.engine.workflow(Actor::Operator, workflow).await.expect("it is there");
    assert_eq!(view.line.status, "completed");
    let ending = view.ending.expect("an ending").to_string();
    assert!(ending.contains(r#""shipped":true"#), "{ending}");
}

#[tokio::test]
async fn an_agent_at_capacity_runs_the_next_when_it_has_room() {
    let mut stage = Stage::new().await;
    let gate = stage.workspace.path().join("gate");
    std::process::Command::new("mkfifo").arg(&gate).status().expect("a gate");
    let reach = json!({ "command": { "argv": ["cat", gate] } });
    stage.register(json!({ "id": "builder", "reach": reach, "max_concurrent_tasks": 1 })).await;
    let first = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    stage.state(&first, "accepted").await;
    let second = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    stage.state(&second, "queued").await;
    assert_eq!(stage.scene.engine.wake_due().await.expect("woken"), 0);
    for (passed, word) in [(&first, "one"), (&second, "two")] {
        stage.state(passed, "accepted").await;
        tokio::fs::write(&gate, word).await.expect("it is open");
        let view = stage.state(passed, "completed").await;
        assert_eq!(view.result.expect("a result")["result"]["body"], word);
        stage.scene.engine.wake_due().await.expect("woken");
    }
}

#[tokio::test]
async fn what_is_taken_back_ends_the_whole_group_and_its_token() {
    let mut stage = Stage::new().await;
    let script = r#"printf %s "$BATON_TOKEN" > token; sleep 1000 & echo "pid $!"; wait"#;
    stage.script(script).await;
    let passed = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    let grandchild = named(&stage.said(&passed, "pid ").await);
    assert!(is_running(&grandchild));
    let token = std::fs::read_to_string(stage.workspace.path().join("token")).expect("a token");
    let whose = stage.scene.engine.authenticate(&token).await.expect("known");
    assert_eq!(whose.map(|whose| whose.actor), Some(Actor::Agent(agent("builder"))));

    let cancel = json!({ "cancel": { "handoff": passed.handoff, "reason": "not needed" } });
    stage.scene.ask(Actor::Agent(agent("planner")), cancel).await;
    stage.settled().await;
    assert!(!is_running(&grandchild), "{grandchild} still runs");
    assert_eq!(stage.scene.engine.authenticate(&token).await.expect("known"), None);
}

#[tokio::test]
async fn a_timeout_ends_the_run_and_the_next_one_has_another_fence() {
    let mut stage = Stage::new().await;
    stage.script(r#"echo "fence $BATON_FENCE pid $$"; [ "$BATON_FENCE" = 3 ] || sleep 1000"#).await;
    let back = json!({ "timeout": "20s", "on_timeout": "retry" });
    let passed = stage.scene.delegate(back).await;
    let pid = named(&stage.said(&passed, "fence 2").await);
    for span in ["20s", "10s"] {
        stage.scene.later(span);
        assert_eq!(stage.scene.engine.wake_due().await.expect("woken"), 1, "after {span}");
    }
    stage.settled().await;
    assert!(!is_running(&pid), "{pid} still runs");
    stage.scene.later("2s");
    assert_eq!(stage.scene.engine.wake_due().await.expect("woken"), 1);
    let view = stage.state(&passed, "completed").await;
    assert!(view.result.expect("a result").to_string().contains("fence 3"));
    stage.settled().await;
    let notes = stage.notes().await;
    let ended = notes.iter().find(|note| note.contains("what it held is over")).expect("a note");
    assert!(ended.contains("it was ended by signal 15"), "{ended}");
    assert!(ended.contains(&format!("fence 2 pid {pid}")), "{ended}");
}

#[tokio::test]
async fn work_that_is_over_its_time_is_ended_and_goes_on_when_somebody_has_looked() {
    let mut stage = Stage::new().await;
    let script = "echo pid $$; [ -n \"$BATON_ANSWER\" ] || exec sleep 1000; echo \"again\"";
    let reach = json!({ "command": { "argv": ["sh", "-c", script] } });
    let profile = json!({ "id": "builder", "reach": reach, "max_execution_time": "10m" });
    stage.register(profile).await;
    let pass = json!({ "pass": { "to_agent": "builder", "reason": "build it" } });
    let passed = stage.scene.ask(Actor::Agent(agent("planner")), pass).await;
    let pid = named(&stage.said(&passed, "pid ").await);
    stage.scene.later("10m");
    assert_eq!(stage.scene.engine.wake_due().await.expect("woken"), 1);
    let workflow = passed.workflow.expect("a workflow");
    let engine = stage.scene.engine.clone();
    let mut changes = engine.changes();
    let progress = loop {
        changes.mark_unchanged();
        let view = engine.workflow(Actor::Operator, workflow).await.expect("it is there");
        if let Some(note) = view.holds[0].progress.clone() {
            break note;
        }
        changes.changed().await.expect("the ledger goes on");
    };
    assert!(!is_running(&pid), "{pid} still runs");
    assert!(progress.contains("its time is up; it was ended by signal 15"), "{progress}");
    assert!(progress.contains(&pid), "what it said last is there, too: {progress}");
    // Nothing runs until somebody has looked, after a crash of ours neither.
    stage.restart().await;
    stage.decide("take more time").await;
    stage.settled().await;
    let view = stage.scene.engine.workflow(Actor::Operator, workflow).await.expect("it is there");
    assert_eq!(view.line.status, "completed");
    let ending = view.ending.expect("an ending").to_string();
    assert!(ending.contains("again") && !ending.contains(&pid), "{ending}");
}

#[tokio::test]
async fn a_coordinator_that_stops_ends_its_runs_and_the_next_begins_them_again() {
    let mut stage = Stage::new().await;
    let script = r#"[ -e once ] && again=1; touch once; echo "pid $$"; [ "$again" ] || sleep 1000"#;
    stage.script(script).await;
    let passed = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    let first = named(&stage.said(&passed, "pid ").await);
    stage.restart().await;
    assert!(!is_running(&first), "{first} still runs");
    let view = stage.state(&passed, "completed").await;
    assert_eq!(view.line.resends, 0, "it goes on under the same hold");
    let said = view.result.expect("a result")["result"]["body"].to_string();
    assert_ne!(named(&said.replace('"', "")), first);
}

#[tokio::test]
async fn others_do_not_see_what_a_run_says() {
    let mut stage = Stage::new().await;
    stage.register(json!({ "id": "rival" })).await;
    stage.script("echo hello; printf 'key AKIA%s\\n' ZZZZZZZZZZZZZZZZ").await;
    let passed = stage.scene.delegate(json!({ "timeout": "1h" })).await;
    stage.state(&passed, "completed").await;
    stage.settled().await;
    let id = passed.handoff.expect("a handoff");
    let engine = &stage.scene.engine;
    assert!(engine.log(Actor::Agent(agent("rival")), id, 0).await.is_err());
    let page = engine.log(Actor::Agent(agent("planner")), id, 0).await.expect("a log");
    assert_eq!((page.text.as_str(), page.over), ("hello\nkey [masked aws-key]\n", true));
    let rest = engine.log(Actor::Operator, id, 2).await.expect("a log");
    assert!(rest.text.starts_with("llo\n") && rest.next == page.next);
}
