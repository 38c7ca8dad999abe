//! What the threads of this crate meet at: locks, wake-ups, shared numbers, and the threads.
//!
//! These are the standard ones. The tests of this crate have them with a second nature: inside
//! `explore`, shuttle decides who runs next, and so looks for the schedule that goes wrong. Code
//! that uses them cannot tell. Whatever is locked while a thread may be switched must come from
//! here, and nothing here may add a meaning of its own.

#[cfg(test)]
pub(crate) mod explored;
#[cfg(not(test))]
mod standard;

#[cfg(test)]
pub(crate) use explored::{
    AtomicBool, AtomicU64, Condvar, Instant, JoinHandle, Mutex, MutexGuard, receive, spawn,
    spawn_blocking,
};
#[cfg(not(test))]
pub(crate) use standard::{
    AtomicBool, AtomicU64, Condvar, Instant, JoinHandle, Mutex, MutexGuard, receive, spawn,
    spawn_blocking,
};
