//! Rules of the policy: what they make of handoffs, and what other rules would have made of them.

use baton_engine::view::{Answer, WhatIf};
use baton_engine::{AuditQuery, Clock, HandoffQuery, MessageQuery, QueryError, SubmitError};
use baton_protocol::command::Actor;
use baton_protocol::id::HandoffId;
use baton_protocol::policy::Policy;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::scene::{Scene, agent};

fn policy(value: Value) -> Policy {
    serde_json::from_value(value).expect("a policy")
}

fn planner() -> Actor {
    Actor::Agent(agent("planner"))
}

async fn set(scene: &mut Scene, policy: Value) {
    scene.ask(Actor::Operator, json!({ "set_policy": policy })).await;
}

/// Passes work on for good, in new work.
async fn pass(scene: &mut Scene, more: Value) -> Answer {
    let mut pass = json!({ "to_agent": "builder", "reason": "build it" });
    for (name, value) in more.as_object().expect("fields") {
        pass[name] = value.clone();
    }
    scene.ask(planner(), json!({ "pass": pass })).await
}

#[tokio::test]
async fn a_handoff_for_which_a_rule_holds_waits_and_the_record_says_why() {
    let mut scene = Scene::new().await;
    let rules = json!([
        { "name": "risky", "when": "risk == \"high\" && to == \"builder\"" },
        { "name": "infra", "when": "paths.exists(p, p.startsWith(\"infra/\"))", "timeout": "1h" },
        { "name": "odd", "when": "task.startsWith(\"odd\") && paths[1] == \"x\"" },
    ]);
    set(&mut scene, json!({ "approval": rules })).await;
    let free = pass(&mut scene, json!({})).await;
    assert_eq!(scene.state(&free).await, "initiated");
    let risky = pass(&mut scene, json!({ "audit": { "risk_level": "high" } })).await;
    assert_eq!(scene.state(&risky).await, "awaiting_approval");
    let file = json!([{ "type": "file", "path": "infra/main.tf" }]);
    let infra = pass(&mut scene, json!({ "context": { "artifacts": file } })).await;
    let waits = |answer: &Answer| {
        let recorded = serde_json::to_value(answer.event("initiated")).expect("JSON");
        recorded["guarded"]["approval"]["waits"]["matched"].clone()
    };
    let why = "paths.exists(p, p.startsWith(\"infra/\"))";
    assert_eq!(waits(&infra)["rule"], "infra");
    assert_eq!(waits(&infra)["why"], why);
    // What cannot be judged waits, and says what stood in the way.
    let odd = pass(&mut scene, json!({ "context": { "task_id": "odd one" } })).await;
    assert_eq!(waits(&odd)["rule"], "odd");
    let why = waits(&odd)["why"].as_str().expect("words").to_owned();
    assert!(why.starts_with("it cannot be judged: "), "{why}");
    // What was recorded stands after a restart under any rules.
    scene.ledger.restart().expect("the lines read back");
    assert_eq!(scene.state(&odd).await, "awaiting_approval");
}

#[tokio::test]
async fn what_a_person_does_not_let_through_never_reaches_whoever_it_was_for() {
    let mut scene = Scene::new().await;
    // The receiver took part before, so it may see the work, and not what waits or was denied.
    let first = json!({ "pass": { "to_agent": "builder", "reason": "begin" } });
    let first = scene.ask(planner(), first).await;
    let fence = scene.accept(&first).await.fence;
    let work = first.workflow.expect("a workflow");
    let back = json!({ "pass": { "workflow": work, "fence": fence, "to_agent": "planner",
        "reason": "look" } });
    let back = scene.ask(Actor::Agent(agent("builder")), back).await;
    let taken = json!({ "accept": { "handoff": back.handoff } });
    let fence = scene.ask(planner(), taken).await.fence;
    set(&mut scene, json!({ "approval": [{ "name": "all", "when": "true" }] })).await;
    let talk = json!([{ "role": "user", "content": "hush" }]);
    let waiting = json!({ "pass": { "workflow": work, "fence": fence, "to_agent": "builder",
        "reason": "hush", "context": { "conversation_history": { "messages": talk } } } });
    let waiting = scene.ask(planner(), waiting).await;
    let id = waiting.handoff.expect("a handoff");
    assert_eq!(scene.state(&waiting).await, "awaiting_approval");
    for told in ["waits", "denied"] {
        let (engine, builder) = (&scene.engine, Actor::Agent(agent("builder")));
        assert!(engine.handoff(builder.clone(), id).await.is_err(), "{told}");
        assert!(engine.package(builder.clone(), id).await.is_err(), "{told}");
        let view = engine.workflow(builder.clone(), work).await.expect("its own work");
        let flow = engine.flow(builder.clone(), work).await.expect("a picture");
        let all = engine.handoffs(builder.clone(), HandoffQuery::default()).await.expect("a list");
        let audit = AuditQuery::default();
        let audit = engine.audit(builder.clone(), audit).await.expect("the audit");
        let messages = engine.messages(builder, MessageQuery::default()).await.expect("messages");
        let seen = json!([view, flow, all.items, audit, messages.items]).to_string();
        assert!(!seen.contains("hush") && !seen.contains(&id.to_string()), "{told}: {seen}");
        if told == "waits" {
            let no = json!({ "deny": { "handoff": id, "reason": "no" } });
            scene.ask(Actor::Operator, no).await;
        }
    }
    let shown = scene.engine.handoff(planner(), id).await.expect("who sent it sees it");
    assert_eq!(shown.line.state, "failed");
}

#[tokio::test]
async fn a_rule_is_judged_for_whoever_gets_it_also_when_nobody_is_named() {
    let mut scene = Scene::new().await;
    let expert = json!({ "register": { "id": "expert", "role": "architect",
        "capabilities": [{ "id": "draw" }] } });
    scene.ask(Actor::Operator, expert).await;
    let when = "role_of_to == \"architect\" && capabilities == [\"draw\"] && handoffs == 0";
    set(&mut scene, json!({ "approval": [{ "name": "above", "when": when }] })).await;
    let wanted = json!({ "required_capabilities": [{ "capability_id": "draw" }] });
    let anybody = json!({ "pass": { "reason": "draw it", "validation": wanted } });
    let passed = scene.ask(planner(), anybody).await;
    assert_eq!(scene.state(&passed).await, "awaiting_approval");
    let many = json!({ "pass": { "type": "broadcast", "to_agents": ["builder", "expert"],
        "reason": "which?", "return_protocol": { "timeout": "1h" }, "validation": wanted } });
    let cast = scene.ask(planner(), many).await;
    let view = scene.engine.workflow(planner(), cast.workflow.expect("work")).await.expect("work");
    let mut states: Vec<_> =
        view.handoffs.iter().map(|h| format!("{} {}", h.to_agent, h.state)).collect();
    states.sort();
    assert_eq!(states, ["builder failed", "expert awaiting_approval"]);
}

#[tokio::test]
async fn a_rule_is_judged_for_whoever_a_handoff_goes_to_in_the_end() {
    let mut scene = Scene::new().await;
    let shipper = json!({ "id": "shipper", "capabilities": ["ship", "pack"] });
    let deployer = json!({ "id": "deployer", "capabilities": ["ship"] });
    for profile in [json!({ "id": "builder" }), shipper, deployer] {
        scene.ask(Actor::Operator, json!({ "register": profile })).await;
    }
    let rule = json!({ "name": "mine", "when": "to == \"deployer\"", "timeout": "1h" });
    set(&mut scene, json!({ "approval": [rule] })).await;
    let wanted = json!({ "required_capabilities": [{ "capability_id": "ship" }] });
    // Builder cannot, and the deployer is the first who can: all in one decision.
    let more = json!({ "reason": "ship it", "validation": wanted });
    let at_once = pass(&mut scene, more).await;
    assert_eq!(scene.state(&at_once).await, "awaiting_approval");
    let moved = serde_json::to_value(at_once.event("rerouted")).expect("JSON");
    assert_eq!(moved["to"], "deployer");
    assert_eq!(moved["approval"]["waits"]["matched"]["rule"], "mine");
    // Shipper could and will not.
    let wanted = json!({ "to_agent": "shipper", "reason": "ship that", "validation": wanted });
    let later = pass(&mut scene, wanted).await;
    assert_eq!(scene.state(&later).await, "initiated");
    let id = later.handoff.expect("a handoff");
    let no = json!({ "reject": { "handoff": id, "reason": "no time" } });
    scene.ask(Actor::Agent(agent("shipper")), no).await;
    scene.ledger.restart().expect("the lines read back");
    assert_eq!(scene.state(&later).await, "awaiting_approval");
    let take = json!({ "accept": { "handoff": id } });
    let taken = scene.try_ask(Actor::Agent(agent("deployer")), take.clone()).await;
    assert!(taken.is_err(), "nobody asked a person");
    let yes = json!({ "approve": { "handoff": id, "hash": hash_of(&scene, id).await } });
    scene.ask(Actor::Operator, yes).await;
    scene.ask(Actor::Agent(agent("deployer")), take).await;
}

#[tokio::test]
async fn rules_that_take_too_long_together_are_refused() {
    let mut scene = Scene::new().await;
    let long = vec!["paths.exists(p, p == \"x\")"; 16].join(" || ");
    let rules = |count: usize| {
        let rule = |n| json!({ "name": format!("rule-{n}"), "when": long });
        json!({ "set_policy": { "approval": (0..count).map(rule).collect::<Vec<_>>() } })
    };
    scene.ask(Actor::Operator, rules(2)).await;
    let refused = scene.try_ask(Actor::Operator, rules(64)).await.expect_err("a refusal");
    assert!(matches!(refused, SubmitError::Refused(refusal) if refusal.code() == "too-many"));
}

#[tokio::test]
async fn a_rule_that_a_person_answered_for_good_does_not_hide_another() {
    let mut scene = Scene::new().await;
    let rules = json!([
        { "name": "all", "when": "true" },
        { "name": "risky", "when": "risk_level >= 3" },
    ]);
    set(&mut scene, json!({ "approval": rules, "approve_own": true })).await;
    let first = pass(&mut scene, json!({})).await;
    let id = first.handoff.expect("a handoff");
    let hash = hash_of(&scene, id).await;
    let yes = json!({ "approve": { "handoff": id, "hash": hash, "remember": "1h" } });
    scene.ask(Actor::Operator, yes).await;
    let second = pass(&mut scene, json!({ "reason": "again" })).await;
    assert_eq!(scene.state(&second).await, "initiated");
    let risk = json!({ "reason": "once more", "audit": { "risk_level": "high" } });
    let third = pass(&mut scene, risk).await;
    assert_eq!(scene.state(&third).await, "awaiting_approval");
}

#[tokio::test]
async fn a_command_object_is_judged_like_any_pass_and_each_of_its_tasks() {
    let mut scene = Scene::new().await;
    let when = "task.contains(\"deploy\") || type == \"sequential\"";
    set(&mut scene, json!({ "approval": [{ "name": "mine", "when": when }] })).await;
    let states = async |scene: &mut Scene, goto: Value| {
        let begun = scene.ask(planner(), json!({ "start": { "title": "a page" } })).await;
        let id = begun.workflow.expect("work");
        let goto = json!({ "goto": { "workflow": id, "fence": 1, "goto": goto } });
        scene.ask(planner(), goto).await;
        let view = scene.engine.workflow(planner(), id).await.expect("work");
        view.handoffs.iter().map(|handoff| handoff.state.clone()).collect::<Vec<_>>()
    };
    assert_eq!(states(&mut scene, json!("builder")).await, ["awaiting_approval"]);
    let task = |task: &str| json!({ "agent": "builder", "task": task });
    let free = json!([task("build it"), task("test it")]);
    assert_eq!(states(&mut scene, free).await, ["initiated", "initiated"]);
    let one = json!([task("build it"), task("deploy it"), task("test it")]);
    assert_eq!(states(&mut scene, one).await, ["awaiting_approval"; 3]);
    let found = scene.engine.what_if(Policy::default(), None).await.expect("an answer");
    assert_eq!((found.handoffs, found.differ, found.untold), (6, 4, 0), "{found:?}");
}

/// The hash of what waits, found the way an approver would not: by asking with a wrong one.
async fn hash_of(scene: &Scene, id: HandoffId) -> String {
    use baton_protocol::{World, content_hash};
    use baton_store::{Ledger, Scope};
    let (tell, told) = std::sync::mpsc::channel();
    let look = Box::new(move |world: &World| {
        let (_, workflow, handoff) = world.handoff(id).expect("it is there");
        let _ = tell.send(content_hash(workflow, handoff));
    });
    scene.ledger.look(Scope::Handoff(id), look).await.expect("a look");
    told.recv().expect("a hash")
}

#[tokio::test]
async fn a_policy_with_a_rule_that_is_none_is_refused_and_the_old_one_stays() {
    let mut scene = Scene::new().await;
    let rules = |when: &str| json!({ "approval": [{ "name": "mine", "when": when }] });
    let bad = json!({ "set_policy": rules("risk == \"high\" &&\n riks > 1") });
    let refused = scene.try_ask(Actor::Operator, bad.clone()).await.expect_err("a refusal");
    let SubmitError::Refused(refusal) = refused else { panic!("{refused}") };
    assert_eq!(refusal.code(), "bad-rule");
    let said = refusal.to_string();
    let parts = ["approval rule mine", "line 2, column 2", "no fact `riks`", "risk, risk_level"];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    let refused = scene.try_ask(planner(), bad).await.expect_err("a refusal");
    assert!(matches!(refused, SubmitError::Refused(refusal) if refusal.code() == "operator-only"));
    let passed = pass(&mut scene, json!({ "audit": { "risk_level": "high" } })).await;
    assert_eq!(scene.state(&passed).await, "initiated");
}

fn told(what: &WhatIf, expected: Expect) {
    let mut text = String::new();
    for row in &what.rows {
        let at = row.at.to_string();
        let (day, why) = (&at[5..10], row.why.as_deref().unwrap_or(""));
        let who = format!("{} > {}", row.from_agent, row.to_agent);
        text += &format!("{day} {who}: {} -> {}\n  {why}\n", row.then, row.would);
    }
    let WhatIf { handoffs, same, differ, untold, by_kind, .. } = what;
    text += &format!("{handoffs} handoffs: {same} same, {differ} differ, {untold} untold\n");
    by_kind.iter().for_each(|(kind, count)| text += &format!("{count} {kind}\n"));
    expected.assert_eq(&text);
}

#[tokio::test]
async fn recorded_handoffs_are_decided_again_under_other_rules() {
    let mut scene = Scene::new().await;
    scene.ask(Actor::Operator, json!({ "register": { "id": "tester" } })).await;
    // Before the days that are asked about.
    pass(&mut scene, json!({ "audit": { "risk_level": "high" } })).await;
    scene.later("2d");
    let since = scene.clock.now();
    let begun = scene.ask(planner(), json!({ "start": { "title": "a shop" } })).await;
    let id = begun.workflow.expect("work");
    let variables = json!({ "decisions_made": "use Rust", "colour": "red" });
    let part = |n: u64, to: &str| {
        json!({ "pass": { "workflow": id, "fence": 1, "to_agent": to,
        "type": "delegation", "reason": format!("part {n}"),
        "return_protocol": { "timeout": "1h" }, "context": { "context_variables": variables } } })
    };
    for (n, to) in [(1, "builder"), (2, "tester"), (3, "builder")] {
        scene.later("1h");
        scene.ask(planner(), part(n, to)).await;
    }
    scene.later("1d");
    pass(&mut scene, json!({ "audit": { "risk_level": "high" } })).await;
    let cast = json!({ "pass": { "type": "broadcast", "to_agents": ["builder", "tester"],
        "reason": "which?", "return_protocol": { "timeout": "1h" }, "aggregation": "any" } });
    scene.ask(planner(), cast).await;
    let before = scene.ledger_lines().await;

    let other = policy(json!({
        "max_handoffs": 2,
        "approval": [{ "name": "risky", "when": "risk == \"high\"" },
            { "name": "tests", "when": "to == \"tester\" && handoffs < 2" }],
    }));
    let found = scene.engine.what_if(other, Some(since)).await.expect("an answer");
    told(
        &found,
        expect![[r#"
            03-03 planner > tester: initiated -> awaiting approval by tests
              to == "tester" && handoffs < 2
            03-03 planner > builder: initiated -> refused handoff-limit-exceeded
              the agents of this work may begin 2 handoffs; 2 are used, 1 more asked
            03-04 planner > builder: rerouted to operator -> awaiting approval by risky
              risk == "high"
            03-04 planner > tester: initiated -> awaiting approval by tests
              to == "tester" && handoffs < 2
            6 handoffs: 2 same, 4 differ, 0 untold
            2 initiated -> awaiting approval by tests
            1 initiated -> refused handoff-limit-exceeded
            1 rerouted to operator -> awaiting approval by risky
        "#]],
    );
    let same = scene.engine.what_if(Policy::default(), Some(since)).await.expect("an answer");
    assert_eq!((same.handoffs, same.same, same.untold), (6, 6, 0), "{same:?}");
    assert_eq!(scene.ledger_lines().await, before, "something was recorded");

    let bad = policy(json!({ "approval": [{ "name": "x", "when": "nonsense" }] }));
    let refused = scene.engine.what_if(bad, None).await.expect_err("a refusal");
    assert!(matches!(refused, QueryError::Refused(refusal) if refusal.code() == "bad-rule"));
}
