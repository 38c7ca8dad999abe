//! Broken pairs, and what becomes of them.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{Repairs, mend, units};
use crate::Tokenizer;
use crate::message::{Message, PartKind};

fn read(list: &[Value]) -> Vec<Message> {
    let read = |(at, it): (usize, &Value)| Message::read(at, it.clone()).unwrap();
    list.iter().enumerate().map(read).collect()
}

/// Mends a conversation; shows its messages, one a line, and the repairs.
fn check(list: &[Value], expected: Expect) {
    let mut repairs = Repairs::default();
    let mended = mend(read(list), Tokenizer::default(), &mut repairs);
    let mut told = String::new();
    for message in &mended {
        let kind = message.original.get("role").or(message.original.get("type"));
        told.push_str(kind.and_then(Value::as_str).unwrap_or("text"));
        for part in &message.parts {
            let (what, id) = match &part.kind {
                PartKind::Call { id, .. } => ("call", id.as_deref()),
                PartKind::Result { id, .. } => ("result", id.as_deref()),
                _words => ("says", None),
            };
            told.push_str(&format!(" | {what} {}: {}", id.unwrap_or("-"), part.text));
        }
        told.push('\n');
    }
    for repair in repairs.told() {
        told.push_str(&format!("{repair}\n"));
    }
    expected.assert_eq(&told);
}

fn call(id: &str, n: u8) -> Value {
    let function = json!({"name": "f", "arguments": format!("{{\"n\":{n}}}")});
    json!({"id": id, "function": function})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "tool_calls": calls})
}

fn result(id: &str, said: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": said})
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn uses(ids: &[&str]) -> Value {
    let block = |id: &&str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    json!({"role": "assistant", "content": ids.iter().map(block).collect::<Vec<_>>()})
}

fn used(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "ok"})
}

#[test]
fn a_chat_call_that_nobody_answered_gets_a_result_behind_the_others() {
    check(
        &[calls(&[call("a", 1), call("b", 2)]), result("b", "two"), user(json!("Well?"))],
        expect![[r#"
            assistant | call a: f({"n":1}) | call b: f({"n":2})
            tool | result b: two
            tool | result a: This call was interrupted; it has no result.
            user | says -: Well?
            messages[0]: the call `a` had no result and got one that says it was interrupted
        "#]],
    );
}

#[test]
fn blocks_get_it_at_the_start_of_what_the_user_says_next() {
    check(
        &[uses(&["a"]), user(json!("Stop!"))],
        expect![[r#"
            assistant | call a: f({})
            user | result a: This call was interrupted; it has no result. | says -: Stop!
            messages[0]: the call `a` had no result and got one that says it was interrupted
        "#]],
    );
}

#[test]
fn results_that_stand_elsewhere_are_moved() {
    check(
        &[
            result("a", "early"),
            calls(&[call("a", 1)]),
            user(json!("Hm.")),
            uses(&["b"]),
            user(json!([{"type": "text", "text": "Here:"}, used("b")])),
        ],
        expect![[r#"
            assistant | call a: f({"n":1})
            tool | result a: early
            user | says -: Hm.
            assistant | call b: f({})
            user | result b: ok | says -: Here:
            messages[0]: the result of `a` was moved to its call
            messages[4]: the result of `b` was moved to its call
        "#]],
    );
}

#[test]
fn of_doubles_the_first_is_kept_and_orphans_go() {
    check(
        &[
            calls(&[call("a", 1), call("a", 1)]),
            result("a", "one"),
            result("a", "again"),
            result("z", "whose?"),
        ],
        expect![[r#"
            assistant | call a: f({"n":1})
            tool | result a: one
            messages[0]: the call `a` was there before; the first is kept
            messages[2]: the result of `a` was a second one; the first is kept
            messages[3]: the result of `z` answered no call and was left out
        "#]],
    );
}

#[test]
fn another_call_under_a_used_id_gets_its_own() {
    check(
        &[calls(&[call("a", 1)]), result("a", "1"), calls(&[call("a", 2)]), result("a", "2")],
        expect![[r#"
            assistant | call a: f({"n":1})
            tool | result a: 1
            assistant | call a-2: f({"n":2})
            tool | result a-2: 2
            messages[2]: the id of the call `a` was taken; it is now `a-2`
        "#]],
    );
}

#[test]
fn a_result_of_another_shape_is_rewritten() {
    check(
        &[uses(&["a"]), result("a", "ok")],
        expect![[r#"
            assistant | call a: f({})
            user | result a: ok
            messages[1]: the result of `a` came in another shape and was rewritten
        "#]],
    );
}

#[test]
fn a_long_list_of_repairs_ends_with_a_number() {
    let list: Vec<Value> = (0..30).map(|n| result(&format!("z{n}"), "x")).collect();
    let mut repairs = Repairs::default();
    assert!(mend(read(&list), Tokenizer::default(), &mut repairs).is_empty());
    let told = repairs.told();
    assert_eq!(told.len(), super::REPAIRS_MAX + 1);
    assert_eq!(told.last().unwrap(), "and 10 more");
}

#[test]
fn a_call_and_its_results_are_one_unit() {
    let list = [
        user(json!("Go.")),
        calls(&[call("a", 1), call("b", 2)]),
        result("a", "1"),
        result("b", "2"),
        json!({"type": "reasoning", "summary": []}),
        json!({"type": "function_call", "call_id": "k", "name": "f", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "k", "output": "x"}),
    ];
    assert_eq!(units(&read(&list)), [0, 1, 1, 1, 4, 4, 4]);
}

#[test]
fn a_new_result_has_the_shape_of_its_call() {
    let said = "This call was interrupted; it has no result.";
    let cases = [
        (calls(&[call("a", 1)]), json!({"role": "tool", "tool_call_id": "a", "content": said})),
        (
            json!({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}),
            json!({"role": "function", "name": "f", "content": said}),
        ),
        (
            uses(&["a"]),
            user(json!([{"type": "tool_result", "tool_use_id": "a", "content": said,
                "is_error": true}])),
        ),
        (
            json!({"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "x"}),
            json!({"type": "custom_tool_call_output", "call_id": "a", "output": said}),
        ),
    ];
    for (call, result) in cases {
        let list = read(std::slice::from_ref(&call));
        let mended = mend(list, Tokenizer::default(), &mut Repairs::default());
        let values: Vec<Value> = mended.into_iter().map(Message::into_value).collect();
        assert_eq!(values, [call, result]);
    }
}

#[test]
fn one_id_for_every_call_is_mended_however_many_there_are() {
    let calls = (0..10_000).flat_map(|n| {
        let function = json!({ "name": "f", "arguments": format!("{{\"n\":{n}}}") });
        let call = json!([{ "id": "c", "type": "function", "function": function }]);
        [
            json!({ "role": "assistant", "content": null, "tool_calls": call }),
            json!({ "role": "tool", "tool_call_id": "c", "content": n.to_string() }),
        ]
    });
    let read = |(index, value)| Message::read(index, value).unwrap();
    let list: Vec<Message> = calls.enumerate().map(read).collect();
    let mended = mend(list, Tokenizer::default(), &mut Repairs::default());
    assert_eq!(mended.len(), 20_000);
}

#[test]
fn the_same_call_again_is_kept_when_its_result_is_another() {
    let again = [
        calls(&[call("a", 1)]),
        result("a", "red"),
        calls(&[call("a", 1)]),
        result("a", "green"),
        calls(&[call("a", 1)]),
        result("a", "green"),
    ];
    check(
        &again,
        expect![[r#"
        assistant | call a: f({"n":1})
        tool | result a: red
        assistant | call a-2: f({"n":1})
        tool | result a-2: green
        messages[2]: the id of the call `a` was taken; it is now `a-2`
        messages[4]: the call `a` was there before; the first is kept
        messages[5]: the result of `a` was a second one; the first is kept
    "#]],
    );
}
