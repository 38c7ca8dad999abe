//! The stage of a rehearsal: an engine, a clock, and one piece of work.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_protocol::agent::{Capability, Profile};
use baton_protocol::command::{
    Accept, Actor, Command, Complete, FailStep, Follows, MoveTo, RaiseSignal, Reject, SetVariables,
    Start, Submission,
};
use baton_protocol::definition::{Definition, RuleId, StateName};
use baton_protocol::id::{AgentId, CommandId, Fence, HandoffId, WorkflowId};
use baton_protocol::limits::CONCURRENT_TASKS_MAX;
use baton_protocol::text::{Body, BodyJson, PayloadJson};
use baton_protocol::time::{Allowance, Timestamp};
use serde_json::Value;

use super::script::{Act, Scenario, Signal};
use super::short;
use crate::clock::{Clock, ManualClock};
use crate::engine::{Engine, SubmitError};
use crate::history::MessageQuery;
use crate::view::{Message, MessageType, WorkflowView};

/// When every rehearsal begins: a moment like any other.
const BEGINNING: i64 = 1_800_000_000_000_000;
/// Times that may come in one wait.
const WAKES_MAX: usize = 10_000;

pub(super) struct Stage {
    engine: Engine,
    clock: Arc<ManualClock>,
    id: WorkflowId,
    asked: u64,
}

/// Where the work is, and what led there last.
pub(super) struct Seen {
    pub(super) state: StateName,
    pub(super) agent: Option<String>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) rule: Option<RuleId>,
    pub(super) reason: String,
    pub(super) priority: Option<String>,
    pub(super) payload: Value,
    pub(super) ended: Option<String>,
    pub(super) waiting: bool,
    pub(super) rules: BTreeSet<RuleId>,
    pub(super) handoffs: Vec<String>,
}

impl Stage {
    /// Makes agents and definition known, and begins the work.
    pub(super) async fn open(definition: &Definition, scenario: &Scenario) -> Result<Self, String> {
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(BEGINNING)));
        let ledger = Arc::new(baton_store::Memory::default());
        let engine = Engine::on(ledger, clock.clone());
        let id = CommandId::from_key("rehearsal", "start").workflow();
        let mut stage = Self { engine, clock, id, asked: 0 };
        for agent in definition.states.values().filter_map(|spec| spec.agent.as_ref()) {
            let profile = profile(definition, agent);
            stage.ask(Actor::Operator, Command::Register(Box::new(profile))).await?;
        }
        stage.ask(Actor::Operator, Command::Define(Box::new(definition.clone()))).await?;
        let follows = Follows { name: definition.workflow.clone(), version: None };
        let title = format!("rehearsal: {}", scenario.name);
        let start = Start {
            title: title.parse().map_err(|error| format!("its name: {error}"))?,
            priority: Default::default(),
            variables: scenario.with.clone().into_iter().collect(),
            constraints: Default::default(),
            class: None,
            enable_handoffs: None,
            definition: Some(follows),
        };
        let id = CommandId::from_key("rehearsal", "start");
        let ask = Submission { id, actor: Actor::Operator, command: Command::Start(start) };
        stage.engine.submit(ask).await.map_err(|error| error.to_string())?;
        Ok(stage)
    }

    /// Does what a step says. Returns why it was refused, if it was.
    pub(super) async fn act(&mut self, act: &Act) -> Result<Option<String>, String> {
        let asked = match act {
            Act::Wait(span) => return self.wait(*span).await.map(|()| None),
            Act::Ignore(_) | Act::Expect(_) => return Ok(None),
            Act::Move(state) => {
                let reason = "a rehearsal moves it".parse().map_err(|_| "a text".to_owned())?;
                let to = MoveTo { workflow: self.id, state: state.clone(), reason };
                self.ask(Actor::Operator, Command::MoveTo(to)).await
            }
            Act::Reject(reason) => {
                let (handoff, to) = self.pending().await?.ok_or("nothing waits to be taken")?;
                let command = Command::Reject(Reject { handoff, reason: reason.clone() });
                self.ask(Actor::Agent(to), command).await
            }
            Act::Accept(_) => self.holder().await.map(drop),
            Act::Complete(result) => self.complete(result).await,
            Act::Fail(error) => self.fail(error).await,
            Act::Signal(signal) => self.signal(signal).await,
            Act::Set(changes) => {
                let (agent, fence) = self.holder().await?;
                let command = Command::SetVariables(SetVariables {
                    workflow: self.id,
                    fence: Some(fence),
                    changes: changes.clone().into_iter().collect(),
                    if_version: None,
                });
                self.ask(actor(agent), command).await
            }
        };
        Ok(asked.err())
    }

    async fn complete(&mut self, result: &Value) -> Result<(), String> {
        let (agent, fence) = self.holder().await?;
        let body = BodyJson::try_from(result.clone()).map_err(|error| error.to_string())?;
        let complete = Complete {
            workflow: self.id,
            fence: Some(fence),
            result: (!result.is_null()).then_some(Body::Inline(body)),
            note: None,
            context_updates: Default::default(),
            used: None,
        };
        self.ask(actor(agent), Command::Complete(complete)).await
    }

    async fn fail(&mut self, error: &Value) -> Result<(), String> {
        let (agent, fence) = self.holder().await?;
        let error = serde_json::from_value(error.clone())
            .map_err(|why| format!("{} is no error: {why}", short(error)))?;
        let (context_updates, used) = Default::default();
        let (workflow, fence) = (self.id, Some(fence));
        let fail = FailStep { workflow, fence, error, context_updates, used };
        self.ask(actor(agent), Command::FailStep(Box::new(fail))).await
    }

    async fn signal(&mut self, signal: &Signal) -> Result<(), String> {
        let (signal, payload) = match signal {
            Signal::Name(name) => (name.clone(), None),
            Signal::Full { name, payload } => (name.clone(), payload.clone()),
        };
        let payload = payload.map(PayloadJson::try_from).transpose();
        let payload = payload.map_err(|error| error.to_string())?;
        let raise = RaiseSignal { workflow: self.id, fence: None, signal, payload };
        self.ask(Actor::Operator, Command::RaiseSignal(Box::new(raise))).await
    }

    /// Whoever holds the work. A handoff that waits is taken first.
    async fn holder(&mut self) -> Result<(AgentId, Fence), String> {
        if let Some((handoff, to)) = self.pending().await? {
            self.ask(Actor::Agent(to), Command::Accept(Accept::of(handoff))).await?;
        }
        let view = self.view().await?;
        let owner = view.holds.iter().find(|hold| hold.owner);
        owner.map(|hold| (hold.agent.clone(), hold.fence)).ok_or_else(|| "it is over".to_owned())
    }

    async fn pending(&self) -> Result<Option<(HandoffId, AgentId)>, String> {
        let view = self.view().await?;
        let open = view.handoffs.into_iter().rev().find(|line| line.state == "initiated");
        Ok(open.map(|line| (line.id, line.to_agent)))
    }

    /// Lets time pass. Whatever comes on the way comes at its own time.
    async fn wait(&self, span: Allowance) -> Result<(), String> {
        let until = span.after(self.clock.now());
        for _ in 0..WAKES_MAX {
            let next = self.engine.next_wake().await.map_err(|error| error.to_string())?;
            let Some(next) = next.filter(|at| *at <= until) else { break };
            self.clock.set(next.max(self.clock.now()));
            self.engine.wake_due().await.map_err(|error| error.to_string())?;
        }
        self.clock.set(until);
        Ok(())
    }

    async fn view(&self) -> Result<WorkflowView, String> {
        let view = self.engine.workflow(Actor::Operator, self.id).await;
        view.map_err(|error| error.to_string())
    }

    async fn ask(&mut self, actor: Actor, command: Command) -> Result<(), String> {
        self.asked += 1;
        let id = CommandId::from_key("rehearsal", &self.asked.to_string());
        match self.engine.submit(Submission { id, actor, command }).await {
            // Work that only waits is taken by itself.
            Ok(_) => self.engine.run_effects().await.map(drop).map_err(|error| error.to_string()),
            Err(SubmitError::Refused(refusal)) => Err(refusal.to_string()),
            Err(SubmitError::Failed(failure)) => Err(failure.to_string()),
        }
    }

    /// Where the work is, and what led there.
    pub(super) async fn seen(&self) -> Result<Seen, String> {
        let view = self.view().await?;
        let machine = view.machine.as_ref().ok_or("it follows no definition")?;
        let query = MessageQuery { workflow: Some(self.id), ..MessageQuery::default() };
        let told = self.engine.messages(Actor::Operator, query).await;
        let told = told.map_err(|error| error.to_string())?.items;
        let handed: Vec<&Message> =
            told.iter().filter(|one| one.kind == MessageType::AgentHandoff).collect();
        let last = handed.last().and_then(|message| message.payload.handoff.as_ref());
        let arrow = |message: &&Message| {
            let one = message.payload.handoff.as_ref()?;
            Some(format!("{}->{}", one.from_agent, one.to_agent))
        };
        let chosen: Vec<Chosen> = told.iter().filter_map(chosen).collect();
        let latest = chosen.last();
        let pending = self.pending().await?.map(|(_, to)| to);
        let owner = view.holds.iter().find(|hold| hold.owner).map(|hold| hold.agent.clone());
        Ok(Seen {
            state: machine.state.clone(),
            agent: pending.or(owner).map(|agent| agent.to_string()),
            from: last.map(|handoff| handoff.from_agent.to_string()),
            to: last.map(|handoff| handoff.to_agent.to_string()),
            rule: latest.map(|chosen| chosen.rule.clone()),
            reason: latest.map(|chosen| chosen.reason.clone()).unwrap_or_default(),
            priority: last.and_then(|handoff| Some(handoff.task.priority?.to_string())),
            payload: latest.map(|chosen| chosen.payload.clone()).unwrap_or_default(),
            ended: view.ending.as_ref().and_then(|e| Some(e["as"]["how"].as_str()?.to_owned())),
            waiting: machine.waits_for.is_some(),
            rules: chosen.iter().map(|chosen| chosen.rule.clone()).collect(),
            handoffs: handed.iter().filter_map(arrow).collect(),
        })
    }
}

/// What a rule chose.
struct Chosen {
    rule: RuleId,
    reason: String,
    payload: Value,
}

/// What a rule chose, if the message tells of that.
fn chosen(message: &Message) -> Option<Chosen> {
    let event = &message.payload.event;
    let (step, reason) = match event["type"].as_str()? {
        "moved" => (&event["step"], &event["reason"]),
        "initiated" => (&event["terms"]["step"], &event["terms"]["reason"]),
        _ => return None,
    };
    let rule = step["rule"].as_str()?.parse().ok()?;
    let reason = reason.as_str().unwrap_or_default().to_owned();
    Some(Chosen { rule, reason, payload: step["payload"].clone() })
}

/// An agent that can do what it must, and takes its work by itself.
fn profile(definition: &Definition, agent: &AgentId) -> Profile {
    let part = definition.agents.get(agent);
    let needs = part.map(|part| part.capabilities.clone()).unwrap_or_default();
    Profile {
        capabilities: needs.into_iter().map(fully).collect(),
        max_concurrent_tasks: CONCURRENT_TASKS_MAX,
        ..Profile::named(agent.clone())
    }
}

fn actor(agent: AgentId) -> Actor {
    if agent.is_operator() { Actor::Operator } else { Actor::Agent(agent) }
}

fn fully(id: baton_protocol::id::CapabilityId) -> Capability {
    Capability { id, proficiency: Default::default() }
}
