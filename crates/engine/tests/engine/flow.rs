//! The graph of a workflow: what it tells of live work, of work that is over, and to whom.

use baton_engine::QueryError;
use baton_protocol::command::Actor;
use baton_protocol::event::Event;
use serde_json::{Value, json};

use crate::scene::{Scene, agent};

fn by(name: &str) -> Actor {
    Actor::Agent(agent(name))
}

/// A subtask that one turned away and another did, with what both made known.
async fn told() -> (Scene, baton_protocol::id::WorkflowId) {
    let mut scene = Scene::new().await;
    for (name, skill) in [("ann", 0.9), ("bob", 0.5)] {
        let can = json!([{ "id": "review", "proficiency": skill }]);
        let profile = json!({ "id": name, "capabilities": can });
        scene.ask(Actor::Operator, json!({ "register": profile })).await;
    }
    let pass = json!({ "pass": {
        "type": "delegation", "reason": "please review", "to_agent": "ann",
        "validation": { "required_capabilities": ["review"] },
        "return_protocol": { "timeout": "1h" },
        "context": { "artifacts": [{ "path": "src/login.rs" }] },
    }});
    let passed = scene.ask(by("planner"), pass).await;
    let handoff = passed.handoff;
    scene.later("1s");
    let no = json!({ "reject": { "handoff": handoff, "reason": "no time" } });
    scene.ask(by("ann"), no).await;
    scene.later("1s");
    let taken = scene.ask(by("bob"), json!({ "accept": { "handoff": handoff } })).await;
    scene.later("1s");
    let give = json!({ "return": {
        "handoff": handoff, "fence": taken.fence, "status": "success",
        "result": { "content_type": "text", "body": "two small things" },
        "context_updates": { "artifacts_produced": [{ "path": "docs/review.md" }] },
    }});
    scene.ask(by("bob"), give).await;
    (scene, passed.workflow.expect("a workflow"))
}

fn drawn(flow: &impl serde::Serialize) -> Value {
    serde_json::to_value(flow).expect("JSON")
}

#[tokio::test]
async fn a_picture_tells_who_was_asked_and_what_travelled() {
    let (mut scene, workflow) = told().await;
    let live = drawn(&scene.engine.flow(Actor::Operator, workflow).await.expect("it is there"));
    let [handoff] = live["handoffs"].as_array().expect("handoffs").as_slice() else {
        panic!("{live}")
    };
    assert_eq!(handoff["to_agent"], "bob");
    assert_eq!(handoff["standing"], "completed");
    let tries = json!([{ "agent": "ann", "ended": "rejected", "reason": "no time" }]);
    assert_eq!((&handoff["tries"], &handoff["reroutes"]), (&tries, &json!(1)));
    assert_eq!(handoff["artifacts"], json!(["src/login.rs"]));
    let back = json!({
        "status": "success", "artifacts": ["docs/review.md"], "words": "two small things",
    });
    assert_eq!(handoff["returned"], back);
    let names: Vec<_> = live["agents"].as_array().expect("agents").iter().collect();
    let named: Vec<_> = names.iter().map(|agent| agent["id"].clone()).collect();
    assert_eq!(named, ["planner", "ann", "bob"]);
    assert_eq!((&live["status"], &names[0]["holds"]), (&json!("open"), &json!("whole")));

    let done = json!({ "complete": { "workflow": workflow, "fence": 1, "note": "merged" } });
    scene.ask(by("planner"), done).await;
    let over = drawn(&scene.engine.flow(Actor::Operator, workflow).await.expect("history"));
    assert_eq!((&over["status"], &over["ended"]["words"]), (&json!("completed"), &json!("merged")));
    assert_eq!(over["handoffs"], live["handoffs"], "the end changes nothing that was before it");
    assert_eq!(over["agents"][0]["holds"], Value::Null);
}

#[tokio::test]
async fn a_picture_is_for_those_who_may_see_the_work() {
    let (scene, workflow) = told().await;
    for viewer in [by("planner"), by("bob"), Actor::Viewer, Actor::Operator] {
        scene.engine.flow(viewer, workflow).await.expect("it may");
    }
    let stranger = scene.engine.flow(by("builder"), workflow).await;
    let Err(QueryError::Refused(refusal)) = stranger else { panic!("{stranger:?}") };
    assert_eq!(refusal.code(), "unknown-workflow");
}

#[tokio::test]
async fn a_recipient_of_a_broadcast_sees_only_its_copy_drawn() {
    let mut scene = Scene::new().await;
    for name in ["ann", "bob"] {
        scene.ask(Actor::Operator, json!({ "register": { "id": name } })).await;
    }
    let pass = json!({ "pass": {
        "type": "broadcast", "to_agents": ["ann", "bob"], "aggregation": "all",
        "reason": "is it good?", "return_protocol": { "timeout": "1h" },
    }});
    let asked = scene.ask(by("planner"), pass).await;
    for event in &asked.events {
        if let Event::Initiated { terms, .. } = event {
            let name = terms.to_agent.as_str().to_owned();
            scene.ask(by(&name), json!({ "accept": { "handoff": terms.id } })).await;
        }
    }
    let workflow = asked.workflow.expect("a workflow");
    let own = scene.engine.flow(by("ann"), workflow).await.expect("its own work");
    assert_eq!((own.handoffs.len(), own.broadcasts.len()), (1, 0));
    assert!(!drawn(&own).to_string().contains("bob"), "{own:?}");
    assert!(!baton_flow::svg(&own).contains("bob"));
    let all = scene.engine.flow(by("planner"), workflow).await.expect("its work");
    assert_eq!((all.handoffs.len(), all.broadcasts.len()), (2, 1));
}
