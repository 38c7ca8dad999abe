//! Pulls the plug, and breaks or fills the disk, at every single call of a day's work.

use super::play::{self, Heard, Whole, judge, open, play, run, state};
use super::*;
use crate::sim::Fault;

const SEEDS: u64 = 3;

/// Plays on a disk that will fail, and returns what the callers heard.
async fn disturbed(disk: &SimDisk, root: &Path) -> Heard {
    match open(disk, root) {
        Ok(ledger) => play(&ledger).await,
        Err(_) => Heard::default(),
    }
}

#[test]
fn no_power_cut_loses_what_was_answered_or_does_anything_twice() {
    run(async {
        let whole = Whole::play().await;
        for nth in 0..whole.calls {
            let (disk, root) = (SimDisk::new(nth), folder());
            disk.cut_power_at(nth);
            let heard = disturbed(&disk, root.path()).await;
            for seed in 0..SEEDS {
                let what = format!("call {nth}, seed {seed}");
                let found = disk.crash(nth * SEEDS + seed);
                // The index may be lost too, or be the one of another outcome.
                let fresh = folder();
                let root = if seed == 0 { fresh.path() } else { root.path() };
                judge(&found, root, &heard, &whole, &what).await;
            }
        }
    });
}

#[test]
fn a_power_cut_while_recovering_is_recovered_from() {
    run(async {
        let whole = Whole::play().await;
        for nth in (0..whole.calls).step_by(7) {
            let (disk, root) = (SimDisk::new(nth), folder());
            disk.cut_power_at(nth);
            let heard = disturbed(&disk, root.path()).await;
            let found = disk.crash(nth);
            found.cut_power_at(nth % 23);
            let _ = disturbed(&found, root.path()).await;
            judge(&found.crash(nth), root.path(), &heard, &whole, &format!("call {nth}")).await;
        }
    });
}

#[test]
fn a_failing_disk_stops_the_ledger_and_everybody_hears_of_it() {
    let mut stops = 0;
    run(async {
        let whole = Whole::play().await;
        for nth in 0..whole.calls {
            let (disk, root) = (SimDisk::new(nth), folder());
            disk.fail_at(nth, Fault::Broken);
            let mut heard = Heard::default();
            if let Ok(ledger) = open(&disk, root.path()) {
                heard = play(&ledger).await;
                let stopped = |error: &LedgerError| matches!(error, LedgerError::Stopped { .. });
                if heard.failures.iter().any(stopped) {
                    stops += 1;
                    let again = play(&ledger).await;
                    assert!(again.failures.iter().all(stopped), "{:?}", again.failures);
                    assert!(again.answers.is_empty(), "call {nth}: it went on");
                    let mut committed = ledger.committed();
                    assert!(committed.wait_for(|seq| *seq == u64::MAX).await.is_err());
                }
            }
            let what = format!("call {nth}");
            judge(&disk.crash(nth), root.path(), &heard, &whole, &what).await;
            judge(&disk.restart(), root.path(), &heard, &whole, &what).await;
        }
    });
    assert!(stops > 40, "each write and sync of a record stops it: {stops}");
}

#[test]
fn a_disk_that_is_full_once_is_refused_cleanly_or_stops_the_ledger() {
    let mut refusals = 0;
    run(async {
        let whole = Whole::play().await;
        for nth in 0..whole.calls {
            let (disk, root) = (SimDisk::new(nth), folder());
            disk.fail_at(nth, Fault::Full);
            let Ok(ledger) = open(&disk, root.path()) else { continue };
            let mut heard = play(&ledger).await;
            let full = |error: &LedgerError| matches!(error, LedgerError::DiskFull);
            if heard.failures.iter().all(full) {
                refusals += u64::from(!heard.failures.is_empty());
                // A day that was quicker than others has not met it yet.
                disk.heal();
                heard = play(&ledger).await;
                assert!(heard.failures.is_empty(), "call {nth}: {:?}", heard.failures);
            }
            drop(ledger);
            judge(&disk.crash(nth), root.path(), &heard, &whole, &format!("call {nth}")).await;
        }
    });
    assert!(refusals > 10, "{refusals}");
}

#[test]
fn a_full_disk_refuses_and_the_ledger_goes_on_by_itself_once_there_is_room() {
    let mut refusals = 0;
    run(async {
        let whole = Whole::play().await;
        for nth in 0..whole.calls {
            let (disk, root) = (SimDisk::new(nth), folder());
            disk.fill_at(nth);
            let ledger = match open(&disk, root.path()) {
                Ok(ledger) => ledger,
                Err(error) => {
                    assert!(matches!(error, LedgerError::DiskFull), "call {nth}: {error:?}");
                    disk.heal();
                    open(&disk, root.path()).unwrap()
                }
            };
            let heard = play(&ledger).await;
            let full = |error: &LedgerError| matches!(error, LedgerError::DiskFull);
            assert!(heard.failures.iter().all(full), "call {nth}: {:?}", heard.failures);
            refusals += heard.failures.len();
            // Nothing is there of what was refused, neither in the records nor in memory. Whoever
            // looks first may still hear that the disk is full: it looked at what could not stay.
            let shown =
                tokio::time::timeout(Duration::from_secs(5), settled(&ledger)).await.unwrap();
            let (records, world) = play::from_scratch(&ledger);
            assert_eq!(shown, world, "call {nth}");
            let answered: std::collections::HashSet<_> =
                heard.answers.iter().map(|(asked, _)| asked.id).collect();
            assert!(records.iter().all(|record| answered.contains(&record.command)), "{nth}");
            disk.heal();
            let rest = play(&ledger).await;
            assert!(rest.failures.is_empty(), "call {nth}: {:?}", rest.failures);
            drop(ledger);
            judge(&disk.crash(nth), root.path(), &rest, &whole, &format!("call {nth}")).await;
        }
    });
    assert!(refusals > 100, "{refusals}");
}

/// The world, once it is one that may be shown.
async fn settled(ledger: &Embedded) -> serde_json::Value {
    loop {
        let look = Box::new(|_: &baton_protocol::World| ());
        match ledger.look(Scope::Everything, look).await {
            Ok(()) => return state(ledger).await,
            Err(error) => assert!(matches!(error, LedgerError::DiskFull), "{error}"),
        }
    }
}
