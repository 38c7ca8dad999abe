//! A machine that hunts for our mistakes: agents that are slow, forgetful, dishonest and loud, on a
//! clock that jumps, with every invariant judged after every record.
//!
//! Every choice of a run follows from its seed. `docs/testing.md` says how to replay one, and
//! `docs/invariants.md` what is judged.

mod around;
mod cast;
mod chance;
mod invariants;
mod moves;
mod passes;
mod play;
mod stage;

use play::play;

/// Plays these seeds and stops at the first that fails.
fn seeds(from: u64, count: u64) {
    for seed in from..from + count {
        if let Err(failure) = play(seed) {
            panic!("{failure}");
        }
    }
}

#[test]
fn replay() {
    let Ok(named) = std::env::var("BATON_SEED") else { return };
    let seed = named.parse().expect("BATON_SEED is a number");
    match play(seed) {
        Ok(counts) => eprintln!("seed {seed} went well: {counts:#?}"),
        Err(failure) => panic!("{failure}"),
    }
}

#[test]
fn seeds_0() {
    let count = std::env::var("BATON_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    let begun = std::time::Instant::now();
    seeds(0, count);
    eprintln!("{} seeds/s", count as f64 / begun.elapsed().as_secs_f64());
}

#[test]
fn survey() {
    let Some(count) = std::env::var("BATON_SURVEY").ok().and_then(|n| n.parse::<u64>().ok()) else {
        return;
    };
    let begun = std::time::Instant::now();
    let mut found: std::collections::BTreeMap<&str, (u64, u64, String)> = Default::default();
    let mut counts: play::Counts = Default::default();
    std::panic::set_hook(Box::new(|_| ()));
    for seed in 0..count {
        match play(seed) {
            Ok(one) => one.into_iter().for_each(|(k, n)| *counts.entry(k).or_default() += n),
            Err(f) => {
                let e = found.entry(f.broken.id).or_insert((0, seed, f.broken.to_string()));
                e.0 += 1;
            }
        }
    }
    eprintln!("{counts:?}");
    for (id, (n, seed, how)) in &found {
        eprintln!("== {id} x{n} first seed {seed}: {}", &how[..how.len().min(700)]);
    }
    eprintln!("{} seeds/s", count as f64 / begun.elapsed().as_secs_f64());
}
