//! What travels, in each mode.

use baton_protocol::handoff::{Include, Transfer, TransferMode};
use expect_test::expect;
use serde_json::{Value, json};

use super::{About, Packed, Plan, RELEVANT_TOKENS, SUMMARY_TOKENS, pack};
use crate::Tokenizer;

fn plan(mode: TransferMode) -> Plan {
    let (include, tokenizer) = (Include::default(), Tokenizer::default());
    Plan { mode, max_messages: None, max_tokens: None, include, tokenizer }
}

fn packed(messages: Vec<Value>, plan: &Plan) -> Packed {
    let files = ["src/header.rs".to_owned()];
    let about = About { task: "fix the parser of headers", reason: "it fails", files: &files };
    pack(messages, plan, &about, None).unwrap()
}

fn say(role: &str, text: impl Into<String>) -> Value {
    json!({"role": role, "content": text.into()})
}

/// The beginning of each message, one a line.
fn shown(packed: &Packed) -> String {
    let line = |message: &Value| {
        let text = message["content"].as_str().unwrap_or("-");
        format!("{}: {}\n", message["role"].as_str().unwrap(), &text[..text.len().min(40)])
    };
    packed.messages.iter().map(line).collect()
}

/// A talk of which little has to do with the task.
fn talk() -> Vec<Value> {
    let mut list = vec![say("system", "Be kind."), say("user", "Make the release ready.")];
    for number in 0..200 {
        let about = match number {
            50 => "The parser of headers fails on the second format.".to_owned(),
            51 => "I opened src/header.rs and saw it.".to_owned(),
            _other => format!("Remark {number}: {}", "nothing of interest here. ".repeat(20)),
        };
        list.push(say(if number % 2 == 0 { "user" } else { "assistant" }, about));
    }
    list.push(say("assistant", "Which format is the right one?"));
    list
}

#[test]
fn relevant_messages_travel_in_order_with_instruction_and_open_question() {
    let plan = Plan { max_tokens: Some(300), ..plan(TransferMode::RelevantOnly) };
    let packed = packed(talk(), &plan);
    expect![[r#"
        system: Be kind.
        user: Make the release ready.
        user: The parser of headers fails on the secon
        assistant: I opened src/header.rs and saw it.
        user: Remark 198: nothing of interest here. no
        assistant: Remark 199: nothing of interest here. no
        assistant: Which format is the right one?
    "#]]
    .assert_eq(&shown(&packed));
}

#[test]
fn all_of_it_is_its_end_where_a_limit_is_set() {
    let plan = Plan { max_messages: Some(5), ..plan(TransferMode::Full) };
    let packed = packed(talk(), &plan);
    expect![[r#"
        system: Be kind.
        user: Make the release ready.
        user: Remark 198: nothing of interest here. no
        assistant: Remark 199: nothing of interest here. no
        assistant: Which format is the right one?
    "#]]
    .assert_eq(&shown(&packed));
    assert_eq!(packed.transferred.messages_before, 203);
    assert_eq!(packed.transferred.messages, 5);
}

#[test]
fn an_extract_tells_instruction_matter_and_last_state_in_order() {
    let plan = Plan { max_tokens: Some(110), ..plan(TransferMode::Summary) };
    let packed = packed(talk(), &plan);
    assert_eq!(packed.messages.len(), 1);
    expect![[r#"
        Summary of a conversation of 203 messages:

        user: Make the release ready.
        user: The parser of headers fails on the second format.
        assistant: I opened src/header.rs and saw it.
        assistant: Remark 197: nothing of interest here.
        user: Remark 198: nothing of interest here.
        assistant: Remark 199: nothing of interest here. nothing of interest here.
        assistant: Which format is the right one?"#]]
    .assert_eq(packed.messages[0]["content"].as_str().unwrap());
}

#[test]
fn what_a_summariser_said_is_taken_and_cut_to_the_limit() {
    let about = About::default();
    let plan = Plan { max_tokens: Some(3), ..plan(TransferMode::Summary) };
    let given = Some(" One two three four. \n".to_owned());
    let packed = pack(talk(), &plan, &about, given).unwrap();
    assert_eq!(packed.messages, [say("user", "One two three")]);
    assert_eq!(packed.transferred.notes, ["the summary was cut from 5 to 3 tokens"]);

    let packed = pack(talk(), &plan, &about, Some(" ".to_owned())).unwrap();
    let note = "the summariser answered nothing; the summary is an extract";
    assert_eq!(packed.transferred.notes, [note]);
}

#[test]
fn an_instruction_that_is_too_long_is_shortened_in_the_middle() {
    let long = format!("Begin here. {}End there.", "And so on. ".repeat(2_000));
    let list = vec![say("user", long), say("assistant", "Yes."), say("user", "Well?")];
    let plan = Plan { max_tokens: Some(100), ..plan(TransferMode::RelevantOnly) };
    let packed = packed(list, &plan);
    let text = packed.messages[0]["content"].as_str().unwrap();
    assert!(text.starts_with("Begin here.") && text.ends_with("End there."));
    assert!(text.contains("tokens left out …]"));
    assert_eq!(packed.messages.last().unwrap(), &say("user", "Well?"));
    assert_eq!(packed.transferred.notes, ["1 text was shortened to fit the limit"]);
}

#[test]
fn a_long_setup_leaves_room_for_the_conversation() {
    let mut list = talk();
    list[0] = say("system", "Rule after rule. ".repeat(5_000));
    let plan = Plan { max_tokens: Some(400), ..plan(TransferMode::RelevantOnly) };
    let packed = packed(list, &plan);
    assert!(shown(&packed).contains("The parser of headers fails"));
}

#[test]
fn a_call_and_its_result_travel_together_or_not_at_all() {
    let call = json!({"id": "a", "function": {"name": "read", "arguments": "{}"}});
    let mut list = talk();
    list.insert(60, json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    let found = "fn parse_header fails: the parser of headers";
    list.insert(61, json!({"role": "tool", "tool_call_id": "a", "content": found}));
    let plan = Plan { max_tokens: Some(200), ..plan(TransferMode::RelevantOnly) };
    let packed = packed(list, &plan);
    let at = packed.messages.iter().position(|it| it["role"] == "tool").unwrap();
    assert!(packed.messages[at - 1]["tool_calls"].is_array());
}

#[test]
fn the_type_of_a_handoff_says_what_the_sender_does_not() {
    let of =
        |transfer: &Transfer| Plan::new(transfer, TransferMode::RelevantOnly, Tokenizer::default());
    let usual = of(&Transfer::default());
    assert_eq!(usual.mode, TransferMode::RelevantOnly);
    assert_eq!(usual.limits().tokens, RELEVANT_TOKENS as usize);
    let mode = Some(TransferMode::Summary);
    let summary = of(&Transfer { transfer_mode: mode, ..Transfer::default() });
    assert_eq!(summary.limits().tokens, SUMMARY_TOKENS as usize);
    assert_eq!(plan(TransferMode::Full).limits().tokens, usize::MAX);
}

#[test]
fn the_source_is_the_hash_of_what_there_was() {
    let packed = packed(vec![], &plan(TransferMode::Full));
    // Of the two bytes `[]`.
    let hash = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945";
    assert_eq!(packed.transferred.source, hash);
}
