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
        (
            "required: [requestId, rfpData]",
            "allOf: [{ required: [rfpId] }]",
            "payload-field-missing rules[0].payload.map",
        ),
        (
            "required: [requestId, rfpData]",
            "allOf: [{ properties: { rfpData: {} }, additionalProperties: false }]",
            "payload-field-unknown rules[0].payload.map.requestId",
        ),
        (
            "required: [requestId, rfpData]",
            "patternProperties: { \".*\": {} }\n    additionalProperties: false",
            "",
        ),
        (
            "size(context.quotes) >= 3",
            "size(context.quotes)",
            "bad-expression states.awaiting_quotes.wait.until",
        ),
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

#[test]
fn conditions_say_yes_or_no_as_far_as_can_be_told() {
    let said =
        |when: &str| changed("when: size(result.topProposals) == 3", &format!("when: '{when}'"));
    for (when, found) in [
        ("1", "it comes to a number"),
        ("\"yes\"", "it comes to a text"),
        ("size(result.topProposals)", "it comes to a number"),
        ("result.a + result.b", "it comes to a sum"),
        ("result.a ? true : 3", "a part of it comes to a number"),
        ("result.a && size(result.topProposals)", "a part of it comes to a number"),
        ("!(result.a || null)", "a part of it comes to nothing"),
        ("result.topProposals.filter(p, p.rank > 1)", "it comes to a list"),
        ("{\"a\": true}", "it comes to a map"),
    ] {
        let said = said(when);
        assert!(said.contains("bad-expression rules[7].when"), "{when}: {said}");
        assert!(said.contains(&format!("{found}, where yes or no is asked for")), "{when}: {said}");
    }
    for when in [
        "result.a",
        "!result.a || has(result.b) && result.c.d",
        "result.topProposals.exists(p, p.rank == 1)",
        "result.topProposals.exists_one(p, p.rank == 1)",
        "result.topProposals.all(p, p.good)",
        "result.a ? result.b : \"x\" in result.c",
        "result.name.startsWith(\"x\")",
        "[true, false][0]",
    ] {
        assert_eq!(said(when), "", "{when}");
    }
}

#[test]
fn priorities_are_known_words_as_far_as_can_be_told() {
    let said = |to: &str| {
        let from = r#"priority: 'result.urgency in ["urgent", "high"] ? "high" : "normal"'"#;
        changed(from, &format!("priority: '{to}'"))
    };
    for (to, found) in [
        ("result.a ? \"high\" : \"hihg\"", "it can come to `hihg`"),
        ("result.a ? \"high\" : (result.b ? 3 : \"low\")", "it can come to a number"),
        ("size(result.a)", "it can come to a number"),
        ("result.a == 1", "it can come to yes or no"),
    ] {
        let said = said(to);
        assert!(said.contains("bad-expression rules[1].priority"), "{to}: {said}");
        assert!(said.contains(found), "{to}: {said}");
    }
    for to in
        ["result.priority", "result.a ? \"high\" : result.b", "\"lo\" + \"w\"", "string(result.a)"]
    {
        assert_eq!(said(to), "", "{to}");
    }
}

#[test]
fn a_definition_with_a_secret_in_it_is_refused_however_it_comes() {
    let definition = read(CHARTER).expect("a definition").definition;
    assert!(check_definition(&definition).is_empty());
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let with = |name: &str, value: serde_json::Value| {
        let mut json = serde_json::to_value(&definition).expect("JSON");
        json[name] = value;
        told(&check_definition(&serde_json::from_value(json).expect("a definition")))
    };
    let said = "- Error secret \n  it holds something that looks like a secret\n";
    assert_eq!(with("description", key.clone().into()), said);
    assert_eq!(with("schemas", serde_json::json!({"request": {"const": key}})), said);
}
