//! Who moves a tag: a person, or a process that works for one.
//!
//! The same marks count as at the coordinator's socket, but nobody is asked: a tag is moved
//! without a coordinator.

use baton_protocol::id::AgentId;
use baton_protocol::tag::TagMover;
use baton_tags::lifecycle::Mover;

/// Tells who asks. Whoever is not surely a person is a worker, and cannot approve.
///
/// A token cannot be checked here, so having any makes a worker, an empty one too.
pub(crate) fn mover(on_behalf: Option<&AgentId>) -> Mover {
    if on_behalf.is_some() || has_token() || is_marked() { Mover::Worker } else { Mover::Person }
}

/// Whether a credential was given to this process.
pub(super) fn has_token() -> bool {
    std::env::var_os("BATON_TOKEN").is_some()
}

/// Whether Baton started this process or one of its ancestors.
pub(super) fn is_marked() -> bool {
    i32::try_from(std::process::id()).map_or(true, baton_server::is_marked)
}

/// The same as the ledger has it.
pub(crate) fn as_told(mover: Mover) -> TagMover {
    match mover {
        Mover::Person => TagMover::Person,
        Mover::Worker => TagMover::Worker,
        Mover::Daemon { .. } => TagMover::Daemon,
    }
}
