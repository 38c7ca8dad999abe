//! Work with a definition, decided with what rules came to: moves, the error monitor, and time.

mod cuts;

use std::collections::BTreeMap;

use baton_protocol::agent::Profile;
use baton_protocol::command::{
    Accept, Actor, Cancel, CancelWorkflow, Command, Complete, FailStep, Follows, MoveTo, Reject,
    Start, Stir, Submission, Wake, WakeHold,
};
use baton_protocol::definition::{Chosen, Definition, Verdict};
use baton_protocol::event::{Decision, Event, StreamId};
use baton_protocol::id::{AgentId, CommandId, Fence, HandoffId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::{Allowance, Timestamp};
use baton_protocol::workflow::{Ending, Workflow};
use baton_protocol::{Judged, World, advance, decide, evolve, stirred};
use serde_json::json;

/// One piece of work, and the world it is in.
struct Play {
    world: World,
    id: WorkflowId,
    now: Timestamp,
    told: Vec<String>,
    /// Everything that was recorded, and when.
    records: Vec<(StreamId, Event, Timestamp)>,
    asked: Vec<Asked>,
}

/// Something that was asked, and what came of it.
struct Asked {
    /// How many records there were before it.
    before: usize,
    ask: Submission,
    verdict: Verdict,
    at: Timestamp,
    came: Result<Decision, Refusal>,
}

/// What becomes of something that is asked, with what the rules came to.
fn decided(
    world: &World,
    ask: &Submission,
    verdict: &Verdict,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let judged = Judged { verdict: verdict.clone(), matched: BTreeMap::new() };
    match stirred(world, ask, now)? {
        Some(work) => advance(world, ask, &work, &judged, now),
        None => decide(world, ask, now),
    }
}

fn agent(name: &str) -> Actor {
    Actor::Agent(name.parse().expect("a name"))
}

fn definition() -> Definition {
    serde_json::from_value(json!({
        "workflow": "trip", "version": 1, "agents": { "finder": {}, "mailer": {} },
        "start": "created",
        "states": {
            "created": {},
            "finding": { "agent": "finder", "timeout": "1h" },
            "writing": { "agent": "mailer" },
            "sending": { "agent": "mailer" },
            "done": { "end": "completed" },
            "failed": { "end": "failed" },
        },
        "transitions": {
            "created": ["finding"], "finding": ["writing", "failed"],
            "writing": ["sending", "failed"], "sending": ["done", "failed"],
        },
        "rules": [],
    }))
    .expect("a definition")
}

impl Play {
    fn new() -> Self {
        Self::following(definition())
    }

    /// Work that has just begun to follow a definition.
    fn following(definition: Definition) -> Self {
        let id = CommandId::from_key("play", "start").workflow();
        let now = Timestamp::from_micros(1_000_000_000);
        let (world, told, records, asked) = Default::default();
        let mut play = Self { world, id, now, told, records, asked };
        for name in definition.agents.keys() {
            let profile = Profile::named(name.clone());
            play.ask(Actor::Operator, Command::Register(Box::new(profile))).expect("taken");
        }
        let name = definition.workflow.clone();
        play.ask(Actor::Operator, Command::Define(Box::new(definition))).expect("taken");
        let start = Start {
            title: "a trip".parse().expect("a text"),
            priority: Default::default(),
            variables: Default::default(),
            constraints: Default::default(),
            class: None,
            enable_handoffs: None,
            definition: Some(Follows { name, version: None }),
        };
        let id = CommandId::from_key("play", "start");
        let ask = Submission { id, actor: Actor::Operator, command: Command::Start(start) };
        play.submit(ask, Verdict::None { tried: Vec::new() }).expect("it begins");
        play.ask(Actor::Coordinator, Command::Stir(Stir { workflow: play.id, depth: 0 }))
            .expect("it goes on");
        play
    }

    fn later(&mut self, span: &str) {
        self.now = span.parse::<Allowance>().expect("a span").after(self.now);
    }

    fn ask(&mut self, actor: Actor, command: Command) -> Result<(), Refusal> {
        self.judged(actor, command, Verdict::None { tried: Vec::new() })
    }

    /// Asks for something with what the rules came to.
    fn judged(&mut self, actor: Actor, command: Command, verdict: Verdict) -> Result<(), Refusal> {
        let id = CommandId::from_key("play", &self.asked.len().to_string());
        self.submit(Submission { id, actor, command }, verdict)
    }

    fn submit(&mut self, ask: Submission, verdict: Verdict) -> Result<(), Refusal> {
        let (before, at) = (self.records.len(), self.now);
        let came = decided(&self.world, &ask, &verdict, at);
        self.asked.push(Asked { before, ask, verdict, at, came: came.clone() });
        self.apply(came?);
        Ok(())
    }

    fn apply(&mut self, decision: Decision) {
        for event in &decision.events {
            // What is recorded can be read back as it was.
            let line = serde_json::to_string(event).expect("JSON");
            let read: Event = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
            assert_eq!(*event, read);
            evolve(&mut self.world, &decision.stream, event, self.now);
            self.records.push((decision.stream.clone(), event.clone(), self.now));
            self.told.extend(told(event));
        }
        // And so can the state.
        let text = serde_json::to_string(&self.world).expect("JSON");
        let read: World = serde_json::from_str(&text).expect("a world");
        assert_eq!(read.restored(), self.world);
    }

    fn work(&self) -> &Workflow {
        self.world.workflows.get(&self.id).expect("live work")
    }

    fn state(&self) -> &str {
        self.work().machine.as_ref().expect("a machine").state.as_str()
    }

    fn waiting(&self) -> (HandoffId, AgentId) {
        let open = self.work().open().next().expect("something waits");
        (open.terms.id, open.to.clone())
    }

    fn takes(&mut self) -> Fence {
        let (handoff, to) = self.waiting();
        self.ask(Actor::Agent(to), Command::Accept(Accept::of(handoff))).expect("taken");
        self.work().owner
    }

    fn completes(&mut self, who: &str, fence: Fence, to: Chosen) -> Result<(), Refusal> {
        let (result, note, used, context_updates) = Default::default();
        let (workflow, fence) = (self.id, Some(fence));
        let done = Complete { workflow, fence, result, note, context_updates, used };
        self.judged(agent(who), Command::Complete(done), Verdict::Chosen(Box::new(to)))
    }

    fn fails(&mut self, who: &str, fence: Fence, retryable: bool) {
        let error = json!({ "errorType": "broken", "errorMessage": "no", "retryable": retryable,
            "state": "its own word", "at": "somewhere" });
        let error = serde_json::from_value(error).expect("an error");
        let (used, context_updates) = Default::default();
        let (workflow, fence) = (self.id, Some(fence));
        let fail = FailStep { workflow, fence, error, context_updates, used };
        self.ask(agent(who), Command::FailStep(Box::new(fail))).expect("it may fail");
    }

    /// Wakes whoever holds the work.
    fn wakes(&mut self) {
        let wake = WakeHold { workflow: self.id, fence: self.work().owner };
        self.ask(Actor::Coordinator, Command::WakeHold(wake)).expect("nothing refuses the clock");
    }

    fn tells(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }
}

fn to(agent: Option<&str>, state: &str) -> Chosen {
    Chosen {
        rule: "r".parse().expect("a rule"),
        to: agent.map(|name| name.parse().expect("a name")),
        next_state: state.parse().expect("a state"),
        reason: "because".parse().expect("a text"),
        priority: None,
        payload: Some(json!({ "for": state })),
        set: Default::default(),
    }
}

fn told(event: &Event) -> Option<String> {
    Some(match event {
        Event::Moved(moved) => format!("{} -> {}", moved.from, moved.step.state),
        Event::Initiated { terms, .. } => format!("{} to {}", terms.from_agent, terms.to_agent),
        Event::StepFailed(failure) => {
            let again = failure.retry_at.map_or("over".to_owned(), |at| {
                let micros = at.as_micros() - failure.at.as_micros();
                format!("again after {} s", micros / 1_000_000)
            });
            let kind = failure.error.error_type.as_str();
            format!("{} failed ({kind}), {again}", failure.state)
        }
        Event::Closed { ending, .. } => ending.word().to_owned(),
        Event::Failed { detail, .. } => format!("handoff {}", detail.word()),
        _ => return None,
    })
}

#[test]
fn work_begins_with_its_first_agent_and_ends_where_its_rules_lead() {
    let mut play = Play::new();
    assert_eq!(play.tells(), ["created -> finding", "operator to finder"]);
    let fence = play.takes();
    play.completes("finder", fence, to(Some("mailer"), "writing")).expect("moved");
    let fence = play.takes();
    // The same agent goes on, under a new number: what still runs for the state before is late.
    play.completes("mailer", fence, to(None, "sending")).expect("moved");
    let late = play.completes("mailer", fence, to(None, "done")).expect_err("stale");
    assert_eq!(late.code(), "stale-fence");
    let fence = play.work().owner;
    play.completes("mailer", fence, to(None, "done")).expect("moved");
    assert_eq!(
        play.tells(),
        [
            "finding -> writing",
            "finder to mailer",
            "writing -> sending",
            "sending -> done",
            "completed"
        ]
    );
    assert!(play.world.workflows.is_empty());
    assert!(play.world.agents.values().all(|agent| agent.holds.is_empty()));
}

#[test]
fn what_is_not_declared_does_not_happen_and_is_named() {
    let mut play = Play::new();
    let fence = play.takes();
    let refused = play.completes("finder", fence, to(Some("mailer"), "sending")).expect_err("no");
    assert_eq!(refused.code(), "undeclared-transition");
    let said = refused.to_string();
    assert_eq!(said, "finding does not lead to sending; from finding it goes to writing, failed");
    let state = "sending".parse().expect("a state");
    let reason = "skip".parse().expect("a text");
    let jump = Command::MoveTo(MoveTo { workflow: play.id, state, reason });
    assert_eq!(play.ask(Actor::Operator, jump.clone()).expect_err("no").to_string(), said);
    assert_eq!(play.ask(agent("finder"), jump).expect_err("no").code(), "operator-only");
    let state = "writing".parse().expect("a state");
    let reason = "it was found".parse().expect("a text");
    let moved = Command::MoveTo(MoveTo { workflow: play.id, state, reason });
    play.ask(Actor::Operator, moved).expect("declared");
    assert_eq!(play.state(), "writing");
}

#[test]
fn a_failure_is_tried_again_after_two_four_and_eight_seconds_and_then_ends() {
    let mut play = Play::new();
    for wait in ["2s", "4s", "8s"] {
        let fence = play.takes();
        play.tells();
        play.fails("finder", fence, true);
        let again = format!("finding failed (broken), again after {} s", &wait[..1]);
        assert_eq!(play.tells(), [again.as_str(), "finder to error-monitor"]);
        play.wakes();
        assert_eq!(play.tells(), [""; 0], "its time has not come");
        play.later(wait);
        play.wakes();
        assert_eq!(play.tells(), ["finding -> finding", "error-monitor to finder"]);
    }
    let fence = play.takes();
    play.fails("finder", fence, true);
    let over =
        ["finding failed (broken), over", "finder to error-monitor", "finding -> failed", "failed"];
    assert_eq!(play.tells(), over);
}

#[test]
fn the_end_of_work_that_failed_says_everything() {
    let mut play = Play::new();
    let fence = play.takes();
    let before = play.work().clone();
    play.fails("finder", fence, false);
    assert!(play.world.workflows.is_empty());
    let error = json!({ "errorType": "x", "errorMessage": "y" });
    let error = serde_json::from_value(error).expect("an error");
    let (workflow, used, context_updates) = (play.id, None, Default::default());
    let fail = FailStep { workflow, fence: Some(fence), error, context_updates, used };
    let mut again = Play::new();
    again.world.workflows.insert(again.id, before);
    let command = Command::FailStep(Box::new(fail));
    let ask = Submission { id: CommandId::from_key("a", "b"), actor: agent("finder"), command };
    let work = stirred(&again.world, &ask, again.now).expect("fine").expect("stirred");
    let judged = Judged { verdict: Verdict::None { tried: Vec::new() }, matched: BTreeMap::new() };
    let decision = advance(&again.world, &ask, &work, &judged, again.now).expect("decided");
    let ending = decision.events.iter().find_map(|event| match event {
        Event::Closed { ending: Ending::Failed { reason, failures, .. }, .. } => {
            Some((reason.to_string(), failures.len()))
        }
        _ => None,
    });
    let said = "x in finding (finder), not to be tried again: y".to_owned();
    assert_eq!(ending, Some((said, 1)));
}

#[test]
fn a_handoff_that_nobody_takes_in_thirty_seconds_goes_to_the_monitor_and_back() {
    let mut play = Play::new();
    let (handoff, _) = play.waiting();
    play.tells();
    play.later("29s");
    play.ask(Actor::Coordinator, Command::Wake(Wake { handoff })).expect("fine");
    assert_eq!(play.tells(), [""; 0]);
    play.later("1s");
    play.ask(Actor::Coordinator, Command::Wake(Wake { handoff })).expect("fine");
    let told = [
        "handoff unavailable",
        "finding failed (handoff_not_accepted), again after 2 s",
        "operator to error-monitor",
    ];
    assert_eq!(play.tells(), told);
    play.later("2s");
    play.wakes();
    let (handoff, to) = play.waiting();
    assert_eq!(to.as_str(), "finder");
    play.tells();
    let reason = "busy".parse().expect("a text");
    play.ask(agent("finder"), Command::Reject(Reject { handoff, reason })).expect("it may");
    // The monitor has it already.
    let told = ["handoff rejected", "finding failed (handoff_not_accepted), again after 4 s"];
    assert_eq!(play.tells(), told, "it ends once");
    play.later("4s");
    play.wakes();
    assert_eq!(play.tells(), ["finding -> finding", "error-monitor to finder"]);
}

#[test]
fn a_step_that_takes_too_long_is_taken_from_its_holder() {
    let mut play = Play::new();
    let fence = play.takes();
    play.tells();
    play.later("1h");
    play.wakes();
    let told = [
        "finding failed (timeout), over",
        "finder to error-monitor",
        "finding -> failed",
        "failed",
    ];
    assert_eq!(play.tells(), told);
    let late = play.completes("finder", fence, to(Some("mailer"), "writing"));
    assert_eq!(late.expect_err("over").code(), "unknown-workflow");
}

#[test]
fn nobody_takes_back_what_a_rule_passed_on_and_does_the_next_ones_step() {
    let mut play = Play::new();
    let fence = play.takes();
    play.completes("finder", fence, to(Some("mailer"), "writing")).expect("moved");
    let (handoff, _) = play.waiting();
    let reason = || "never mind".parse().expect("a text");
    for who in [agent("finder"), Actor::Operator] {
        let cancel = Command::Cancel(Cancel { handoff, reason: reason() });
        assert_eq!(play.ask(who, cancel).expect_err("no").code(), "rules-decide");
    }
    let early = play.completes("finder", fence, to(None, "sending")).expect_err("not its step");
    assert_eq!(early.code(), "pass-pending");
    assert!(play.world.agents.values().all(|agent| agent.holds.is_empty()), "it has room again");
}

#[test]
fn an_agent_that_cannot_do_it_fails_its_own_step_and_not_the_one_before() {
    let mut play = Play::new();
    let fence = play.takes();
    let mut picky = definition();
    let part = picky.agents.get_mut(&"mailer".parse::<AgentId>().expect("a name"));
    part.expect("the mailer").capabilities.push("mail".parse().expect("a capability"));
    play.world.definitions.insert(picky.id(), picky);
    play.tells();
    play.completes("finder", fence, to(Some("mailer"), "writing")).expect("moved");
    let told = play.tells();
    assert_eq!(told[0], "finding -> writing");
    assert!(told.contains(&"writing failed (handoff_not_accepted), again after 2 s".to_owned()));
    play.later("2s");
    play.wakes();
    let told = play.tells();
    assert!(told.contains(&"error-monitor to mailer".to_owned()), "{told:?}");
    assert_eq!(play.state(), "writing");
}

#[test]
fn a_person_moves_work_that_hangs_on_what_nobody_takes() {
    let mut play = Play::new();
    let fence = play.takes();
    play.completes("finder", fence, to(Some("mailer"), "writing")).expect("moved");
    play.tells();
    let state = "failed".parse().expect("a state");
    let reason = "no use".parse().expect("a text");
    let command = Command::MoveTo(MoveTo { workflow: play.id, state, reason });
    play.ask(Actor::Operator, command).expect("a person may");
    assert_eq!(play.tells(), ["handoff cancelled", "writing -> failed", "failed"]);
}

#[test]
fn a_version_is_never_nought_and_reads_back() {
    let mut none = serde_json::to_value(definition()).expect("JSON");
    none["version"] = json!(0);
    assert!(serde_json::from_value::<Definition>(none).is_err());
    let id = definition().id();
    assert_eq!(id.to_string().parse(), Ok(id));
}

#[test]
fn work_that_is_called_off_ends_in_its_cancelled_state() {
    let cancels = |play: &mut Play| {
        let reason = "nobody wants it".parse().expect("a text");
        let cancel = CancelWorkflow { workflow: play.id, reason };
        play.tells();
        play.ask(Actor::Operator, Command::CancelWorkflow(cancel)).expect("it may");
        play.tells()
    };
    let mut play = Play::new();
    assert_eq!(cancels(&mut play), ["handoff cancelled", "cancelled"]);
    let mut definition = serde_json::to_value(definition()).expect("JSON");
    definition["states"]["dropped"] = json!({ "end": "cancelled" });
    definition["states"]["declined"] = json!({ "end": "cancelled" });
    definition["transitions"]["finding"] = json!(["writing", "dropped"]);
    let mut play = Play::following(serde_json::from_value(definition).expect("a definition"));
    let told = ["handoff cancelled", "finding -> dropped", "cancelled"];
    assert_eq!(cancels(&mut play), told, "along a transition where one leads to such an end");
    assert!(play.world.workflows.is_empty());
}
