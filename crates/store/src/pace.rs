//! How threads share a busy processor.
//!
//! The one that waits for the disk must run at once when the disk is done, or every caller waits
//! for its turn; the one that follows for questions later can wait. Where the system does not
//! allow it, all are equal and everything still works. The decider stays where it is although it
//! writes for a single caller: then there is nobody to go before.

/// Runs this thread before others, if the system lets us.
pub(crate) fn first() {
    change(-10);
}

/// Lets others run before this thread.
pub(crate) fn behind() {
    change(5);
}

fn change(by: i32) {
    // Tests play all threads of a ledger on one, thousands of times, and would add it up.
    if cfg!(not(test)) {
        // Only a privileged process may go first; for the others it stays as it is.
        let _ = rustix::process::nice(by);
    }
}
