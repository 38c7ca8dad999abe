//! A desk at which anybody asks anything at any time, and hears what came of it.

use baton_protocol::command::{Actor, Submission};
use baton_protocol::event::{Decision, Event};
use baton_protocol::id::{CommandId, HandoffId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::Workflow;
use baton_protocol::{Timer, World, decide, evolve};
use serde_json::{Value, json};

pub(crate) struct Desk {
    pub(crate) world: World,
    pub(crate) now: Timestamp,
    asked: u128,
}

impl Desk {
    /// A desk at which these agents are known, each with room for a hundred tasks.
    pub(crate) fn with(agents: &[&str]) -> Self {
        let mut desk =
            Self { world: World::default(), now: Timestamp::from_micros(1_000_000), asked: 0 };
        for agent in agents {
            let profile = json!({ "id": agent, "max_concurrent_tasks": 100 });
            desk.does("operator", json!({ "register": profile }));
        }
        desk
    }

    /// A desk with a policy.
    pub(crate) fn ruled(agents: &[&str], policy: Value) -> Self {
        let mut desk = Self::with(agents);
        desk.does("operator", json!({ "set_policy": policy }));
        desk
    }

    pub(crate) fn later(&mut self, seconds: i64) {
        self.now = Timestamp::from_micros(self.now.as_micros() + seconds * 1_000_000);
    }

    /// Asks, as an agent or as the operator.
    pub(crate) fn asks(&mut self, who: &str, command: Value) -> Result<Decision, Refusal> {
        let actor = match who {
            "operator" => Actor::Operator,
            "coordinator" => Actor::Coordinator,
            agent => Actor::Agent(agent.parse().expect("a name")),
        };
        let command = serde_json::from_value(command).expect("a command");
        self.submits(actor, command)
    }

    pub(crate) fn submits(
        &mut self,
        actor: Actor,
        command: baton_protocol::command::Command,
    ) -> Result<Decision, Refusal> {
        self.asked += 1;
        let id = CommandId::from_bytes(self.asked.to_be_bytes());
        let decision = decide(&self.world, &Submission { id, actor, command }, self.now)?;
        for event in &decision.events {
            // What is recorded must be read back as it was.
            let written = serde_json::to_vec(event).expect("JSON");
            assert_eq!(serde_json::from_slice::<Event>(&written).expect("an event"), *event);
            evolve(&mut self.world, &decision.stream, event, self.now);
        }
        Ok(decision)
    }

    pub(crate) fn does(&mut self, who: &str, command: Value) -> Decision {
        let asked = command.to_string();
        self.asks(who, command).unwrap_or_else(|why| panic!("{who} {asked}: {why}"))
    }

    /// Asks, and returns the code and the words of the refusal.
    pub(crate) fn refused(&mut self, who: &str, command: Value) -> (&'static str, String) {
        let asked = command.to_string();
        match self.asks(who, command) {
            Ok(_) => panic!("{who} {asked}: it was not refused"),
            Err(refusal) => {
                assert!(!refusal.hint().is_empty());
                (refusal.code(), refusal.to_string())
            }
        }
    }

    /// Begins work.
    pub(crate) fn starts(&mut self, who: &str, more: Value) -> WorkflowId {
        let mut start = json!({ "title": "the work" });
        merge(&mut start, more);
        self.does(who, json!({ "start": start }));
        CommandId::from_bytes(self.asked.to_be_bytes()).workflow()
    }

    /// The JSON of a pass that says something new each time.
    pub(crate) fn pass(&self, work: WorkflowId, fence: u64, to: &str, more: Value) -> Value {
        let reason = format!("for the {}th time", self.asked);
        let mut pass =
            json!({ "workflow": work, "fence": fence, "to_agent": to, "reason": reason });
        merge(&mut pass, more);
        json!({ "pass": pass })
    }

    /// Delegates, and returns the handoff.
    pub(crate) fn delegates(
        &mut self,
        who: &str,
        work: WorkflowId,
        fence: u64,
        to: &str,
        more: Value,
    ) -> HandoffId {
        let mut terms = json!({ "type": "delegation", "return_protocol": { "timeout": "1h" } });
        merge(&mut terms, more);
        let pass = self.pass(work, fence, to, terms);
        self.does(who, pass);
        self.last_handoff()
    }

    pub(crate) fn last_handoff(&self) -> HandoffId {
        CommandId::from_bytes(self.asked.to_be_bytes()).handoff()
    }

    /// Accepts, and returns the fence.
    pub(crate) fn accepts(&mut self, who: &str, handoff: HandoffId) -> u64 {
        let decision = self.does(who, json!({ "accept": { "handoff": handoff } }));
        let fence = decision.events.iter().find_map(|event| match event {
            Event::Accepted { fence, .. } => Some(fence.0),
            _ => None,
        });
        fence.expect("it was accepted")
    }

    /// Passes for good, and the receiver accepts: returns its fence.
    pub(crate) fn hands_over(&mut self, who: &str, work: WorkflowId, fence: u64, to: &str) -> u64 {
        let pass = self.pass(work, fence, to, json!({}));
        self.does(who, pass);
        let handoff = self.last_handoff();
        self.accepts(to, handoff)
    }

    pub(crate) fn returns(handoff: HandoffId, fence: u64, status: &str, tokens: u64) -> Value {
        json!({ "return": {
            "handoff": handoff, "fence": fence, "status": status,
            "audit": { "tokens_consumed": tokens },
        }})
    }

    /// Lets everything happen whose time has come.
    pub(crate) fn time_passes(&mut self) {
        let due: Vec<Timer> = self.world.due(self.now).collect();
        for timer in due {
            let wake = match timer {
                Timer::Handoff(handoff) => json!({ "wake": { "handoff": handoff } }),
                Timer::Hold(workflow, fence) => {
                    json!({ "wake_hold": { "workflow": workflow, "fence": fence } })
                }
            };
            self.does("coordinator", wake);
        }
    }

    pub(crate) fn work(&self, id: WorkflowId) -> &Workflow {
        &self.world.workflows[&id]
    }

    pub(crate) fn state(&self, handoff: HandoffId) -> &'static str {
        self.world.handoff(handoff).expect("it is live").2.state.word()
    }

    pub(crate) fn breaker(&self, agent: &str) -> &'static str {
        self.world.agents[&agent.parse().expect("a name")].breaker.word()
    }
}

fn merge(into: &mut Value, more: Value) {
    let (Value::Object(into), Value::Object(more)) = (into, more) else { panic!("objects") };
    into.extend(more);
}
