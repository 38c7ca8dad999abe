//! What expressions say of facts, and what is refused.

use serde_json::json;

use super::*;
use crate::testing::Given;

fn facts() -> Given {
    let result = json!({
        "quotes": [{"price": 3, "by": "a"}, {"price": 5, "by": "b"}],
        "client": {"name": "Ada", "none": null},
        "big": 18_446_744_073_709_551_615_u64,
        "rate": 1.5,
        "dotted-name": 1,
    });
    Given::new(result, json!({"requestId": "rq-1", "limit": 4, "tags": ["x"]}))
}

fn value(text: &str) -> Result<Value, String> {
    let read = expression(text).map_err(|error| error.to_string())?;
    read.value(&facts()).map_err(|error| error.to_string())
}

#[test]
fn expressions_come_to_json() {
    for (text, expected) in [
        ("result.quotes.size()", json!(2)),
        ("size(result.quotes) >= 2 && attempt + 1 == 2", json!(true)),
        ("result.quotes[1].by", json!("b")),
        ("result.client", json!({"name": "Ada", "none": null})),
        ("result.client.none", json!(null)),
        ("result[\"dotted-name\"]", json!(1)),
        ("result.rate * 2.0", json!(3.0)),
        ("result.big > 1", json!(true)),
        ("has(result.client) && !has(result.nobody)", json!(true)),
        ("has(result.nobody.name.first)", json!(false)),
        ("has(result.client.name) && result.client.name == \"Ada\"", json!(true)),
        ("has(context.limit) ? context.limit : 0", json!(4)),
        ("has(context.none) ? context.none : 0", json!(0)),
        ("context.size()", json!(3)),
        ("context[\"requestId\"]", json!("rq-1")),
        ("task.payload.rfpId + \"/\" + string(attempt)", json!("r-1/1")),
        ("result.quotes.filter(q, q.price < context.limit).map(q, q.by)", json!(["a"])),
        ("result.quotes.exists_one(q, q.price == 5)", json!(true)),
        ("result.quotes.all(q, result.quotes.exists(r, r.price >= q.price))", json!(true)),
        ("{\"n\": size(result.quotes), \"l\": [1, 2]}", json!({"n": 2, "l": [1, 2]})),
        ("\"x\" in context.tags", json!(true)),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_not_there_is_named() {
    let missing = |text: &str, path: &str| {
        let said = value(text).expect_err(text);
        assert!(said.starts_with(&format!("{path} is missing")), "{text}: {said}");
    };
    missing("result.nobody", "result.nobody");
    missing("result.nobody > 3", "result.nobody");
    missing("context.none == \"x\"", "context.none");
    missing("has(result.client) && result.client.age > 3", "result.client.age");
    missing("result.rate.of == 1", "result.rate.of");
    let said = value("result.quotes.exists(q, q.colour == \"red\")").expect_err("no colour");
    assert!(said.contains("No such key: colour"), "{said}");
}

#[test]
fn what_it_looked_at_is_told() {
    let saw = |text: &str| expression(text).expect(text).saw(&facts());
    assert_eq!(
        saw("size(result.quotes) > 3"),
        "result.quotes = [{\"by\":\"a\",\"price\":3},{\"by\":\"b\",\"price\":5}]"
    );
    assert_eq!(
        saw("attempt < 3 && result.client.name == \"x\" && has(context.who)"),
        "attempt = 1, result.client.name = \"Ada\", context.who is missing"
    );
    assert_eq!(saw("true"), "nothing");
    let long = Given::new(json!({"text": "x".repeat(100_000)}), json!({}));
    let saw = expression("result.text == \"\"").expect("an expression").saw(&long);
    assert_eq!(saw.chars().count(), "result.text = ".len() + 61);
}

#[test]
fn what_is_no_expression_is_refused_with_its_place() {
    let has = |text: &str, parts: &[&str]| {
        let said = value(text).expect_err(text);
        assert!(parts.iter().all(|part| said.contains(part)), "{text}: {said}");
    };
    has("quotes > 3", &["column 1", "no name `quotes`", "result, context, task, attempt"]);
    has("result.matches(\"x\")", &["no function `matches`"]);
    has("[1].exists(result, true)", &["this name is taken"]);
    let three = "[1].map(a, [1].map(b, [1].map(c, c)))";
    has(three, &["two levels"]);
    has("[1].map(a, a).map(b, b).map(c, c)", &["two levels"]);
    has(&"1 + ".repeat(3_000), &["bytes"]);
    has(&"1+".repeat(1_000), &["words and signs"]);
    has(&format!("{}1", "(".repeat(100)), &["brackets"]);
    has("1.0 / 0.0", &["not finite"]);
    has("{1: 2}", &["no texts"]);
    has("1 / 0", &["cannot be judged"]);
}

#[test]
fn what_it_looks_at_is_limited() {
    let list = Given::new(json!({"l": vec![1; 2_049], "s": "x".repeat(16 * 1024 + 1)}), json!({}));
    let said = |text: &str, facts: &Given| {
        let read = expression(text).expect(text);
        read.value(facts).map_err(|error| error.to_string())
    };
    let error = said("size(result.l) > 1", &list).expect_err("too long");
    assert!(error.contains("result.l has 2049 entries of a list"), "{error}");
    let error = said("result.s == \"\"", &list).expect_err("too long");
    assert!(error.contains("result.s has 16385 bytes of a text"), "{error}");
    // What is only handed on has no such limit, and what it does not name does not count.
    assert!(said("result.l", &list).is_ok());
    assert_eq!(said("attempt == 1", &list), Ok(json!(true)));

    let most = Given::new(json!({"l": vec![1; 2_048]}), json!({}));
    assert_eq!(said("result.l.filter(x, x == 1).size()", &most), Ok(json!(2_048)));
    let error = said("result.l.all(x, result.l.all(y, x == y))", &most).expect_err("too much");
    assert!(error.contains("steps at worst"), "{error}");
    let some = Given::new(json!({"l": vec![1; 100]}), json!({}));
    assert_eq!(said("result.l.all(x, result.l.all(y, x == y))", &some), Ok(json!(true)));
    let grown = "result.l.map(a, [result.l, result.l]).map(b, [b, b, b])";
    let error = said(grown, &most).expect_err("too much");
    assert!(error.contains("steps at worst"), "{error}");
}
