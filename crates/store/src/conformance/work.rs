//! A day's work in steps, with every kind of command and an end for some of it.

use serde_json::{Value, json};

use super::desk::{accept, command, complete, delegate, handoff, workflow};

/// One command of a story.
#[derive(Clone, Debug)]
pub struct Step {
    /// The key it is asked under.
    pub key: String,
    /// Who asks.
    pub who: &'static str,
    /// What is asked.
    pub asked: Value,
    /// What the clock says then, in seconds.
    pub at: i64,
}

/// The agents of the stories: a planner, a builder that wants to be told of news, and a reviewer.
pub fn agents() -> Vec<Step> {
    let step = |name: &str| {
        let mut profile = json!({"id": name, "max_concurrent_tasks": 100});
        if name == "builder" {
            profile["notify"] = json!(["true"]);
        }
        let (key, asked) = (format!("register {name}"), json!({"register": profile}));
        Step { key, who: "operator", asked, at: 0 }
    };
    ["planner", "builder", "reviewer"].map(step).into()
}

/// The work of one workflow, in order. Of each three, one is completed, one called off, and one
/// goes on living with a handoff that waits.
pub fn story(number: usize) -> Vec<Step> {
    let key = |name: &str| format!("{number} {name}");
    let id = workflow(&key("pass"));
    let part = handoff(&key("delegate"));
    let history: Vec<_> =
        (0..20).map(|n| json!({"role": "user", "text": format!("{n}")})).collect();
    let mut told: Vec<(&str, &'static str, Value)> = vec![
        (
            "pass",
            "operator",
            json!({"pass": {
                "to_agent": "planner", "reason": format!("work {number}"), "priority": "high",
                "context": {
                    "conversation_history": history,
                    "context_variables": {"task_status": "pending", "ratio": 0.1 + 0.2},
                    "artifacts": [{"path": "docs/plan.md", "description": "the \"plan\"\n"}],
                },
            }}),
        ),
        ("take", "planner", accept(handoff(&key("pass")))),
        ("delegate", "planner", delegate(id, 2, "builder")),
        ("accept", "builder", accept(part)),
        (
            "lock",
            "builder",
            json!({"lock": {"workflow": id, "fence": 3, "paths": [format!("src/{number}.rs")]}}),
        ),
        (
            "progress",
            "builder",
            json!({"progress": {"workflow": id, "fence": 3, "note": "half", "percent": 50}}),
        ),
        (
            "vars",
            "builder",
            json!({"set_variables": {"workflow": id, "fence": 3, "changes": {
                "decisions_made": ["use a log"],
                "numbers": [1e15, 1e-7, -0.0, 9_007_199_254_740_993_u64],
            }}}),
        ),
        ("artifact", "planner", made(id, "src/a.rs")),
        ("return", "builder", returned(part)),
        ("mark", "planner", marked(id, &key("artifact"))),
    ];
    match number % 3 {
        0 => told.push(("complete", "planner", complete(id, 2))),
        1 => told.push((
            "cancel",
            "operator",
            json!({"cancel_workflow": {"workflow": id, "reason": "no longer needed"}}),
        )),
        _ => {
            told.push(("again", "planner", delegate(id, 2, "reviewer")));
            let defer = json!({"handoff": handoff(&key("again")), "reason": "later", "for": "1h"});
            told.push(("defer", "reviewer", json!({"defer": defer})));
        }
    }
    let step = |(at, (name, who, asked)): (i64, (&str, &'static str, Value))| Step {
        key: key(name),
        who,
        asked,
        at,
    };
    (1..).zip(told).map(step).collect()
}

fn made(id: baton_protocol::id::WorkflowId, path: &str) -> Value {
    let artifact = json!({"path": path, "type": "code"});
    json!({"add_artifact": {"workflow": id, "fence": 2, "artifact": artifact}})
}

fn marked(id: baton_protocol::id::WorkflowId, by: &str) -> Value {
    let artifact = command(by).artifact(0);
    let (workflow, status) = (id, "final");
    json!({"mark_artifact": {
        "workflow": workflow, "fence": 2, "artifact": artifact, "status": status,
    }})
}

fn returned(handoff: baton_protocol::id::HandoffId) -> Value {
    json!({"return": {
        "handoff": handoff, "fence": 3, "status": "success",
        "result": {"content_type": "json", "body": {"lines": 12, "share": 0.1}},
        "context_updates": {
            "variables_changed": {"task_status": "complete", "decisions_made": "ship it"},
            "artifacts_produced": [{"path": "src/lib.rs", "type": "code", "status": "final"}],
        },
        "audit": {"tokens_consumed": 1234, "notes": "done"},
    }})
}
