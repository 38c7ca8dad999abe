//! What is a command object, and what is said where it is not one.

use expect_test::expect;
use serde_json::json;

use super::*;

fn read(json: Value) -> Result<CommandObject, String> {
    CommandObject::read(json).map_err(|error| error.to_string())
}

/// The object of the design that this comes from.
fn whole() -> Value {
    json!({
        "goto": "implementation-planner",
        "update": {
            "context": { "previous_agent": "docs-researcher", "completed": true },
            "artifacts": { "ResearchPack": "path/to/ResearchPack-Redis.md", "Plan": null },
            "workflow_state": {
                "phase": "research", "next_phase": "planning",
                "completed_steps": ["version_detection", "research_assembly"],
                "remaining_steps": ["planning", "implementation"],
            },
            "metrics": {
                "tokens_used": 5420, "time_elapsed": 120, "retry_count": 0,
                "deepwiki_used": true,
            },
            "next_task": "Create implementation plan based on research",
        },
        "graph": "parent",
    })
}

#[test]
fn an_object_is_written_as_it_was_read() {
    let sends = json!([
        { "agent": "docs-researcher", "task": "Research Redis", "depth": 2 },
        { "agent": "brahma-scout", "task": "Analyze existing code" },
    ]);
    let pairs = json!([
        ["docs-researcher", { "task": "Research Redis", "depth": 2 }],
        ["brahma-scout", { "task": "Analyze existing code" }],
    ]);
    let sent = read(json!({ "goto": sends })).expect("sends");
    assert_eq!(read(json!({ "goto": pairs })).expect("pairs"), sent);
    for object in [read(whole()).expect("an object"), sent] {
        let written = serde_json::to_value(&object).expect("JSON");
        assert_eq!(read(written).expect("it reads back"), object);
    }
    assert_eq!(read(json!({ "goto": "__end__", "update": null })).expect("an end").goto, Next::End);
    assert_eq!(read(json!({ "goto": "END" })).expect("an end").about(some(), None).result, None);
}

fn some() -> WorkflowId {
    WorkflowId::from_bytes([7; 16])
}

#[test]
fn the_end_brings_the_update_as_what_came_of_it() {
    let mut end = whole();
    end["goto"] = json!("END");
    let goto = read(end).expect("an object").about(some(), Some(Fence(2)));
    let Some(Body::Inline(result)) = &goto.result else { panic!("{goto:?}") };
    assert_eq!(result.as_value()["next_task"], whole()["update"]["next_task"]);
    assert_eq!(result.as_value()["metrics"], whole()["update"]["metrics"]);
    let written = serde_json::to_value(&goto).expect("JSON");
    assert_eq!(written["fence"], 2);
    let again: Goto = serde_json::from_value(written).expect("it reads back");
    assert_eq!(again, goto);
    let report = goto.object.report().expect("a report");
    assert_eq!(report.graph, Some(Graph::Parent));
}

#[test]
fn secrets_are_masked_wherever_they_stand() {
    let key = format!("AKIA{}", "Z".repeat(16));
    let object = json!({
        "goto": [["a", { "task": key, "note": key }]],
        "update": {
            "context": { "c": [key] }, "artifacts": { "A": key }, "reason": key, (key.clone()): 1,
            "workflow_state": { "phase": key, "completed_steps": [key] },
            "metrics": { "m": key },
        },
    });
    let written = serde_json::to_string(&read(object).expect("an object")).expect("JSON");
    assert!(!written.contains(&key), "{written}");
    assert_eq!(written.matches("[masked aws-key]").count(), 9, "{written}");
}

/// Objects that are wrong in one place each.
fn bad() -> Vec<Value> {
    let update = |update: Value| json!({ "goto": "END", "update": update });
    let state = |state: Value| update(json!({ "workflow_state": state }));
    vec![
        json!([]),
        json!({ "update": {} }),
        json!({ "goto": null }),
        json!({ "goto": 7 }),
        json!({ "goto": "Bad Name" }),
        json!({ "goto": {} }),
        json!({ "goto": [] }),
        json!({ "goto": ["builder"] }),
        json!({ "goto": [{ "agent": "a" }] }),
        json!({ "goto": [{ "task": "t" }] }),
        json!({ "goto": [{ "agent": "a", "task": "t" }, { "agent": "B", "task": "t" }] }),
        json!({ "goto": [{ "agent": "a", "task": "" }] }),
        json!({ "goto": [["a"]] }),
        json!({ "goto": [["a", { "task": 7 }]] }),
        json!({ "goto": [["a", { "task": "t", "agent": "b" }]] }),
        json!({ "goto": [["a", { "task": "t" }, 1]] }),
        json!({ "goto": "a", "graph": "child" }),
        json!({ "goto": "a", "timeout": 7 }),
        json!({ "goto": "a", "aggregation": "most" }),
        json!({ "goto": "a", "resume": 1 }),
        update(json!([])),
        update(json!({ "context": [] })),
        update(json!({ "context": { "a b": 1 } })),
        update(json!({ "context": { "a": "x".repeat(17_000) } })),
        update(json!({ "artifacts": { "Plan": 7 } })),
        update(json!({ "artifacts": { "Plan": "a\nb" } })),
        update(json!({ "next_task": "x".repeat(17_000) })),
        state(json!({ "phase": 7 })),
        state(json!({ "completed_steps": ["a", ""] })),
        state(json!({ "remaining_steps": vec!["a"; 257] })),
        state(json!({ "steps": [] })),
        update(json!({ "metrics": { "tokens_used": -1 } })),
        update(json!({ "metrics": { "time_elapsed": -0.5 } })),
        update(json!({ "metrics": { "retry_count": "one" } })),
        update(json!({ "metrics": { "big": "x".repeat(17_000) } })),
    ]
}

#[test]
fn what_is_wrong_is_told_with_its_path() {
    let told = bad().into_iter().map(|json| {
        let told = read(json.clone()).expect_err(&json.to_string());
        told.chars().take(80).collect::<String>()
    });
    let told: Vec<_> = told.collect();
    expect![[r#"
        not an object; expected {goto, update, graph, timeout, aggregation}
        missing field `goto`
        goto: invalid type: null, expected an agent's name, a list of sends, or "END"
        goto: invalid type: integer `7`, expected an agent's name, a list of sends, or "
        goto: `Bad Name` holds 'B'; expected only a-z, 0-9 and `-`, starting with a lett
        goto: invalid type: map, expected an agent's name, a list of sends, or "END"
        goto: an empty list; expected at least one send
        goto[0]: invalid type: string "builder", expected {agent, task} or [agent, {task
        goto[0]: missing field `task`
        goto[0]: missing field `agent`
        goto[1].agent: `B` holds 'B'; expected only a-z, 0-9 and `-`, starting with a le
        goto[0].task: an empty text; expected at least one word
        goto[0]: invalid length 1, expected [agent, {task}]
        goto[0][1].task: invalid type: integer `7`, expected a string
        goto[0][1]: an agent here; expected it before the task
        goto[0]: invalid length 3, expected [agent, {task}]
        graph: unknown variant `child`, expected `__parent__` or `parent`
        timeout: invalid type: integer `7`, expected a string
        aggregation: unknown variant `most`, expected one of `all`, `any`, `majority`
        resume: unknown field `resume`, expected one of `goto`, `update`, `graph`, `time
        update: invalid type: sequence, expected an object: context, artifacts, workflow
        update.context: invalid type: sequence, expected a map
        update.context.a b: `a b` is not a variable name; expected a letter or `_`, then
        update.context.a: 17002 bytes; expected at most 16384
        update.artifacts.Plan: invalid type: integer `7`, expected a string
        update.artifacts.Plan: a location with a control character; expected a path or U
        update.next_task: 17000 bytes; expected at most 4096
        update.workflow_state.phase: invalid type: integer `7`, expected a string
        update.workflow_state.completed_steps[1]: an empty name; expected 1 to 128 bytes
        update.workflow_state.remaining_steps: 257 steps; expected at most 256
        update.workflow_state.steps: unknown field `steps`, expected one of `phase`, `ne
        update.metrics.tokens_used: invalid value: integer `-1`, expected u64
        update.metrics.time_elapsed: -0.5 is not a number of seconds; expected 0 to 3153
        update.metrics.retry_count: invalid type: string "one", expected u64
        update.metrics.big: 17002 bytes; expected at most 16384"#]]
    .assert_eq(&told.join("\n"));
}
