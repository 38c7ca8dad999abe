//! What is checked after every crash: nothing acknowledged is gone, nothing is there twice.

use std::collections::{HashMap, HashSet};

use baton_protocol::command::{Actor, Submission};
use serde_json::Value;

use crate::chance::Chance;
use crate::coordinator::Coordinator;
use crate::ledger::Ledger;
use crate::player::{Acked, Asked};
use crate::wire::{Request, Wire};

/// Old answers that are asked for again after each crash; all of them are at the end.
const OLD_ANSWERS: u64 = 20;

/// Everything that was acknowledged, and the ledger as it was shown.
#[derive(Default)]
pub(crate) struct Proof {
    acked: Vec<Acked>,
    ledger: Ledger,
    /// Records that were there before the load began.
    before: usize,
}

fn read(wire: &mut Wire, path: &str) -> Value {
    wire.ask(&Request::read(path)).expect("an answer").granted()
}

impl Proof {
    /// Begins with the ledger as it is.
    pub(crate) fn begin(wire: &mut Wire) -> Self {
        let mut proof = Self::default();
        proof.ledger.read_on(wire);
        proof.before = proof.shown();
        proof
    }

    fn shown(&self) -> usize {
        self.ledger.records().len()
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.acked.len(), self.shown())
    }

    /// Checks what was acknowledged since the last time, and a few of the older answers.
    pub(crate) fn after_a_crash(&mut self, wire: &mut Wire, new: Vec<Acked>, chance: &mut Chance) {
        self.ledger.read_on(wire);
        self.intact(wire);
        let known = self.acked.len() as u64;
        let old = (0..OLD_ANSWERS.min(known)).map(|_| &self.acked[chance.below(known) as usize]);
        for acked in old.chain(&new) {
            self.is_there(wire, acked);
        }
        self.acked.extend(new);
    }

    /// Checks everything from the first record on, once all pending commands are answered.
    pub(crate) fn at_the_end(
        &mut self,
        wire: &mut Wire,
        new: Vec<Acked>,
        coordinator: &Coordinator,
    ) {
        self.acked.extend(new);
        let before = std::mem::take(&mut self.ledger);
        self.ledger.read_on(wire);
        let same = self.ledger.records().starts_with(before.records());
        assert!(same, "a record that was shown before is gone or changed");
        self.intact(wire);
        for acked in &self.acked {
            self.is_there(wire, acked);
        }
        self.nobody_else_acted();
        self.ledger.compare(coordinator);
    }

    /// The results that lie beside the ledger are whole.
    pub(crate) fn bodies(&self, wire: &mut Wire, large: &[(String, String)]) {
        for (handoff, body) in large {
            let shown = read(wire, &format!("/v1/handoffs/{handoff}"));
            assert_eq!(shown["result"]["result"]["body"], **body, "the result of {handoff}");
        }
    }

    /// Delegations that nobody returned have ended by themselves, each step once.
    pub(crate) fn forgotten(&mut self, wire: &mut Wire, handoffs: &[String]) {
        for handoff in handoffs {
            let ended = read(wire, &format!("/v1/handoffs/{handoff}?wait=30s"));
            assert_eq!(ended["state"], "failed", "{ended}");
        }
        self.ledger.read_on(wire);
        let mut steps: HashMap<&str, Vec<&str>> = HashMap::new();
        for record in self.ledger.records() {
            let handoff = record["audit"]["handoff_id"].as_str().unwrap_or_default();
            let step = record["event"]["type"].as_str().unwrap_or_default();
            steps.entry(handoff).or_default().push(step);
        }
        for handoff in handoffs {
            let steps = &steps[handoff.as_str()];
            let expected = ["initiated", "accepted", "reminded", "timeout", "failed"];
            assert_eq!(*steps, expected, "handoff {handoff}");
        }
    }

    /// The coordinator's own check of every byte agrees.
    fn intact(&self, wire: &mut Wire) {
        let verified = read(wire, "/v1/audit/verify");
        assert_eq!(verified["problem"], Value::Null, "{verified}");
        let records = verified["records"].as_u64().expect("a count");
        // Timers go on meanwhile, so there may be more by now, never fewer.
        assert!(records >= self.shown() as u64, "records are gone: {verified}");
    }

    /// The same command under the same key is answered as before, byte for byte, and what the
    /// answer speaks of is in the ledger, once.
    fn is_there(&self, wire: &mut Wire, Acked { asked, reply }: &Acked) {
        let again = asked.send(wire).expect("an answer");
        assert!(again == *reply, "{asked:?}\nfirst {reply}\nthen  {again}");
        let answer = reply.json();
        let events = answer["events"].as_array().expect("events");
        let last = answer["seq"].as_u64().expect("every command of the play records something");
        let first = last + 1 - events.len() as u64;
        let command = command_of(asked);
        assert_eq!(self.ledger.first_of(&command), Some(first), "{asked:?}");
        for (seq, event) in (first..).zip(events) {
            let record = &self.ledger.records()[seq as usize - 1];
            assert_eq!(record["event"], *event, "record {seq} of {asked:?}");
            assert_eq!(record["command"], *command, "record {seq} of {asked:?}");
        }
    }

    /// Every record comes from a command that was acknowledged, or from the coordinator itself.
    fn nobody_else_acted(&self) {
        let ours: HashSet<String> =
            self.acked.iter().map(|acked| command_of(&acked.asked)).collect();
        for record in self.ledger.records().iter().skip(self.before) {
            let command = record["command"].as_str().expect("a command");
            let known = record["by"] == "coordinator" || ours.contains(command);
            assert!(known, "nobody asked for this: {record}");
        }
    }
}

fn command_of(asked: &Asked) -> String {
    let command = serde_json::from_str(&asked.body).expect("a command");
    let actor = Actor::Agent(asked.agent.parse().expect("a name"));
    Submission::keyed(actor, &asked.key, command).id.to_string()
}
