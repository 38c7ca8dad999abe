//! Stories of what went wrong, or could: threads that panic, folders that stay locked, bodies that
//! are written during a backup.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::play::{open, play, run, state};
use super::*;
use crate::conformance::desk::{begin, hand_in};
use crate::conformance::submission;

async fn start(ledger: &Embedded, key: &str) -> Result<Recorded, TransactError> {
    let asked = submission(key, "operator", json!({"start": {"title": "x".repeat(900)}}));
    hand_in(ledger, asked, Timestamp::default()).await
}

#[test]
fn nobody_waits_for_a_syncer_that_panicked() {
    let (disk, root) = (SimDisk::new(1), folder());
    run(async {
        let mut syncs = 0;
        let observer: Observer = Box::new(move |_| {
            syncs += 1;
            assert!(syncs < 3, "as the test wants it");
        });
        let disk = Arc::new(disk.clone());
        let ledger = Embedded::open_with(disk, root.path(), SMALL, Some(observer)).unwrap();
        start(&ledger, "1").await.unwrap();
        start(&ledger, "2").await.unwrap();
        for key in ["3", "4", "5"] {
            let error = start(&ledger, key).await.unwrap_err();
            assert!(error.to_string().starts_with("the ledger has stopped"), "{error}");
        }
        assert_eq!(
            start(&ledger, "6").await.unwrap_err().to_string(),
            "the ledger has stopped: its syncer panicked"
        );
        assert!(ledger.committed().wait_for(|seq| *seq > 9).await.is_err());
    });
    // What was synced before the panic is there, whatever was said about it.
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        assert_eq!(start(&ledger, "3").await.unwrap().seq, Some(3));
        assert_eq!(ledger.condition().records, 3);
    });
}

#[test]
fn no_more_batches_come_once_the_decider_is_gone() {
    let exchange = Arc::new(Exchange::default());
    let decider = LastBatch(exchange.clone());
    let gone = std::thread::spawn(move || {
        let _decider = decider;
        panic!("as the test wants it");
    });
    gone.join().unwrap_err();
    assert!(exchange.next().is_none());
}

#[test]
fn a_ledger_can_be_opened_again_as_soon_as_it_is_closed() {
    let (disk, root) = (SimDisk::new(1), folder());
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        start(&ledger, "1").await.unwrap();
        drop(ledger);
        // The next segment is large, and its making begins when this one is half full.
        let log = Options { segment_bytes_first: 256 << 20, segment_bytes_max: 256 << 20 };
        let large = Tuning { log, ..SMALL };
        let ledger = Embedded::open_on(Arc::new(disk.clone()), root.path(), large).unwrap();
        start(&ledger, "2").await.unwrap();
        drop(ledger);
        let ledger = open(&disk, root.path()).unwrap();
        assert_eq!(ledger.condition().records, 2);
    });
}

#[test]
fn a_second_opener_is_told_that_the_ledger_is_in_use() {
    let (disk, root) = (SimDisk::new(1), folder());
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        let error = open(&disk, folder().path()).err().unwrap();
        assert!(matches!(error, LedgerError::InUse { .. }), "{error}");
        start(&ledger, "1").await.unwrap();
    });
}

#[test]
fn a_backup_is_a_ledger_and_nobody_elses_business() {
    let (root, to) = (folder(), folder());
    let to = to.path().join("backup");
    run(async {
        let disk = Arc::new(RealDisk::new(root.path()).unwrap());
        let ledger = Arc::new(Embedded::open_on(disk, root.path(), SMALL).unwrap());
        assert!(play(&ledger).await.failures.is_empty());
        // A body that is being written may be gone before it is copied.
        std::fs::write(root.path().join("blobs/tmp-7"), b"half").unwrap();
        let (files, bytes) = ledger.backup(to.clone()).await.unwrap();
        assert!(files > 4 && bytes > 10_000);
        assert!(!to.join("blobs/tmp-7").exists());
        for place in ["", "ledger", "blobs", "ledger/000000000001.jsonl", "ledger/FORMAT"] {
            let mode = std::fs::metadata(to.join(place)).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{place} is open to others");
        }
        ledger.backup(to.clone()).await.expect_err("the folder is not empty");

        let disk = Arc::new(RealDisk::new(&to).unwrap());
        let copy = Embedded::open_on(disk, &to, SMALL).unwrap();
        assert_eq!(state(&copy).await, state(&ledger).await);
        let ours = ledger.check(Against::default()).await.unwrap();
        let theirs = copy.check(Against::default()).await.unwrap();
        assert_eq!((theirs.problem, theirs.records, theirs.key), (None, ours.records, ours.key));
        assert!(ours.checkpoints > 0 && theirs.checkpoints >= ours.checkpoints);
        assert!(play(&Arc::new(copy)).await.failures.is_empty());
    });
}

#[test]
fn a_loan_of_what_was_never_recorded_holds_nobody_up() {
    use baton_protocol::effect::{Effect, EffectId};
    let id = |seq| EffectId { seq, n: 0 };
    let effect: Effect = serde_json::from_value(json!({"notify": {
        "agent": "builder", "argv": ["true"], "workflow": crate::conformance::workflow("w"),
        "handoff": crate::conformance::handoff("w"), "news": "arrived",
    }}))
    .unwrap();
    let outbox = [(id(1), effect.clone()), (id(2), effect)].into();
    let (now, until) = (Timestamp::from_micros(0), Timestamp::from_micros(9));
    let mut loans = Loans::default();
    assert_eq!(loans.lend(&outbox, now, until, 9).len(), 2);
    loans.forget_after(1);
    let again = loans.lend(&outbox, now, until, 9);
    assert_eq!(again.iter().map(|loan| loan.id).collect::<Vec<_>>(), [id(2)]);
}

#[test]
fn what_the_disk_has_no_room_for_is_forgotten_with_its_effects() {
    let (disk, root) = (SimDisk::new(1), folder());
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        for step in crate::conformance::agents() {
            let asked = submission(&step.key, step.who, step.asked);
            hand_in(&*ledger, asked, Timestamp::default()).await.unwrap();
        }
        disk.fill_at(0);
        let mut refused = 0;
        for n in 0..40 {
            let asked = submission(&format!("p{n}"), "operator", begin("builder"));
            let answer = hand_in(&*ledger, asked, Timestamp::default()).await;
            refused += u64::from(answer.is_err());
        }
        assert!(refused > 20);
        disk.heal();
        let records = ledger.condition().records;
        let lent = ledger.lend(Timestamp::default(), Timestamp::from_micros(9), 99).await;
        let lent = match lent {
            Ok(lent) => lent,
            Err(_) => {
                ledger.lend(Timestamp::default(), Timestamp::from_micros(9), 99).await.unwrap()
            }
        };
        assert!(lent.iter().all(|loan| loan.id.seq <= records));
        assert_eq!(lent.len() as u64, 40 - refused);
    });
}
