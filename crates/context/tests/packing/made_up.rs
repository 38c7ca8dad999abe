//! Conversations that nobody had: whole and broken ones, in all shapes mixed.

use proptest::prelude::*;
use serde_json::{Value, json};

fn words() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "fix the parser",
        "Which one?",
        "構文解析器を直してください。",
        "请修复。好吗？",
        "👩‍👩‍👧‍👦🎉",
        "fn parse(input: &str) -> Result<Header, ParseError> {",
        "\n\n",
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
        " ",
        "e\u{301}\u{301}",
        "<|endoftext|>",
        ".",
    ]);
    let of = prop::collection::vec(pieces, 0..6);
    prop_oneof![
        8 => (of, 1_usize..4).prop_map(|(pieces, times)| pieces.join(" ").repeat(times)),
        1 => ("[a-zA-Z=/ ]", 1_usize..3_000).prop_map(|(unit, times)| unit.repeat(times)),
        1 => (prop::sample::select(vec!["語", "🎉", "é", "한"]), 1_usize..900)
            .prop_map(|(unit, times)| unit.repeat(times)),
        1 => ".{0,40}",
    ]
}

/// Few ids, so that doubles, orphans and wrong orders are frequent.
fn id() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned)
}

fn chat_call() -> impl Strategy<Value = Value> {
    (id(), words()).prop_map(|(id, said)| {
        let arguments = json!({"said": said}).to_string();
        json!({"id": id, "type": "function", "function": {"name": "ask", "arguments": arguments}})
    })
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => words().prop_map(|text| json!({"type": "text", "text": text})),
        1 => words().prop_map(|text| json!({"type": "thinking", "thinking": text})),
        1 => Just(json!({"type": "image", "source": {"type": "base64", "data": "aGk="}})),
        1 => Just(json!({"type": "hologram", "depth": 3})),
    ]
}

fn used() -> impl Strategy<Value = Value> {
    (id(), words()).prop_map(
        |(id, said)| json!({"type": "tool_use", "id": id, "name": "ask", "input": {"said": said}}),
    )
}

fn result() -> impl Strategy<Value = Value> {
    (id(), words())
        .prop_map(|(id, said)| json!({"type": "tool_result", "tool_use_id": id, "content": said}))
}

fn message() -> impl Strategy<Value = Value> {
    let blocks = |of: BoxedStrategy<Value>| prop::collection::vec(of, 0..4);
    let agent = prop_oneof![2 => block(), 2 => used()].boxed();
    let user = prop_oneof![2 => block(), 2 => result()].boxed();
    prop_oneof![
        1 => words().prop_map(|text| json!({"role": "system", "content": text})),
        3 => words().prop_map(|text| json!({"role": "user", "content": text})),
        3 => words().prop_map(|text| json!({"role": "assistant", "content": text})),
        1 => words().prop_map(Value::String),
        3 => (words(), prop::collection::vec(chat_call(), 0..4)).prop_map(|(text, calls)| {
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }),
        4 => (id(), words()).prop_map(|(id, text)| {
            json!({"role": "tool", "tool_call_id": id, "content": text})
        }),
        3 => blocks(agent).prop_map(|it| json!({"role": "assistant", "content": it})),
        3 => blocks(user).prop_map(|it| json!({"role": "user", "content": it})),
        1 => (id(), words()).prop_map(|(id, text)| {
            json!({"type": "function_call", "call_id": id, "name": "ask", "arguments": text})
        }),
        1 => (id(), words()).prop_map(|(id, text)| {
            json!({"type": "function_call_output", "call_id": id, "output": text})
        }),
        1 => words().prop_map(|text| {
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]})
        }),
        1 => Just(json!({"role": "assistant", "content": null,
            "function_call": {"name": "ask", "arguments": "{}"}})),
        1 => words().prop_map(|it| json!({"role": "function", "name": "ask", "content": it})),
    ]
}

/// A conversation of up to two dozen messages.
pub(crate) fn conversation() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(message(), 0..24)
}
