//! Reading definitions: where things stand, and what is refused.

use std::time::{Duration, Instant};

use super::*;

const CHARTER: &str = include_str!("../../tests/data/charter.yaml");

#[test]
fn everything_has_its_place() {
    let read = read(CHARTER).expect("a definition");
    let text_at = |path: &str| {
        let span = read.positions.at(path).expect(path);
        let line = CHARTER.lines().nth(span.line - 1).expect("a line");
        line.chars().skip(span.column - 1).take(span.length).collect::<String>()
    };
    assert_eq!(text_at("workflow"), "charter");
    assert_eq!(text_at("states.analyzing.agent"), "orchestrator");
    assert_eq!(text_at("states.awaiting_quotes"), "awaiting_quotes");
    assert_eq!(text_at("transitions.analyzing[1]"), "searching_flights");
    assert_eq!(text_at("rules[0].when"), "has(result.clientName) || has(result.clientEmail)");
    assert_eq!(text_at("rules[0].payload.map.clientName?"), "result.clientName");
    assert_eq!(text_at("rules[2].trigger[1]"), "ANALYZING_TIMEOUT");
    // What is not there stands where it would be.
    assert_eq!(text_at("states.completed.agent"), "completed");
    assert_eq!(read.positions.at("nothing"), None);
    assert!(read.positions.has("rules[0].set.rfpData") && !read.positions.has("rules[0].who"));
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let said = |from: &str, to: &str| {
        let problems = read(&CHARTER.replacen(from, to, 1)).expect_err(to);
        let problem = problems.first().expect("a problem");
        let line = problem.span.map_or(0, |span| span.line);
        format!("{line} {}: {}", problem.path, problem.message)
    };
    let has = |said: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    };
    has(said("agent: orchestrator", "agnet: orchestrator"), &["14", "agnet", "agent"]);
    has(said("id: \"1.1\"", "id: \"-1\""), &["35 rules[0].id", "rule's id"]);
    has(said("version: 1", "version: one"), &["3 version"]);
    has(said("start: analyzing\n", ""), &["start"]);
    has(said("timeout: 10m", "timeout: long"), &["14"]);
    has(said("trigger: ANALYZING_COMPLETE", "trigger: { a: b }"), &["38"]);
}

#[test]
fn hostile_texts_are_refused_soon() {
    let wide = (0..300).map(|n| format!("  s{n}: {{}}\n")).collect::<String>();
    let states = CHARTER.replacen("states:\n", &format!("states:\n{wide}"), 1);
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..10 {
        let before = format!("*a{},", n - 1).repeat(9);
        bomb.push_str(&format!("a{n}: &a{n} [{before}]\n"));
    }
    let texts = [
        states,
        bomb,
        CHARTER.replacen("agent: orchestrator", "agent: &x orchestrator, task: *x", 1),
        "[".repeat(100_000),
        format!("workflow: {}", "{a: ".repeat(10_000)),
        "- ".repeat(100_000),
        format!("workflow: x\nrules:\n{}", "  - {}\n".repeat(20_000)),
        "x".repeat(300 * 1024),
        "a: b\n".repeat(40_000),
        "? ".repeat(10_000),
        "\u{0}".to_owned(),
        "--- a\n--- b\n".to_owned(),
        "<<: [*a, *b]\n".to_owned(),
        String::new(),
    ];
    for text in texts {
        let begun = Instant::now();
        let problems = read(&text).expect_err("refused");
        assert!(!problems.is_empty());
        let took = begun.elapsed();
        let start: String = text.chars().take(30).collect();
        assert!(took < Duration::from_secs(5), "{start} took {took:?}");
    }
}
