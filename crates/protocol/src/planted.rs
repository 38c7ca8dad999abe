//! Mistakes on purpose, so that the simulation can show that it would find them.
//!
//! Each is one `if planted(Bug::…)` at the spot where somebody could make it. Without the feature
//! `planted`, which only tests switch on, the answer is a constant and costs nothing.

/// A mistake that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Whoever shows a fence is taken for its holder.
    NoFenceCheck = 1,
    /// What was accepted in time is still treated as unanswered.
    TimeoutAfterAccept,
    /// Records are answered before the disk has them.
    SyncSkipped,
    /// A reroute does not count.
    RerouteNotCounted,
    /// A return decides its broadcast once more although that was decided.
    LateReturnCounts,
    /// A hold ends and its locks stay.
    LockNotReleased,
    /// The index is told of records before they are durable.
    IndexAheadOfLog,
    /// A command that was recorded before is decided again.
    IdempotencyIgnored,
    /// Room is judged as it was before the last acceptance.
    CapacityReadBeforeLock,
    /// A question begins one level too high, and may climb one too far.
    EscalationOneTooHigh,
    /// What is not due yet is woken.
    TimerFiresEarly,
    /// A holder that waits for a decision goes on writing.
    SuspendedMayWrite,
    /// Half is taken for more than half.
    MajorityOffByOne,
    /// A queue knows only who came first.
    QueueIgnoresPriority,
    /// Whoever waits for room is forgotten by a restart.
    SnapshotForgetsQueues,
    /// A checkpoint is signed over something else than the records.
    CheckpointOverWrongLeaf,
}

#[cfg(feature = "planted")]
mod switch {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Bug;

    static PLANTED: AtomicU8 = AtomicU8::new(0);

    /// Plants this bug in the whole process, or none.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(0, |bug| bug as u8), Ordering::SeqCst);
    }

    /// Whether this bug is planted.
    pub fn planted(bug: Bug) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as u8
    }
}

#[cfg(feature = "planted")]
pub use switch::{plant, planted};

/// Whether this bug is planted: never, without the feature.
#[cfg(not(feature = "planted"))]
pub const fn planted(_: Bug) -> bool {
    false
}
