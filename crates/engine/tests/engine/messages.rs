//! What listeners hear of a story, and what they do not.

use baton_engine::MessageQuery;
use baton_engine::view::{Message, MessageType};
use baton_protocol::agent::Grant;
use baton_protocol::command::Actor;
use serde_json::json;

use crate::scene::{Scene, agent};

async fn told(scene: &Scene, viewer: Actor, query: MessageQuery) -> Vec<Message> {
    scene.engine.messages(viewer, query).await.expect("answered").items
}

#[tokio::test]
async fn every_step_of_a_delegation_is_a_message_in_the_format_of_the_field() {
    let mut scene = Scene::new().await;
    let passed = scene.delegate(json!({ "timeout": "1m" })).await;
    let fence = scene.accept(&passed).await.fence;
    let back = json!({ "return": {
        "handoff": passed.handoff, "fence": fence, "status": "success",
    }});
    scene.ask(Actor::Agent(agent("builder")), back).await;

    let all = told(&scene, Actor::Operator, MessageQuery::default()).await;
    let kinds: Vec<MessageType> = all.iter().map(|one| one.kind).collect();
    let registered = MessageType::AgentRegistered;
    assert_eq!(
        kinds,
        [
            registered,
            registered,
            MessageType::TaskCreated,
            MessageType::AgentHandoff,
            MessageType::TaskStarted,
            MessageType::TaskCompleted,
        ]
    );
    let handoff = serde_json::to_value(&all[3]).expect("plain data");
    assert_eq!(handoff["type"], "AGENT_HANDOFF");
    assert_eq!(
        (&handoff["sourceAgent"], &handoff["targetAgent"]),
        (&json!("planner"), &json!("builder"))
    );
    let inner = &handoff["payload"]["handoff"];
    assert_eq!((&inner["fromAgent"], &inner["toAgent"]), (&json!("planner"), &json!("builder")));
    assert_eq!(inner["reason"], "build it");
    assert_eq!(
        (&inner["task"]["priority"], &inner["task"]["status"]),
        (&json!("normal"), &json!("pending"))
    );
    assert_eq!(inner["task"]["createdAt"], handoff["timestamp"]);
    assert_eq!(inner["context"]["requestId"], json!(passed.workflow));
    assert_eq!(all[5].target_agent, Some(agent("planner")), "what comes back goes to its sender");
}

#[tokio::test]
async fn messages_are_read_from_any_point_and_filtered_by_type_and_agent() {
    let mut scene = Scene::new().await;
    let passed = scene.delegate(json!({ "timeout": "1m" })).await;
    scene.accept(&passed).await;
    let all = told(&scene, Actor::Operator, MessageQuery::default()).await;

    let after = Some(all[2].seq);
    let rest = told(&scene, Actor::Operator, MessageQuery { after, ..Default::default() }).await;
    assert_eq!(rest, all[3..]);

    let types = vec![MessageType::TaskStarted];
    let query = MessageQuery { types, agent: Some(agent("builder")), ..Default::default() };
    assert_eq!(told(&scene, Actor::Operator, query).await, all[4..]);

    let page = MessageQuery { limit: Some(2), ..Default::default() };
    let page = scene.engine.messages(Actor::Operator, page).await.expect("a page");
    assert_eq!((page.items.len(), page.next), (2, Some(all[1].seq)));
}

#[tokio::test]
async fn the_newest_messages_are_found_however_much_came_after_them() {
    let mut scene = Scene::new().await;
    let passed = scene.delegate(json!({ "timeout": "1m" })).await;
    for number in 0..150 {
        let profile = json!({ "id": "planner", "description": format!("edition {number}") });
        scene.ask(Actor::Operator, json!({ "register": profile })).await;
    }
    let all = told(&scene, Actor::Operator, MessageQuery::default()).await;
    let latest = async |query: MessageQuery, most| {
        let found = scene.engine.latest_messages(Actor::Operator, query, most).await;
        found.expect("answered")
    };
    assert_eq!(latest(MessageQuery::default(), 3).await, all[all.len() - 3..]);
    assert_eq!(latest(MessageQuery::default(), 1000).await, all);
    assert_eq!(latest(MessageQuery::default(), 0).await, []);
    let of_it = MessageQuery { workflow: passed.workflow, ..Default::default() };
    assert_eq!(latest(of_it.clone(), 1).await, all[3..4]);
    // The record of a change of health may be good news or bad: the row alone does not tell.
    let types = vec![MessageType::AgentHandoff, MessageType::AgentHealthy];
    assert_eq!(latest(MessageQuery { types, ..Default::default() }, 5).await, all[3..4]);
}

#[tokio::test]
async fn a_sequential_handoff_is_over_when_it_is_taken_and_its_task_when_the_work_is() {
    let mut scene = Scene::new().await;
    let pass = json!({ "pass": {
        "to_agent": "builder", "type": "sequential", "reason": "go on",
    }});
    let passed = scene.ask(Actor::Agent(agent("planner")), pass).await;
    let fence = scene.accept(&passed).await.fence;
    let done = json!({ "complete": { "workflow": passed.workflow, "fence": fence } });
    scene.ask(Actor::Agent(agent("builder")), done).await;
    let of_it = MessageQuery { workflow: passed.workflow, ..Default::default() };
    let kinds: Vec<_> =
        told(&scene, Actor::Operator, of_it.clone()).await.iter().map(|one| one.kind).collect();
    assert_eq!(
        kinds,
        [
            MessageType::TaskCreated,
            MessageType::AgentHandoff,
            MessageType::TaskStarted,
            MessageType::HandoffCompleted,
            MessageType::TaskCompleted,
        ]
    );
    let types = vec![MessageType::TaskCompleted];
    let ends = told(&scene, Actor::Operator, MessageQuery { types, ..of_it }).await;
    assert_eq!(ends.len(), 1, "{ends:?}");
}

#[tokio::test]
async fn an_agent_hears_only_what_concerns_it_and_nobody_hears_of_credentials() {
    let mut scene = Scene::new().await;
    scene.delegate(json!({ "timeout": "1m" })).await;
    let who = agent("builder");
    scene
        .engine
        .create_token(Actor::Operator, who.clone(), Grant::Act, None, None)
        .await
        .expect("a token");
    let heard = told(&scene, Actor::Agent(who.clone()), MessageQuery::default()).await;
    assert!(!heard.is_empty() && heard.iter().all(|one| one.concerns(&who)), "{heard:?}");
    scene.ask(Actor::Operator, json!({ "register": { "id": "rival" } })).await;
    let rival = told(&scene, Actor::Agent(agent("rival")), MessageQuery::default()).await;
    assert_eq!(rival, []);
    let all = told(&scene, Actor::Operator, MessageQuery::default()).await;
    let digests = serde_json::to_string(&all).expect("plain data").contains("digest");
    assert!(!digests, "{all:?}");
}
