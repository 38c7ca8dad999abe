//! The embedded ledger on a real disk and on simulated ones: what it promises as any ledger does,
//! and what only disks that fail can show.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::conformance::{Bench, Stop};
use crate::sim::SimDisk;

mod attack;
mod conform;
mod play;
mod power;
mod proof;
mod prune;
mod restart;
mod schedules;
mod tamper;

/// Small numbers, so that short stories roll segments and take snapshots.
const SMALL: Tuning = Tuning {
    log: Options { segment_bytes_first: 4 * 1024, segment_bytes_max: 16 * 1024 },
    records_between_snapshots: 10,
    full_pause: Duration::ZERO,
    accept_loss: false,
};

/// A folder for the index, in memory where the system has such a place: no test needs it to last.
fn folder() -> tempfile::TempDir {
    let shared = std::path::Path::new("/dev/shm");
    let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.unwrap()
}
