//! The follower's thread and those who wait for it in many schedules: a wait ends when the record
//! is indexed or an error is told, whatever the thread does meanwhile. Shuttle fails a schedule in
//! which all that are left wait.
//!
//! Mistakes that were made on purpose, one at a time, and found by these tests: each notification
//! in `progress.rs` left out (`wake` when asked or stopped, `moved`, `news`); the end not told, or
//! not looked at; `idle` not set; a wait that ends one record early; `done` told before the batch;
//! the lock let go between looking for work and falling asleep.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool as Flag, AtomicU64 as Number};

use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};

use super::super::progress::Shared;
use super::*;
use crate::sync::explored::{explore, turn};
use crate::sync::spawn as start;

/// So many records become durable in a schedule.
const RECORDS: u64 = 4;

/// What the thread does to the index, and what is known of it. These are no turns: a scheduler
/// that switched here would only find what it finds at the turns around.
#[derive(Default)]
struct Desk {
    indexed: Number,
    /// How often it was begun anew.
    begun: Number,
    /// Something happened that whoever waits may be told instead.
    trouble: Flag,
}

impl Desk {
    /// Indexes a batch as well as it can.
    fn batch(
        &self,
        up_to: u64,
        damaged: &AtomicBool,
        failures: &mut u32,
    ) -> Result<u64, IndexError> {
        turn();
        if damaged.load(Ordering::Relaxed) {
            self.indexed.store(0, Ordering::SeqCst);
            self.begun.fetch_add(1, Ordering::SeqCst);
            damaged.store(false, Ordering::Relaxed);
            return Ok(0);
        }
        if *failures > 0 && thread_rng().gen_bool(0.3) {
            *failures -= 1;
            self.trouble.store(true, Ordering::SeqCst);
            return Err(IndexError::Behind { why: "as a test asked for".to_owned() });
        }
        self.indexed.fetch_max(up_to, Ordering::SeqCst);
        turn();
        Ok(self.indexed.load(Ordering::SeqCst))
    }
}

/// A thread that follows, fails up to twice, and panics in its `panics`-th batch.
fn follow(
    shared: &Arc<Shared>,
    desk: &Arc<Desk>,
    damaged: &Arc<AtomicBool>,
    mut panics: Option<u32>,
) -> crate::sync::JoinHandle<()> {
    let (shared, desk, damaged) = (shared.clone(), desk.clone(), damaged.clone());
    let mut failures = 2;
    let run = move || {
        shared.follow(|up_to| {
            if panics == Some(0) {
                desk.trouble.store(true, Ordering::SeqCst);
                resume_unwind(Box::new("as a test asked for"));
            }
            panics = panics.map(|left| left - 1);
            desk.batch(up_to, &damaged, &mut failures)
        });
    };
    start("index", run).unwrap()
}

/// Waits for `seq` on a thread of its own, holding it or not, and judges the answer.
fn wait(
    shared: &Arc<Shared>,
    desk: &Arc<Desk>,
    damaged: &Arc<AtomicBool>,
    seq: u64,
    holding: bool,
) -> crate::sync::JoinHandle<()> {
    let (shared, desk, damaged) = (shared.clone(), desk.clone(), damaged.clone());
    let run = move || {
        let anew = damaged.load(Ordering::Relaxed);
        let answer = match holding {
            true => shared.wait_for(seq, &damaged),
            false => block_on(shared.until(seq, &damaged)),
        };
        match answer {
            Ok(()) => {
                let indexed = desk.indexed.load(Ordering::SeqCst);
                assert!(indexed >= seq, "waited for {seq} and {indexed} is indexed");
                let begun = desk.begun.load(Ordering::SeqCst);
                assert!(!anew || begun > 0, "was sent back to an index that is damaged");
            }
            Err(error) => assert!(desk.trouble.load(Ordering::SeqCst), "for no reason: {error}"),
        }
    };
    start("waits", run).unwrap()
}

/// Plays one schedule. `stop` ends the thread while others may still wait.
fn play(broken: bool, panics: Option<u32>, stop: bool) {
    // A damaged index is found to be so when the log has nothing more to wake the thread.
    let done = if broken { RECORDS } else { 0 };
    let (shared, desk) = (Shared::new(done, done), Arc::new(Desk::default()));
    desk.indexed.store(done, Ordering::SeqCst);
    let damaged = Arc::new(AtomicBool::default());
    damaged.store(broken, Ordering::Relaxed);
    let follower = follow(&shared, &desk, &damaged, panics);
    let durable = shared.clone();
    let run = move || (done + 1..=RECORDS).for_each(|seq| durable.advance(seq));
    let syncer = start("syncer", run).unwrap();
    let waiting: Vec<_> = [(1, true), (RECORDS, false), (RECORDS, true)]
        .map(|(seq, holding)| wait(&shared, &desk, &damaged, seq, holding))
        .into();
    if stop {
        desk.trouble.store(true, Ordering::SeqCst);
        shared.stop();
    }
    for waits in waiting {
        waits.join().unwrap();
    }
    syncer.join().unwrap();
    shared.stop();
    assert!(follower.join().is_ok() || panics.is_some(), "it panicked by itself");
}

#[test]
fn a_wait_ends_when_the_record_is_indexed_or_an_error_is_told() {
    explore(8_000, || play(thread_rng().gen_bool(0.3), None, false));
}

#[test]
fn a_wait_ends_when_the_thread_is_stopped() {
    explore(6_000, || play(thread_rng().gen_bool(0.3), None, true));
}

#[test]
fn a_wait_ends_when_the_thread_panics() {
    explore(6_000, || play(false, Some(thread_rng().gen_range(0..3)), false));
}

#[test]
fn what_nobody_asks_for_is_indexed_too() {
    explore(2_000, || {
        let shared = Shared::new(0, 0);
        let (reached, all) = tokio::sync::oneshot::channel();
        let (follows, mut reached) = (shared.clone(), Some(reached));
        let follower = start("index", move || {
            follows.follow(|up_to| {
                let last = if up_to == RECORDS { reached.take() } else { None };
                last.into_iter().for_each(|reached| reached.send(()).unwrap());
                Ok(up_to)
            });
        });
        (1..=RECORDS).for_each(|seq| shared.advance(seq));
        block_on(all).expect("the thread goes on");
        shared.stop();
        follower.unwrap().join().unwrap();
    });
}
