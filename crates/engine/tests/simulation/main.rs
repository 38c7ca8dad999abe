//! A machine that hunts for our mistakes: agents that are slow, forgetful, dishonest and loud, on a
//! clock that jumps, with every invariant judged after every record.
//!
//! Every choice of a run follows from its seed. `docs/testing.md` says how to replay one, and
//! `docs/invariants.md` what is judged.

mod around;
mod cast;
mod chance;
mod disk;
mod invariants;
mod moves;
mod passes;
mod past;
mod planted;
mod play;
mod stage;

use std::collections::BTreeSet;
use std::ops::Range;

/// Seeds of the test run. Each block is a test of its own, so that they run side by side.
const BLOCK: u64 = 500;
/// Seeds of the test run on a failing disk, in each of two blocks.
const DISK_BLOCK: u64 = 150;

/// Seeds that once found a mistake of ours, and what it was.
const FOUND: &[(u64, &str)] = &[
    (6, "I25: a risky task went above to one that could not do it"),
    (183, "I4: a look at a holder that had gone climbed in its name"),
    (609, "I10: a wake took the slot of a more urgent one"),
    (1792, "I14: a person passed a question on to another person"),
];

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

/// Plays these seeds and stops at the first that fails.
fn play(seeds: Range<u64>) {
    let _sound = planted::sound();
    for seed in seeds {
        if let Err(failure) = play::play(seed) {
            panic!("{failure}");
        }
    }
}

fn play_on_disk(seeds: Range<u64>) {
    let _sound = planted::sound();
    for seed in seeds {
        if let Err(failure) = disk::play(seed) {
            panic!("{failure}");
        }
    }
}

macro_rules! blocks {
    ($($name:ident $n:literal)*) => {$(
        #[test]
        fn $name() {
            play($n * BLOCK..($n + 1) * BLOCK);
        }
    )*};
}

blocks! {
    block_0 0 block_1 1 block_2 2 block_3 3 block_4 4
    block_5 5 block_6 6 block_7 7 block_8 8 block_9 9
}

#[test]
fn disk_block_0() {
    play_on_disk(0..DISK_BLOCK);
}

#[test]
fn disk_block_1() {
    play_on_disk(DISK_BLOCK..2 * DISK_BLOCK);
}

#[test]
fn seeds_that_once_failed_still_go_well() {
    for (seed, what) in FOUND {
        eprintln!("seed {seed}: {what}");
        play(*seed..seed + 1);
    }
}

/// Plays the seed that `BATON_SEED` names, and tells what it came to.
#[test]
fn replay() {
    let Some(seed) = number("BATON_SEED") else { return };
    let _sound = planted::sound();
    match play::play(seed) {
        Ok(counts) => eprintln!("seed {seed} went well: {counts:#?}"),
        Err(failure) => panic!("{failure}"),
    }
    if let Err(failure) = disk::play(seed) {
        panic!("on a failing disk: {failure}");
    }
}

/// Plays as many seeds as `BATON_SEEDS` says, on two threads.
#[test]
fn long_run() {
    let Some(count) = number("BATON_SEEDS") else { return };
    let half = count / 2;
    let begun = std::time::Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| play(0..half));
        scope.spawn(|| play(half..count));
    });
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    eprintln!("{count} seeds went well, {rate:.0} a second");
}

#[test]
fn the_invariants_are_documented_by_their_ids() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/invariants.md");
    let text = std::fs::read_to_string(path).expect("docs/invariants.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let ids = |id: &&str| id.starts_with(['I', 'D']) && id[1..].parse::<u8>().is_ok();
    let documented: BTreeSet<_> = rows.filter(ids).collect();
    let judged: BTreeSet<_> = invariants::ALL.iter().map(|(id, _)| *id).collect();
    assert_eq!(documented, judged);
}
