//! Handoffs that go to another agent: whom limits and breakers let have them, and what a rule about
//! that agent does.

use baton_protocol::command::{Actor, Submission};
use baton_protocol::id::CommandId;
use baton_protocol::policy::Matched;
use baton_protocol::{asked_again, decide, evolve};
use serde_json::{Value, json};

use crate::desk::Desk;

fn matched() -> Matched {
    let matched = json!({ "rule": "deploys", "why": "to == \"c\"", "timeout": "10m" });
    serde_json::from_value(matched).expect("a rule")
}

#[test]
fn a_reroute_to_somebody_a_rule_guards_waits_for_a_person() {
    let mut desk = Desk::with(&["a", "b"]);
    for agent in ["b", "c"] {
        let one = json!({
            "id": agent, "max_concurrent_tasks": 1, "capabilities": ["draw"],
        });
        desk.does("operator", json!({ "register": one }));
    }
    let work = desk.starts("a", json!({}));
    let part = desk.delegates("a", work, 1, "b", json!({}));
    // The engine finds that a rule holds for `c`, and for nobody else.
    let reject = json!({ "reject": { "handoff": part, "reason": "no time" } });
    let command = serde_json::from_value(reject).expect("a command");
    let actor = Actor::Agent("b".parse().expect("a name"));
    let ask = Submission { id: CommandId::from_bytes([7; 16]), actor, command };
    let decision = decide(&desk.world, &ask, desk.now).expect("it may");
    let decision = asked_again(&desk.world, decision, desk.now, |_, moves| {
        assert_eq!((moves.from.as_str(), moves.to.as_str()), ("b", "c"));
        assert_eq!(moves.terms.id, part);
        Some(matched())
    });
    for event in &decision.events {
        let written = serde_json::to_value(event).expect("JSON");
        assert_eq!(serde_json::from_value(written).ok().as_ref(), Some(event));
        evolve(&mut desk.world, &decision.stream, event, desk.now);
    }
    assert_eq!(desk.state(part), "awaiting_approval");
    assert_eq!(desk.refused("c", json!({ "accept": { "handoff": part } })).0, "not-approved");
    let hash = {
        let (_, workflow, handoff) = desk.world.handoff(part).expect("it is live");
        baton_protocol::content_hash(workflow, handoff)
    };
    desk.does("operator", json!({ "approve": { "handoff": part, "hash": hash } }));
    desk.accepts("c", part);
}

/// `boss` is above the others; the work is urgent, so it climbs when `b` is not there.
fn climbs(desk: &mut Desk, class: Value) -> Vec<String> {
    let boss = json!({ "id": "boss", "role": "reviewer", "max_concurrent_tasks": 9 });
    desk.does("operator", json!({ "register": boss }));
    let work = desk.starts("a", json!({ "priority": "critical", "class": class }));
    for _ in 0..3 {
        desk.does("operator", json!({ "report_health": { "agent": "b", "healthy": false } }));
    }
    let pass = desk.pass(work, 1, "b", json!({}));
    let decision = desk.does("a", pass);
    let to = |event: &baton_protocol::event::Event| match event {
        baton_protocol::event::Event::Rerouted { to, .. } => Some(to.to_string()),
        _ => None,
    };
    decision.events.iter().filter_map(to).collect()
}

#[test]
fn urgent_work_climbs_past_a_broken_agent_and_past_one_too_many() {
    assert_eq!(climbs(&mut Desk::with(&["a", "b"]), Value::Null), ["boss"]);

    let mut broken = Desk::ruled(&["a", "b", "boss"], json!({ "breaker": { "failures": 1 } }));
    let own = broken.starts("a", json!({}));
    let part = broken.delegates("a", own, 1, "boss", json!({}));
    let fence = broken.accepts("boss", part);
    broken.does("boss", Desk::returns(part, fence, "failed", 0));
    assert_eq!(climbs(&mut broken, Value::Null), ["operator"]);

    let most = json!({ "max_handoffs": 2, "max_tokens": 25_000, "max_agents": 2 });
    let few = json!({ "classes": { "medium": most } });
    let mut few = Desk::ruled(&["a", "b"], few);
    assert_eq!(climbs(&mut few, json!("medium")), ["operator"]);
}

#[test]
fn a_person_who_says_no_is_not_one_agent_more() {
    let most = json!({ "max_handoffs": 2, "max_tokens": 25_000, "max_agents": 2 });
    let mut desk = Desk::ruled(&["a"], json!({ "classes": { "medium": most } }));
    for (id, role) in [("ann", "human"), ("c", "worker")] {
        let profile = json!({ "id": id, "role": role, "capabilities": ["draw"] });
        desk.does("operator", json!({ "register": profile }));
    }
    let work = desk.starts("a", json!({ "class": "medium" }));
    let part = desk.delegates("a", work, 1, "ann", json!({}));
    desk.does("ann", json!({ "reject": { "handoff": part, "reason": "no time" } }));
    assert_eq!(desk.world.handoff(part).expect("it is live").2.to.as_str(), "c");
}
