//! The harness proves itself: each bug that can be planted is found, by the check that should.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use baton_protocol::planted::{Bug, plant};

use crate::play::Failure;
use crate::{disk, play};

/// A planted bug is in the whole process: whoever plays on sound code holds this to read.
static SOUND: RwLock<()> = RwLock::new(());

/// Keeps planted bugs out while it is held.
pub(crate) fn sound() -> RwLockReadGuard<'static, ()> {
    SOUND.read().unwrap_or_else(PoisonError::into_inner)
}

/// Where a bug shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// In runs on the ledger in memory.
    Memory,
    /// In runs on a disk that fails.
    Disk,
}

/// Each bug, where it shows, and the invariant that finds it. What runs ahead of the log is found
/// by whichever looks first: history that is taken back, or a signature over what is not there.
const BUGS: &[(Bug, Where, &[&str])] = &[
    (Bug::NoFenceCheck, Where::Memory, &["I4"]),
    (Bug::TimeoutAfterAccept, Where::Memory, &["I32"]),
    (Bug::SyncSkipped, Where::Disk, &["D1"]),
    (Bug::RerouteNotCounted, Where::Memory, &["I12"]),
    (Bug::LateReturnCounts, Where::Memory, &["I17"]),
    (Bug::LockNotReleased, Where::Memory, &["I8"]),
    (Bug::IndexAheadOfLog, Where::Disk, &["D3", "D1"]),
    (Bug::IdempotencyIgnored, Where::Memory, &["I23"]),
    (Bug::CapacityReadBeforeLock, Where::Memory, &["I7"]),
    (Bug::EscalationOneTooHigh, Where::Memory, &["I14"]),
    (Bug::TimerFiresEarly, Where::Memory, &["I22"]),
    (Bug::SuspendedMayWrite, Where::Memory, &["I16"]),
    (Bug::MajorityOffByOne, Where::Memory, &["I17"]),
    (Bug::QueueIgnoresPriority, Where::Memory, &["I10"]),
    (Bug::SnapshotForgetsQueues, Where::Memory, &["I26"]),
    (Bug::CheckpointOverWrongLeaf, Where::Disk, &["D4"]),
];

/// Seeds that are played before a bug counts as not found.
const SEEDS_MAX: u64 = 400;

fn first(place: Where, seeds: u64) -> Option<Box<Failure>> {
    (0..seeds).find_map(|seed| match place {
        Where::Memory => play::play(seed).err(),
        Where::Disk => disk::play(seed).err(),
    })
}

/// Takes the bug out again, also when the test fails.
struct Planted;

impl Drop for Planted {
    fn drop(&mut self) {
        plant(None);
    }
}

#[test]
fn every_planted_bug_is_found_by_its_invariant() {
    let _alone = SOUND.write().unwrap_or_else(PoisonError::into_inner);
    let _planted = Planted;
    let mut wrong = Vec::new();
    for (bug, place, expected) in BUGS {
        plant(Some(*bug));
        let found = first(*place, SEEDS_MAX);
        let told = found.as_ref().map(|failure| (failure.broken.id, failure.seed));
        eprintln!("{bug:?}: {told:?}");
        if told.is_none_or(|(id, _)| !expected.contains(&id)) {
            let how = found.map(|failure| failure.broken.to_string());
            wrong.push(format!("{bug:?}: expected {expected:?}, found {how:?}"));
        }
    }
    assert!(wrong.is_empty(), "the harness missed:\n{}", wrong.join("\n"));
    plant(None);
    for place in [Where::Memory, Where::Disk] {
        let found = first(place, 20).map(|failure| failure.to_string());
        assert_eq!(found, None, "without a bug nothing is found");
    }
}
