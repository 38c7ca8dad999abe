//! Packs every conversation of the corpus, and many that are made up, in every mode.

use baton_context::Tokenizer;
use baton_context::history::{About, Packed, Plan, pack};
use baton_context::message::{Message, PartKind, Role};
use baton_protocol::handoff::{Include, TransferMode};
use proptest::prelude::*;
use serde_json::Value;

#[path = "packing/accepted.rs"]
mod accepted;
#[path = "packing/made_up.rs"]
mod made_up;

use accepted::accepted;

const MODES: [TransferMode; 3] =
    [TransferMode::Full, TransferMode::RelevantOnly, TransferMode::Summary];

struct Case {
    name: String,
    broken: bool,
    messages: Vec<Value>,
}

fn corpus() -> Vec<Case> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("a conversation of the corpus")
        .map(|entry| entry.expect("a conversation of the corpus").path())
        .collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let case: Value =
            serde_json::from_slice(&std::fs::read(path).expect("a conversation of the corpus"))
                .expect("a conversation of the corpus");
        Case {
            name: path
                .file_stem()
                .expect("a conversation of the corpus")
                .to_string_lossy()
                .into_owned(),
            broken: case["broken"].as_bool().expect("a conversation of the corpus"),
            messages: case["messages"].as_array().expect("a conversation of the corpus").clone(),
        }
    };
    files.iter().map(read).collect()
}

fn canonical(messages: &[Value]) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(&messages).expect("a conversation of the corpus")
}

fn all() -> Include {
    Include { system_messages: true, tool_calls: true, tool_results: true, agent_reasoning: true }
}

fn plan(mode: TransferMode, max_messages: Option<u32>, max_tokens: Option<u32>) -> Plan {
    let tokenizer = Tokenizer::O200kBase;
    Plan { mode, max_messages, max_tokens, include: all(), tokenizer }
}

fn packed(messages: &[Value], plan: &Plan) -> Packed {
    let files = ["src/parse.rs".to_owned()];
    let about = About { task: "fix the parser 解析", reason: "the header fails", files: &files };
    pack(messages.to_vec(), plan, &about, None).expect("a conversation of the corpus")
}

/// Everything that must hold for whatever comes out.
fn check(name: &str, messages: &[Value], plan: &Plan) {
    let packed = packed(messages, plan);
    let told = &packed.transferred;
    let at = format!("{name} {plan:?}\n{:#?}", packed.messages);
    let tokens: usize = packed.messages.iter().map(counted).sum();
    assert_eq!(told.tokens as usize, tokens, "the tokens are those of the result: {at}");
    assert_eq!(told.messages as usize, packed.messages.len(), "{at}");
    assert_eq!(told.messages_before as usize, messages.len(), "{at}");
    if let Some(most) = plan.max_messages {
        assert!(told.messages <= most, "too many messages: {at}");
    }
    if let Some(most) = plan.max_tokens {
        assert!(told.tokens <= u64::from(most), "{} tokens are too many: {at}", told.tokens);
    }
    if let Err(why) = accepted(&packed.messages) {
        panic!("{why}: {at}");
    }
    let again = self::packed(messages, plan);
    assert_eq!(again, packed, "the same comes out every time: {at}");
    let twice = self::packed(&packed.messages, plan);
    assert_eq!(twice.messages, packed.messages, "packing it again changes nothing: {at}");
    assert!(twice.transferred.repairs.is_empty(), "{:?}: {at}", twice.transferred.repairs);
    if plan.mode != TransferMode::Summary {
        in_order(messages, plan, &at);
    }
}

fn counted(value: &Value) -> usize {
    pack(
        vec![value.clone()],
        &Plan { include: all(), ..plan(TransferMode::Full, None, None) },
        &About::default(),
        None,
    )
    .expect("a conversation of the corpus")
    .transferred
    .tokens_before as usize
}

/// What comes through stands in the order that it came in: each message wears its number, in a
/// field that nobody knows and that must therefore be kept.
fn in_order(messages: &[Value], plan: &Plan, at: &str) {
    let mut numbered = messages.to_vec();
    for (number, message) in numbered.iter_mut().enumerate() {
        if let Value::Object(fields) = message {
            fields.insert("number".to_owned(), number.into());
        }
    }
    let mut last = None;
    for message in packed(&numbered, plan).messages {
        // Results that were moved to their calls are the only ones that may change places.
        let parts = Message::read(0, message.clone()).expect("a conversation of the corpus").parts;
        let result = parts.iter().any(|part| matches!(part.kind, PartKind::Result { .. }));
        let number = message.get("number").and_then(Value::as_u64).filter(|_| !result);
        if number.is_some() {
            assert!(last < number, "{number:?} after {last:?}: {at}");
            last = number;
        }
    }
}

fn flags() -> Vec<Include> {
    let flag = |bits: u8, bit: u8| bits & (1 << bit) != 0;
    let of = |bits: u8| Include {
        system_messages: flag(bits, 0),
        tool_calls: flag(bits, 1),
        tool_results: flag(bits, 2),
        agent_reasoning: flag(bits, 3),
    };
    (0..16).map(of).collect()
}

#[test]
fn every_conversation_comes_out_as_it_went_in() {
    let corpus = corpus();
    assert!(corpus.len() >= 40);
    for Case { name, broken, messages } in corpus {
        for (index, message) in messages.iter().enumerate() {
            let read = Message::read(index, message.clone()).expect("a conversation of the corpus");
            assert_eq!(
                canonical(&[read.into_value()]),
                canonical(std::slice::from_ref(message)),
                "{name}"
            );
        }
        let packed = packed(&messages, &plan(TransferMode::Full, None, None));
        let told = &packed.transferred;
        assert_eq!(told.repairs.is_empty(), !broken, "{name}: {:?}", told.repairs);
        if !broken {
            assert_eq!(told.tokens, told.tokens_before, "{name}");
            assert_eq!(canonical(&packed.messages), canonical(&messages), "{name}");
            let accepted = accepted(&messages);
            assert!(accepted.is_ok(), "{name} is broken: {accepted:?}");
        } else {
            assert!(accepted(&messages).is_err(), "{name} is not broken");
        }
    }
}

#[test]
fn every_conversation_can_be_packed_within_any_limits() {
    for Case { name, messages, .. } in corpus() {
        for mode in MODES {
            for max_tokens in [None, Some(0), Some(1), Some(7), Some(30), Some(100), Some(600)] {
                for max_messages in [None, Some(0), Some(1), Some(2), Some(5)] {
                    check(&name, &messages, &plan(mode, max_messages, max_tokens));
                }
            }
        }
    }
}

#[test]
fn every_conversation_stays_whole_whatever_is_left_out() {
    for Case { name, messages, .. } in corpus() {
        for include in flags() {
            for mode in MODES {
                for max_tokens in [None, Some(120)] {
                    let plan = Plan { include, ..plan(mode, None, max_tokens) };
                    check(&name, &messages, &plan);
                }
            }
        }
    }
}

#[test]
fn what_is_not_to_travel_does_not() {
    for Case { name, messages, .. } in corpus() {
        for include in flags() {
            let plan = Plan { include, ..plan(TransferMode::Full, None, None) };
            for message in packed(&messages, &plan).messages {
                let read = Message::read(0, message).expect("a conversation of the corpus");
                let set_up = read.role == Role::System;
                assert!(include.system_messages || !set_up, "{name}");
                for part in &read.parts {
                    match &part.kind {
                        PartKind::Reasoning => assert!(include.agent_reasoning, "{name}"),
                        PartKind::Call { .. } => assert!(include.tool_calls, "{name}"),
                        PartKind::Result { .. } => {
                            assert!(include.tool_calls, "{name}");
                            let stub = part.text == "(left out)";
                            assert!(include.tool_results || stub, "{name}");
                        }
                        PartKind::Hosted => {
                            assert!(include.tool_calls && include.tool_results, "{name}");
                        }
                        PartKind::Text | PartKind::Attachment { .. } | PartKind::Unknown => (),
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_conversation_can_be_packed(
        messages in made_up::conversation(),
        mode in prop::sample::select(MODES.as_slice()),
        max_messages in prop::option::of(0_u32..12),
        max_tokens in prop::option::of(0_u32..400),
        include in prop::sample::select(flags()),
    ) {
        let plan = Plan { include, ..plan(mode, max_messages, max_tokens) };
        check("made up", &messages, &plan);
    }
}
