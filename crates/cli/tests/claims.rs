//! Many claimants race for every handoff while claimants and the coordinator are killed with
//! SIGKILL: each handoff gets exactly one holder, none is lost, all complete.
//!
//! `BATON_CLAIMANTS=64 BATON_HANDOFFS=1000` is the full size and `BATON_SEED` repeats a run;
//! docs/testing.md tells more.

#[path = "crash/chance.rs"]
mod chance;
#[path = "claims/claimant.rs"]
mod claimant;
#[path = "crash/coordinator.rs"]
mod coordinator;
#[path = "crash/ledger.rs"]
mod ledger;
#[path = "claims/process.rs"]
mod process;
#[path = "claims/tagged.rs"]
mod tagged;
#[path = "crash/wire.rs"]
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::scope;
use std::time::Instant;

use baton_protocol::command::{Actor, Submission};
use chance::{Chance, Seed, size};
use claimant::{Claimant, Line, Offer, Won, accept_key};
use coordinator::Coordinator;
use ledger::Ledger;
use process::Process;
use serde_json::{Value, json};
use wire::{Caller, Request};

/// The size of a race, unless `BATON_CLAIMANTS` and `BATON_HANDOFFS` say otherwise.
const CLAIMANTS: u64 = 16;
const HANDOFFS: u64 = 200;
/// One in so many claimants is a process of its own, the others are threads of this one.
const CLAIMANTS_A_PROCESS: u64 = 4;
/// One in so many kills hits the coordinator, the others a claimant.
const KILLS_A_COORDINATOR: u64 = 3;

#[test]
fn each_handoff_has_one_holder_whoever_is_killed() {
    let seed = Seed::of("claims");
    let (claimants, handoffs) =
        (size("BATON_CLAIMANTS", CLAIMANTS), size("BATON_HANDOFFS", HANDOFFS));
    let begun = Instant::now();
    let told = race(seed.number, claimants, handoffs);
    println!("seed {}: {told} in {:.1?}", seed.number, begun.elapsed());
}

/// No story of its own: what a claimant does that is a process.
#[test]
fn claims_as_a_process_if_told_to() {
    process::run_if_told();
}

/// Lets everybody race for everything. Returns what happened, in a line.
fn race(seed: u64, claimants: u64, handoffs: u64) -> String {
    let mut chance = Chance::new(seed);
    let mut coordinator = Coordinator::new();
    let [crew] = coordinator.agents(["crew"]);
    let mut operator = Line::new(coordinator.socket(), Caller::OPERATOR);
    let offers: Vec<_> = (0..handoffs).map(|n| offer(&mut operator, n)).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let names: Vec<_> = (0..claimants).map(|n| format!("claimant-{n}")).collect();
    let (apart, here) = names.split_at(claimants.div_ceil(CLAIMANTS_A_PROCESS) as usize);
    let start =
        |name: &String| Process::start(folder.path(), name, &coordinator.socket(), &crew, &offers);
    let mut processes: Vec<_> = apart.iter().map(start).collect();

    let answers = here.len() as u64 * handoffs;
    let kills = 8 + handoffs / 10;
    let clock = Clock {
        answered: AtomicU64::new(0),
        marks: (0..kills).map(|_| chance.below(answers)).collect(),
    };
    let mut wins: HashMap<&str, Vec<Won>> = HashMap::new();
    let mut killed = Killed::default();
    scope(|threads| {
        processes.iter_mut().for_each(Process::go);
        let (tell, told) = channel();
        let socket = coordinator.socket();
        let racers: Vec<_> = here
            .iter()
            .map(|name| {
                let line = Line::new(socket.clone(), crew.clone());
                let (claimant, tell) = (Claimant { name: name.clone(), line }, tell.clone());
                let (offers, clock) = (&offers, &clock);
                threads.spawn(move || claim_all(claimant, offers, clock, &tell))
            })
            .collect();
        // The killing ends when the last racer drops its end of the channel.
        drop(tell);
        killed = kill_on_each(told, &mut coordinator, &mut processes, &mut chance, handoffs);
        let won = racers.into_iter().map(|racer| racer.join().expect("a claimant failed"));
        wins.extend(here.iter().map(String::as_str).zip(won));
    });
    let finished = processes.into_iter().map(Process::finish);
    wins.extend(apart.iter().map(String::as_str).zip(finished));

    let elsewhere: usize = apart.iter().map(|name| wins[name.as_str()].len()).sum();
    one_holder_each(&coordinator, &offers, &wins);
    all_complete(&coordinator, &mut operator, &offers);
    let Killed { coordinators, claimants: dead } = killed;
    format!(
        "{claimants} claimants ({} processes) x {handoffs} handoffs, 0 double, 0 lost; killed \
         {coordinators} coordinators and {dead} claimants; processes won {elsewhere}",
        apart.len()
    )
}

/// Passes a piece of work to the crew: every other one for good, the others to have them back.
fn offer(operator: &mut Line, n: u64) -> Offer {
    let delegated = n % 2 == 1;
    let pass = match delegated {
        true => json!({
            "to_agent": "crew", "reason": "wanted by many", "type": "delegation",
            "return_protocol": {"timeout": "1h"},
        }),
        false => json!({"to_agent": "crew", "reason": "wanted by many"}),
    };
    let answer = operator.command(&format!("offer-{n}"), &json!({"pass": pass})).granted();
    let id = |name: &str| answer[name].as_str().expect("an id").to_owned();
    Offer { workflow: id("workflow"), handoff: id("handoff"), delegated }
}

/// When to kill, counted in answers so that it falls into the race.
struct Clock {
    answered: AtomicU64,
    marks: Vec<u64>,
}

fn claim_all(
    mut claimant: Claimant,
    offers: &[Offer],
    clock: &Clock,
    tell: &Sender<()>,
) -> Vec<Won> {
    let mut wins = Vec::new();
    for (n, offer) in offers.iter().enumerate() {
        claimant.claim(n, offer, |won| wins.push(won));
        let answered = clock.answered.fetch_add(1, Ordering::Relaxed);
        if clock.marks.contains(&answered) {
            tell.send(()).expect("the killer hears");
        }
    }
    wins
}

#[derive(Default)]
struct Killed {
    coordinators: u64,
    claimants: u64,
}

/// Kills somebody each time it is told to, and sees to it that another takes their place.
fn kill_on_each(
    told: Receiver<()>,
    coordinator: &mut Coordinator,
    processes: &mut [Process],
    chance: &mut Chance,
    handoffs: u64,
) -> Killed {
    let mut killed = Killed::default();
    for () in told {
        if chance.once_in(KILLS_A_COORDINATOR) {
            coordinator.kill();
            coordinator.start();
            none_is_lost(coordinator, handoffs);
            killed.coordinators += 1;
        } else {
            let which = chance.below(processes.len() as u64) as usize;
            processes[which].kill();
            killed.claimants += 1;
        }
    }
    killed
}

fn read(coordinator: &Coordinator, path: &str) -> Value {
    coordinator.wire().ask(&Request::read(path)).expect("an answer").granted()
}

/// In the middle of it all, every handoff is there, and waits, is held, or is done.
fn none_is_lost(coordinator: &Coordinator, handoffs: u64) {
    assert_eq!(read(coordinator, "/v1/stats")["totalHandoffs"], handoffs);
    let lines = read(coordinator, "/v1/handoffs?state=all&agent=crew&limit=1000");
    for line in lines.as_array().expect("handoffs") {
        let held = !line["fence"].is_null();
        match line["state"].as_str().expect("a state") {
            "initiated" => assert!(!held, "{line}"),
            "accepted" => assert!(held, "{line}"),
            "completed" => (),
            other => panic!("{other}: {line}"),
        }
    }
}

/// Exactly one claimant was told that it holds a handoff, and the ledger says the same one.
fn one_holder_each(coordinator: &Coordinator, offers: &[Offer], wins: &HashMap<&str, Vec<Won>>) {
    let mut holders: BTreeMap<usize, BTreeMap<&str, u64>> = BTreeMap::new();
    for (name, won) in wins {
        for Won { offer, fence } in won {
            // A claimant that was killed may have been told before; it is told the same again.
            let before = holders.entry(*offer).or_default().insert(name, *fence);
            assert!(before.is_none_or(|before| before == *fence), "{name} and offer {offer}");
        }
    }
    let mut ledger = Ledger::default();
    ledger.read_on(&mut coordinator.wire());
    ledger.compare(coordinator);
    let mut steps: HashMap<&str, Vec<&Value>> = HashMap::new();
    for record in ledger.records() {
        let handoff = record["audit"]["handoff_id"].as_str().unwrap_or_default();
        steps.entry(handoff).or_default().push(record);
    }
    for (n, offer) in offers.iter().enumerate() {
        let holders = holders.get(&n).unwrap_or_else(|| panic!("nobody got offer {n}"));
        assert_eq!(holders.len(), 1, "offer {n} has several holders: {holders:?}");
        let (name, fence) = holders.first_key_value().expect("one holder");
        let steps = &steps[offer.handoff.as_str()];
        let words: Vec<_> = steps.iter().map(|record| &record["event"]["type"]).collect();
        assert_eq!(words, ["initiated", "accepted", "completed"], "offer {n}");
        let accept = json!({"accept": {"handoff": offer.handoff}});
        let accept = serde_json::from_value(accept).expect("a command");
        let crew = Actor::Agent("crew".parse().expect("a name"));
        let command = Submission::keyed(crew, &accept_key(name, n), accept).id.to_string();
        assert_eq!(ledger.first_of(&command), steps[1]["seq"].as_u64(), "offer {n}");
        assert_eq!(steps[1]["event"]["fence"], *fence, "offer {n}");
    }
}

/// The operator closes what came back; then nothing is open and the ledger is intact.
fn all_complete(coordinator: &Coordinator, operator: &mut Line, offers: &[Offer]) {
    for offer in offers.iter().filter(|offer| offer.delegated) {
        let complete = json!({"complete": {"workflow": offer.workflow}});
        operator.command(&format!("close-{}", offer.workflow), &complete).granted();
    }
    assert_eq!(read(coordinator, "/v1/status")["open_workflows"], 0);
    assert_eq!(read(coordinator, "/v1/audit/verify")["problem"], Value::Null);
}
