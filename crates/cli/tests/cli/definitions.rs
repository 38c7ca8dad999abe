//! Definitions are checked and drawn, through the real binary and without a workspace.

use expect_test::expect;

use crate::desk::Desk;

const CHARTER: &str = include_str!("../../../rules/tests/data/charter.yaml");
const WRONG: &str = include_str!("../../../rules/tests/data/wrong.yaml");
const WRONG_SAID: &str = include_str!("../../../rules/tests/data/wrong.txt");

fn desk() -> Desk {
    let desk = Desk::new();
    for (name, text) in [("charter.yaml", CHARTER), ("wrong.yaml", WRONG), ("no.yaml", "a: [")] {
        std::fs::write(desk.path().join(name), text).expect("a file");
    }
    desk
}

#[test]
fn a_definition_is_checked_with_file_line_and_hint() {
    let desk = desk();
    let said = desk.run(&["workflow", "check", "charter.yaml"]).ok();
    assert_eq!(said, "charter.yaml: charter@1 is in order\n");
    let ran = desk.baton(&["workflow", "check", "wrong.yaml"]).output().expect("it runs");
    assert_eq!(ran.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), WRONG_SAID);
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(error.contains("in 1 file"), "{error}");
    let color = ["workflow", "check", "wrong.yaml", "--color", "always"];
    let ran = desk.baton(&color).output().expect("it runs");
    assert!(ran.stdout.contains(&0x1b));

    let json = desk.json(&["workflow", "check", "charter.yaml"]);
    assert_eq!(json[0]["workflow"], "charter@1");
    let all = ["workflow", "check", "wrong.yaml", "no.yaml", "--json"];
    let ran = desk.baton(&all).output().expect("it runs");
    let json: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let problems = json[0]["problems"].as_array().expect("problems");
    assert!(problems.iter().any(|problem| problem["severity"] == "error"), "{json}");
    assert_eq!(json[1]["problems"][0]["code"], "unreadable");
    desk.run(&["workflow", "check", "none.yaml"]).fails(2);
    desk.run(&["workflow", "check"]).fails(2);
}

#[test]
fn warnings_count_when_asked() {
    let desk = desk();
    let lazy = CHARTER.replacen("timeout: 24h", "task: wait", 1);
    let lazy = lazy.replacen("  - id: \"3.2\"", "  - id: \"3.2\"\n    when: attempt < 9", 1);
    let lazy = lazy.replacen("trigger: AWAITING_QUOTES_TIMEOUT", "trigger: QUOTES_RECEIVED", 1);
    let lazy = lazy.replacen("  - id: \"3.1\"", "  - id: \"3.1\"\n    when: attempt < 1", 1);
    std::fs::write(desk.path().join("lazy.yaml"), lazy).expect("a file");
    let said = desk.run(&["workflow", "check", "lazy.yaml"]).ok();
    assert!(said.contains("warning[wait-without-timeout]"), "{said}");
    desk.run(&["workflow", "check", "lazy.yaml", "--strict"]).fails(1);
    let said = desk.run(&["workflow", "check", "charter.yaml", "--agents"]).ok();
    assert!(said.contains("warning[agent-not-registered]"), "{said}");
}

#[test]
fn a_definition_is_drawn_in_every_format() {
    let desk = desk();
    let drawn = desk.run(&["workflow", "graph", "charter.yaml"]).ok();
    assert!(drawn.contains("charter@1") && drawn.contains("│ analyzing"), "{drawn}");
    assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    let mermaid = desk.run(&["workflow", "graph", "charter.yaml", "--format", "mermaid"]).ok();
    assert!(mermaid.contains("flowchart TD"), "{mermaid}");
    let dot = desk.run(&["workflow", "graph", "charter.yaml", "-f", "dot"]).ok();
    assert!(dot.starts_with("digraph flow {"), "{dot}");
    let told = desk.run(&["workflow", "graph", "charter.yaml", "-o", "charter.svg"]).ok();
    expect!["drawn in charter.svg\n"].assert_eq(&told);
    let svg = std::fs::read_to_string(desk.path().join("charter.svg")).expect("a file");
    assert!(svg.starts_with("<svg ") && svg.contains("awaiting_quotes"), "{svg}");
    desk.run(&["workflow", "graph", "no.yaml"]).fails(1);
    // A definition that is wrong can still be looked at.
    desk.run(&["workflow", "graph", "wrong.yaml"]).ok();
}
