//! A ledger in memory, a clock that is moved by hand, and a few agents.

use std::sync::Arc;

use baton_engine::view::Answer;
use baton_engine::{Engine, ManualClock, MemoryLedger, SubmitError};
use baton_protocol::command::{Actor, Submission};
use baton_protocol::id::{AgentId, CommandId};
use baton_protocol::time::{Allowance, Timestamp};
use serde_json::{Value, json};

pub(crate) struct Scene {
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ledger: Arc<MemoryLedger>,
    asked: u64,
}

pub(crate) fn agent(name: &str) -> AgentId {
    name.parse().expect("a name")
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a moment");
        let clock = Arc::new(ManualClock::at(start));
        let ledger = Arc::new(MemoryLedger::default());
        let engine = Engine::on(ledger.clone(), clock.clone());
        let mut scene = Self { engine, clock, ledger, asked: 0 };
        for name in ["planner", "builder"] {
            scene.ask(Actor::Operator, json!({ "register": { "id": name } })).await;
        }
        scene
    }

    pub(crate) async fn try_ask(
        &mut self,
        actor: Actor,
        command: Value,
    ) -> Result<Answer, SubmitError> {
        self.asked += 1;
        let id = CommandId::from_key("test", &self.asked.to_string());
        let command = serde_json::from_value(command).expect("a command");
        self.engine.submit(Submission { id, actor, command }).await
    }

    pub(crate) async fn ask(&mut self, actor: Actor, command: Value) -> Answer {
        self.try_ask(actor, command).await.expect("it is taken")
    }

    pub(crate) async fn delegate(&mut self, back: Value) -> Answer {
        let command = json!({ "pass": {
            "to_agent": "builder", "type": "delegation", "reason": "build it",
            "return_protocol": back,
        }});
        self.ask(Actor::Agent(agent("planner")), command).await
    }

    pub(crate) async fn accept(&mut self, passed: &Answer) -> Answer {
        let command = json!({ "accept": { "handoff": passed.handoff } });
        self.ask(Actor::Agent(agent("builder")), command).await
    }

    pub(crate) fn later(&self, span: &str) {
        self.clock.pass(span.parse::<Allowance>().expect("a span"));
    }

    pub(crate) async fn state(&self, passed: &Answer) -> String {
        let id = passed.handoff.expect("a handoff");
        self.engine.handoff(Actor::Operator, id).await.expect("it is there").line.state
    }
}
