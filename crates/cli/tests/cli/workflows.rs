//! Work that follows a definition, through the real binary and a real coordinator.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::desk::Desk;

/// A small definition: a draft is written, reviewed, and perhaps sent back.
const DRAFT: &str = r#"
workflow: draft
version: 1
agents: {writer: {}, reviewer: {}}
start: writing
states:
  writing: {agent: writer, task: write}
  reviewing: {agent: reviewer}
  printed: {end: completed}
  failed: {end: failed}
  cancelled: {end: cancelled}
transitions:
  writing: [reviewing, failed, cancelled]
  reviewing: [printed, writing, failed, cancelled]
rules:
  - id: written
    from: writer
    to: reviewer
    trigger: WRITING_COMPLETE
    when: size(result.words) > 0
    reason: "Review {{ size(result.words) }} words"
    priority: "size(result.words) > 2 ? 'high' : 'low'"
    payload: {map: {words: result.words, note?: context.note}}
    set: {words: result.words}
    next_state: reviewing
  - id: good
    from: reviewer
    trigger: REVIEWING_COMPLETE
    when: result.score >= 80
    reason: Print it
    next_state: printed
  - id: bad
    from: reviewer
    to: writer
    trigger: REVIEWING_COMPLETE
    reason: "{{ result.score }} of 100: once more"
    payload: {map: {score: result.score}}
    next_state: writing
max_handoffs: 6
"#;

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A workspace where the draft can be followed.
fn desk() -> Desk {
    let desk = Desk::with(&["writer", "reviewer"]);
    fs::create_dir(desk.path().join("workflows")).expect("a folder");
    fs::write(desk.path().join("workflows/draft.yaml"), DRAFT).expect("a file");
    desk.run(&["workflow", "define"]).ok();
    desk
}

/// Whoever is asked takes the work and says what came of it.
fn completes(desk: &Desk, id: &str, agent: &str, result: &Value) -> String {
    let fence = takes(desk, agent);
    says(desk, id, agent, &fence, result).ok()
}

/// Takes what waits for an agent, and returns the fence.
fn takes(desk: &Desk, agent: &str) -> String {
    let inbox = desk.json(&["inbox", "--as", agent]);
    let handoff = inbox["waiting"][0]["id"].as_str().expect("something waits").to_owned();
    let taken = desk.json(&["accept", &handoff, "--as", agent]);
    taken["fence"].as_u64().expect("a fence").to_string()
}

fn says(desk: &Desk, id: &str, agent: &str, fence: &str, result: &Value) -> crate::desk::Ran {
    fs::write(desk.path().join("result.json"), result.to_string()).expect("a file");
    let said = ["--fence", fence, "--result-json", "result.json", "--as", agent];
    desk.run(&[&["complete", id][..], &said].concat())
}

/// The handoffs of the bus, in their order.
fn handoffs(desk: &Desk, id: &str) -> Vec<String> {
    let lines = desk.run(&["events", "--workflow", id, "--type", "AGENT_HANDOFF", "--json"]).ok();
    let arrow = |line: &str| {
        let message: Value = serde_json::from_str(line).expect("a message");
        let one = &message["payload"]["handoff"];
        format!("{}->{}", text(&one["fromAgent"]), text(&one["toAgent"]))
    };
    lines.lines().map(arrow).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[test]
fn every_rule_and_branch_of_the_examples_goes_as_its_scenarios_say() {
    let desk = Desk::new();
    for (example, scenarios) in [("charter", 30), ("quality-gate", 10), ("triage", 18)] {
        let script = examples().join(example).join("scenarios.yaml");
        let played = desk.json(&["workflow", "test", script.to_str().expect("a path")]);
        let all = played["scenarios"].as_array().expect("scenarios");
        assert_eq!(all.len(), scenarios, "{example}");
        let bad: Vec<&Value> = all.iter().filter(|one| !one["failure"].is_null()).collect();
        assert!(bad.is_empty(), "{bad:?}");
        assert_eq!(played["rules_not_reached"], json!([]), "{example}");
    }
}

#[test]
fn a_scenario_that_does_not_go_as_expected_fails_with_its_step() {
    let desk = Desk::new();
    fs::write(desk.path().join("draft.yaml"), DRAFT).expect("a file");
    let script = |steps: &str| {
        let text = format!("workflow: draft.yaml\nscenarios:\n- name: a try\n  steps:\n{steps}");
        fs::write(desk.path().join("s.yaml"), text).expect("a file");
        desk.run(&["workflow", "test", "s.yaml"])
    };
    script("  - complete: {words: [a]}\n  - expect: {state: reviewing, priority: low}\n").ok();
    for (steps, said) in [
        ("  - expect: {state: reviewing}\n", "expected state reviewing, found writing"),
        (
            "  - complete: {words: [a]}\n  - expect: {rule: bad}\n",
            "expected rule bad, found written",
        ),
        ("  - complete: {words: []}\n", "no rule of draft@1 holds"),
        ("  - complete: {words: [a]}\n  - expect: {error: no}\n", "expected an error"),
        ("  - expect: {payload: {a: 1}}\n", "expected a payload"),
        ("  - complete: {words: [a]}\n  - expect: {waiting: true}\n", "expected that it waits"),
        (
            "  - wait: 30s\n  - expect: {to: reviewer}\n",
            "expected to reviewer, found error-monitor",
        ),
    ] {
        let ran = script(steps);
        assert!(ran.out.contains(said) && ran.out.contains("FAILED"), "{steps}: {ran}");
        let error = ran.fails(1);
        assert!(error.contains("1 of 1 scenarios failed"), "{error}");
    }
    assert!(script("  - compleet: 1\n").fails(2).contains("compleet"));
    let order = "  - complete: {words: [a]}\n  handoffs: [reviewer->writer]\n";
    assert!(script(order).out.contains("found writer->reviewer"));
}

#[test]
fn the_charter_flight_runs_for_real_with_agents_that_need_only_the_binary() {
    let desk = Desk::new();
    let told = desk.run(&["demo", "charter", "--fast"]).ok();
    let arrows: Vec<String> = told
        .lines()
        .filter_map(|line| line.split_once("AGENT_HANDOFF ")?.1.split_once(" ["))
        .map(|(arrow, rest)| format!("{arrow} {}", rest.split(']').next().unwrap_or_default()))
        .collect();
    let first = [
        "orchestrator → client-data rule 1.1",
        "client-data → error-monitor rule 2.2",
        "error-monitor → client-data rule 6.1",
        "client-data → flight-search rule 2.1",
        "flight-search → proposal-analysis rule 3.1",
        "proposal-analysis → communication rule 4.1",
    ];
    let second = [
        "orchestrator → flight-search rule 1.2",
        "flight-search → proposal-analysis rule 3.1",
        "proposal-analysis → communication rule 4.1",
        "communication → error-monitor rule 5.1",
        "error-monitor → communication rule 6.3",
    ];
    let third = ["orchestrator → error-monitor rule 1.3"];
    let expected: Vec<&str> = first.into_iter().chain(second).chain(third).collect();
    assert_eq!(arrows, expected, "{told}");
    assert!(told.contains("TASK_COMPLETED The proposals were sent to ada@example.com"), "{told}");
    assert!(told.contains("TASK_FAILED the whole work: validation_error in analyzing"), "{told}");
}

#[test]
fn an_agents_result_moves_the_work_and_the_rules_choose_who_goes_on() {
    let desk = desk();
    let id = desk.run(&["start", "A poem", "--workflow", "draft", "--quiet"]).ok();
    let id = id.trim();
    let said = completes(&desk, id, "writer", &json!({ "words": ["roses", "are", "red"] }));
    assert!(said.contains("writing → reviewing (rule written)"), "{said}");
    let view = desk.json(&["show", id]);
    assert_eq!(view["machine"]["state"], "reviewing");
    let line = &view["handoffs"][1];
    assert_eq!((&line["reason"], &line["priority"]), (&json!("Review 3 words"), &json!("high")));
    completes(&desk, id, "reviewer", &json!({ "score": 79 }));
    completes(&desk, id, "writer", &json!({ "words": ["violets"] }));
    let said = completes(&desk, id, "reviewer", &json!({ "score": 80 }));
    assert!(said.contains("reviewing → printed (rule good)"), "{said}");
    assert_eq!(
        handoffs(&desk, id),
        ["writer->reviewer", "reviewer->writer", "writer->reviewer"],
        "the first task was assigned, not passed on"
    );
    let stats = desk.json(&["stats", "--workflow", id]);
    assert_eq!(stats["totalHandoffs"], 3);
    assert_eq!(stats["handoffsByAgent"]["writer"], json!({ "sent": 2, "received": 1 }));
    assert_eq!(desk.json(&["stats"])["totalHandoffs"], 3);
    let over = desk.run(&["show", id]).ok();
    assert!(over.contains("draft@1") && over.contains("printed"), "{over}");
    desk.run(&["audit", "verify"]).ok();
}

#[test]
fn a_result_that_no_rule_holds_for_is_refused_with_what_each_saw_and_nothing_is_lost() {
    let desk = desk();
    let id = desk.run(&["start", "A poem", "--workflow", "draft@1", "--quiet"]).ok();
    let id = id.trim();
    let fence = takes(&desk, "writer");
    let error = says(&desk, id, "writer", &fence, &json!({ "words": [] })).fails(3);
    assert!(error.contains("no rule of draft@1 holds for WRITING_COMPLETE in writing"), "{error}");
    assert!(error.contains("written: size(result.words) > 0 (saw result.words = [])"), "{error}");
    let error = says(&desk, id, "writer", &fence, &json!({ "text": "none" })).fails(3);
    assert!(error.contains("rule written of draft@1"), "{error}");
    let error = desk.run(&["workflow", "move", id, "printed", "--reason", "now"]).fails(3);
    let names = "writing does not lead to printed; from writing it goes to reviewing, failed";
    assert!(error.contains(names), "{error}");
    let pass = ["pass", id, "--to", "reviewer", "--reason", "x", "--fence", &fence];
    let error = desk.run(&[&pass[..], &["--as", "writer"]].concat()).fails(3);
    assert!(error.contains("the rules of draft@1 decide who goes on from writing"), "{error}");
    let error = desk.run(&["signal", id, "NO_SUCH_SIGNAL"]).fails(3);
    assert!(error.contains("NO_SUCH_SIGNAL brings nothing about in writing"), "{error}");
    says(&desk, id, "writer", &fence, &json!({ "words": ["a"] })).ok();
    // The step before is over, and so is its number.
    says(&desk, id, "writer", &fence, &json!({ "words": ["b"] })).fails(3);
}

#[test]
fn running_work_keeps_its_version_and_a_version_never_changes() {
    let desk = desk();
    let id = desk.run(&["start", "A poem", "--workflow", "draft", "--quiet"]).ok();
    let id = id.trim();
    let file = desk.path().join("workflows/draft.yaml");
    fs::write(&file, DRAFT.replace("score >= 80", "score >= 90")).expect("a file");
    let error = desk.run(&["workflow", "define", "workflows/draft.yaml"]).fails(3);
    assert!(error.contains("draft@1 is known already") && error.contains("version: 2"), "{error}");
    let next = DRAFT.replace("score >= 80", "score >= 90").replace("version: 1", "version: 2");
    fs::write(&file, next).expect("a file");
    desk.run(&["workflow", "define"]).ok();
    assert!(desk.run(&["workflow", "list"]).ok().contains("draft@2"));
    completes(&desk, id, "writer", &json!({ "words": ["a"] }));
    let said = completes(&desk, id, "reviewer", &json!({ "score": 85 }));
    assert!(said.contains("printed"), "85 is enough for version 1: {said}");
    let id = desk.run(&["start", "Another", "--workflow", "draft", "--quiet"]).ok();
    completes(&desk, id.trim(), "writer", &json!({ "words": ["a"] }));
    let said = completes(&desk, id.trim(), "reviewer", &json!({ "score": 85 }));
    assert!(said.contains("reviewing → writing (rule bad)"), "{said}");
    let unknown = desk.run(&["start", "x", "--workflow", "draft@7"]).fails(4);
    assert!(unknown.contains("there is no definition draft@7"), "{unknown}");
}

#[test]
fn work_that_fails_for_good_tells_a_person_everything() {
    let desk = desk();
    let id = desk.run(&["start", "A poem", "--workflow", "draft", "--quiet"]).ok();
    let id = id.trim();
    let fence = takes(&desk, "writer");
    let error = ["--type", "no_ink", "--message", "the pen is dry", "--service", "pen"];
    let fail = ["fail", id, "--fence", &fence, "--detail", "colour=blue", "--as", "writer"];
    let said = desk.run(&[&fail[..], &error].concat()).ok();
    assert!(said.contains("writing failed (no_ink); it is not tried again"), "{said}");
    let shown = desk.run(&["show", id]).ok();
    for part in ["failed", "no_ink", "the pen is dry", "of pen", "writing (writer)"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let ending = &desk.json(&["show", id])["ending"]["as"];
    assert_eq!(ending["failures"][0]["error"]["colour"], "blue");
    assert_eq!(handoffs(&desk, id), ["writer->error-monitor"]);
}
