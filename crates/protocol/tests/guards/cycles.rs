use serde_json::{Value, json};

use crate::desk::Desk;

fn blocking() -> Value {
    json!({ "type": "delegation", "return_protocol": { "timeout": "1h", "blocking": true } })
}

#[test]
fn a_cycle_of_any_length_is_refused_at_the_closing_edge_and_named_in_full() {
    for length in 2..=50 {
        let names: Vec<String> = (0..length).map(|n| format!("agent-{n}")).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut desk = Desk::ruled(&all, json!({ "max_handoffs": 100 }));
        let work = desk.starts(all[0], json!({}));
        let mut fence = 1;
        for pair in all.windows(2) {
            let part = desk.delegates(pair[0], work, fence, pair[1], blocking());
            fence = desk.accepts(pair[1], part);
        }
        let closing = desk.pass(work, fence, all[0], blocking());
        let (code, words) = desk.refused(all[length - 1], closing.clone());
        assert_eq!(code, "deadlock-detected");
        let spelled: Vec<String> = all.iter().map(|name| format!("{name} waits for ")).collect();
        let spelled = format!("everybody would wait for ever: {}agent-0", spelled.concat());
        assert_eq!(words, spelled);
        // Whoever does not wait for it may ask.
        let asks = desk.pass(
            work,
            fence,
            all[0],
            json!({
                "type": "delegation", "return_protocol": { "timeout": "1h" },
            }),
        );
        desk.does(all[length - 1], asks);
    }
}

#[test]
fn a_file_of_somebody_who_waits_for_the_asker_closes_a_cycle() {
    let mut desk = Desk::with(&["a", "b"]);
    let work = desk.starts("a", json!({}));
    let lock = |fence: u64| {
        json!({ "lock": {
            "workflow": work, "fence": fence, "paths": ["src/lib.rs"],
        }})
    };
    desk.does("a", lock(1));
    let part = desk.delegates("a", work, 1, "b", blocking());
    let fence = desk.accepts("b", part);
    let (code, words) = desk.refused("b", lock(fence));
    assert_eq!(code, "deadlock-detected");
    let spelled = "everybody would wait for ever: b waits for src/lib.rs of a waits for b";
    assert_eq!(words, spelled);
}

#[test]
fn two_that_wait_for_each_others_files_are_told_apart_from_one_that_waits() {
    let mut desk = Desk::with(&["a", "b", "c"]);
    let (one, two) = (desk.starts("a", json!({})), desk.starts("b", json!({})));
    let lock = |work, path: &str, wait: bool| {
        json!({ "lock": {
            "workflow": work, "fence": 1, "paths": [path], "wait": wait,
        }})
    };
    desk.does("a", lock(one, "x", false));
    desk.does("b", lock(two, "y", false));
    assert_eq!(desk.refused("a", lock(one, "y", false)).0, "file-locked");
    assert_eq!(desk.does("a", lock(one, "y", true)).events.len(), 1);
    assert_eq!(desk.does("a", lock(one, "y", true)).events.len(), 0, "it is known");
    let (code, words) = desk.refused("b", lock(two, "x", true));
    assert_eq!(code, "deadlock-detected");
    assert_eq!(words, "everybody would wait for ever: b waits for x of a waits for y of b");
    // Who no longer waits is not in the way of anybody.
    desk.later(61);
    assert_eq!(desk.does("b", lock(two, "x", true)).events.len(), 1);
}

#[test]
fn agents_whose_hands_are_full_of_each_others_work_close_a_cycle_too() {
    let mut desk = Desk::with(&["boss"]);
    for agent in ["a", "b"] {
        let profile = json!({ "id": agent, "max_concurrent_tasks": 1 });
        desk.does("operator", json!({ "register": profile }));
    }
    let (one, two) = (desk.starts("boss", json!({})), desk.starts("boss", json!({})));
    let first = desk.delegates("boss", one, 1, "a", json!({}));
    let a = desk.accepts("a", first);
    let second = desk.delegates("boss", two, 1, "b", json!({}));
    let b = desk.accepts("b", second);
    // a waits until b has room, and b would wait until a has.
    desk.delegates("a", one, a, "b", blocking());
    let closing = desk.pass(two, b, "a", blocking());
    let (code, words) = desk.refused("b", closing);
    assert_eq!(code, "deadlock-detected");
    assert_eq!(words, "everybody would wait for ever: b waits for a waits for b");
}

#[test]
fn who_wants_several_files_waits_for_all_of_them() {
    let mut desk = Desk::with(&["a", "b", "c"]);
    let [one, two, three] = ["a", "b", "c"].map(|who| desk.starts(who, json!({})));
    let lock = |work, paths: &[&str], wait: bool| {
        let lock = json!({ "workflow": work, "fence": 1, "paths": paths, "wait": wait });
        json!({ "lock": lock })
    };
    desk.does("a", lock(one, &["x"], false));
    desk.does("b", lock(two, &["y"], false));
    desk.does("c", lock(three, &["z"], false));
    desk.does("a", lock(one, &["y"], true));
    // z alone would come free; x does not, and b would never have both.
    let (code, words) = desk.refused("b", lock(two, &["z", "x"], true));
    assert_eq!(code, "deadlock-detected");
    assert_eq!(words, "everybody would wait for ever: b waits for x of a waits for y of b");
}

#[test]
fn who_would_share_a_file_does_not_wait_for_those_who_share_it() {
    let mut desk = Desk::with(&["a", "b"]);
    let (one, two) = (desk.starts("a", json!({})), desk.starts("b", json!({})));
    let lock = |work, paths: &[&str], mode: &str| {
        json!({ "lock": {
            "workflow": work, "fence": 1, "paths": paths, "mode": mode, "wait": true,
        }})
    };
    let c = desk.starts("a", json!({}));
    desk.does("b", lock(two, &["shared"], "shared"));
    desk.does("a", lock(c, &["taken"], "exclusive"));
    // a waits for `taken` only: what b shares it can share.
    desk.does("a", lock(one, &["other"], "exclusive"));
    desk.does("a", lock(one, &["taken", "shared"], "shared"));
    assert_eq!(desk.does("b", lock(two, &["other"], "exclusive")).events.len(), 1);
    let lines = serde_json::to_value(&desk.work(one).holds).expect("JSON").to_string();
    assert!(lines.contains("\"mode\":\"shared\""), "{lines}");
}
