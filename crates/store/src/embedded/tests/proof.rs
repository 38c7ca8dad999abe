//! Checkpoints: when they are made, what they make known at the next start, and that a ledger in
//! use never raises a false alarm.

use serde_json::json;

use super::play::{open, run};
use super::*;
use crate::conformance::desk::hand_in;
use crate::conformance::submission;
use crate::proof::checkpoints::CHECKPOINTS;

async fn start(ledger: &Embedded, key: &str) {
    let asked = submission(key, "operator", json!({"start": {"title": key}}));
    hand_in(ledger, asked, Timestamp::default()).await.unwrap();
}

async fn checked(ledger: &Embedded, against: Against) -> Checked {
    ledger.check(against).await.unwrap()
}

/// A ledger with `count` records that was closed cleanly.
fn ledger(count: usize) -> SimDisk {
    let (disk, root) = (SimDisk::new(7), folder());
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        for n in 0..count {
            start(&ledger, &format!("w{n}")).await;
        }
    });
    disk
}

#[test]
fn a_clean_stop_leaves_everything_signed_and_each_start_goes_on() {
    let (disk, root) = (SimDisk::new(1), folder());
    let mut keys = Vec::new();
    for round in 1..=5 {
        run(async {
            let ledger = open(&disk, root.path()).unwrap();
            start(&ledger, &format!("r{round}")).await;
            let found = checked(&ledger, Against::default()).await;
            assert_eq!((found.problem, found.signed, found.records), (None, round, round));
            assert!(found.checkpoints >= round, "{}", found.checkpoints);
            keys.push(found.key.unwrap());
        });
    }
    keys.dedup();
    assert_eq!(keys.len(), 1, "the key stays");
    assert_eq!(disk.bytes("keys/checkpoint.key.new"), None);
}

#[test]
fn a_tree_that_is_missing_or_wrong_is_built_anew() {
    let disk = ledger(40);
    for change in 0..4 {
        let disk = disk.restart();
        match change {
            0 => disk.remove("ledger/tree").unwrap(),
            1 => disk.corrupt("ledger/tree", |bytes| bytes[70] ^= 1),
            2 => disk.corrupt("ledger/tree", |bytes| bytes.truncate(333)),
            _ => disk.corrupt("ledger/tree", |bytes| bytes.extend([7; 32 * 900])),
        }
        run(async {
            let ledger = open(&disk, folder().path()).unwrap();
            start(&ledger, "more").await;
            let found = checked(&ledger, Against::default()).await;
            assert_eq!((found.problem, found.signed), (None, 41), "change {change}");
        });
    }
}

#[test]
fn records_that_were_signed_and_are_gone_are_not_cut_in_silence() {
    let disk = ledger(30);
    let error = |disk: &SimDisk| crate::causes(&open(disk, folder().path()).err().unwrap());
    // An older copy of the log is put back beside the newer checkpoints.
    for name in disk.list("ledger").unwrap().iter().filter(|name| name.contains("snapshot")) {
        disk.remove(&format!("ledger/{name}")).unwrap();
    }
    let names = disk.list("ledger").unwrap();
    let segments: Vec<_> = names.iter().filter(|name| name.ends_with(".jsonl")).collect();
    let last = format!("ledger/{}", segments.last().unwrap());
    let cut = disk.restart();
    cut.corrupt(&last, |bytes| bytes.fill(b'\n'));
    let first: u64 = segments.last().unwrap().trim_end_matches(".jsonl").parse().unwrap();
    assert_eq!(
        error(&cut),
        format!(
            "cannot open the ledger: record {first} is damaged or missing: the ledger ends before \
             it, and a checkpoint is signed over 30"
        )
    );
    let none = disk.restart();
    for name in &segments {
        none.remove(&format!("ledger/{name}")).unwrap();
    }
    assert!(error(&none).contains("record 1 is damaged or missing"), "{}", error(&none));
    // An operator may accept it, and every check tells of it from then on.
    let tuning = Tuning { accept_loss: true, ..SMALL };
    run(async {
        let root = folder();
        let ledger = Embedded::open_on(Arc::new(cut.clone()), root.path(), tuning).unwrap();
        start(&ledger, "after").await;
        let found = checked(&ledger, Against::default()).await;
        assert_eq!((found.problem, found.records), (None, first));
        let lost = format!("an operator accepted that what followed record {} is lost", first - 1);
        assert_eq!(found.notes, [lost]);
    });
    run(async {
        let root = folder();
        let ledger = open(&cut, root.path()).unwrap();
        assert_eq!(checked(&ledger, Against::default()).await.notes.len(), 1);
    });
}

#[test]
fn checkpoints_or_a_key_that_are_gone_are_reported() {
    let disk = ledger(9);
    run(async {
        let ledger = open(&disk, folder().path()).unwrap();
        start(&ledger, "a second checkpoint").await;
    });
    let problem = |disk: &SimDisk| {
        run(async {
            let ledger = open(disk, folder().path()).unwrap();
            start(&ledger, "more").await;
            checked(&ledger, Against::default()).await.problem.unwrap()
        })
    };
    let without = disk.restart();
    without.remove(CHECKPOINTS).unwrap();
    assert_eq!(problem(&without), "there is a signing key, but its checkpoints are missing");
    assert_eq!(without.bytes(CHECKPOINTS), None, "none was made in its place");
    let empty = disk.restart();
    empty.corrupt(CHECKPOINTS, Vec::clear);
    assert_eq!(problem(&empty), "there is a signing key, but its checkpoints are missing");
    let keyless = disk.restart();
    keyless.remove("keys/checkpoint.key").unwrap();
    assert!(problem(&keyless).contains("the key that signed them is missing"));
    let changed = disk.restart();
    changed.corrupt(CHECKPOINTS, |bytes| bytes[30] ^= 1);
    assert!(problem(&changed).contains("cannot be used"), "{}", problem(&changed));
}

#[test]
fn a_checkpoint_that_was_kept_elsewhere_is_what_the_ledger_goes_on_from() {
    let disk = ledger(12);
    let other = ledger(12);
    run(async {
        let (root, elsewhere) = (folder(), folder());
        let ledger = open(&disk, root.path()).unwrap();
        let (key, note) = ledger.checkpoint().await.unwrap();
        start(&ledger, "more").await;
        let since = Against { key: Some(key.clone()), since: Some(note.clone()) };
        assert_eq!(checked(&ledger, since).await.problem, None);
        // Another ledger has another key; whoever kept the first one sees it at once.
        let other = open(&other, elsewhere.path()).unwrap();
        let found = checked(&other, Against { key: Some(key), since: None }).await;
        assert!(found.problem.unwrap().contains("not with"));
        let found = checked(&other, Against { key: None, since: Some(note) }).await;
        assert!(found.problem.unwrap().contains("is signed by"));
    });
}

#[test]
fn checks_while_work_goes_on_and_after_crashes_raise_no_alarm() {
    let mut checks = 0;
    run(async {
        let (mut disk, root) = (SimDisk::new(3), folder());
        for round in 0..40 {
            let ledger = open(&disk, root.path()).unwrap();
            let writing = {
                let ledger = ledger.clone();
                tokio::spawn(async move {
                    for n in 0..20 {
                        start(&ledger, &format!("{round} {n}")).await;
                    }
                })
            };
            while !writing.is_finished() {
                let found = checked(&ledger, Against::default()).await;
                assert_eq!(found.problem, None, "round {round}");
                checks += 1;
            }
            writing.await.unwrap();
            assert_eq!(checked(&ledger, Against::default()).await.problem, None);
            // Half of the time the power goes, sometimes with everything signed.
            let after = if round % 2 == 0 { disk.crash(round) } else { disk.restart() };
            drop(ledger);
            disk = if round % 4 == 3 { disk } else { after };
        }
    });
    assert!(checks >= 40, "{checks}");
}
