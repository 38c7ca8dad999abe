//! What becomes of a handoff after a person said yes, or when what it was said to has changed.

use baton_protocol::id::HandoffId;
use serde_json::{Value, json};

use crate::approvals::{approve, desk, passes};
use crate::desk::Desk;

fn says_yes(desk: &mut Desk, handoff: HandoffId) -> Vec<&'static str> {
    let yes = approve(desk, handoff);
    let decision = desk.does("operator", yes);
    decision.events.iter().map(|event| event.word()).collect()
}

fn receiver(desk: &Desk, handoff: HandoffId) -> String {
    desk.world.handoff(handoff).expect("it is live").2.to.to_string()
}

/// `c` can draw, and `b` cannot.
fn one_draws(desk: &mut Desk) -> Value {
    let profile = json!({ "id": "c", "capabilities": ["draw"] });
    desk.does("operator", json!({ "register": profile }));
    json!({ "required_capabilities": [{ "capability_id": "draw" }] })
}

#[test]
fn a_yes_does_not_make_an_agent_able_to_do_what_it_cannot() {
    let mut desk = desk(json!({}));
    let work = desk.starts("a", json!({}));
    let wanted = one_draws(&mut desk);
    let handoff = passes(&mut desk, work, 1, json!({ "validation": wanted }));
    assert_eq!(says_yes(&mut desk, handoff), ["approved", "rejected", "rerouted"]);
    assert_eq!((desk.state(handoff), receiver(&desk, handoff).as_str()), ("initiated", "c"));
    desk.accepts("c", handoff);
}

#[test]
fn a_yes_does_not_raise_the_risk_that_an_agent_may_take() {
    let mut desk = desk(json!({}));
    let careful = json!({ "id": "b", "autonomy_budget": { "max_risk": "low" } });
    desk.does("operator", json!({ "register": careful }));
    let work = desk.starts("a", json!({}));
    let routing = json!({ "on_rejection": "fail" });
    let risky = json!({ "audit": { "risk_level": "high" }, "routing": routing });
    let handoff = passes(&mut desk, work, 1, risky);
    assert_eq!(says_yes(&mut desk, handoff), ["approved", "rejected", "failed"]);
    assert_eq!(desk.state(handoff), "failed");
}

#[test]
fn what_was_approved_goes_past_an_agent_that_is_not_well_by_now() {
    let mut desk = desk(json!({}));
    let work = desk.starts("a", json!({}));
    let wanted = one_draws(&mut desk);
    let draws = json!({ "id": "b", "capabilities": ["draw"] });
    desk.does("operator", json!({ "register": draws }));
    let handoff = passes(&mut desk, work, 1, json!({ "validation": wanted }));
    for _ in 0..3 {
        let ill = json!({ "report_health": { "agent": "b", "healthy": false } });
        desk.does("operator", ill);
    }
    assert_eq!(says_yes(&mut desk, handoff), ["approved", "rejected", "rerouted"]);
    assert_eq!(receiver(&desk, handoff), "c");
}

fn part() -> Value {
    json!({ "type": "delegation", "return_protocol": { "timeout": "1h" } })
}

/// `b` failed three times in a row, for `c`.
fn broken(desk: &mut Desk) {
    for _ in 0..3 {
        let own = desk.starts("c", json!({}));
        let part = desk.delegates("c", own, 1, "b", json!({}));
        let fence = desk.accepts("b", part);
        desk.does("b", Desk::returns(part, fence, "failed", 0));
    }
    assert_eq!(desk.breaker("b"), "open");
}

#[test]
fn a_yes_does_not_close_a_circuit_breaker() {
    let mut desk = desk(json!({}));
    let work = desk.starts("a", json!({}));
    let (one, two) = (passes(&mut desk, work, 1, part()), passes(&mut desk, work, 1, part()));
    broken(&mut desk);
    let yes = approve(&desk, one);
    assert_eq!(desk.refused("operator", yes).0, "circuit-breaker-open");
    assert_eq!(desk.state(one), "awaiting_approval");
    desk.later(60);
    assert_eq!(says_yes(&mut desk, one), ["approved"]);
    assert_eq!(desk.breaker("b"), "half-open");
    let yes = approve(&desk, two);
    assert_eq!(desk.refused("operator", yes).0, "circuit-breaker-open", "one tries");
}

#[test]
fn what_waits_for_a_person_tries_nobody() {
    let mut desk = desk(json!({}));
    broken(&mut desk);
    desk.later(60);
    let work = desk.starts("a", json!({}));
    let waits = passes(&mut desk, work, 1, part());
    assert_eq!((desk.state(waits), desk.breaker("b")), ("awaiting_approval", "open"));
    let own = desk.starts("c", json!({}));
    desk.delegates("c", own, 1, "b", json!({}));
    assert_eq!(desk.breaker("b"), "half-open");
}

/// `b` may not accept what it was passed: what was approved is not what it is now.
fn void() -> (Desk, HandoffId) {
    let mut desk = desk(json!({}));
    let profile = json!({ "id": "b", "answer_within": "30s" });
    desk.does("operator", json!({ "register": profile }));
    let work = desk.starts("a", json!({}));
    let back = json!({
        "type": "delegation", "return_protocol": { "timeout": "1h" },
        "context": { "share": ["plan"] },
    });
    let handoff = passes(&mut desk, work, 1, back);
    says_yes(&mut desk, handoff);
    let changes = json!({ "plan": "delete everything" });
    let set = json!({ "workflow": work, "fence": 1, "changes": changes });
    desk.does("a", json!({ "set_variables": set }));
    assert_eq!(desk.refused("b", json!({ "accept": { "handoff": handoff } })).0, "approval-void");
    (desk, handoff)
}

#[test]
fn a_receiver_that_may_not_accept_is_not_late() {
    let (mut desk, handoff) = void();
    for _ in 0..3 {
        desk.later(3_600);
        desk.time_passes();
    }
    assert_eq!((desk.state(handoff), receiver(&desk, handoff).as_str()), ("initiated", "b"));
    let b = &desk.world.agents[&"b".parse().expect("a name")];
    assert!(b.health.is_good());
    assert_eq!(b.breaker, Default::default());
    says_yes(&mut desk, handoff);
    desk.accepts("b", handoff);
}

#[test]
fn a_person_can_say_no_to_what_has_changed_since_the_yes() {
    let (mut desk, handoff) = void();
    let no = json!({ "deny": { "handoff": handoff, "reason": "not like this" } });
    desk.does("operator", no.clone());
    assert_eq!(desk.state(handoff), "failed");
    assert_eq!(desk.refused("operator", no).0, "nothing-to-approve");
}
