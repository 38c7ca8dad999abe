//! What a start reads, what it finds, and what a stop leaves behind.

use super::play::{open, play, run, state};
use super::*;
use crate::conformance::desk::hand_in;
use crate::conformance::{agents, story, submission};

/// Plays workflows that all come to an end, on a ledger that is then stopped.
fn fill(disk: &SimDisk, root: &Path, workflows: std::ops::Range<usize>) {
    run(async {
        let ledger = open(disk, root).unwrap();
        let closed = workflows.map(|n| story(3 * n));
        for step in agents().into_iter().chain(closed.flatten()) {
            let asked = submission(&step.key, step.who, step.asked);
            hand_in(&*ledger, asked, Timestamp::default()).await.unwrap();
        }
        ledger.counts().await.unwrap();
    });
}

/// How many bytes it takes to open the ledger and begin something.
fn read_to_open(disk: &SimDisk, root: &Path, key: &str) -> u64 {
    let before = disk.bytes_read();
    run(async {
        let ledger = open(disk, root).unwrap();
        let start = serde_json::json!({"start": {"title": "more"}});
        let asked = submission(key, "operator", start);
        hand_in(&*ledger, asked, Timestamp::default()).await.unwrap();
        disk.bytes_read() - before
    })
}

#[test]
fn a_start_reads_what_is_live_and_not_what_is_over() {
    let read = |workflows| {
        let (disk, root) = (SimDisk::new(1), folder());
        fill(&disk, root.path(), 0..workflows);
        let history: usize = disk
            .list("ledger")
            .unwrap()
            .iter()
            .filter(|name| name.ends_with(".jsonl"))
            .map(|name| disk.bytes(&format!("ledger/{name}")).unwrap().len())
            .sum();
        (history as u64, read_to_open(&disk, root.path(), "new"))
    };
    let (short, few) = read(4);
    let (long, many) = read(60);
    assert!(long > 10 * short, "{short}, {long}");
    // The end of the last segment is read, wherever that is, and the line before it.
    let most = few + 2 * SMALL.log.segment_bytes_max;
    assert!(many <= most, "{few} bytes after {short}, {many} bytes after {long}");
}

#[test]
fn many_crashes_in_a_row_do_not_add_up_to_a_long_start() {
    let (mut disk, root) = (SimDisk::new(1), folder());
    fill(&disk, root.path(), 0..2);
    let mut most = 0;
    for round in 0..40 {
        // Fewer records than lie between two snapshots, and never a clean stop.
        let before = disk.bytes_read();
        run(async {
            let ledger = open(&disk, root.path()).unwrap();
            most = most.max(disk.bytes_read() - before);
            for n in 0..4 {
                let start = serde_json::json!({"start": {"title": "x".repeat(1_000)}});
                let asked = submission(&format!("{round}/{n}"), "operator", start);
                hand_in(&*ledger, asked, Timestamp::default()).await.unwrap();
                let close = serde_json::json!({"complete": {
                    "workflow": crate::conformance::workflow(&format!("{round}/{n}")),
                }});
                let asked = submission(&format!("{round}/{n} c"), "operator", close);
                hand_in(&*ledger, asked, Timestamp::default()).await.unwrap();
            }
            ledger.counts().await.unwrap();
            disk.cut_power_at(0);
        });
        disk = disk.crash(round);
    }
    assert!(most < 8 * SMALL.log.segment_bytes_max, "{most} bytes");
}

#[test]
fn a_clean_stop_leaves_nothing_that_damage_could_cut_off_in_silence() {
    let (disk, root) = (SimDisk::new(1), folder());
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        assert!(play(&ledger).await.failures.is_empty());
    });
    let last = |disk: &SimDisk| {
        let names = disk.list("ledger").unwrap();
        let name = names.iter().rfind(|name| name.ends_with(".jsonl")).unwrap();
        let path = format!("ledger/{name}");
        let bytes = disk.bytes(&path).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != b'\n').unwrap();
        (path, end)
    };
    // The last record is looked at, and must be there.
    let spoilt = disk.restart();
    let (path, end) = last(&spoilt);
    spoilt.corrupt(&path, |bytes| bytes[end - 100] ^= 1);
    let error = open(&spoilt, root.path()).err().expect("damage is no torn tail");
    assert!(crate::causes(&error).contains("the record before it is not there"), "{error:?}");
    // Earlier ones are not looked at, and not cut: a check finds them.
    let spoilt = disk.restart();
    let names = disk.list("ledger").unwrap();
    // The last segment may hold nothing but the last record and the one before it.
    let first = names.iter().find(|name| name.ends_with(".jsonl")).unwrap();
    spoilt.corrupt(&format!("ledger/{first}"), |bytes| bytes[100] ^= 1);
    run(async {
        let ledger = open(&spoilt, root.path()).unwrap();
        assert_eq!(ledger.condition().cut, None);
        assert!(ledger.check(Against::default()).await.unwrap().problem.is_some());
    });
    // Without a snapshot a signed checkpoint says that it was there.
    let torn = disk.restart();
    for name in disk.list("ledger").unwrap().iter().filter(|name| name.starts_with("snapshot")) {
        torn.remove(&format!("ledger/{name}")).unwrap();
    }
    torn.corrupt(&path, |bytes| bytes[end - 100] ^= 1);
    let before = torn.bytes(&path);
    let error = open(&torn, root.path()).err().expect("damage is no torn tail");
    assert!(crate::causes(&error).contains("a checkpoint is signed over"), "{error:?}");
    assert_eq!(torn.bytes(&path), before, "nothing was changed");
    // Without either, the last batch may have been torn, and the word about it says so.
    torn.remove("ledger/checkpoints").unwrap();
    torn.remove("keys/checkpoint.key").unwrap();
    run(async {
        let ledger = open(&torn, folder().path()).unwrap();
        let cut = ledger.condition().cut.expect("the last record is cut");
        assert!(cut.contains("the line says its hash is"), "{cut}");
        assert_eq!(state(&ledger).await, super::play::from_scratch(&ledger).1);
    });
}

#[test]
fn a_snapshot_that_is_damaged_or_strange_costs_time_and_nothing_else() {
    let (disk, root) = (SimDisk::new(1), folder());
    let before = run(async {
        let ledger = open(&disk, root.path()).unwrap();
        assert!(play(&ledger).await.failures.is_empty());
        state(&ledger).await
    });
    let names = disk.list("ledger").unwrap();
    let snapshots: Vec<_> = names.iter().filter(|name| name.starts_with("snapshot")).collect();
    for spoilt in [&snapshots[1..], &snapshots[..]] {
        let disk = disk.restart();
        for name in spoilt {
            disk.corrupt(&format!("ledger/{name}"), |bytes| bytes[50] ^= 1);
        }
        run(async {
            let ledger = open(&disk, root.path()).unwrap();
            assert_eq!(state(&ledger).await, before);
        });
    }
    // One that is whole, but of a shape that another version had.
    let strange = disk.restart();
    let seq = snapshots[1].trim_start_matches("snapshot-").trim_end_matches(".json");
    crate::snapshot::write(&strange, seq.parse().unwrap(), br#"{"core":[]}"#).unwrap();
    run(async { assert_eq!(state(&open(&strange, root.path()).unwrap()).await, before) });
}
