use serde_json::json;

use crate::desk::Desk;

/// `shaky` fails once, in work of its own.
fn fails(desk: &mut Desk) {
    let work = desk.starts("a", json!({}));
    let part = desk.delegates("a", work, 1, "shaky", json!({}));
    let fence = desk.accepts("shaky", part);
    desk.does("shaky", Desk::returns(part, fence, "failed", 0));
}

fn asked(desk: &mut Desk) -> Result<(), (&'static str, String)> {
    let work = desk.starts("b", json!({}));
    let terms = json!({ "type": "delegation", "return_protocol": { "timeout": "1h" } });
    let pass = desk.pass(work, 1, "shaky", terms);
    match desk.asks("b", pass) {
        Ok(_) => Ok(()),
        Err(refusal) => Err((refusal.code(), refusal.to_string())),
    }
}

#[test]
fn three_failures_in_a_row_open_it_for_all_workflows() {
    let mut desk = Desk::with(&["a", "b", "shaky"]);
    fails(&mut desk);
    fails(&mut desk);
    assert_eq!((desk.breaker("shaky"), asked(&mut desk)), ("closed", Ok(())));
    fails(&mut desk);
    assert_eq!(desk.breaker("shaky"), "open");
    let (code, words) = asked(&mut desk).expect_err("it is open");
    assert_eq!(code, "circuit-breaker-open");
    assert_eq!(words, "shaky failed too often of late: its circuit breaker is open");

    let reset = json!({ "reset_breaker": { "agent": "shaky" } });
    assert_eq!(desk.refused("b", reset.clone()).0, "operator-only");
    desk.does("operator", reset);
    assert_eq!((desk.breaker("shaky"), asked(&mut desk)), ("closed", Ok(())));
}

#[test]
fn after_the_cool_down_exactly_one_tries_and_its_end_decides() {
    let mut desk = Desk::with(&["a", "b", "shaky"]);
    (0..3).for_each(|_| fails(&mut desk));
    desk.later(59);
    assert!(asked(&mut desk).is_err());
    desk.later(1);
    let work = desk.starts("a", json!({}));
    let probe = desk.delegates("a", work, 1, "shaky", json!({}));
    assert_eq!(desk.breaker("shaky"), "half-open");
    assert_eq!(asked(&mut desk).expect_err("one tries").0, "circuit-breaker-open");
    let fence = desk.accepts("shaky", probe);
    desk.does("shaky", Desk::returns(probe, fence, "failed", 0));
    assert_eq!(desk.breaker("shaky"), "open");

    desk.later(60);
    let probe = desk.delegates("a", work, 1, "shaky", json!({}));
    // Taken back: nothing was learnt, so another may try at once.
    desk.does("a", json!({ "cancel": { "handoff": probe, "reason": "never mind" } }));
    assert_eq!(desk.breaker("shaky"), "open");
    let probe = desk.delegates("a", work, 1, "shaky", json!({}));
    let fence = desk.accepts("shaky", probe);
    desk.does("shaky", Desk::returns(probe, fence, "success", 0));
    assert_eq!((desk.breaker("shaky"), asked(&mut desk)), ("closed", Ok(())));
}

#[test]
fn a_return_that_never_comes_is_a_failure_and_work_that_ends_frees_the_try() {
    let policy = json!({ "breaker": { "failures": 1, "cool_down": "10s" } });
    let mut desk = Desk::ruled(&["a", "b", "shaky"], policy);
    let work = desk.starts("a", json!({}));
    let late = json!({ "return_protocol": { "timeout": "1s" } });
    let part = desk.delegates("a", work, 1, "shaky", late);
    desk.accepts("shaky", part);
    desk.later(2);
    desk.time_passes();
    desk.later(20);
    desk.time_passes();
    assert_eq!(desk.breaker("shaky"), "open");
    desk.later(10);
    let other = desk.starts("b", json!({}));
    desk.delegates("b", other, 1, "shaky", json!({}));
    assert_eq!(desk.breaker("shaky"), "half-open");
    let cancel = json!({ "cancel_workflow": { "workflow": other, "reason": "over" } });
    desk.does("b", cancel);
    assert_eq!((desk.breaker("shaky"), asked(&mut desk)), ("open", Ok(())));
}

#[test]
fn several_tasks_of_one_pass_are_not_one_try() {
    let mut desk = Desk::with(&["a", "b", "shaky"]);
    (0..3).for_each(|_| fails(&mut desk));
    desk.later(60);
    let work = desk.starts("a", json!({}));
    let task = |task: &str| json!({ "agent": "shaky", "task": task });
    let two = json!({
        "type": "broadcast", "to_agent": null, "to_agents": [task("one"), task("two")],
        "return_protocol": { "timeout": "1h" },
    });
    let pass = desk.pass(work, 1, "shaky", two.clone());
    assert_eq!(desk.refused("a", pass).0, "circuit-breaker-open");
    desk.does("operator", json!({ "reset_breaker": { "agent": "shaky" } }));
    let pass = desk.pass(work, 1, "shaky", two);
    desk.does("a", pass);
}
