//! Kills the real coordinator with SIGKILL at random moments under load, again and again, and
//! checks that nothing acknowledged is lost and nothing is done twice.
//!
//! `BATON_CRASH_POINTS=1000` makes it long and `BATON_SEED` repeats a run; docs/testing.md tells
//! more.

#[path = "crash/chance.rs"]
mod chance;
#[path = "crash/coordinator.rs"]
mod coordinator;
#[path = "crash/ledger.rs"]
mod ledger;
#[path = "crash/player.rs"]
mod player;
#[path = "crash/proof.rs"]
mod proof;
#[path = "crash/strike.rs"]
mod strike;
#[path = "crash/wire.rs"]
mod wire;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use chance::{Chance, Seed, size};
use coordinator::Coordinator;
use player::{Acked, Cast, Player};
use proof::Proof;
use wire::Wire;

/// Crash points in a run, unless `BATON_CRASH_POINTS` says otherwise.
const POINTS: u64 = 50;
/// Crash points of one ledger; more of them take fresh ones, so that each can be checked whole.
const POINTS_A_LEDGER: u64 = 50;
const PLAYERS: u64 = 8;
/// Acknowledged commands between two crashes, at most.
const ACKED_MAX: u64 = 120;
/// How long after an acknowledgement the kill comes, at most: about as long as a command takes.
const DELAY_MICROS_MAX: u64 = 3_000;
/// One in so many restarts is killed, too, before or while it reads the ledger.
const RESTARTS_A_KILL: u64 = 4;
const RESTART_MICROS_MAX: u64 = 30_000;

#[test]
fn nothing_acknowledged_is_lost_or_doubled_by_kills() {
    let mut seed = Seed::of("crash");
    let mut left = size("BATON_CRASH_POINTS", POINTS);
    while left > 0 {
        let points = left.min(POINTS_A_LEDGER);
        let begun = Instant::now();
        let told = story(seed.number, points);
        println!("seed {}: {told} in {:.1?}", seed.number, begun.elapsed());
        left -= points;
        seed.number += 1;
    }
}

/// One ledger and its crashes. Returns what happened, in a line.
fn story(seed: u64, points: u64) -> String {
    let mut chance = Chance::new(seed);
    let mut coordinator = Coordinator::new();
    let [builder, tester] = coordinator.agents(["builder", "tester"]);
    let mut proof = Proof::begin(&mut coordinator.wire());
    let mut players: Vec<_> = (0..PLAYERS)
        .map(|name| {
            let cast = Cast { builder: builder.clone(), tester: tester.clone() };
            Player::new(name, cast, Chance::new(chance.below(u64::MAX)))
        })
        .collect();

    let mut kills = 0;
    for _ in 0..points {
        kills += 1 + crash(&mut coordinator, &mut players, &mut chance);
        let new = acked(&mut players);
        proof.after_a_crash(&mut coordinator.wire(), new, &mut chance);
    }

    // Whatever was in flight at the last crash is asked again, so that nothing stays unknown.
    let mut wire = coordinator.wire();
    for player in players.iter_mut().filter(|player| player.pending.is_some()) {
        player.ask(&mut wire).expect("an answer");
    }
    let forgotten: Vec<_> = players.iter().flat_map(|player| player.forgotten.clone()).collect();
    let large: Vec<_> = players.iter().flat_map(|player| player.large.clone()).collect();
    proof.forgotten(&mut wire, &forgotten);
    proof.bodies(&mut wire, &large);
    proof.at_the_end(&mut wire, acked(&mut players), &coordinator);
    let (commands, records) = proof.counts();
    let (ended, bodies) = (forgotten.len(), large.len());
    format!(
        "{points} crash points, {kills} kills, {commands} commands acknowledged, \
         {records} records, {ended} timeouts, {bodies} bodies beside the ledger"
    )
}

fn acked(players: &mut [Player]) -> Vec<Acked> {
    players.iter_mut().flat_map(|player| std::mem::take(&mut player.acked)).collect()
}

/// Lets the players play until the coordinator is killed, and starts it again. Returns how often
/// it was killed on its way up.
fn crash(coordinator: &mut Coordinator, players: &mut [Player], chance: &mut Chance) -> u64 {
    // Right after an answer is where a false one shows, so half of the kills come without delay.
    let delay = if chance.once_in(2) { 0 } else { chance.below(DELAY_MICROS_MAX) };
    let trigger = Trigger {
        acked: AtomicU64::new(0),
        at: 1 + chance.below(ACKED_MAX),
        delay: Duration::from_micros(delay),
    };
    let socket = coordinator.socket();
    scope(|threads| {
        for player in players {
            threads.spawn(|| play(player, &socket, &trigger, coordinator));
        }
    });
    coordinator.kill();
    let mut kills = 0;
    while chance.once_in(RESTARTS_A_KILL) {
        let after = chance.below(RESTART_MICROS_MAX);
        coordinator.kill_on_its_way_up(Duration::from_micros(after));
        kills += 1;
    }
    coordinator.start();
    kills
}

/// The moment of a kill, counted in acknowledged commands so that it falls into the load.
struct Trigger {
    acked: AtomicU64,
    at: u64,
    delay: Duration,
}

/// Asks until nobody answers any more. Whoever brings the count to the mark kills.
fn play(player: &mut Player, socket: &Path, trigger: &Trigger, coordinator: &Coordinator) {
    let Ok(mut wire) = Wire::connect(socket) else { return };
    while player.ask(&mut wire).is_ok() {
        if trigger.acked.fetch_add(1, Ordering::Relaxed) + 1 == trigger.at {
            // The others go on meanwhile, so the kill finds them anywhere in their commands.
            if !trigger.delay.is_zero() {
                sleep(trigger.delay);
            }
            coordinator.strike();
        }
    }
}
