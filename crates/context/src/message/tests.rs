//! Shapes of messages, read and written.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{Message, PartKind};
use crate::Tokenizer;

/// What is read of a message, a part a line.
fn read(value: Value) -> String {
    let message = match Message::read(3, value) {
        Ok(message) => message,
        Err(why) => return format!("{why}\n"),
    };
    let mut told = format!("{:?}\n", message.role);
    for part in &message.parts {
        told.push_str(&format!("{:?}: {}\n", part.kind, part.text));
    }
    told
}

fn check(value: Value, expected: Expect) {
    expected.assert_eq(&read(value));
}

#[test]
fn a_chat_message_is_its_thoughts_words_and_calls() {
    check(
        json!({"role": "assistant", "content": "Hi", "reasoning_content": "Hm", "tool_calls": [
            {"id": "c", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}),
        expect![[r#"
            Assistant
            Reasoning: Hm
            Text: Hi
            Call { id: Some("c"), name: "f" }: f({"a":1})
        "#]],
    );
}

#[test]
fn blocks_are_read_each_by_its_type() {
    check(
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}]},
            {"type": "image", "source": {"type": "url", "url": "https://e/x.png"}},
            {"type": "image", "source": {"type": "base64", "data": "aGk="}},
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            {"type": "document", "source": {"type": "text", "data": "abc"}, "title": "T"},
            {"type": "new_thing"},
            "bare",
        ]}),
        expect![[r#"
            User
            Result { id: Some("t"), name: None }: x
            Attachment { inline: false }: https://e/x.png
            Attachment { inline: true }: 
            Attachment { inline: false }: file_1
            Attachment { inline: true }: 
            Attachment { inline: true }: T
            Unknown: {"type":"new_thing"}
            Text: bare
        "#]],
    );
}

#[test]
fn items_and_plain_texts_are_messages() {
    check(
        json!({"type": "custom_tool_call_output", "call_id": "k", "output": "done"}),
        expect![[r#"
            Tool
            Result { id: Some("k"), name: None }: done
        "#]],
    );
    check(
        json!({"author": "planner", "text": "Split it."}),
        expect![[r#"
            Other
            Text: Split it.
        "#]],
    );
    check(
        json!("Split it."),
        expect![[r#"
            Other
            Text: Split it.
        "#]],
    );
}

#[test]
fn what_is_no_message_is_named_by_its_field() {
    let told: String = [
        json!(7),
        json!({"content": "who?"}),
        json!({"type": "banana"}),
        json!({"role": 1, "content": "x"}),
        json!({"role": "user"}),
        json!({"role": "user", "content": {"text": "x"}}),
        json!({"role": "user", "content": ["x", null]}),
        json!({"role": "user", "content": [{"type": "text", "text": 5}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "content": "x"}]}),
        json!({"role": "assistant", "tool_calls": [{"id": "a"}]}),
        json!({"role": "assistant", "tool_calls": "a"}),
    ]
    .into_iter()
    .map(read)
    .collect();
    expect![[r#"
        messages[3]: a number, expected a message
        messages[3].role: no speaker, expected a role
        messages[3].role: no speaker and the unknown type `banana`, expected a role
        messages[3].role: a number, expected a name
        messages[3].content: nothing, expected a text or a list of parts
        messages[3].content: an object, expected a text or a list of parts
        messages[3].content[1]: nothing, expected a text or an object
        messages[3].content[0].text: a number, expected a text
        messages[3].content[0].tool_use_id: nothing, expected a text
        messages[3].tool_calls[0].function: nothing, expected an object with the name of a tool
        messages[3].tool_calls: `a`, expected a list of calls
    "#]]
    .assert_eq(&told);
}

#[test]
fn what_is_left_of_a_message_keeps_its_shape() {
    let value = json!({"role": "assistant", "id": 9, "content": [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    ]});
    let message = Message::read(0, value).unwrap();
    let mut left = message.keeping(|_, part| part.kind == PartKind::Text).unwrap();
    left.reword(0, "Ho", Tokenizer::default());
    assert_eq!(
        left.into_value(),
        json!({"role": "assistant", "id": 9, "content": [
            {"type": "text", "text": "Ho", "cache_control": {"type": "ephemeral"}}]})
    );
}

#[test]
fn a_chat_message_without_its_calls_has_no_list_of_them() {
    let call = json!({"id": "a", "function": {"name": "f", "arguments": "{}"}});
    let value = json!({"role": "assistant", "content": "Hi", "tool_calls": [call]});
    let message = Message::read(0, value).unwrap();
    let left = message.keeping(|_, part| !part.is_call()).unwrap();
    assert_eq!(left.into_value(), json!({"role": "assistant", "content": "Hi"}));
}

#[test]
fn bytes_of_a_picture_are_not_counted() {
    let url = format!("data:image/png;base64,{}", "A".repeat(100_000));
    let block = json!({"type": "image_url", "image_url": {"url": url}});
    let mut message = Message::read(0, json!({"role": "user", "content": [block]})).unwrap();
    message.count(Tokenizer::default());
    assert_eq!(message.tokens(), super::ATTACHMENT_TOKENS);
}
