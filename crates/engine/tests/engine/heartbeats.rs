//! Agents that say by themselves that they are there, or are asked over the web.

use baton_protocol::agent::Grant;
use baton_protocol::command::Actor;
use serde_json::json;

use crate::calls::Service;
use crate::scene::{Stage, agent};

async fn status(stage: &Stage) -> String {
    let view = stage.scene.engine.agent(Actor::Operator, agent("builder")).await;
    view.expect("known").status
}

#[tokio::test]
async fn three_missed_heartbeats_take_an_agent_out_and_the_next_brings_it_back() {
    let mut stage = Stage::new().await;
    stage.register(json!({ "id": "builder", "heartbeat_every": "20s" })).await;
    let beat = async |stage: &Stage| {
        let builder = agent("builder");
        let actor = Actor::Agent(builder.clone());
        stage.scene.engine.heartbeat(actor, builder).await.expect("taken");
    };
    let records = async |stage: &Stage| {
        stage.scene.engine.stats(Actor::Operator).await.expect("counted").records.expect("all")
    };
    stage.scene.later("19s");
    beat(&stage).await;
    let before = records(&stage).await;
    stage.scene.later("19s");
    assert_eq!(stage.scene.engine.check_heartbeats().await.expect("looked"), 0);
    beat(&stage).await;
    assert_eq!(records(&stage).await, before, "a heartbeat that is no news is not recorded");
    for expected in ["healthy", "healthy", "unhealthy", "unhealthy"] {
        stage.scene.later("20s");
        assert_eq!(stage.scene.engine.check_heartbeats().await.expect("looked"), 1);
        assert_eq!(stage.scene.engine.check_heartbeats().await.expect("looked"), 1);
        assert_eq!(status(&stage).await, expected);
    }
    assert_eq!(records(&stage).await, before + 3, "each miss is recorded once");
    beat(&stage).await;
    assert_eq!(status(&stage).await, "healthy");
    let other = Actor::Agent(agent("planner"));
    assert!(stage.scene.engine.heartbeat(other, agent("builder")).await.is_err());
}

#[tokio::test]
async fn while_the_machine_slept_nobody_could_be_heard() {
    let mut stage = Stage::new().await;
    stage.register(json!({ "id": "builder", "heartbeat_every": "20s" })).await;
    let look = async |stage: &Stage| stage.scene.engine.check_heartbeats().await.expect("looked");
    assert_eq!(look(&stage).await, 0);
    stage.scene.later("8h");
    assert_eq!(look(&stage).await, 0, "the lid was closed, and the agent slept too");
    assert_eq!(status(&stage).await, "healthy");
    for _ in 0..3 {
        stage.scene.later("20s");
        assert_eq!(look(&stage).await, 1, "now it could have been heard");
    }
    assert_eq!(status(&stage).await, "unhealthy");
}

#[tokio::test]
async fn whatever_an_agent_does_with_its_token_counts_as_a_heartbeat() {
    let mut stage = Stage::new().await;
    stage.register(json!({ "id": "builder", "heartbeat_every": "20s" })).await;
    let engine = &stage.scene.engine;
    let token =
        engine.create_token(Actor::Operator, agent("builder"), Grant::Act, None, None).await;
    let token = token.expect("a token").token;
    for _ in 0..6 {
        stage.scene.later("19s");
        stage.scene.engine.authenticate(&token).await.expect("known");
        assert_eq!(stage.scene.engine.check_heartbeats().await.expect("looked"), 0);
    }
}

#[tokio::test]
async fn a_web_service_is_asked_how_it_is() {
    let mut stage = Stage::new().await;
    let service = Service::start(&["503", "503", "500", "200 fine"]).await;
    let check = json!({ "http": service.url });
    stage.register(json!({ "id": "builder", "health_check": check })).await;
    for expected in ["healthy", "healthy", "unhealthy", "healthy"] {
        stage.scene.later("60s");
        assert_eq!(stage.scene.engine.check_health().await.expect("asked"), 1);
        assert_eq!(status(&stage).await, expected);
    }
}
