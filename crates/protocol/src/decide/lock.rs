//! Locking files and giving them back.

use crate::command::{LockFiles, Submission, UnlockFiles};
use crate::decide::guard::cycle;
use crate::decide::holder;
use crate::event::{Decision, Event, StreamId};
use crate::id::Fence;
use crate::limits::{
    LOCK_LEASE, LOCK_PATHS_MAX, LOCK_WANTED_AGAIN, LOCK_WANTED_FOR, LOCKS_MAX, LOCKS_PER_HOLD_MAX,
};
use crate::lock::{FilePath, Lock};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::workflow::Hold;
use crate::world::World;

/// Decides whether the asker may have all these files. Asking again renews the lease.
pub(super) fn lock(
    world: &World,
    ask: &Submission,
    lock: &LockFiles,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let workflow = world.workflow(lock.workflow)?;
    let (fence, hold) = holder::hold(lock.workflow, workflow, ask, lock.fence)?;
    if lock.paths.len() > LOCK_PATHS_MAX {
        return Err(Refusal::TooMany { what: "paths in one lock", most: LOCK_PATHS_MAX });
    }
    if world.locks.len() + lock.paths.len() > LOCKS_MAX {
        return Err(Refusal::TooMany { what: "locked files", most: LOCKS_MAX });
    }
    let new = lock.paths.iter().filter(|path| !hold.locks.contains(path)).count();
    if hold.locks.len() + new > LOCKS_PER_HOLD_MAX {
        return Err(Refusal::TooMany {
            what: "files locked by one holder",
            most: LOCKS_PER_HOLD_MAX,
        });
    }
    let in_the_way = in_the_way(world, lock, fence, now);
    if let Some((path, held)) = in_the_way.first() {
        // Who waits waits for all of them.
        cycle::of_locks(world, (lock.workflow, fence, hold), &in_the_way, now)?;
        if lock.wait {
            return Ok(wanted(lock, fence, hold, now));
        }
        let (path, holder, mode) = ((*path).clone(), held.by.clone(), held.mode);
        return Err(Refusal::FileLocked { path, holder, mode });
    }
    let until = lock.lease.unwrap_or(LOCK_LEASE).after(now);
    let (by, paths, mode) = (hold.agent.clone(), lock.paths.clone(), lock.mode);
    let event = Event::Locked { fence, by, paths, mode, until };
    let events = if lock.paths.is_empty() { Vec::new() } else { vec![event] };
    Ok(Decision { stream: StreamId::Workflow(lock.workflow), events, effects: Vec::new() })
}

/// What others have locked that the asker wants.
fn in_the_way<'a>(
    world: &'a World,
    lock: &'a LockFiles,
    fence: Fence,
    now: Timestamp,
) -> Vec<(&'a FilePath, &'a Lock)> {
    let others = |held: &&Lock| {
        held.lasts(now) && !held.is_of(lock.workflow, fence) && held.excludes(lock.mode)
    };
    let on = |path| world.locks.on(path).iter().filter(others).map(move |held| (path, held));
    lock.paths.iter().flat_map(on).collect()
}

/// The asker waits for files that others have. What is known already is not written again before
/// half of its time is over.
fn wanted(lock: &LockFiles, fence: Fence, hold: &Hold, now: Timestamp) -> Decision {
    let until = LOCK_WANTED_FOR.after(now);
    let known = hold.wants.as_ref().is_some_and(|wants| {
        let same = wants.paths == lock.paths && wants.mode == lock.mode;
        same && wants.until > LOCK_WANTED_AGAIN.after(now)
    });
    let event = Event::LockWanted { fence, paths: lock.paths.clone(), mode: lock.mode, until };
    let events = if known { Vec::new() } else { vec![event] };
    Decision { stream: StreamId::Workflow(lock.workflow), events, effects: Vec::new() }
}

/// Decides whether the asker may give these locks back.
pub(super) fn unlock(
    world: &World,
    ask: &Submission,
    unlock: &UnlockFiles,
) -> Result<Decision, Refusal> {
    let workflow = world.workflow(unlock.workflow)?;
    let (fence, hold) = holder::hold(unlock.workflow, workflow, ask, unlock.fence)?;
    let paths: Vec<FilePath> = match unlock.paths.is_empty() {
        true => hold.locks.iter().cloned().collect(),
        false => unlock.paths.clone(),
    };
    if let Some(path) = paths.iter().find(|path| !hold.locks.contains(path)) {
        return Err(not_locked(path, fence));
    }
    let event = Event::Unlocked { fence, paths };
    let events = if hold.locks.is_empty() { Vec::new() } else { vec![event] };
    Ok(Decision { stream: StreamId::Workflow(unlock.workflow), events, effects: Vec::new() })
}

fn not_locked(path: &FilePath, fence: Fence) -> Refusal {
    Refusal::NotLocked { path: path.clone(), fence }
}
