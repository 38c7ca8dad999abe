//! A caller that plays whole life cycles, each command under a key of its own.
//!
//! It remembers every command that was granted, with the answer's bytes. One whose answer did not
//! come stays pending, and is asked again under the same key until it is answered: nothing that
//! it asks may ever be refused, however often the coordinator died.

use std::io;

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::wire::{Caller, Reply, Request, Wire};

/// How long a forgotten delegation may take: short enough to end within the run.
const FORGOTTEN_TIMEOUT: &str = "40ms";

/// The parts in the play, each with its credential.
#[derive(Clone)]
pub(crate) struct Cast {
    pub(crate) builder: Caller,
    pub(crate) tester: Caller,
}

/// A command, by whom, and under which key.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The agent whose keys these are.
    pub(crate) agent: &'static str,
    caller: Caller,
    pub(crate) key: String,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn send(&self, wire: &mut Wire) -> io::Result<Reply> {
        wire.ask(&Request::command(&self.caller, &self.key, self.body.as_bytes()))
    }
}

/// A command that was granted.
#[derive(Clone, Debug)]
pub(crate) struct Acked {
    pub(crate) asked: Asked,
    pub(crate) reply: Reply,
}

/// Where a life cycle stands: what is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Start,
    Pass,
    Accept,
    Work,
    Delegate,
    AcceptPart,
    Return,
    Complete,
    /// A delegation that nobody returns: only the coordinator's timers end it.
    Forget,
    AcceptForgotten,
}

/// One caller.
pub(crate) struct Player {
    name: u64,
    cast: Cast,
    chance: Chance,
    step: Step,
    asked: u64,
    workflow: Value,
    handoff: Value,
    /// The builder's hold, and the tester's.
    fence: Value,
    part_fence: Value,
    pub(crate) pending: Option<Asked>,
    pub(crate) acked: Vec<Acked>,
    /// Delegations that must end by themselves.
    pub(crate) forgotten: Vec<String>,
    /// Results that were kept beside the ledger: handoff and body.
    pub(crate) large: Vec<(String, String)>,
}

impl Player {
    pub(crate) fn new(name: u64, cast: Cast, chance: Chance) -> Self {
        Self {
            name,
            cast,
            chance,
            step: Step::Start,
            asked: 0,
            workflow: Value::Null,
            handoff: Value::Null,
            fence: Value::Null,
            part_fence: Value::Null,
            pending: None,
            acked: Vec::new(),
            forgotten: Vec::new(),
            large: Vec::new(),
        }
    }

    /// Asks what is pending, or the next thing. An error means that the answer did not come.
    pub(crate) fn ask(&mut self, wire: &mut Wire) -> io::Result<()> {
        let asked = match self.pending.take() {
            Some(asked) => asked,
            None => self.next(),
        };
        let heard = asked.send(wire);
        let reply = match heard {
            Ok(reply) => reply,
            Err(error) => {
                self.pending = Some(asked);
                return Err(error);
            }
        };
        assert_eq!(reply.status, 200, "{asked:?} was refused: {reply}");
        self.note(&asked, &reply.json());
        self.acked.push(Acked { asked, reply });
        Ok(())
    }

    /// The next command of the life cycle.
    fn next(&mut self) -> Asked {
        let (workflow, handoff) = (&self.workflow, &self.handoff);
        let fence = &self.fence;
        let back = |timeout: &str| json!({"timeout": timeout});
        let (agent, body) = match self.step {
            Step::Start => ("operator", json!({"start": {"title": "Add a login page"}})),
            Step::Pass => {
                let pass = json!({"workflow": workflow, "to_agent": "builder", "reason": "go"});
                ("operator", json!({"pass": pass}))
            }
            Step::Accept => ("builder", json!({"accept": {"handoff": handoff}})),
            Step::Work => ("builder", self.work()),
            Step::Delegate => {
                let pass = json!({
                    "workflow": workflow, "fence": fence, "to_agent": "tester",
                    "type": "delegation", "reason": "needs tests",
                    "return_protocol": back("30m"),
                });
                ("builder", json!({"pass": pass}))
            }
            Step::AcceptPart => ("tester", json!({"accept": {"handoff": handoff}})),
            Step::Return => {
                let result = json!({"content_type": "text", "body": self.words()});
                let give = json!({
                    "handoff": self.handoff, "fence": self.part_fence, "status": "success",
                    "result": result,
                });
                ("tester", json!({"return": give}))
            }
            Step::Complete => {
                ("builder", json!({"complete": {"workflow": workflow, "fence": fence}}))
            }
            Step::Forget => {
                let pass = json!({
                    "to_agent": "tester", "type": "delegation", "reason": "nobody returns it",
                    "return_protocol": back(FORGOTTEN_TIMEOUT),
                });
                ("operator", json!({"pass": pass}))
            }
            Step::AcceptForgotten => ("tester", json!({"accept": {"handoff": handoff}})),
        };
        self.asked += 1;
        let key = format!("player-{}-{}", self.name, self.asked);
        let caller = match agent {
            "builder" => self.cast.builder.clone(),
            "tester" => self.cast.tester.clone(),
            _ => Caller::OPERATOR,
        };
        Asked { agent, caller, key, body: body.to_string() }
    }

    /// One of the things that a holder does meanwhile.
    fn work(&mut self) -> Value {
        let (workflow, fence) = (self.workflow.clone(), self.fence.clone());
        let file = format!("src/{}-{}.rs", self.name, self.asked);
        match self.chance.below(4) {
            0 => json!({"progress": {"workflow": workflow, "fence": fence, "percent": 50}}),
            1 => {
                let changes = json!({"branch": "login", "decisions_made": "use cookies"});
                json!({"set_variables":
                    {"workflow": workflow, "fence": fence, "changes": changes}})
            }
            2 => json!({"lock": {"workflow": workflow, "fence": fence, "paths": [file]}}),
            _ => {
                let artifact = json!({"path": file, "type": "code"});
                json!({"add_artifact":
                    {"workflow": workflow, "fence": fence, "artifact": artifact}})
            }
        }
    }

    /// A result; once in four it is too large to lie in the ledger itself.
    fn words(&mut self) -> String {
        let times = if self.chance.once_in(4) { 500 + self.chance.below(2_000) } else { 3 };
        format!("{}-{} passes; ", self.name, self.asked).repeat(times as usize)
    }

    /// Takes up what the answer says and steps on.
    fn note(&mut self, asked: &Asked, answer: &Value) {
        let take = |to: &mut Value, name: &str| {
            if !answer[name].is_null() {
                *to = answer[name].clone();
            }
        };
        take(&mut self.workflow, "workflow");
        take(&mut self.handoff, "handoff");
        self.step = match self.step {
            Step::Start => Step::Pass,
            Step::Pass => Step::Accept,
            Step::Accept => {
                take(&mut self.fence, "fence");
                Step::Work
            }
            Step::Work if self.chance.once_in(2) => Step::Delegate,
            Step::Work => Step::Complete,
            Step::Delegate => Step::AcceptPart,
            Step::AcceptPart => {
                take(&mut self.part_fence, "fence");
                Step::Return
            }
            Step::Return => {
                self.keep_large(asked);
                Step::Complete
            }
            Step::Complete if self.chance.once_in(6) => Step::Forget,
            Step::Complete => Step::Start,
            Step::Forget => Step::AcceptForgotten,
            Step::AcceptForgotten => {
                self.forgotten.push(self.handoff.as_str().expect("an id").to_owned());
                Step::Start
            }
        };
    }

    fn keep_large(&mut self, asked: &Asked) {
        let sent: Value = serde_json::from_str(&asked.body).expect("our own JSON");
        let body = sent["return"]["result"]["body"].as_str().expect("our own text");
        if body.len() > baton_protocol::limits::BODY_INLINE_BYTES_MAX {
            let handoff = self.handoff.as_str().expect("an id").to_owned();
            self.large.push((handoff, body.to_owned()));
        }
    }
}
