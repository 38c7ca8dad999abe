//! Tells a story: a script of who does what and when goes in, what came of each line comes out.
//!
//! Only this knows the API, so a refactoring edits one file and not a hundred tests. Handoffs are
//! called h1, h2 … in the order in which they began; the workflow is called w.

use baton_protocol::command::{Actor, Command, Submission};
use baton_protocol::event::{Decision, Event};
use baton_protocol::handoff::{Due, Kind, Priority};
use baton_protocol::id::{CommandId, HandoffId, WorkflowId};
use baton_protocol::time::{Allowance, Timestamp};
use baton_protocol::{Timer, World, decide, evolve};
use serde_json::{Value, json};

use crate::checks;
use crate::objects;
use crate::runs::{brought, reached};
use crate::words::{freed, lacking, moment, said, secs, word, wrap};

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
        let bold = json!({ "max_risk": "high" });
        let sql = json!({ "id": "sql", "proficiency": 0.4 });
        let cast = [
            json!({ "id": "planner" }),
            json!({ "id": "builder", "capabilities": ["rust", sql] }),
            json!({ "id": "mason", "capabilities": [{ "id": "rust", "proficiency": 0.8 }],
                    "max_concurrent_tasks": 1 }),
            json!({ "id": "rival" }),
            json!({ "id": "swift", "answer_within": "30s", "capabilities": ["speed"] }),
            json!({ "id": "timid", "autonomy_budget": { "number": 3, "max_risk": "low" },
                    "max_execution_time": "1m" }),
            json!({ "id": "reviewer", "role": "reviewer", "autonomy_budget": bold }),
            json!({ "id": "clerk", "role": "architect", "max_concurrent_tasks": 1 }),
            json!({ "id": "architect", "role": "architect" }),
        ];
        teller.world.policy.max_handoffs = 100;
        for profile in cast {
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
            let wake = |timer: &Timer| match timer {
                Timer::Handoff(handoff) => json!({ "wake": { "handoff": handoff } }),
                Timer::Hold(workflow, fence) => {
                    json!({ "wake_hold": { "workflow": workflow, "fence": fence } })
                }
            };
            let told: Vec<_> =
                due.iter().map(|timer| self.ask(Actor::Coordinator, wake(timer))).collect();
            return if told.is_empty() { "nothing is due".to_owned() } else { told.join("; ") };
        }
        let words: Vec<&str> = deed.split_whitespace().collect();
        let [who, verb, rest @ ..] = words.as_slice() else { panic!("{deed:?} is no deed") };
        let actor = match *who {
            "operator" => Actor::Operator,
            "coordinator" => Actor::Coordinator,
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
            "starts" => json!({ "start": {
                "title": "Fix the login", "constraints": { "deadline": moment(named("deadline")) },
            }}),
            "registers" => json!({ "register": {
                "id": rest.first(), "capabilities": [named("knowing")], "max_concurrent_tasks": 1,
                "reach": reached(named("as")),
            }}),
            "misses" => json!({ "undelivered": {
                "handoff": named("with").and_then(|name| self.handoff(name)),
                "agent": rest.first(), "reason": "no answer",
            }}),
            "looks" => {
                json!({ "wake": { "handoff": rest.last().and_then(|name| self.handoff(name)) } })
            }
            "passes" | "delegates" | "broadcasts" | "escalates" => {
                self.pass(verb, named("to"), fence, rest)
            }
            "reassigns" => {
                let what = match handoff {
                    Some(handoff) => json!({ "handoff": handoff }),
                    None => json!({ "workflow": workflow }),
                };
                json!({ "reassign": { "what": what, "to_agent": named("to"), "reason": "stuck" } })
            }
            "is" => json!({ "report_health": {
                "agent": rest.last(), "healthy": rest.first() == Some(&"well"),
            }}),
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
            "finds" => checks::found(handoff, fence, rest),
            "allows" => checks::allows(rest),
            "goes" => objects::goes(workflow, fence, &words(2)),
            "completes" => json!({ "complete": { "workflow": workflow, "fence": fence } }),
            "cancels" => match handoff {
                Some(handoff) => json!({ "cancel": { "handoff": handoff, "reason": "no need" } }),
                None => {
                    json!({ "cancel_workflow": { "workflow": workflow, "reason": "no need" } })
                }
            },
            "reports" | "sets" | "locks" | "shares" | "unlocks" => {
                self.holding(verb, named("version"), fence, rest)
            }
            other => panic!("nobody knows how to {other}"),
        }
    }

    /// What a holder does with what it holds.
    fn holding(
        &self,
        verb: &str,
        version: Option<&str>,
        fence: Option<u64>,
        rest: &[&str],
    ) -> Value {
        let workflow = self.workflow;
        match verb {
            "reports" => json!({ "progress": {
                "workflow": workflow, "fence": fence, "note": "going well", "percent": 50
            }}),
            "sets" => json!({ "set_variables": {
                "workflow": workflow,
                "fence": fence,
                "changes": variables(rest.first().copied()),
                "if_version": version.map(|text| text.parse::<u64>().expect("a version")),
            }}),
            "locks" | "shares" => json!({ "lock": {
                "workflow": workflow,
                "fence": fence,
                "paths": [rest.first()],
                "mode": if verb == "locks" { "exclusive" } else { "shared" },
            }}),
            "unlocks" => json!({ "unlock": {
                "workflow": workflow, "fence": fence, "paths": [rest.first()],
            }}),
            other => panic!("no holder knows how to {other}"),
        }
    }

    fn pass(&self, verb: &str, to: Option<&str>, fence: Option<u64>, rest: &[&str]) -> Value {
        let named = |key: &str| {
            let at = rest.iter().position(|word| *word == key)?;
            rest.get(at + 1).copied()
        };
        let kind = match verb {
            "passes" => "sequential",
            "delegates" => "delegation",
            "broadcasts" => "broadcast",
            _ => "escalation",
        };
        let (to, all) = match (verb, to) {
            ("broadcasts", Some(all)) => (None, recipients(all)),
            (_, Some(all)) if all.contains(',') => (None, recipients(all)),
            (_, to) => (to, Vec::new()),
        };
        let needs: Vec<&str> =
            named("needing").map(|caps| caps.split(',').collect()).unwrap_or_default();
        let mut back = json!({
            "blocking": rest.contains(&"blocking"), "checks": checks::asked(named("checked-by")),
        });
        if let Some(timeout) = named("within") {
            back["timeout"] = json!(timeout);
        }
        for (word, policy) in [("retrying", "retry"), ("escalating", "escalate")] {
            if rest.contains(&word) {
                back["on_timeout"] = json!(policy);
            }
        }
        json!({ "pass": {
            "workflow": self.workflow,
            "fence": fence,
            "to_agent": to,
            "to_agents": all,
            "peers_visible": rest.contains(&"openly"),
            "aggregation": named("needing-of").unwrap_or("all"),
            "type": kind,
            "priority": named("priority"),
            "reason": "your turn",
            // No two say the same: what repeats is another story.
            "context": { "constraints": { "deadline": moment(named("deadline")) },
                "conversation_history": [self.asked] },
            "validation": {
                "required_capabilities": needs,
                "autonomy_budget": named("autonomy").map(|n| n.parse::<u64>().expect("a number")),
            },
            "return_protocol": back,
            "audit": {
                "decision_rationale": named("because"),
                "risk_level": named("risk").unwrap_or("low"),
            },
            "routing": {
                "on_rejection": if rest.contains(&"or-fail") { "fail" } else { "reroute" },
                "at_capacity": if rest.contains(&"or-elsewhere") { "reroute" } else { "queue" },
            },
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
                events.join(", ") + &brought(&decision.effects)
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
        self.survives();
        Ok(decision)
    }

    /// Whatever follows from the rest must follow in the same way after a restart.
    fn survives(&self) {
        let written = serde_json::to_string(&self.world).expect("a world can be written");
        let read: World = serde_json::from_str(&written).expect("and read back");
        assert_eq!(read.restored(), self.world);
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

    /// Tells of events that time brought.
    fn time(&self, event: &Event) -> String {
        let h = |id: &HandoffId| self.named(&id.to_string());
        match event {
            Event::Deferred { handoff, until, .. } => {
                format!("{} deferred until {}", h(handoff), secs(*until))
            }
            Event::Undelivered { handoff, by, resend_at, .. } => {
                format!("{} did not get to {by}, again at {}", h(handoff), secs(*resend_at))
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
            other => self.routing(other),
        }
    }

    /// Tells of events about who has what.
    fn routing(&self, event: &Event) -> String {
        let h = |id: &HandoffId| self.named(&id.to_string());
        match event {
            Event::GroupOpened { expected, .. } => format!("a broadcast of {}", expected.len()),
            Event::Aggregated { success, successes, failures, .. } => {
                let how = if *success { "succeeded" } else { "failed" };
                format!("the broadcast {how} ({successes} for, {failures} against)")
            }
            Event::Queued { handoff, by, .. } => format!("{} queued for {by}", h(handoff)),
            Event::Rerouted { handoff, to, trigger, gap, answer_by, .. } => {
                let raised = trigger.map(|trigger| format!(" on {}", word(trigger)));
                let by = answer_by.map(|at| format!(" answer by {}", secs(at)));
                let (raised, by) = (raised.unwrap_or_default(), by.unwrap_or_default());
                format!("{} rerouted to {to}{}{by}{raised}", h(handoff), lacking(gap))
            }
            Event::Reassigned { handoff, to, gap, released, .. } => {
                format!("{} reassigned to {to}{}{}", h(handoff), lacking(gap), freed(released))
            }
            Event::Reclaimed { by, fence, released, .. } => {
                format!("reclaimed by {by} fence {fence}{}", freed(released))
            }
            Event::Escalated { fence, escalation, .. } => {
                format!("fence {fence} waits for {}", h(escalation))
            }
            Event::Overdue { fence } => format!("fence {fence} is overdue"),
            Event::HealthReported { healthy, .. } => {
                (if *healthy { "found well" } else { "found unwell" }).to_owned()
            }
            other => other.word().to_owned(),
        }
    }

    fn event(&self, event: &Event) -> String {
        let h = |id: &HandoffId| self.named(&id.to_string());
        match event {
            Event::Started { by, done_by, .. } => {
                let done = done_by.map(|at| format!(" done by {}", secs(at))).unwrap_or_default();
                format!("started by {by}{done}")
            }
            Event::Initiated { terms, answer_by, queued, .. } => {
                let gap = lacking(&terms.gap);
                let by = answer_by.map(|at| format!(" answer by {}", secs(at))).unwrap_or_default();
                let waits = if *queued { " queued" } else { "" };
                let level = match &terms.kind {
                    Kind::Escalation(asked) => {
                        let below: Vec<_> = asked.trail.iter().map(|a| a.by.as_str()).collect();
                        format!(" level {} after {}", asked.level, below.join(", "))
                    }
                    Kind::Broadcast(copy) if !copy.peers.is_empty() => {
                        let peers: Vec<_> = copy.peers.iter().map(ToString::to_string).collect();
                        format!(" beside {}", peers.join(", "))
                    }
                    _ => String::new(),
                };
                let urgent = match terms.priority {
                    Priority::Normal => String::new(),
                    other => format!("{other} "),
                };
                let (kind, to) = (terms.kind.word(), &terms.to_agent);
                format!("{} {urgent}{kind}{level} to {to}{gap}{by}{waits}", h(&terms.id))
            }
            Event::Accepted { handoff, by, fence, return_by, done_by, .. } => {
                let back = return_by.map(|at| format!(" back by {}", secs(at))).unwrap_or_default();
                let done = done_by.map(|at| format!(" done by {}", secs(at))).unwrap_or_default();
                format!("{} accepted by {by} fence {fence}{back}{done}", h(handoff))
            }
            Event::Rejected { handoff, by, reason, .. } => {
                format!("{} rejected by {by}: {reason}", h(handoff))
            }
            Event::Completed { handoff, released, late, .. } => {
                let late = if *late { " late" } else { "" };
                format!("{} completed{late}{}", h(handoff), freed(released))
            }
            Event::Failed { handoff, detail, released } => {
                format!("{} failed: {}{}", h(handoff), said(detail), freed(released))
            }
            Event::Closed { by, ending, released, .. } => {
                format!("workflow {} by {by}{}", ending.word(), freed(released))
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
            Event::Returned { handoff, .. } => format!("{} returned, its checks run", h(handoff)),
            Event::Unverified { handoff, evidence } => {
                format!("{} unverified: {}", h(handoff), checks::shown(evidence))
            }
            other => self.time(other),
        }
    }
}

/// Recipients by comma; a `?` means that nothing need come back.
fn recipients(all: &str) -> Vec<Value> {
    let one = |name: &str| {
        let back = !name.ends_with('?');
        json!({ "agent": name.trim_end_matches('?'), "return_expected": back })
    };
    all.split(',').map(one).collect()
}

fn variables(pairs: Option<&str>) -> Value {
    let mut set = serde_json::Map::new();
    for (name, value) in pairs.iter().flat_map(|p| p.split(',')).filter_map(|p| p.split_once('=')) {
        set.insert(name.to_owned(), json!(value));
    }
    Value::Object(set)
}
