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
