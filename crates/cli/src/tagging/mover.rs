//! Who moves a tag: a person, or a process that works for one.
//!
//! The same marks count as at the coordinator's socket (`baton-server`, `marks.rs`), but nobody is
//! asked: a tag is moved without a coordinator.

use std::fs;

use baton_protocol::id::AgentId;
use baton_tags::lifecycle::Mover;

/// Ancestors that are looked at; deeper trees may be made to hide a mark.
const ANCESTORS_MAX: usize = 64;
const MARK: &[u8] = b"BATON_AGENT=";

/// Tells who asks. Whoever is not surely a person is a worker, and cannot approve.
///
/// A token cannot be checked here, so having any makes a worker, an empty one too.
pub(crate) fn mover(on_behalf: Option<&AgentId>) -> Mover {
    let set = |name| std::env::var_os(name).is_some();
    if on_behalf.is_some() || set("BATON_TOKEN") || is_marked() {
        Mover::Worker
    } else {
        Mover::Person
    }
}

/// Whether Baton started this process or one of its ancestors.
///
/// Ancestors count, because a child can clear its own environment but not theirs.
fn is_marked() -> bool {
    let own = std::env::var_os("BATON_AGENT").is_some_and(|mark| !mark.is_empty());
    if own {
        return true;
    }
    let mut pid = std::process::id();
    for _ in 0..ANCESTORS_MAX {
        if carries_mark(pid) {
            return true;
        }
        match parent(pid) {
            Some(0) => return false,
            Some(parent) => pid = parent,
            None => return pid != 1,
        }
    }
    true
}

/// An ancestor of another system user cannot be read and was not started by us.
fn carries_mark(pid: u32) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let marked = |entry: &[u8]| entry.starts_with(MARK) && entry.len() > MARK.len();
    environment.split(|byte| *byte == 0).any(marked)
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may hold anything, brackets and spaces among it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}
