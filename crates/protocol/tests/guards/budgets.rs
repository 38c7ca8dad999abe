//! Edges of limits: absurd numbers, parts whose parent has gone, numbers in refusals.

use baton_protocol::event::{Event, StreamId};
use baton_protocol::evolve;
use baton_protocol::id::HandoffId;
use baton_protocol::limits::TOKENS_USED_MAX;
use serde_json::{Value, json};

use crate::desk::Desk;

fn slice(budget: u64) -> Value {
    json!({ "context": { "constraints": { "budget": budget } } })
}

#[test]
fn no_count_of_tokens_makes_a_record_that_cannot_be_read() {
    let dear = json!({ "prices": { "gold": { "input": 1e9, "output": 1e9 } } });
    let mut desk = Desk::ruled(&["a", "b"], dear);
    for tokens in [TOKENS_USED_MAX, 1] {
        let work = desk.starts("a", json!({}));
        let part = desk.delegates("a", work, 1, "b", json!({}));
        let fence = desk.accepts("b", part);
        // The desk reads back whatever is recorded.
        desk.does("b", Desk::returns(part, fence, "success", tokens));
        let used = json!({ "tokens_consumed": tokens });
        let pass = desk.pass(work, 1, "b", json!({ "audit": { "used": used } }));
        desk.does("a", pass);
        let spent = serde_json::to_string(&desk.work(work).account).expect("JSON");
        let read: baton_protocol::account::Account =
            serde_json::from_str(&spent).expect("an account");
        assert_eq!(read, desk.work(work).account);
    }
    let over = TOKENS_USED_MAX + 1;
    let command = |json: Value| serde_json::from_value::<baton_protocol::command::Command>(json);
    let handoff = desk.last_handoff();
    let error = command(Desk::returns(handoff, 1, "success", over)).expect_err("too many");
    assert!(error.to_string().contains("expected at most 1000000000000"), "{error}");
    for used in [json!({ "tokens_consumed": over }), json!({ "output_tokens": over })] {
        let pass = json!({ "reason": "x", "audit": { "used": used } });
        assert!(command(json!({ "pass": pass })).is_err());
    }
    let work = desk.starts("a", json!({}));
    let update = json!({ "metrics": { "tokens_used": over } });
    let goto = json!({ "workflow": work, "fence": 1, "goto": "END", "update": update });
    assert_eq!(desk.refused("a", json!({ "goto": goto })).0, "too-many");
}

#[test]
fn records_with_absurd_counts_add_up_without_overflow() {
    let mut desk = Desk::with(&["a", "b"]);
    let work = desk.starts("a", json!({}));
    for _ in 0..2 {
        let part = desk.delegates("a", work, 1, "b", json!({}));
        let fence = desk.accepts("b", part);
        let result = json!({ "fence": fence, "status": "failed", "tokens_consumed": u64::MAX });
        let detail = json!({ "why": "error", "result": result });
        let failed = json!({ "type": "failed", "handoff": part, "detail": detail });
        let failed: Event = serde_json::from_value(failed).expect("an event");
        evolve(&mut desk.world, &StreamId::Workflow(work), &failed, desk.now);
    }
    assert_eq!(desk.work(work).tokens_consumed, u64::MAX);
}

#[test]
fn a_copy_whose_sender_has_gone_is_paid_by_whoever_is_above_both() {
    let mut desk = Desk::ruled(&["a", "b", "c", "d", "e"], json!({ "max_handoffs": 20 }));
    let work = desk.starts("a", json!({ "constraints": { "budget": 10_000 } }));
    let part = desk.delegates("a", work, 1, "b", slice(500));
    let b = desk.accepts("b", part);
    let below = desk.delegates("b", work, b, "c", slice(300));
    let c = desk.accepts("c", below);
    let any = json!({
        "type": "broadcast", "to_agent": null, "to_agents": ["d", "e"], "aggregation": "any",
        "return_protocol": { "timeout": "1h" }, "context": { "constraints": { "budget": 100 } },
    });
    let cast = desk.pass(work, c, "d", any);
    let decision = desk.does("c", cast);
    let copies: Vec<_> = decision
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Initiated { terms, .. } => Some(terms.id),
            _ => None,
        })
        .collect();
    let d = desk.accepts("d", copies[0]);
    let e = desk.accepts("e", copies[1]);
    desk.does("d", Desk::returns(copies[0], d, "success", 0));
    desk.does("c", Desk::returns(below, c, "success", 0));
    // 100 of the 500 are still set aside for e.
    let more = desk.delegates("b", work, b, "d", slice(400));
    desk.accepts("d", more);
    let over = desk.pass(
        work,
        b,
        "c",
        json!({
            "type": "delegation", "return_protocol": { "timeout": "1h" },
        }),
    );
    let (code, words) = desk.refused("b", over);
    assert_eq!(code, "economic-limit-exceeded");
    assert!(words.starts_with("this part of the work may use 500 tokens; 500 are used"), "{words}");
    desk.does("e", Desk::returns(copies[1], e, "success", 100));
    let account = desk.work(work).holds[&baton_protocol::id::Fence(b)].account;
    assert_eq!(account.expect("it is a part").spent.tokens, 100);
}

#[test]
fn a_pass_may_say_how_many_handoffs_come_after_it() {
    let mut desk = Desk::with(&["a", "b", "c"]);
    let five = json!({ "constraints": { "handoffs": 5 } });
    // It begins the work, and says how many the work may have.
    for kind in ["sequential", "delegation"] {
        let back = json!({ "timeout": (kind == "delegation").then_some("1h") });
        let begins = json!({ "pass": {
            "to_agent": "b", "reason": kind, "type": kind, "context": five, "return_protocol": back,
        }});
        desk.does("a", begins);
        let handoff = desk.last_handoff();
        let fence = desk.accepts("b", handoff);
        let work = desk.world.home(handoff).expect("it is live");
        assert_eq!(desk.work(work).account.limits.handoffs, Some(5));
        for _ in 0..4 {
            desk.delegates("b", work, fence, "c", json!({}));
        }
        let back = json!({ "type": "delegation", "return_protocol": { "timeout": "1h" } });
        let sixth = desk.pass(work, fence, "c", back);
        assert_eq!(desk.refused("b", sixth).0, "handoff-limit-exceeded");
    }
    // What is passed for good has no slice, so none is set aside.
    let work = desk.starts("a", json!({}));
    let pass = desk.pass(work, 1, "b", json!({ "context": five }));
    desk.does("a", pass);
    // A part does: the handoff and its five are more than five.
    let work = desk.starts("a", json!({}));
    let back = json!({ "timeout": "1h" });
    let part = json!({ "type": "delegation", "return_protocol": back, "context": five });
    let pass = desk.pass(work, 1, "b", part);
    assert!(desk.refused("a", pass).1.ends_with("0 are used, 6 more asked"));
}

#[test]
fn those_who_take_part_go_on_when_fewer_agents_may() {
    let mut desk = Desk::with(&["a", "b", "c"]);
    let work = desk.starts("a", json!({ "class": "complex" }));
    let back = desk.hands_over("a", work, 1, "b");
    desk.does("operator", json!({ "set_limits": { "workflow": work, "agents": 1 } }));
    let new = desk.pass(work, back, "c", json!({}));
    assert!(desk.refused("b", new).1.contains("may use 1 agents; 2 are used"));
    desk.hands_over("b", work, back, "a");
}

#[test]
fn the_refusal_of_a_slice_tells_the_limit_that_it_would_pass() {
    let mut desk = Desk::with(&["a", "b", "c", "d"]);
    let work = desk.starts("a", json!({ "constraints": { "budget": 1_000 } }));
    let part = desk.delegates("a", work, 1, "b", slice(500));
    let b = desk.accepts("b", part);
    // b has tokens of its own, and its handoffs from the whole.
    let two = json!({ "context": { "constraints": { "handoffs": 2, "budget": 1 } } });
    let below = desk.delegates("b", work, b, "c", two);
    desk.delegates("a", work, 1, "d", slice(1));
    desk.delegates("a", work, 1, "d", slice(1));
    let (code, words) = desk.refused("c", json!({ "accept": { "handoff": below } }));
    assert_eq!(code, "economic-limit-exceeded");
    let said = "this work may use 5 handoffs; 4 are used or set aside, 2 more asked";
    assert_eq!(words, said);
}

#[test]
fn what_was_used_before_a_question_counts() {
    let mut desk = Desk::with(&["a"]);
    let work = desk.starts("a", json!({ "constraints": { "budget": 1_000 } }));
    let audit = json!({ "decision_rationale": "too hard", "used": { "tokens_consumed": 700 } });
    let asks = desk.pass(
        work,
        1,
        "a",
        json!({
            "type": "escalation", "to_agent": null, "audit": audit,
        }),
    );
    desk.does("a", asks);
    let found = desk.work(work);
    assert_eq!((found.tokens_consumed, found.account.spent.tokens), (700, 700));
}

#[test]
fn what_a_return_took_is_charged_once_whatever_becomes_of_its_checks() {
    let mut desk = Desk::ruled(&["a", "b", "c"], json!({ "checks": [["test"]] }));
    let check = json!({ "run": ["test"], "timeout": "1m" });
    let checked = json!({ "return_protocol": { "timeout": "1h", "checks": [check] } });
    let found = |handoff: HandoffId, fence: u64, code: i32| {
        let run = json!({ "run": ["test"], "ended": "exited", "code": code, "duration_ms": 5 });
        json!({ "checked": {
            "handoff": handoff, "fence": fence, "evidence": { "checks": [run] },
        }})
    };
    let work = desk.starts("a", json!({}));
    let spent = |desk: &Desk| {
        let found = desk.work(work);
        (found.tokens_consumed, found.account.spent.tokens)
    };
    // Failed, then passed: two returns.
    let part = desk.delegates("a", work, 1, "b", checked.clone());
    let fence = desk.accepts("b", part);
    desk.does("b", Desk::returns(part, fence, "success", 100));
    assert_eq!(spent(&desk).0, 100);
    desk.does("coordinator", found(part, fence, 1));
    desk.does("b", Desk::returns(part, fence, "success", 10));
    desk.does("coordinator", found(part, fence, 0));
    assert_eq!(spent(&desk), (110, 110));
    // Cancelled, or given to another, while the checks run.
    let part = desk.delegates("a", work, 1, "b", checked.clone());
    let fence = desk.accepts("b", part);
    desk.does("b", Desk::returns(part, fence, "success", 1));
    desk.does("a", json!({ "cancel": { "handoff": part, "reason": "no need" } }));
    assert_eq!(spent(&desk), (111, 111));
    let part = desk.delegates("a", work, 1, "b", checked);
    let fence = desk.accepts("b", part);
    desk.does("b", Desk::returns(part, fence, "success", 2));
    desk.does(
        "operator",
        json!({ "reassign": { "what": { "handoff": part }, "to_agent": "c", "reason": "x" } }),
    );
    let fence = desk.accepts("c", part);
    desk.does("c", Desk::returns(part, fence, "success", 4));
    desk.does("coordinator", found(part, fence, 0));
    assert_eq!(spent(&desk), (117, 117));
}
