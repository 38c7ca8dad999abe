use baton_protocol::command::{Actor, Command, Pass};
use baton_protocol::content_hash;
use baton_protocol::id::{HandoffId, WorkflowId};
use baton_protocol::policy::Matched;
use serde_json::{Value, json};

use crate::desk::Desk;

pub(crate) const RULE: &str = "deploys";

pub(crate) fn desk(more: Value) -> Desk {
    let mut rule = json!({ "name": RULE, "when": "true" });
    rule.as_object_mut().expect("a rule").extend(more.as_object().expect("a rule").clone());
    Desk::ruled(&["a", "b", "c"], json!({ "approval": [rule] }))
}

/// `a` passes to `b`, and the engine found that the rule holds.
pub(crate) fn passes(desk: &mut Desk, work: WorkflowId, fence: u64, more: Value) -> HandoffId {
    let json = desk.pass(work, fence, "b", more);
    let mut pass: Pass = serde_json::from_value(json["pass"].clone()).expect("a pass");
    let rule = desk.world.policy.approval[0].clone();
    let matched = Matched {
        rule: rule.name,
        why: rule.when,
        timeout: rule.timeout,
        unanswered: rule.unanswered,
        denied: rule.denied,
    };
    pass.matched.insert("b".parse().expect("a name"), matched);
    let actor = Actor::Agent("a".parse().expect("a name"));
    desk.submits(actor, Command::Pass(Box::new(pass))).expect("it begins");
    desk.last_handoff()
}

fn hash(desk: &Desk, handoff: HandoffId) -> String {
    let (_, workflow, handoff) = desk.world.handoff(handoff).expect("it is live");
    content_hash(workflow, handoff)
}

pub(crate) fn approve(desk: &Desk, handoff: HandoffId) -> Value {
    json!({ "approve": { "handoff": handoff, "hash": hash(desk, handoff) } })
}

#[test]
fn it_waits_until_a_person_says_yes() {
    let mut desk = desk(json!({}));
    let work = desk.starts("a", json!({}));
    let handoff = passes(&mut desk, work, 1, json!({}));
    assert_eq!(desk.state(handoff), "awaiting_approval");
    assert_eq!(desk.refused("b", json!({ "accept": { "handoff": handoff } })).0, "not-approved");
    let yes = approve(&desk, handoff);
    for agent in ["a", "b", "c"] {
        assert_eq!(desk.refused(agent, yes.clone()).0, "operator-only");
    }
    desk.does("operator", yes.clone());
    assert_eq!(desk.state(handoff), "initiated");
    assert_eq!(desk.refused("operator", yes).0, "nothing-to-approve");
    desk.accepts("b", handoff);
}

#[test]
fn a_no_ends_the_work_or_only_the_handoff() {
    let mut ends = desk(json!({}));
    let work = ends.starts("a", json!({}));
    let handoff = passes(&mut ends, work, 1, json!({}));
    let no = |handoff| json!({ "deny": { "handoff": handoff, "reason": "not on a Friday" } });
    let decision = ends.does("operator", no(handoff));
    let words: Vec<_> = decision.events.iter().map(|event| event.word()).collect();
    assert_eq!(words, ["failed", "closed"]);
    assert!(ends.world.workflows.is_empty());

    let mut goes_on = desk(json!({ "denied": "fail" }));
    let work = goes_on.starts("a", json!({}));
    let handoff = passes(&mut goes_on, work, 1, json!({}));
    goes_on.does("operator", no(handoff));
    assert_eq!(goes_on.state(handoff), "failed");
    goes_on.does("a", json!({ "complete": { "workflow": work, "fence": 1 } }));
}

#[test]
fn nobody_answers_in_time() {
    let mut desk = desk(json!({ "timeout": "10m", "unanswered": "fail" }));
    let work = desk.starts("a", json!({}));
    let handoff = passes(&mut desk, work, 1, json!({}));
    desk.later(599);
    desk.time_passes();
    assert_eq!(desk.state(handoff), "awaiting_approval");
    desk.later(1);
    desk.time_passes();
    assert_eq!(desk.state(handoff), "failed");
}

#[test]
fn what_changes_voids_a_yes_before_and_after_it_is_said() {
    let mut desk = desk(json!({}));
    let work = desk.starts("a", json!({}));
    let delegation = json!({
        "type": "delegation", "return_protocol": { "timeout": "1h" },
        "context": { "share": ["plan"] },
    });
    let handoff = passes(&mut desk, work, 1, delegation);
    let seen = approve(&desk, handoff);
    let plan = |text: &str| {
        json!({ "set_variables": {
            "workflow": work, "fence": 1, "changes": { "plan": text },
        }})
    };
    desk.does("a", plan("delete everything"));
    assert_eq!(desk.refused("operator", seen).0, "approval-void");
    let yes = approve(&desk, handoff);
    desk.does("operator", yes);
    desk.does("a", plan("delete even more"));
    assert_eq!(desk.refused("b", json!({ "accept": { "handoff": handoff } })).0, "approval-void");
    let again = approve(&desk, handoff);
    desk.does("operator", again);
    desk.accepts("b", handoff);
}

#[test]
fn a_yes_can_stand_for_a_while() {
    let mut desk = desk(json!({}));
    let work = desk.starts("a", json!({ "constraints": { "handoffs": 5 } }));
    let delegation = json!({ "type": "delegation", "return_protocol": { "timeout": "1h" } });
    let handoff = passes(&mut desk, work, 1, delegation.clone());
    let mut yes = approve(&desk, handoff);
    yes["approve"]["remember"] = json!("1h");
    desk.does("operator", yes);
    let second = passes(&mut desk, work, 1, delegation.clone());
    assert_eq!(desk.state(second), "initiated");
    desk.later(3_600);
    let third = passes(&mut desk, work, 1, delegation.clone());
    assert_eq!(desk.state(third), "awaiting_approval");
    // Under other rules it says nothing.
    let yes = json!({ "approve": {
        "handoff": third, "hash": hash(&desk, third), "remember": "1h",
    }});
    desk.does("operator", yes);
    desk.does("operator", json!({ "set_policy": {} }));
    assert!(desk.world.standing.is_empty());
}

#[test]
fn a_yes_that_stands_ends_when_its_rule_says_something_else() {
    let mut desk = desk(json!({}));
    let work = desk.starts("a", json!({}));
    let handoff = passes(&mut desk, work, 1, json!({}));
    let mut yes = approve(&desk, handoff);
    yes["approve"]["remember"] = json!("1h");
    desk.does("operator", yes);
    let rules = |when: &str| json!({ "approval": [{ "name": RULE, "when": when }] });
    let mut same = rules("true");
    same["max_handoffs"] = json!(9);
    desk.does("operator", json!({ "set_policy": same }));
    assert_eq!(desk.world.standing.len(), 1, "the rule is what it was");
    desk.does("operator", json!({ "set_policy": rules("risk == \"high\"") }));
    assert!(desk.world.standing.is_empty(), "nobody said yes to that");
}

#[test]
fn nobody_approves_what_comes_from_itself() {
    let mut desk = desk(json!({}));
    let work = desk.starts("operator", json!({}));
    let fence = desk.hands_over("operator", work, 1, "a");
    let handoff = passes(&mut desk, work, fence, json!({}));
    let yes = approve(&desk, handoff);
    assert_eq!(desk.refused("operator", yes.clone()).0, "own-lineage");
    let alone = json!({ "approve_own": true, "approval": [{ "name": RULE, "when": "true" }] });
    desk.does("operator", json!({ "set_policy": alone }));
    desk.does("operator", yes);
}
