//! The primitives as everybody knows them.

use std::io;

use tokio::sync::mpsc;

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::JoinHandle;
pub(crate) use std::time::Instant;

/// Starts a thread.
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Waits for the next of `queue`, on a thread that may wait.
pub(crate) fn receive<T>(queue: &mut mpsc::Receiver<T>) -> Option<T> {
    queue.blocking_recv()
}

/// Runs `work` on a thread that may wait for a disk. `None` if it panicked.
pub(crate) async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
