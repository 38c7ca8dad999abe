//! Transcripts as the programs write them, and what is found in them.

use expect_test::{Expect, expect};

use super::*;

fn found(text: &str) -> Found {
    let mut transcript = Transcript::default();
    text.lines().for_each(|line| transcript.line(line));
    transcript.finish()
}

fn check(text: &str, told: Expect) {
    told.assert_eq(&format!("{:#?}\n", found(text)));
}

/// One thing that Claude Code's agent said.
fn spoken(text: &str) -> String {
    let content = serde_json::json!([{"type": "text", "text": text}]);
    serde_json::json!({"type": "assistant", "message": {"content": content}}).to_string()
}

#[test]
fn a_claude_code_session_tells_what_was_decided_done_and_left() {
    check(
        include_str!("../../tests/transcripts/claude-code.jsonl"),
        expect![[r#"
            Found {
                kind: Some(
                    ClaudeCode,
                ),
                folder: Some(
                    "/home/ada/shop",
                ),
                branch: Some(
                    "feat/checkout",
                ),
                decisions: [
                    "keys live in PostgreSQL beside the charge, so one transaction covers both.",
                    "I decided to keep keys for 24 hours.",
                ],
                files: [
                    "src/payments/keys.rs",
                    "src/payments/mod.rs",
                    "docs/callers.md",
                ],
                blockers: [
                    "We're blocked by the missing migration role on staging.",
                    "`cargo test -p payments` fails: error[E0425]: cannot find value `key`",
                ],
                current_task: Some(
                    "Reject a key that comes with another body",
                ),
                next_action: Some(
                    "Make `charge` take the key and fix the test",
                ),
                lines: 33,
                skipped: 2,
            }
        "#]],
    );
}

#[test]
fn a_codex_rollout_tells_what_was_decided_done_and_left() {
    check(
        include_str!("../../tests/transcripts/codex.jsonl"),
        expect![[r#"
            Found {
                kind: Some(
                    Codex,
                ),
                folder: Some(
                    "/home/ada/shop",
                ),
                branch: Some(
                    "feat/checkout",
                ),
                decisions: [
                    "We'll use the raw key as the primary key.",
                ],
                files: [
                    "src/payments/keys.rs",
                    "src/payments/replay.rs",
                    "docs/stories/SHOP-12-review.md",
                ],
                blockers: [
                    "`npm run build --prefix web` fails: pay.ts(3,1): error TS2304: no name 'Key'",
                ],
                current_task: Some(
                    "Fix the replay",
                ),
                next_action: Some(
                    "describe the raw key in the story and hand it to @sm.",
                ),
                lines: 22,
                skipped: 0,
            }
        "#]],
    );
}

#[test]
fn whatever_is_no_transcript_is_skipped_and_counted() {
    let found = found("\n{}\nno json\n[1]\n{\"type\":3}\n\u{0}\n{\"type\":\"user\"}\n");
    assert_eq!((found.lines, found.skipped), (6, 6));
    assert_eq!(Found { lines: 0, skipped: 0, ..found }, Found::default());
}

#[test]
fn decisions_are_told_once_the_newest_last_and_doubts_are_none() {
    let lines = [
        "Decision: use Rust.",
        "- **Decision**: two crates",
        "We have not decided to use tokio. Have we decided to ship? If we go with A, B breaks.",
        "decision: USE RUST",
        "### Decisions:\n1. First of a list\n2. Second of a list\n\nAnd more text.",
        "I'm going with serde here. Version 1.0 of main.rs is old.",
        "Decisions: none",
    ];
    let text: Vec<_> = lines.iter().map(|line| spoken(line)).collect();
    let expected = [
        "two crates",
        "USE RUST",
        "First of a list",
        "Second of a list",
        "I'm going with serde here.",
    ];
    assert_eq!(found(&text.join("\n")).decisions, expected);
}

#[test]
fn a_blocker_that_was_lifted_is_none() {
    let blocked = spoken("We are blocked by the firewall.");
    assert_eq!(found(&blocked).blockers, ["We are blocked by the firewall."]);
    let lifted = format!("{blocked}\n{}", spoken("The port is open, we are unblocked."));
    assert_eq!(found(&lifted).blockers, [""; 0]);
    let again = format!("{lifted}\n{}", spoken("Blockers:\n- no licence key\n"));
    assert_eq!(found(&again).blockers, ["no licence key"]);
    assert_eq!(found(&format!("{again}\n{}", spoken("Blockers: none."))).blockers, [""; 0]);
}

#[test]
fn tasks_that_are_kept_one_by_one_are_a_plan_too() {
    let call = |name: &str, input: serde_json::Value| {
        let content = serde_json::json!([{"type": "tool_use", "name": name, "input": input}]);
        serde_json::json!({"type": "assistant", "message": {"content": content}}).to_string()
    };
    let lines = [
        call("TaskCreate", serde_json::json!({"subject": "Draw"})),
        call("TaskCreate", serde_json::json!({"subject": "Paint"})),
        call("TaskCreate", serde_json::json!({"subject": "Frame"})),
        call("TaskUpdate", serde_json::json!({"taskId": "1", "status": "completed"})),
        call("TaskUpdate", serde_json::json!({"taskId": "2", "status": "in_progress"})),
        call("TaskUpdate", serde_json::json!({"taskId": "9", "status": "completed"})),
    ];
    let found = found(&lines.join("\n"));
    assert_eq!(found.current_task.as_deref(), Some("Paint"));
    assert_eq!(found.next_action.as_deref(), Some("Frame"));
}

#[test]
fn a_long_transcript_takes_no_more_memory_than_what_is_told() {
    let mut transcript = Transcript::default();
    for n in 0..20_000 {
        transcript.line(&spoken(&format!("Decision: number {n}\nBlocker: number {n}")));
        let write = serde_json::json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": n.to_string(), "name": "Write",
             "input": {"file_path": format!("/f/{n}")}}]}});
        transcript.line(&write.to_string());
    }
    let found = transcript.finish();
    assert_eq!((found.decisions.len(), found.files.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
    assert_eq!(found.blockers.len(), REMEMBERED_MAX);
    assert_eq!(found.decisions.last().map(String::as_str), Some("number 19999"));
    assert_eq!(found.files.last().map(String::as_str), Some("/f/19999"));
}

proptest::proptest! {
    #[test]
    fn no_line_makes_it_panic(text in "\\PC{0,80}", key in "[a-z_]{1,10}") {
        let mut transcript = Transcript::default();
        transcript.line(&text);
        transcript.line(&spoken(&text));
        transcript.line(&spoken(&format!("Next step is {text}İdecided to {text}")));
        let odd = serde_json::json!({"type": "response_item", "payload": {"type": "function_call",
            "name": key, "arguments": text, "call_id": text}});
        transcript.line(&odd.to_string());
        transcript.finish();
    }
}
