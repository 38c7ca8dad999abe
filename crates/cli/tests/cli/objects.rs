//! Command objects through the real binary: research, plan, implement.

use std::fs;

use serde_json::{Value, json};

use crate::desk::Desk;

/// Makes an agent of a script.
fn agent(desk: &Desk, name: &str, script: &str) {
    fs::write(desk.path().join(format!("{name}.sh")), script).expect("a script");
    desk.run(&["agent", "add", name, "--command", &format!("sh {name}.sh")]).ok();
}

/// What the last agent finds wrong the first time goes back to research.
const ANALYZER: &str = r#"
if grep -q '"retry":true' "$BATON_PACKAGE"; then score=93; else score=70; fi
if [ "$score" -lt 80 ]; then
    echo '{"goto": "docs-researcher", "update": {"reason": "Missing DeepWiki research",
        "retry": true, "metrics": {"retry_count": 1, "quality_score": 70}}}'
else
    echo '{"goto": "code-implementer", "update": {"validated": true,
        "workflow_state": {"phase": "implementation", "next_phase": null,
            "completed_steps": ["analysis"]},
        "metrics": {"quality_score": 93}}}'
fi
"#;

/// Researches a part that it was sent, or the whole once more.
const RESEARCHER: &str = r#"
if grep -q '"retry":true' "$BATON_PACKAGE"; then
    echo '{"goto": "brahma-analyzer", "update": {"retry": true}, "graph": "parent"}'
else
    echo '{"goto": "END", "update": {
        "artifacts": {"ResearchPack": "ResearchPack-'$BATON_FENCE'.md"},
        "metrics": {"tokens_used": 5420, "time_elapsed": 120, "retry_count": 0,
            "deepwiki_used": true}}}'
fi
"#;

const ARCHITECT: &str = r#"
if [ -z "$BATON_RETURNED" ]; then
    echo '{"goto": [["docs-researcher", {"task": "Research Redis"}],
            ["docs-researcher", {"task": "Research caching patterns"}],
            {"agent": "brahma-scout", "task": "Analyze existing code", "depth": 2}],
        "graph": "parent", "timeout": "5m", "update": {"workflow_state": {
            "phase": "research", "next_phase": "planning",
            "remaining_steps": ["research", "planning", "analysis", "implementation"]}}}'
else
    echo '{"goto": "implementation-planner", "update": {
        "context": {"came_back": "'"$(echo $BATON_RETURNED | wc -w)"'"},
        "next_task": "Create implementation plan based on research",
        "workflow_state": {"phase": "planning", "next_phase": "implementation",
            "completed_steps": ["research"]}}}'
fi
"#;

const PLANNER: &str = r#"
echo '{"goto": "brahma-analyzer", "update": {
    "artifacts": {"ImplementationPlan": "plan.md", "ValidationReport": null},
    "workflow_state": {"completed_steps": ["planning"]},
    "metrics": {"tokens_used": 1000, "time_elapsed": 0.5}}}'
"#;

const IMPLEMENTER: &str = r#"
echo '{"goto": "END", "update": {"reason": "shipped", "context": {"branch": "caching"},
    "workflow_state": {"completed_steps": ["implementation"]}}}'
"#;

#[test]
fn research_plan_implement_with_agents_that_say_where_the_work_goes() {
    let desk = Desk::new();
    agent(&desk, "chief-architect", ARCHITECT);
    agent(&desk, "docs-researcher", RESEARCHER);
    agent(&desk, "brahma-scout", "echo '{\"goto\": \"END\", \"update\": {\"found\": 3}}'");
    agent(&desk, "implementation-planner", PLANNER);
    agent(&desk, "brahma-analyzer", ANALYZER);
    agent(&desk, "code-implementer", IMPLEMENTER);
    // They begin more handoffs than a workflow may have by default.
    std::fs::write(desk.path().join("policy.toml"), "max_handoffs = 20").expect("a policy");
    desk.run(&["policy", "set", "policy.toml"]).ok();
    let begun = desk.json(&["pass", "--to", "chief-architect", "--reason", "Add caching"]);
    let workflow = begun["workflow"].as_str().expect("an id");
    desk.run(&["wait", workflow, "--timeout", "60s"]).ok();

    let view = desk.json(&["show", workflow]);
    assert_eq!(view["status"], "completed", "{view:#}");
    let column = |name: &str| -> Vec<Value> {
        let handoffs = view["handoffs"].as_array().expect("handoffs").iter();
        handoffs.map(|handoff| handoff[name].clone()).collect()
    };
    let mut sent = column("to_agent").drain(1..4).map(|to| to.to_string()).collect::<Vec<_>>();
    sent.sort();
    let twice = "\"docs-researcher\"";
    assert_eq!(sent, ["\"brahma-scout\"", twice, twice]);
    let whole = ["implementation-planner", "brahma-analyzer", "docs-researcher", "brahma-analyzer"];
    assert_eq!(column("to_agent")[4..8], whole);
    assert_eq!(column("to_agent")[8], "code-implementer");
    assert_eq!(column("reason")[4], "Create implementation plan based on research");

    let done = json!(["research", "planning", "analysis", "implementation"]);
    let state = json!({ "phase": "implementation", "next_phase": null, "completed_steps": done,
        "remaining_steps": [] });
    assert_eq!(view["workflow_state"], state);
    let metrics = json!({ "tokens_used": 11_840, "time_elapsed": 240.5, "retry_count": 1,
        "deepwiki_used": true, "quality_score": 93 });
    assert_eq!(view["metrics"], metrics);
    assert_eq!(view["tokens_consumed"], 11_840, "what holders said");
    assert_eq!(
        view["context_variables"]["custom"],
        json!({ "came_back": "3", "branch": "caching" })
    );
    assert_eq!(view["artifacts"].as_array().expect("artifacts").len(), 3, "{view:#}");

    let shown = desk.run(&["show", workflow]).ok();
    for line in ["phase", "implementation", "done", "research, planning", "11840 tokens, 240.5"] {
        assert!(shown.contains(line), "no {line:?}: {shown}");
    }
    desk.run(&["audit", "verify"]).ok();
}

#[test]
fn a_person_says_where_the_work_goes_too() {
    let desk = Desk::with(&["builder", "scout"]);
    let workflow = desk.run(&["start", "Add caching", "--quiet"]).ok().trim().to_owned();
    let short = &workflow[..8];
    for (object, path) in [
        (r#"{"goto": [["scout", {"task": 7}]]}"#, "goto[0][1].task: "),
        (r#"{"goto": "END", "update": {"metrics": {"tokens_used": -1}}}"#, "metrics.tokens_used: "),
        (r#"{"update": {}}"#, "missing field `goto`"),
        ("{", "not JSON"),
    ] {
        let said = desk.run(&["goto", short, "--object", object]).fails(2);
        assert!(said.contains(path), "{said}");
    }
    let before = desk.json(&["status"])["records"].clone();
    let sends = r#"{"goto": [["scout", {"task": "a"}], ["scout", {"task": "b"}]]}"#;
    fs::write(desk.path().join("next.json"), sends).expect("a file");
    let said = desk.run(&["goto", short, "next.json"]).ok();
    assert!(said.contains("to 2"), "{said}");
    assert_ne!(desk.json(&["status"])["records"], before);
    let inbox = desk.json(&["inbox", "--agent", "scout"]);
    for handoff in inbox["waiting"].as_array().expect("two of them") {
        let id = handoff["id"].as_str().expect("an id");
        desk.run(&["accept", id, "--as", "scout"]).ok();
        let end = ["goto", id, "--end", "--var", "seen=1", "--reason", "looked", "--as", "scout"];
        let said = desk.run(&end).ok();
        assert!(said.starts_with("returned "), "{said}");
    }
    let to = ["goto", short, "--to", "builder", "--reason", "all is known", "--json"];
    let passed: Value = serde_json::from_str(&desk.run(&to).ok()).expect("JSON");
    let handoff = passed["handoff"].as_str().expect("a handoff");
    let shown = desk.run(&["show", handoff]).ok();
    assert!(shown.contains("all is known") && shown.contains("told"), "{shown}");
    desk.run(&["goto", short, "--to", "scout"]).fails(3);
    desk.run(&["accept", handoff, "--as", "builder"]).ok();
    let token = desk.run(&["token", "create", "--agent", "builder"]).ok();
    let env = [("BATON_AGENT", "builder"), ("BATON_TOKEN", token.trim()), ("BATON_FENCE", "4")];
    let end = ["goto", short, "--object", r#"{"goto": "__end__", "update": {"score": 9}}"#];
    let said = desk.run_with(&end, &env).ok();
    assert!(said.starts_with("completed "), "{said}");
}
