//! The page of a small workspace, and that of a huge one.

use baton_context::Tokenizer;
use expect_test::expect_file;
use serde_json::{Value, json};

use super::*;

fn now() -> Timestamp {
    Timestamp::from_micros(1_771_866_000_000_000)
}

fn id(n: usize) -> String {
    format!("{n:08x}-0000-7000-8000-000000000000")
}

fn handoff(n: usize, words: &str) -> Value {
    json!({
        "id": id(n), "workflow": id(n + 1), "title": words, "from_agent": "planner",
        "to_agent": "coder", "type": "delegation", "priority": "high", "reason": words,
        "state": "initiated", "detail": null, "initiated_at": now(), "fence": null,
        "wake_at": null, "resends": 0, "reroutes": 0, "broadcast_group_id": null,
    })
}

fn hold(n: usize, words: &str) -> Value {
    let due = Timestamp::from_micros(now().as_micros() + 20 * 60 * 1_000_000);
    json!({
        "agent": "coder", "workflow": id(n), "title": words, "fence": 4, "handoff": id(n + 1),
        "since": now(), "owner": false, "due": due,
        "waits_for": null, "progress": words, "locks": ["a.rs"],
    })
}

/// A workspace with so many of everything, all of whose words are `words`.
fn known(many: usize, words: &str) -> Known {
    let handoffs: Vec<_> = (0..many).map(|n| handoff(n * 16 + 1, words)).collect();
    let holds: Vec<_> = (0..many).map(|n| hold(n * 16 + 2, words)).collect();
    let inbox = serde_json::from_value(json!({
        "agent": "coder", "waiting": handoffs, "queued": handoffs, "holding": holds,
        "passed": handoffs, "results": handoffs,
    }));
    let left = |n| Left {
        path: format!(".baton/handoffs/handoff-dev-to-qa-{n}.yaml"),
        next_action: Some(words.to_owned()),
    };
    Known {
        agent: "coder".parse().expect("a name"),
        inbox: inbox.expect("an inbox"),
        kept: (0..many).map(left).collect(),
        agents: Vec::new(),
        suffix: " --as coder".to_owned(),
    }
}

#[test]
fn a_small_workspace_is_told_whole() {
    let page = known(1, "Add a \"login\"\n# page").page(now(), |_| true);
    expect_file!["small.md"].assert_eq(&page);
    let nothing = known(0, "").page(now(), |_| true);
    assert_eq!(nothing, "# Baton: you are coder\nNothing waits for you, and you hold nothing.\n");
}

#[test]
fn a_huge_workspace_fits_into_the_same_room() {
    let counted = Tokenizer::default();
    for words in ["Add a login page ", "漢字かな交じり文", "🦀", "x9$ ", "\u{202e}\u{7}"]
    {
        let known = known(5_000, &words.repeat(500));
        let page = known.page(now(), |page| counted.count(page) <= TOKENS_MAX);
        assert!(counted.count(&page) <= TOKENS_MAX, "{} tokens", counted.count(&page));
        assert!(page.contains("more") && page.contains(": 5000"), "{page}");
        // A hook has no time to count, and no token is less than a byte.
        let page = known.page(now(), |page| page.len() <= TOKENS_MAX);
        assert!(page.len() <= TOKENS_MAX, "{} bytes:\n{page}", page.len());
    }
}
