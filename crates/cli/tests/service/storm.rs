//! Many clients work over the network while the coordinator is killed again and again.
//!
//! Each client asks until it is answered, every time under the same key. In the end the ledger must
//! hold what was acknowledged, each handoff accepted once, and all clients must have finished.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::net::{Answer, Request, Service};

const CLIENTS: usize = 32;
const CYCLES_EACH: usize = 6;
const KILLS: usize = 8;
/// How long one client may take for all its work.
const WITHIN: Duration = Duration::from_secs(120);

/// One who works on the network: a sender and a worker in one.
struct Client<'a> {
    address: &'a str,
    token: &'a str,
    name: String,
    begun: Instant,
}

impl Client<'_> {
    /// Asks until there is an answer, under one key.
    fn ask(&self, key: &str, command: &Value) -> Value {
        let (key, body) = (format!("{}-{key}", self.name), command.to_string());
        loop {
            let request = Request::post("/v1/commands", &body);
            let request = request.by(self.token).with("idempotency-key", &key);
            match request.send(self.address) {
                Ok(answer) if answer.status == 200 => return answer.json(),
                // It is about to end, or its ledger is: the next one answers.
                Ok(Answer { status: 503, .. }) | Err(_) => (),
                Ok(answer) => panic!("{}: {command} was refused: {answer:?}", self.name),
            }
            assert!(self.begun.elapsed() < WITHIN, "{} does not get on", self.name);
            // Nothing tells when the next one listens; this only paces the asking.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Passes work to itself by way of another name, and takes, returns and completes it.
    fn cycle(&self, n: usize, worker: &Client<'_>) -> String {
        let pass = json!({"pass": {
            "to_agent": worker.name, "type": "delegation", "reason": "storm",
            "return_protocol": {"timeout": "1h"},
        }});
        let passed = self.ask(&format!("pass-{n}"), &pass);
        let (workflow, handoff) = (&passed["workflow"], &passed["handoff"]);
        let accept = json!({"accept": {"handoff": handoff}});
        let fence = worker.ask(&format!("accept-{n}"), &accept)["fence"].clone();
        let give = json!({"return": {"handoff": handoff, "fence": fence, "status": "success"}});
        worker.ask(&format!("return-{n}"), &give);
        let complete = json!({"complete": {"workflow": workflow, "fence": 1}});
        self.ask(&format!("complete-{n}"), &complete);
        handoff.as_str().expect("a handoff").to_owned()
    }
}

#[test]
fn no_acknowledged_change_is_lost_whenever_the_coordinator_is_killed() {
    let names: Vec<String> =
        (0..CLIENTS).flat_map(|n| [format!("sender-{n}"), format!("worker-{n}")]).collect();
    let mut service = Service::with(&[]);
    let operator = service.token(&["--operator"]);
    for name in &names {
        let made = service.command(&operator, json!({"register": {"id": name}}));
        assert_eq!(made.status, 200, "{made:?}");
    }
    let token = |name: &String| {
        let body = json!({"agent": name}).to_string();
        let made = service.ask(&Request::post("/v1/tokens", &body).by(&operator)).json();
        made["token"].as_str().expect("a token").to_owned()
    };
    let tokens: Vec<String> = names.iter().map(token).collect();
    let (address, begun) = (service.address.clone(), Instant::now());
    let done = AtomicUsize::new(0);
    let handoffs: Vec<String> = std::thread::scope(|scope| {
        let work = names.chunks(2).zip(tokens.chunks(2)).map(|(names, tokens)| {
            let (address, done) = (&address, &done);
            let client = move |of: usize| Client {
                address,
                token: &tokens[of],
                name: names[of].clone(),
                begun,
            };
            scope.spawn(move || {
                let (sender, worker) = (client(0), client(1));
                let cycle = |n| {
                    let handoff = sender.cycle(n, &worker);
                    done.fetch_add(1, Ordering::Relaxed);
                    handoff
                };
                (0..CYCLES_EACH).map(cycle).collect::<Vec<_>>()
            })
        });
        let work: Vec<_> = work.collect();
        let all = CLIENTS * CYCLES_EACH;
        for kill in 1..=KILLS {
            // Each kill falls into another part of the work.
            while done.load(Ordering::Relaxed) < all * kill / (KILLS + 2) {
                assert!(begun.elapsed() < WITHIN, "nobody gets on");
                std::thread::sleep(Duration::from_millis(1));
            }
            service.kill_and_restart();
        }
        work.into_iter().flat_map(|one| one.join().expect("a client that finished")).collect()
    });
    check(&service, &operator, &handoffs);
}

/// Compares the ledger with what the clients were told.
fn check(service: &Service, operator: &str, handoffs: &[String]) {
    let mut accepted: HashMap<String, usize> = HashMap::new();
    let mut completed: HashMap<String, usize> = HashMap::new();
    let mut after = 0;
    loop {
        let path = format!("/v1/audit?after={after}&limit=1000&type=accepted,completed");
        let page = service.read(operator, &path);
        for record in page["records"].as_array().expect("records") {
            let handoff = record["audit"]["handoff_id"].as_str().unwrap_or_default().to_owned();
            match record["event"]["type"].as_str() {
                Some("accepted") => *accepted.entry(handoff).or_default() += 1,
                _ => *completed.entry(handoff).or_default() += 1,
            }
        }
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(handoffs.len(), CLIENTS * CYCLES_EACH);
    for handoff in handoffs {
        assert_eq!((accepted[handoff], completed[handoff]), (1, 1), "{handoff}");
    }
    assert_eq!(accepted.len(), handoffs.len());
    service.desk.run(&["audit", "verify"]).ok();
}
