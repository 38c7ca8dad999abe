//! A ledger in memory, a clock that is moved by hand, and a few agents.

use std::sync::Arc;

use baton_engine::view::{Answer, HandoffView};
use baton_engine::{Allow, AuditQuery, Engine, ManualClock, MemoryLedger, Outside, SubmitError};
use baton_protocol::command::{Actor, Submission};
use baton_protocol::id::{AgentId, CommandId};
use baton_protocol::time::{Allowance, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

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

    /// How many records there are.
    pub(crate) async fn ledger_lines(&self) -> u64 {
        self.engine.status().await.expect("a status").records
    }

    pub(crate) async fn state(&self, passed: &Answer) -> String {
        let id = passed.handoff.expect("a handoff");
        self.engine.handoff(Actor::Operator, id).await.expect("it is there").line.state
    }
}

/// A scene in which agents are run and called, with a workspace and an outbox that is carried out.
pub(crate) struct Stage {
    pub(crate) scene: Scene,
    pub(crate) workspace: TempDir,
    outbox: tokio::task::JoinHandle<()>,
}

impl Stage {
    /// One in which the services on this machine may be called.
    pub(crate) async fn new() -> Self {
        Self::allowing(&["127.0.0.0/8"]).await
    }

    pub(crate) async fn allowing(words: &[&str]) -> Self {
        let mut scene = Scene::new().await;
        let workspace = tempfile::tempdir().expect("a folder");
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let allow = Allow::of(&words).expect("it allows something");
        let outside = Outside { workspace: workspace.path().to_owned(), allow };
        scene.engine = scene.engine.with_outside(outside).expect("folders for runs");
        let outbox = carry_out(&scene.engine);
        Self { scene, workspace, outbox }
    }

    /// Ends the coordinator as far as runs are concerned, and begins another on the same ledger.
    pub(crate) async fn restart(&mut self) {
        self.outbox.abort();
        self.scene.engine.end_runs().await;
        self.scene.ledger.restart().expect("the lines read back");
        let outside =
            Outside { workspace: self.workspace.path().to_owned(), allow: Allow::default() };
        let engine = Engine::on(self.scene.ledger.clone(), self.scene.clock.clone());
        self.scene.engine = engine.with_outside(outside).expect("folders for runs");
        self.outbox = carry_out(&self.scene.engine);
    }

    pub(crate) async fn register(&mut self, profile: Value) {
        self.scene.ask(Actor::Operator, json!({ "register": profile })).await;
    }

    /// Makes `builder` a command that `sh` reads, so that a test can say much in few words.
    pub(crate) async fn script(&mut self, script: &str) {
        let argv = json!(["sh", "-c", script]);
        self.register(json!({ "id": "builder", "reach": { "command": { "argv": argv } } })).await;
    }

    /// The handoff as soon as it is as it should be.
    pub(crate) async fn until(
        &self,
        passed: &Answer,
        fits: impl Fn(&HandoffView) -> bool,
    ) -> HandoffView {
        let id = passed.handoff.expect("a handoff");
        let engine = &self.scene.engine;
        let mut changes = engine.changes();
        let wait = async {
            loop {
                changes.mark_unchanged();
                let view = engine.handoff(Actor::Operator, id).await.expect("it is there");
                if fits(&view) {
                    return view;
                }
                changes.changed().await.expect("the ledger goes on");
            }
        };
        let waited = tokio::time::timeout(std::time::Duration::from_secs(30), wait).await;
        match waited {
            Ok(view) => view,
            Err(_) => panic!("{:#?}", engine.handoff(Actor::Operator, id).await),
        }
    }

    /// The handoff as soon as it is in this state.
    pub(crate) async fn state(&self, passed: &Answer, state: &str) -> HandoffView {
        self.until(passed, |view| view.line.state == state).await
    }

    /// What the run said, as soon as it said `word`.
    pub(crate) async fn said(&self, passed: &Answer, word: &str) -> String {
        let id = passed.handoff.expect("a handoff");
        let engine = &self.scene.engine;
        let mut grown = engine.logs_grown();
        loop {
            grown.mark_unchanged();
            let page = engine.log(Actor::Operator, id, 0).await.expect("a log");
            if page.text.contains(word) {
                return page.text;
            }
            let more = tokio::time::timeout(std::time::Duration::from_secs(30), grown.changed());
            more.await.expect("it says something").expect("the engine goes on");
        }
    }

    /// The operator decides the one question there is, as soon as it is asked. Returns its reason.
    pub(crate) async fn decide(&mut self, words: &str) -> String {
        let mut changes = self.scene.engine.changes();
        let question = loop {
            changes.mark_unchanged();
            let inbox = self.scene.engine.inbox(agent("operator")).await.expect("an inbox");
            if let [question] = inbox.waiting.as_slice() {
                break question.clone();
            }
            let more = tokio::time::timeout(std::time::Duration::from_secs(30), changes.changed());
            more.await.expect("somebody asks").expect("the ledger goes on");
        };
        let accept = json!({ "accept": { "handoff": question.id } });
        let fence = self.scene.ask(Actor::Operator, accept).await.fence;
        let give = json!({ "return": {
            "handoff": question.id, "fence": fence, "status": "success",
            "result": { "content_type": "text", "body": words },
        }});
        self.scene.ask(Actor::Operator, give).await;
        question.reason
    }

    /// What was noted of the effects that were carried out.
    pub(crate) async fn notes(&self) -> Vec<String> {
        let query = AuditQuery { kinds: vec!["settled".to_owned()], ..AuditQuery::default() };
        let records = self.scene.engine.audit(Actor::Operator, query).await.expect("the audit");
        let note = |record: &Value| Some(record["event"]["note"].as_str()?.to_owned());
        records.iter().filter_map(note).collect()
    }

    /// Returns once nothing is left to be carried out.
    pub(crate) async fn settled(&self) {
        let engine = &self.scene.engine;
        let mut changes = engine.changes();
        loop {
            changes.mark_unchanged();
            if engine.status().await.expect("status").outbox == 0 {
                return;
            }
            let more = tokio::time::timeout(std::time::Duration::from_secs(30), changes.changed());
            more.await.expect("it is carried out").expect("the ledger goes on");
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.outbox.abort();
    }
}

fn carry_out(engine: &Engine) -> tokio::task::JoinHandle<()> {
    let engine = engine.clone();
    tokio::spawn(async move { engine.run_outbox().await })
}
