//! What is kept of the past and for how long, on a real ledger and a clock that is moved by hand;
//! and the audit as files.

use std::path::Path;
use std::sync::Arc;

use baton_engine::view::Answer;
use baton_engine::{Engine, ManualClock, MemoryLedger, SubmitError};
use baton_protocol::command::{Actor, Submission};
use baton_protocol::event::Event;
use baton_protocol::id::{CommandId, WorkflowId};
use baton_protocol::retention::Retention;
use baton_protocol::time::{Allowance, Timestamp};
use serde_json::{Value, json};

const DAY: i64 = 86_400_000_000;

fn begin() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("a moment")
}

fn opened(folder: &Path, day: i64) -> Engine {
    let now = Timestamp::from_micros(begin().as_micros() + day * DAY);
    Engine::open_at(folder, Arc::new(ManualClock::at(now))).expect("a ledger")
}

async fn try_ask(
    engine: &Engine,
    actor: Actor,
    key: &str,
    command: Value,
) -> Result<Answer, SubmitError> {
    let command = serde_json::from_value(command).expect("a command");
    engine.submit(Submission { id: CommandId::from_key("test", key), actor, command }).await
}

async fn ask(engine: &Engine, key: &str, command: Value) -> Answer {
    try_ask(engine, Actor::Operator, key, command).await.expect("it is taken")
}

/// Starts a workflow and ends it.
async fn over(engine: &Engine, key: &str, completed: bool) -> WorkflowId {
    let started = ask(engine, key, json!({"start": {"title": format!("work {key}")}})).await;
    let id = started.workflow.expect("a workflow");
    let end = match completed {
        true => json!({"complete": {"workflow": id}}),
        false => json!({"cancel_workflow": {"workflow": id, "reason": "no need"}}),
    };
    ask(engine, &format!("{key} end"), end).await;
    id
}

async fn pruned(engine: &Engine, key: &str) -> Vec<WorkflowId> {
    let answer = ask(engine, key, json!({"prune": {}})).await;
    let named = |event: &Event| match event {
        Event::Pruned { workflows, .. } => workflows.clone(),
        other => panic!("{other:?}"),
    };
    answer.events.iter().flat_map(named).collect()
}

async fn intact(engine: &Engine) -> u64 {
    let found = engine.verify(None, None).await.expect("a check");
    assert_eq!(found.problem, None);
    assert_eq!(found.signed, found.records);
    found.pruned
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_is_dropped_when_its_period_is_over_and_the_proof_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let (done, off, open) = {
        let engine = opened(folder.path(), 0);
        let (done, off) = (over(&engine, "a", true).await, over(&engine, "b", false).await);
        let open = ask(&engine, "c", json!({"start": {"title": "goes on"}})).await;
        assert_eq!(engine.prunable().await.expect("a list").workflows, []);
        (done, off, open.workflow.expect("a workflow"))
    };
    {
        let engine = opened(folder.path(), 31);
        let listed = engine.prunable().await.expect("a list").workflows;
        assert_eq!(listed.iter().map(|line| line.id).collect::<Vec<_>>(), [off]);
        let agent = Actor::Agent("builder".parse().expect("a name"));
        let refused = try_ask(&engine, agent, "p0", json!({"prune": {}})).await;
        assert!(matches!(refused, Err(SubmitError::Refused(no)) if no.code() == "operator-only"));
        assert_eq!(pruned(&engine, "p1").await, [off]);
        assert_eq!(pruned(&engine, "p2").await, [], "it is named once");
        assert_eq!(intact(&engine).await, 0);
    }
    {
        let engine = opened(folder.path(), 91);
        assert_eq!(intact(&engine).await, 2);
        assert_eq!(pruned(&engine, "p3").await, [done]);
    }
    let engine = opened(folder.path(), 400).with_retention(Retention::default());
    assert_eq!(intact(&engine).await, 4);
    assert_eq!(pruned(&engine, "p4").await, []);
    let kept = engine.workflow(Actor::Operator, open).await.expect("it is open");
    assert_eq!(kept.line.title, "goes on");
    engine.workflow(Actor::Operator, done).await.expect_err("it is gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_with_an_escalation_is_kept_longer() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = {
        let engine = opened(folder.path(), 0);
        ask(&engine, "r", json!({"register": {"id": "builder"}})).await;
        let builder = Actor::Agent("builder".parse().expect("a name"));
        let by_builder =
            async |key: &str, command| try_ask(&engine, builder.clone(), key, command).await;
        let started = by_builder("s", json!({"start": {"title": "hard"}})).await.expect("taken");
        let id = started.workflow.expect("a workflow");
        let raise = json!({"pass": {
            "workflow": id, "fence": 1, "type": "escalation", "reason": "may I?",
            "audit": {"decision_rationale": "it cannot be undone"},
        }});
        by_builder("e", raise).await.expect("it is raised");
        ask(&engine, "x", json!({"cancel_workflow": {"workflow": id, "reason": "no"}})).await;
        id
    };
    for (day, expected) in [(31, vec![]), (179, vec![]), (181, vec![id])] {
        let engine = opened(folder.path(), day);
        assert_eq!(pruned(&engine, &format!("p{day}")).await, expected, "day {day}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_longer_period_of_the_workspace_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    over(&opened(folder.path(), 0), "a", true).await;
    let longer = Retention::of_days(None, Some(365), None).expect("more than the minimum");
    let engine = opened(folder.path(), 364).with_retention(longer);
    assert_eq!(pruned(&engine, "p1").await, []);
    drop(engine);
    let engine = opened(folder.path(), 366).with_retention(longer);
    assert_eq!(pruned(&engine, "p2").await.len(), 1);
}

/// The sequence numbers in the audit files, in order.
fn numbers(folder: &Path) -> Vec<u64> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("a file").path()).collect();
    names.sort();
    let text: String = names.iter().map(|n| std::fs::read_to_string(n).expect("text")).collect();
    let seq = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["seq"].as_u64();
    text.lines().map(|line| seq(line).expect("a number")).collect()
}

#[tokio::test]
async fn audit_files_have_every_line_once_whatever_was_torn() {
    let ledger = Arc::new(MemoryLedger::default());
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("core/logs/shop/handoff-audit");
    let clock = Arc::new(ManualClock::at(begin()));
    let engine = Engine::on(ledger.clone(), clock.clone());
    ask(&engine, "r", json!({"register": {"id": "builder", "max_concurrent_tasks": 100}})).await;
    let mut expected = Vec::new();
    for round in 0..12 {
        let key = format!("pass {round}");
        let passed =
            ask(&engine, &key, json!({"pass": {"to_agent": "builder", "reason": key}})).await;
        expected.extend(passed.seq);
        // A new process each time, on another day now and then, after a crash that tore the end.
        clock.pass(Allowance::from_secs(8 * 60 * 60));
        let mut after = None;
        while engine.write_audit_files(&dir, &mut after).await.expect("written") > 0 {}
        assert_eq!(numbers(&dir), expected, "round {round}");
        let mut names: Vec<_> =
            std::fs::read_dir(&dir).expect("files").map(|e| e.expect("one").path()).collect();
        names.sort();
        let newest = names.last().expect("a file");
        let mut bytes = std::fs::read(newest).expect("bytes");
        match round % 3 {
            0 => bytes.extend_from_slice(b"{\"seq\":99,\"torn"),
            1 => bytes.truncate(bytes.len() - 1 - round),
            _ => (),
        }
        std::fs::write(newest, bytes).expect("written");
    }
    let mut after = None;
    while engine.write_audit_files(&dir, &mut after).await.expect("written") > 0 {}
    assert_eq!(numbers(&dir), expected);
}
