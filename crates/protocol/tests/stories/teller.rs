//! Tells a story: a script of who does what and when goes in, what came of each line comes out.
//!
//! This is the only code that knows the API, so a refactoring edits one file and not a hundred
//! tests. Handoffs are called h1, h2 … in the order in which they began; the workflow is called w.

use baton_protocol::command::{Actor, Command, Submission};
use baton_protocol::event::{Decision, Event};
use baton_protocol::handoff::{Detail, Due};
use baton_protocol::id::{CommandId, HandoffId, WorkflowId};
use baton_protocol::time::{Allowance, Timestamp};
use baton_protocol::workflow::Ending;
use baton_protocol::{World, decide, evolve};
use serde_json::{Value, json};

/// Checks that the story goes as expected.
pub(crate) fn check(script: &str, expect: expect_test::Expect) {
    expect.assert_eq(&Teller::new().tell(script));
}

pub(crate) struct Teller {
    world: World,
    workflow: Option<WorkflowId>,
    handoffs: Vec<HandoffId>,
    asked: u64,
    now: Timestamp,
}

impl Teller {
    fn new() -> Self {
        let mut teller = Self {
            world: World::default(),
            workflow: None,
            handoffs: Vec::new(),
            asked: 0,
            now: Timestamp::default(),
        };
        for name in ["planner", "builder", "reviewer", "rival"] {
            let mut profile = json!({ "id": name });
            if name == "builder" {
                profile["capabilities"] = json!(["rust", { "id": "sql", "proficiency": 0.4 }]);
            }
            let command = serde_json::from_value(json!({ "register": profile }));
            teller.submit(Actor::Operator, command.expect("a profile")).expect("registered");
        }
        teller
    }

    /// Tells the whole script, a line of output or more for each line of it.
    fn tell(&mut self, script: &str) -> String {
        let mut told = String::new();
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (time, rest) = line.split_once(' ').expect("a time and a deed");
            self.now = match time {
                "0s" => Timestamp::default(),
                _ => time.parse::<Allowance>().expect("a time").after(Timestamp::default()),
            };
            let outcome = self.deed(rest.trim());
            wrap(&mut told, &format!("{time} {outcome}"));
        }
        told
    }

    fn deed(&mut self, deed: &str) -> String {
        if deed == "time passes" {
            let due: Vec<_> = self.world.due(self.now).collect();
            let wakes = due.iter().map(|handoff| json!({ "wake": { "handoff": handoff } }));
            let told: Vec<_> = wakes.map(|wake| self.ask(Actor::Coordinator, wake)).collect();
            return if told.is_empty() { "nothing is due".to_owned() } else { told.join("; ") };
        }
        let words: Vec<&str> = deed.split_whitespace().collect();
        let [who, verb, rest @ ..] = words.as_slice() else { panic!("{deed:?} is no deed") };
        let actor = match *who {
            "operator" => Actor::Operator,
            name => Actor::Agent(name.parse().expect("a name")),
        };
        let command = self.command(verb, rest);
        self.ask(actor, command)
    }

    fn command(&self, verb: &str, rest: &[&str]) -> Value {
        let named = |key: &str| {
            let at = rest.iter().position(|word| *word == key)?;
            rest.get(at + 1).copied()
        };
        let fence = named("fence").map(|text| text.parse::<u64>().expect("a fence"));
        let handoff = rest.first().and_then(|name| self.handoff(name));
        let workflow = self.workflow;
        let words = |from: usize| rest.get(from..).unwrap_or(&[]).join(" ");
        match verb {
            "starts" => json!({ "start": { "title": "Fix the login" } }),
            "passes" | "delegates" => self.pass(verb, named("to"), fence, rest),
            "accepts" => json!({ "accept": { "handoff": handoff } }),
            "rejects" => json!({ "reject": { "handoff": handoff, "reason": words(1) } }),
            "defers" => {
                json!({ "defer": { "handoff": handoff, "reason": "busy", "for": named("for") } })
            }
            "returns" => json!({ "return": {
                "handoff": handoff,
                "fence": fence,
                "status": named("status").unwrap_or("success"),
                "result": { "content_type": "text", "body": named("saying").unwrap_or("done") },
                "context_updates": { "variables_changed": variables(named("setting")) },
                "audit": { "tokens_consumed": 7 },
            }}),
            "completes" => json!({ "complete": { "workflow": workflow, "fence": fence } }),
            "cancels" => match handoff {
                Some(handoff) => json!({ "cancel": { "handoff": handoff, "reason": "no need" } }),
                None => {
                    json!({ "cancel_workflow": { "workflow": workflow, "reason": "no need" } })
                }
            },
            "reports" => json!({ "progress": {
                "workflow": workflow, "fence": fence, "note": "going well", "percent": 50
            }}),
            "sets" => json!({ "set_variables": {
                "workflow": workflow,
                "fence": fence,
                "changes": variables(rest.first().copied()),
                "if_version": named("version").map(|text| text.parse::<u64>().expect("a version")),
            }}),
            "locks" | "shares" => json!({ "lock": {
                "workflow": workflow,
                "fence": fence,
                "paths": [rest.first()],
                "mode": if verb == "locks" { "exclusive" } else { "shared" },
            }}),
            "unlocks" => {
                let paths = [rest.first()];
                json!({ "unlock": { "workflow": workflow, "fence": fence, "paths": paths } })
            }
            other => panic!("nobody knows how to {other}"),
        }
    }

    fn pass(&self, verb: &str, to: Option<&str>, fence: Option<u64>, rest: &[&str]) -> Value {
        let named = |key: &str| {
            let at = rest.iter().position(|word| *word == key)?;
            rest.get(at + 1).copied()
        };
        let kind = if verb == "passes" { "sequential" } else { "delegation" };
        let needs: Vec<&str> =
            named("needing").map(|caps| caps.split(',').collect()).unwrap_or_default();
        let mut back = json!({ "blocking": rest.contains(&"blocking") });
        if let Some(timeout) = named("within") {
            back["timeout"] = json!(timeout);
        }
        if rest.contains(&"retrying") {
            back["on_timeout"] = json!("retry");
        }
        json!({ "pass": {
            "workflow": self.workflow,
            "fence": fence,
            "to_agent": to,
            "type": kind,
            "reason": "your turn",
            "validation": { "required_capabilities": needs },
            "return_protocol": back,
        }})
    }

    fn handoff(&self, name: &str) -> Option<HandoffId> {
        let number: usize = name.strip_prefix('h')?.parse().ok()?;
        Some(*self.handoffs.get(number - 1).expect("a handoff that began"))
    }

    fn ask(&mut self, actor: Actor, command: Value) -> String {
        let command = serde_json::from_value(command).expect("a command");
        match self.submit(actor, command) {
            Err(refusal) => self.named(&format!("refused [{}]: {refusal}", refusal.code())),
            Ok(decision) if decision.events.is_empty() => "nothing new".to_owned(),
            Ok(decision) => {
                let events: Vec<_> = decision.events.iter().map(|e| self.event(e)).collect();
                events.join(", ")
            }
        }
    }

    fn submit(
        &mut self,
        actor: Actor,
        command: Command,
    ) -> Result<Decision, baton_protocol::refusal::Refusal> {
        self.asked += 1;
        let id = CommandId::from_key("story", &self.asked.to_string());
        let submission = Submission { id, actor, command };
        let decision = decide(&self.world, &submission, self.now)?;
        for event in &decision.events {
            evolve(&mut self.world, &decision.stream, event, self.now);
            match event {
                Event::Started { .. } => self.workflow = Some(id.workflow()),
                Event::Initiated { terms, .. } => self.handoffs.push(terms.id),
                _ => (),
            }
        }
        Ok(decision)
    }

    /// Ids are hashes; people say h1.
    fn named(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (n, handoff) in self.handoffs.iter().enumerate() {
            text = text.replace(&handoff.to_string(), &format!("h{}", n + 1));
        }
        match self.workflow {
            Some(workflow) => text.replace(&workflow.to_string(), "w"),
            None => text,
        }
    }

    fn event(&self, event: &Event) -> String {
        let h = |id: &HandoffId| self.named(&id.to_string());
        match event {
            Event::Started { by, .. } => format!("started by {by}"),
            Event::Initiated { terms, answer_by, .. } => {
                let gap: Vec<_> = terms.gap.iter().map(ToString::to_string).collect();
                let gap = if gap.is_empty() {
                    String::new()
                } else {
                    format!(" lacking {}", gap.join(", "))
                };
                let by = answer_by.map(|at| format!(" answer by {}", secs(at))).unwrap_or_default();
                format!("{} {} to {}{gap}{by}", h(&terms.id), terms.kind.word(), terms.to_agent)
            }
            Event::Accepted { handoff, by, fence, return_by, .. } => {
                let back = return_by.map(|at| format!(" back by {}", secs(at))).unwrap_or_default();
                format!("{} accepted by {by} fence {fence}{back}", h(handoff))
            }
            Event::Rejected { handoff, by, reason } => {
                format!("{} rejected by {by}: {reason}", h(handoff))
            }
            Event::Deferred { handoff, until, .. } => {
                format!("{} deferred until {}", h(handoff), secs(*until))
            }
            Event::Resent { handoff, .. } => format!("{} sent again", h(handoff)),
            Event::Reminded { handoff, due: Due::Timeout(at) | Due::Return(at) } => {
                format!("{} reminded, timeout at {}", h(handoff), secs(*at))
            }
            Event::TimedOut { handoff, fence, resend_at, released } => {
                let again =
                    resend_at.map(|at| format!(", again at {}", secs(at))).unwrap_or_default();
                let freed = freed(released);
                format!("{} timed out, fence {fence} ends{freed}{again}", h(handoff))
            }
            Event::Completed { handoff, released, .. } => {
                format!("{} completed{}", h(handoff), freed(released))
            }
            Event::Failed { handoff, detail, released } => {
                format!("{} failed: {}{}", h(handoff), said(detail), freed(released))
            }
            Event::Closed { by, ending, released } => {
                let how = match ending {
                    Ending::Completed { .. } => "completed",
                    Ending::Cancelled { .. } => "cancelled",
                };
                format!("workflow {how} by {by}{}", freed(released))
            }
            Event::VariablesSet { changes, .. } => {
                let named = |(name, value): (&_, &baton_protocol::text::VariableValue)| {
                    format!("{name}={}", value.as_value())
                };
                format!("set {}", changes.iter().map(named).collect::<Vec<_>>().join(" "))
            }
            Event::Locked { by, paths, mode, until, .. } => {
                format!("{} locked ({mode}) by {by} until {}", paths[0], secs(*until))
            }
            other => other.word().to_owned(),
        }
    }
}

/// Writes a long line as several, so that it can be read beside its script.
fn wrap(told: &mut String, line: &str) {
    const WIDTH: usize = 78;
    let mut width = 0;
    for (n, word) in line.split(' ').enumerate() {
        if n > 0 && width + 1 + word.chars().count() > WIDTH {
            told.push_str("\n    ");
            width = 4;
        } else if n > 0 {
            told.push(' ');
            width += 1;
        }
        told.push_str(word);
        width += word.chars().count();
    }
    told.push('\n');
}

fn variables(pairs: Option<&str>) -> Value {
    let mut set = serde_json::Map::new();
    for (name, value) in pairs.iter().flat_map(|p| p.split(',')).filter_map(|p| p.split_once('=')) {
        set.insert(name.to_owned(), json!(value));
    }
    Value::Object(set)
}

fn secs(at: Timestamp) -> String {
    format!("{}s", at.as_micros() / 1_000_000)
}

fn freed(paths: &[baton_protocol::lock::FilePath]) -> String {
    let names: Vec<_> = paths.iter().map(ToString::to_string).collect();
    if names.is_empty() { String::new() } else { format!(" releasing {}", names.join(", ")) }
}

fn said(detail: &Detail) -> String {
    match detail {
        Detail::Rejected { reason } => format!("rejected ({reason})"),
        Detail::Cancelled { by, .. } => format!("cancelled by {by}"),
        other => other.word().to_owned(),
    }
}
