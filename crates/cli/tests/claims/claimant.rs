//! A claimant: tries to take every handoff, and finishes what it got.
//!
//! Its keys follow from its name, so whoever takes its place after a kill asks the same commands
//! again, hears what the dead one may not have heard, and carries on.

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::wire::{Caller, Reply, Request, Wire};

/// How long an answer may take, with every death of the coordinator in between.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);
/// Why one of many claimants does not get a handoff.
const LOST: [&str; 3] = ["already-accepted", "handoff-over", "workflow-closed"];

/// A handoff that all claimants want.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) workflow: String,
    pub(crate) handoff: String,
    /// Whether it comes back; else the taker ends the workflow.
    pub(crate) delegated: bool,
}

/// A claim that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Won {
    pub(crate) offer: usize,
    pub(crate) fence: u64,
}

/// A claimant and its way to the coordinator.
pub(crate) struct Claimant {
    pub(crate) name: String,
    pub(crate) line: Line,
}

impl Claimant {
    /// Takes the offer if it can, tells `won` before anything else, and finishes it.
    pub(crate) fn claim(&mut self, n: usize, offer: &Offer, won: impl FnOnce(Won)) {
        let accept = json!({"accept": {"handoff": offer.handoff}});
        let reply = self.line.command(&accept_key(&self.name, n), &accept);
        if reply.status != 200 {
            let code = reply.json()["code"].clone();
            let lost = LOST.iter().any(|expected| code == *expected);
            assert!(lost, "{} and offer {n}: {reply}", self.name);
            return;
        }
        let fence = reply.json()["fence"].as_u64().expect("a fence");
        won(Won { offer: n, fence });
        let finish = match offer.delegated {
            true => json!({"return": {
                "handoff": offer.handoff, "fence": fence, "status": "success",
                "result": {"content_type": "text", "body": self.name},
            }}),
            false => json!({"complete": {
                "workflow": offer.workflow, "fence": fence, "note": self.name,
            }}),
        };
        let reply = self.line.command(&format!("{}-finish-{n}", self.name), &finish);
        assert_eq!(reply.status, 200, "{} finishes offer {n}: {reply}", self.name);
    }
}

/// The key under which a claimant asks for an offer.
pub(crate) fn accept_key(name: &str, n: usize) -> String {
    format!("{name}-accept-{n}")
}

/// A way to the coordinator that outlives it: asks the same again until somebody answers.
pub(crate) struct Line {
    socket: PathBuf,
    caller: Caller,
    wire: Option<Wire>,
}

impl Line {
    pub(crate) fn new(socket: PathBuf, caller: Caller) -> Self {
        Self { socket, caller, wire: None }
    }

    pub(crate) fn command(&mut self, key: &str, command: &Value) -> Reply {
        let (caller, body) = (self.caller.clone(), command.to_string());
        self.ask(&Request::command(&caller, key, body.as_bytes()))
    }

    pub(crate) fn ask(&mut self, request: &Request<'_>) -> Reply {
        let begun = Instant::now();
        loop {
            let wire = self.wire.take().map_or_else(|| Wire::connect(&self.socket), Ok);
            let heard = wire.and_then(|mut wire| {
                let reply = wire.ask(request)?;
                Ok((wire, reply))
            });
            match heard {
                Ok((wire, reply)) => {
                    self.wire = Some(wire);
                    return reply;
                }
                Err(error) => {
                    assert!(begun.elapsed() < ANSWERED_WITHIN, "{request:?}: {error}");
                    // Nothing tells when a socket begins to listen; this only paces the looking.
                    sleep(Duration::from_millis(2));
                }
            }
        }
    }
}
