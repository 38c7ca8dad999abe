use serde_json::json;

use crate::desk::Desk;

#[test]
fn the_same_to_the_same_within_the_last_three_is_a_loop() {
    let mut desk = Desk::with(&["a", "b", "c"]);
    let work = desk.starts("a", json!({ "constraints": { "handoffs": 5 } }));
    let same = |to: &str, task: &str| {
        json!({ "pass": {
            "workflow": work, "fence": 1, "to_agent": to, "reason": "look", "type": "delegation",
            "context": { "task_id": task }, "return_protocol": { "timeout": "1h" },
        }})
    };
    desk.does("a", same("b", "one"));
    let (code, words) = desk.refused("a", same("b", "one"));
    assert_eq!(code, "deadlock-detected");
    assert_eq!(words, "a passed the very same to b a moment ago");
    desk.does("a", same("c", "one"));
    desk.does("a", same("b", "two"));
    assert_eq!(desk.refused("a", same("b", "one")).0, "deadlock-detected");
    desk.does("a", same("b", "three"));
    desk.does("operator", json!({ "set_limits": { "workflow": work, "handoffs": 9 } }));
    desk.does("a", same("b", "one"));
}

#[test]
fn to_and_fro_without_a_change_is_a_loop_and_with_one_is_not() {
    let mut desk = Desk::with(&["a", "b"]);
    let work = desk.starts("a", json!({}));
    let mut fence = desk.hands_over("a", work, 1, "b");
    fence = desk.hands_over("b", work, fence, "a");
    fence = desk.hands_over("a", work, fence, "b");
    let back = desk.pass(work, fence, "a", json!({}));
    let (code, words) = desk.refused("b", back.clone());
    assert_eq!(code, "deadlock-detected");
    assert_eq!(words, "b and a pass the work to and fro, and nothing changes");
    let set = json!({ "workflow": work, "fence": fence, "changes": { "found": "the bug" } });
    desk.does("b", json!({ "set_variables": set }));
    desk.does("b", back);
}
