//! How threads share a busy processor.
//!
//! The one that waits for the disk must run at once when the disk is done, or every caller waits
//! for its turn; the one that follows for questions later can wait. Where the system does not
//! allow it, all are equal and everything still works.

/// Runs this thread before others, if the system lets us.
pub(crate) fn first() {
    // Only a privileged process may; for the others it stays as it is.
    let _ = rustix::process::nice(-10);
}

/// Lets others run before this thread.
pub(crate) fn behind() {
    let _ = rustix::process::nice(5);
}
