//! A definition in which everything is wrong once, and what is said of it.

use expect_test::{expect, expect_file};

use super::*;
use crate::definition::Severity;
use crate::{read, render};

const CHARTER: &str = include_str!("../../tests/data/charter.yaml");
const WRONG: &str = include_str!("../../tests/data/wrong.yaml");

fn problems(text: &str) -> Vec<Problem> {
    check(&read(text).expect("a definition"), &Known::default())
}

/// Each problem with what is said of it below.
fn told(problems: &[Problem]) -> String {
    let line = |problem: &Problem| {
        let at = problem.span.map(|span| format!("{}:{}", span.line, span.column));
        let at = at.unwrap_or_else(|| "-".to_owned());
        let Problem { severity, code, path, message, .. } = problem;
        format!("{at} {severity:?} {code} {path}\n  {message}\n")
    };
    problems.iter().map(line).collect()
}

#[test]
fn a_definition_that_is_in_order_has_no_problem() {
    expect![[r#""#]].assert_eq(&told(&problems(CHARTER)));
}

#[test]
fn everything_that_is_wrong_is_found_with_its_place_and_a_hint() {
    let problems = problems(WRONG);
    assert!(problems.iter().all(|problem| problem.hint.is_some()));
    let page = render(&problems, "wrong.yaml", WRONG, false);
    expect_file!["../../tests/data/wrong.txt"].assert_eq(&page);
}

fn changed(from: &str, to: &str) -> String {
    assert!(CHARTER.contains(from), "{from}");
    told(&problems(&CHARTER.replacen(from, to, 1)))
}

#[test]
fn one_change_is_one_problem() {
    let cases = [
        ("max_handoffs: 20\n", "", ""),
        ("start: analyzing", "start: analysing", "unknown-state start"),
        ("to: client-data\n", "to: client-dat\n", "unknown-agent rules[0].to"),
        (
            "    priority: urgent\n    next_state: failed",
            "    next_state: completed",
            "transition-not-declared",
        ),
        ("  sending_proposal: [completed]\n", "", "transition-not-declared rules[9].next_state"),
        (
            "trigger: SENDING_PROPOSAL_COMPLETE",
            "trigger: SENDING_PROPOSAL_FAILED",
            "unanswered-signal",
        ),
        ("        rfpData: result.rfpData\n", "", "payload-field-missing rules[0].payload.map"),
        ("timeout: 24h", "task: wait", "wait-without-timeout"),
        ("    set: { quotes: \"[]\" }\n", "", "variable-not-set"),
        ("when: size(result.topProposals) == 3", "when: \"false\"", "never-fires rules[7].when"),
        (
            "    states: [awaiting_quotes]\n",
            "    states: [searching_flights]\n",
            "never-fires rules[6]",
        ),
        ("  failed: { end: failed }\n", "  failed: { end: cancelled }\n", "no-failed-end states"),
        ("required: [requestId, rfpData]", "required: [clientName]", "payload-field-optional"),
    ];
    for (from, to, expected) in cases {
        let said = changed(from, to);
        assert!(said.contains(expected), "{from} → {to}: {said}");
        assert_eq!(said.is_empty(), expected.is_empty(), "{from} → {to}: {said}");
    }
}

#[test]
fn loops_are_told_unless_something_bounds_them() {
    let looped = |when: &str, most: &str| {
        let text = format!(
            "workflow: round\nversion: 1\n{most}\nagents: {{ a: {{}}, b: {{}}, c: {{}} }}\n\
             start: one\nstates:\n  one: {{ agent: a }}\n  two: {{ agent: b }}\n  \
             three: {{ agent: c }}\n  done: {{ end: completed }}\n  failed: {{ end: failed }}\n\
             transitions: {{ one: [two], two: [three], three: [one, done] }}\nrules:\n\
             - {{ id: x, from: a, to: b, trigger: ONE_COMPLETE, reason: r, next_state: two }}\n\
             - {{ id: y, from: b, to: c, trigger: TWO_COMPLETE, reason: r, next_state: three }}\n\
             - {{ id: z, from: c, to: a, trigger: THREE_COMPLETE, when: {when}, reason: r, \
             next_state: one }}\n\
             - {{ id: e, from: c, trigger: THREE_COMPLETE, reason: r, next_state: done }}\n"
        );
        told(&problems(&text))
    };
    assert!(looped("result.few", "").contains("one → two → three → one can go on and on"));
    assert!(looped("result.few", "max_handoffs: 2").contains("more handoffs than the 2"));
    assert_eq!(looped("result.few", "max_handoffs: 9"), "");
    // `attempt` counts failures, not rounds.
    assert!(looped("result.few && attempt < 2", "").contains("on and on"));
}

#[test]
fn the_workspace_is_asked_where_there_is_one() {
    let read = read(CHARTER).expect("a definition");
    let agent = |name: &str| name.parse::<AgentId>().expect("an agent");
    let agents = ["orchestrator", "client-data", "flight-search", "communication"];
    let agents = agents.iter().map(|name| (agent(name), Vec::new())).collect();
    let found = check(&read, &Known { agents: Some(agents) });
    expect![[r#"
        8:35 Warning capability-not-registered agents.flight-search.capabilities[0]
          `flight-search` is not known to be capable of `search`
        9:3 Warning agent-not-registered agents.proposal-analysis
          this workspace has no agent `proposal-analysis`
    "#]]
    .assert_eq(&told(&found));
    assert!(found.iter().all(|problem| problem.severity == Severity::Warning));
}

#[test]
fn names_are_near_or_far() {
    let known = || ["analyzing", "failed", "completed"].into_iter();
    assert_eq!(nearest("analysing", known()), Some("analyzing"));
    assert_eq!(nearest("faild", known()), Some("failed"));
    assert_eq!(nearest("elsewhere", known()), None);
    assert_eq!(distance("", "abc"), 3);
    assert_eq!(distance("abc", "abc"), 0);
    assert_eq!(distance("kitten", "sitting"), 3);
}
