//! What the rules of the charter example come to, and what is refused when it is read.

use baton_protocol::definition::Chosen;
use baton_protocol::handoff::Priority;
use serde_json::{Value, json};

use super::*;
use crate::testing::Given;

const CHARTER: &str = include_str!("../../tests/data/charter.yaml");

fn charter() -> (Definition, Compiled) {
    let definition = crate::read(CHARTER).expect("a definition").definition;
    let compiled = Compiled::of(&definition).expect("it compiles");
    (definition, compiled)
}

fn judged(state: &str, from: &str, signal: &str, facts: &Given) -> Verdict {
    let (definition, compiled) = charter();
    let state = state.parse().expect("a state");
    let from = from.parse().expect("an agent");
    compiled.judge(&definition, &state, &from, &signal.parse().expect("a signal"), facts)
}

fn chosen(verdict: Verdict) -> Chosen {
    match verdict {
        Verdict::Chosen(chosen) => *chosen,
        other => panic!("{other:?}"),
    }
}

fn context() -> Value {
    json!({"requestId": "rq-1", "sessionId": "s-1", "rfpData": {"to": "GVA"}})
}

#[test]
fn the_first_rule_that_holds_is_taken() {
    let result = json!({"clientName": "Ada", "rfpData": {"to": "GVA"}, "urgency": "high"});
    let facts = Given::new(result, context());
    let with = chosen(judged("analyzing", "orchestrator", "ANALYZING_COMPLETE", &facts));
    assert_eq!(with.rule.as_str(), "1.1");
    assert_eq!(with.to.as_ref().map(ToString::to_string).as_deref(), Some("client-data"));
    assert_eq!(with.reason.as_str(), "Fetch the profile of Ada");
    assert_eq!(with.priority, Some(Priority::High));
    let payload = json!({"requestId": "rq-1", "clientName": "Ada", "rfpData": {"to": "GVA"}});
    assert_eq!(with.payload, Some(payload));
    assert_eq!(with.set.len(), 1);

    let facts = Given::new(json!({"rfpData": {}, "urgency": "none"}), context());
    let without = chosen(judged("analyzing", "orchestrator", "ANALYZING_COMPLETE", &facts));
    assert_eq!(without.rule.as_str(), "1.2");
    assert_eq!(without.priority, Some(Priority::Normal));
}

#[test]
fn what_the_monitor_asks_is_answered_for_the_state_that_failed() {
    let error = json!({"errorType": "external", "service": "google_sheets", "retryable": true});
    let facts = Given::new(error, context());
    let again = judged("fetching_client_data", "error-monitor", "ERROR_RETRY", &facts);
    assert_eq!(chosen(again).reason.as_str(), "Retry 2 after external");
    let other = judged("searching_flights", "error-monitor", "ERROR_RETRY", &facts);
    assert_eq!(other, Verdict::None { tried: Vec::new() });
    let none = Given { attempt: 3, ..facts };
    let Verdict::None { tried } =
        judged("fetching_client_data", "error-monitor", "ERROR_RETRY", &none)
    else {
        panic!("a rule held");
    };
    let saw: Vec<&str> = tried.iter().map(|tried| tried.saw.as_str()).collect();
    assert_eq!(saw, ["result.service = \"google_sheets\", attempt = 3"]);
}

#[test]
fn a_rule_that_makes_something_else_than_it_promises_is_broken() {
    let why = |state: &str, from: &str, signal: &str, facts: &Given| match judged(
        state, from, signal, facts,
    ) {
        Verdict::Broken { rule, why } => format!("{rule}: {why}"),
        other => panic!("{other:?}"),
    };
    let facts = Given::new(json!({"clientName": 7, "rfpData": 1}), context());
    let said = why("analyzing", "orchestrator", "ANALYZING_COMPLETE", &facts);
    assert!(said.contains("1.1: payload.clientName: 7 is not of type \"string\""), "{said}");
    assert!(said.contains("payload.rfpData"), "{said}");
    let facts = Given::new(json!({"clientName": "Ada"}), context());
    let said = why("analyzing", "orchestrator", "ANALYZING_COMPLETE", &facts);
    assert!(said.contains("payload.rfpData: result.rfpData is missing"), "{said}");
    let facts = Given::new(json!({}), json!({"quotes": [1, 2]}));
    let said = why("awaiting_quotes", "flight-search", "QUOTES_RECEIVED", &facts);
    assert!(said.contains("payload.quotesCount: 2 is less than the minimum of 3"), "{said}");
    let facts = Given::new(json!({"topProposals": 3}), context());
    let said =
        why("analyzing_proposals", "proposal-analysis", "ANALYZING_PROPOSALS_COMPLETE", &facts);
    assert!(said.contains("its condition: it cannot be judged"), "{said}");
}

#[test]
fn a_state_waits_until_its_condition_holds() {
    let (_, compiled) = charter();
    let state = "awaiting_quotes".parse().expect("a state");
    let waits = |quotes: Value| {
        let facts = Given::new(json!(null), json!({"quotes": quotes}));
        (compiled.waits(&state, &facts), compiled.waits_saw(&state, &facts))
    };
    assert_eq!(waits(json!([1, 2])), (Ok(false), "context.quotes = [1,2]".to_owned()));
    assert_eq!(waits(json!([1, 2, 3])).0, Ok(true));
    let (held, _) = waits(json!(3));
    assert!(held.is_err());
}

#[test]
fn what_cannot_be_judged_is_refused_when_it_is_read() {
    let said = |from: &str, to: &str| {
        let read = crate::read(&CHARTER.replacen(from, to, 1)).expect(to);
        let problems = Compiled::of(&read.definition).expect_err(to);
        let problem = problems[0].clone().placed(&read.positions);
        let span = problem.span.expect("a place");
        format!("{}:{} {} {}", span.line, span.column, problem.path, problem.message)
    };
    let has = |said: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    };
    let when = "size(result.topProposals) == 3";
    has(said(when, "size(topProposals) == 3"), &["105:16 rules[7].when", "no name"]);
    has(said("priority: urgent", "priority: soonish"), &["rules[2].priority"]);
    has(said("The proposal is sent", "Sent {{ result.x"), &["without `}}`"]);
    has(said("#/schemas/name", "#/schemas/nome"), &["schemas.request", "known are name, request"]);
    has(said("#/schemas/name", "https://example.org/x"), &["is elsewhere"]);
    has(said("{ type: string, maxLength: 100 }", "{ $ref: '#/schemas/request' }"), &["itself"]);
    has(said("{ type: string }", "{ type: strong }"), &["schemas.request", "no JSON Schema"]);
    has(said("{ type: string }", "{ pattern: '(' }"), &["schemas.request"]);
    has(said("{ quotes: \"[]\" }", "{ task_id: \"1\" }"), &["Baton sets `task_id`"]);
    let chain = format!("when: {}1 == 1", "1 + ".repeat(900));
    has(said("when: has(result.clientName) ||", &format!("{chain} ||")), &["bytes"]);
}

/// What is said first of the charter with more in it.
fn first_problem(more: &str) -> Option<String> {
    let text = CHARTER.replacen("rules:\n", &format!("rules:\n{more}"), 1);
    let definition = crate::read(&text).expect("a definition").definition;
    let problems = Compiled::of(&definition).err()?;
    let too_costly = problems.iter().filter(|problem| problem.code == "too-costly").count();
    assert!(too_costly <= 1, "the first of them is told: {problems:?}");
    problems.first().map(|problem| problem.message.clone())
}

fn rules(count: usize, rest: impl Fn(usize) -> String) -> String {
    let rule = |n: usize| {
        format!(
            "  - id: r-{n}\n    from: orchestrator\n    trigger: ANALYZING_FAILED\n    \
             next_state: failed\n{}",
            rest(n)
        )
    };
    (0..count).map(rule).collect()
}

#[test]
fn what_all_expressions_take_together_is_bounded() {
    let too_many = Some("all expressions together have more than 12288 words and signs".to_owned());
    let templates = |n: usize| rules(60, |_| format!("    reason: \"{}\"\n", "{{1}}".repeat(n)));
    assert_eq!(first_problem(&templates(50)), too_many);
    assert_eq!(first_problem(&templates(20)), None);
    let sums = |n: usize| {
        let sum = |m: usize| format!("    reason: x\n    when: {}{m} > 0\n", "1+".repeat(150));
        rules(n, sum)
    };
    assert_eq!(first_problem(&sums(60)), too_many);
    assert_eq!(first_problem(&sums(20)), None);
}

#[test]
fn what_all_schemas_take_together_is_bounded() {
    let too_many = Some("more than 20000 nodes, with those that it refers to".to_owned());
    let schemas = |n: usize, schema: &dyn Fn(usize) -> String| {
        let payload =
            |n: usize| format!("    reason: x\n    payload: {{ schema: {} }}\n", schema(n));
        rules(n, payload)
    };
    let pattern = |n: usize| format!("{{ properties: {{ a: {{ pattern: \"^x{n}$\" }} }} }}");
    assert_eq!(first_problem(&schemas(35, &pattern)), None);
    assert_eq!(first_problem(&schemas(45, &pattern)), too_many);
    // The same one is read once, however many rules have it.
    assert_eq!(first_problem(&schemas(200, &|_| pattern(1))), None);
    let listed = |n: usize| format!("{{ title: t{n}, enum: [{}] }}", "1, ".repeat(1_000));
    assert_eq!(first_problem(&schemas(10, &listed)), None);
    let many = serde_json::json!({ "enum": vec![1; 20_000] });
    let named = BTreeMap::from([("many".to_owned(), many)]);
    let mut all = schema::Schemas::of(&named);
    let read =
        |n: usize| all.read(&json!({"title": n.to_string(), "$ref": "#/schemas/many"})).err();
    assert_eq!((0..12).find_map(read), too_many);
}
