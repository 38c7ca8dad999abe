//! Looking back: a workflow as it was at a moment.

use baton_engine::{AsOf, Clock, QueryError};
use baton_protocol::command::Actor;
use baton_protocol::id::WorkflowId;
use serde_json::json;

use crate::scene::{Scene, agent};

async fn shown(scene: &Scene, id: WorkflowId, moment: AsOf) -> String {
    let told = scene.engine.replay(Actor::Operator, id, moment).await.expect("it was there");
    let line = &told.workflow.line;
    let handoffs = told.workflow.handoffs.iter().map(|h| h.state.clone()).collect::<Vec<_>>();
    let owner = line.owner.as_ref().map_or_else(String::new, ToString::to_string);
    format!("{} {owner} {} #{}", line.status, handoffs.join(","), told.seq)
}

#[tokio::test]
async fn a_workflow_is_shown_as_it_was_at_any_moment_open_or_over() {
    let mut scene = Scene::new().await;
    let planner = || Actor::Agent(agent("planner"));
    let start = scene.clock.now();
    let begun = scene.ask(planner(), json!({ "start": { "title": "a page" } })).await;
    let id = begun.workflow.expect("a workflow");
    scene.later("10m");
    let pass = json!({ "pass": { "workflow": id, "fence": 1, "to_agent": "builder",
        "reason": "build it", "context": { "context_variables": { "colour": "red" } } } });
    let passed = scene.ask(planner(), pass).await;
    scene.later("10m");
    let accepted = scene.accept(&passed).await;
    scene.later("10m");
    let done = json!({ "complete": { "workflow": id, "fence": accepted.fence } });
    scene.ask(Actor::Agent(agent("builder")), done).await;
    scene.later("10m");

    let ago = |minutes: i64| {
        AsOf::Time(baton_protocol::time::Timestamp::from_micros(
            start.as_micros() + minutes * 60_000_000,
        ))
    };
    assert_eq!(shown(&scene, id, ago(0)).await, "open planner  #3");
    assert_eq!(shown(&scene, id, ago(9)).await, "open planner  #3");
    assert_eq!(shown(&scene, id, ago(10)).await, "open planner initiated #4");
    assert_eq!(shown(&scene, id, AsOf::Record(4)).await, "open planner initiated #4");
    assert_eq!(shown(&scene, id, ago(25)).await, "open builder completed #6");
    assert_eq!(shown(&scene, id, ago(40)).await, "completed  completed #7");

    let ask = |moment| scene.engine.replay(Actor::Operator, id, moment);
    let said = |answer: Result<_, QueryError>| answer.map(|_| ()).expect_err("a no").to_string();
    assert!(said(ask(ago(41)).await).contains("lies ahead"));
    assert!(said(ask(AsOf::Record(8)).await).contains("no record 8; the last one is 7"));
    assert!(said(ask(AsOf::Record(0)).await).contains("no record 0"));
    let early = said(ask(AsOf::Record(2)).await);
    assert!(early.contains("not there yet; it began at 2026-03-01T12:00:00"), "{early}");
}

#[tokio::test]
async fn who_may_not_see_work_may_not_see_its_past_and_a_late_comer_sees_no_other_copy() {
    let mut scene = Scene::new().await;
    let profile = json!({ "register": { "id": "ann", "capabilities": [{ "id": "draw" }] } });
    scene.ask(Actor::Operator, profile).await;
    for name in ["bob", "cleo"] {
        scene.ask(Actor::Operator, json!({ "register": { "id": name } })).await;
    }
    let planner = || Actor::Agent(agent("planner"));
    let cast = json!({ "pass": { "type": "broadcast", "to_agents": ["ann", "bob"], "reason": "?",
        "return_protocol": { "timeout": "1h" } } });
    let answer = scene.ask(planner(), cast).await;
    let id = answer.workflow.expect("a workflow");
    let then = AsOf::Record(answer.seq.expect("a record"));
    let seen = async |scene: &Scene, name: &str| {
        let told = scene.engine.replay(Actor::Agent(agent(name)), id, then).await;
        told.map(|told| told.workflow.handoffs.iter().map(|h| h.to_agent.to_string()).collect())
    };
    // A copy is given to one who had none then, and has a part in it now.
    let copies = scene.engine.workflow(planner(), id).await.expect("work").handoffs;
    let bobs = copies.iter().find(|line| line.to_agent == agent("bob")).expect("a copy").id;
    let give = json!({ "reassign": { "what": { "handoff": bobs }, "to_agent": "cleo",
        "reason": "bob is away" } });
    assert!(seen(&scene, "cleo").await.is_err());
    scene.ask(Actor::Operator, give).await;
    let accept = json!({ "accept": { "handoff": bobs } });
    scene.ask(Actor::Agent(agent("cleo")), accept).await;
    let seen: Vec<String> = seen(&scene, "cleo").await.expect("its own");
    assert_eq!(seen, ["bob"]);
}

#[tokio::test]
async fn what_its_owner_used_at_the_last_counts_when_work_is_over() {
    let mut scene = Scene::new().await;
    let planner = Actor::Agent(agent("planner"));
    let begun = scene.ask(planner.clone(), json!({ "start": { "title": "a page" } })).await;
    let id = begun.workflow.expect("work");
    let used = json!({ "tokens_consumed": 900 });
    let complete = json!({ "complete": { "workflow": id, "fence": 1, "used": used } });
    scene.ask(planner.clone(), complete).await;
    let view = scene.engine.workflow(planner, id).await.expect("work");
    assert_eq!((view.tokens_consumed, view.account.spent.tokens), (900, 900));
}
