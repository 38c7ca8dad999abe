//! Pruning: what is left of work that was dropped, and that no crash loses or doubles anything.

use baton_protocol::command::{Command, Submission};
use baton_protocol::id::WorkflowId;
use baton_protocol::retention::{Past as Over, Prune, Retention};
use serde_json::json;

use super::play::{self, Heard, open, play, run, state};
use super::*;
use crate::conformance::desk::{self, hand_in};
use crate::conformance::{submission, workflow};

const DAY: i64 = 86_400_000_000;

/// Asks for the prune of what `story` completes (0) and calls off (1).
async fn prune(ledger: &Embedded, days: i64) -> Recorded {
    let over = |number: usize| Over {
        workflow: workflow(&format!("{number} pass")),
        closed_at: Timestamp::from_micros(desk::BEGIN + 20_000_000),
        completed: number == 0,
        escalated: false,
    };
    let mut asked = submission(&format!("prune {days}"), "operator", json!({"prune": {}}));
    let retention = Retention::default();
    asked.command = Command::Prune(Prune { retention, past: vec![over(0), over(1)] });
    let now = Timestamp::from_micros(desk::BEGIN + days * DAY);
    hand_in(ledger, asked, now).await.unwrap()
}

async fn checked(ledger: &Embedded) -> Checked {
    let found = ledger.check(Against::default()).await.unwrap();
    assert_eq!(found.problem, None);
    found
}

fn ids() -> [WorkflowId; 3] {
    [0, 1, 2].map(|number| workflow(&format!("{number} pass")))
}

/// A ledger on which a day was played and a prune recorded, closed cleanly.
fn pruned(disk: &SimDisk, root: &Path, days: i64) -> (Heard, serde_json::Value) {
    run(async {
        let ledger = open(disk, root).unwrap();
        let heard = play(&ledger).await;
        assert!(heard.failures.is_empty());
        prune(&ledger, days).await;
        assert_eq!(checked(&ledger).await.pruned, 0, "it is carried out at the next start");
        (heard, state(&ledger).await)
    })
}

#[test]
fn what_was_pruned_is_gone_and_everything_else_is_as_it_was() {
    let (disk, root) = (SimDisk::new(1), folder());
    let (heard, before) = pruned(&disk, root.path(), 91);
    let bodies = |disk: &SimDisk| -> usize {
        let folders = disk.list("blobs").unwrap();
        folders.iter().map(|name| disk.list(&format!("blobs/{name}")).unwrap().len()).sum()
    };
    let bodies_before = bodies(&disk);
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        assert_eq!(state(&ledger).await, before);
        let found = checked(&ledger).await;
        assert!(found.pruned > 20 && found.signed == found.records, "{found:?}");
        let lines = ledger.history(Filter::default()).await.unwrap();
        let text = String::from_utf8(lines.concat()).unwrap();
        assert!(!text.contains("work 0") && !text.contains("work 1"), "what it said is gone");
        assert!(text.contains("work 2"), "the rest is not");
        // A command that led to what was dropped is still answered, and does nothing twice.
        // One that names a handoff is refused: the stub does not say which handoffs there were.
        let named = |asked: &Submission| matches!(asked.target(), Target::Handoff(_));
        for (asked, first) in heard.answers.iter().filter(|(asked, _)| !named(asked)) {
            let again = hand_in(&*ledger, asked.clone(), Timestamp::default()).await.unwrap();
            assert_eq!((again.seq, &again.stream), (first.seq, &first.stream));
        }
        assert_eq!(ledger.condition().records, found.records);
        let row = ledger.find_workflows(ids()[0].to_string()).await.unwrap().remove(0);
        assert_eq!(row.outcome.as_deref(), Some("pruned"));
        let open = WorkflowPage { open: Some(true), limit: 9, before: None };
        assert_eq!(ledger.workflows(open).await.unwrap().len(), 1);
    });
    assert!(bodies(&disk) <= bodies_before);
    // The log is enough, and so it is after any number of starts.
    for _ in 0..3 {
        let scratch = disk.restart();
        crate::snapshot::forget(&scratch).unwrap();
        run(async {
            let root = folder();
            let ledger = open(&scratch, root.path()).unwrap();
            assert_eq!(state(&ledger).await, before);
            assert_eq!(play::from_scratch(&ledger).1, before);
            checked(&ledger).await;
        });
    }
}

#[test]
fn only_what_is_past_its_period_goes() {
    let (disk, root) = (SimDisk::new(1), folder());
    pruned(&disk, root.path(), 31);
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        checked(&ledger).await;
        let mut endings = Vec::new();
        for id in ids() {
            endings.push(ledger.find_workflows(id.to_string()).await.unwrap().remove(0).outcome);
        }
        assert_eq!(endings, [Some("completed".to_owned()), Some("pruned".to_owned()), None]);
        // Later the rest goes, and the stubs that are there stay.
        prune(&ledger, 91).await;
    });
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        let found = checked(&ledger).await;
        assert!(found.pruned > 20, "{}", found.pruned);
    });
}

#[test]
fn a_power_cut_while_pruning_is_recovered_from() {
    let (whole, root) = (SimDisk::new(1), folder());
    let (_, before) = pruned(&whole, root.path(), 91);
    let probe = whole.restart();
    let from = probe.calls();
    drop(open(&probe, folder().path()).unwrap());
    let calls = probe.calls() - from;
    assert!(calls > 30, "{calls}");
    for nth in 0..calls {
        let disk = whole.restart();
        disk.cut_power_at(nth);
        let root = folder();
        drop(open(&disk, root.path()));
        for seed in 0..2 {
            let found = disk.crash(nth * 2 + seed);
            run(async {
                let ledger = open(&found, root.path()).unwrap_or_else(|error| {
                    panic!("call {nth}, seed {seed}: {}", crate::causes(&error))
                });
                assert_eq!(state(&ledger).await, before, "call {nth}, seed {seed}");
                let judged = checked(&ledger).await;
                assert!(judged.pruned > 20, "call {nth}, seed {seed}");
                let lines = ledger.history(Filter::default()).await.unwrap();
                assert_eq!(lines.len() as u64, judged.records, "call {nth}, seed {seed}");
                let asked = submission("later", "operator", json!({"start": {"title": "on"}}));
                hand_in(&*ledger, asked, Timestamp::default()).await.unwrap();
                checked(&ledger).await;
            });
        }
    }
}

#[test]
fn a_record_that_is_made_a_stub_without_a_prune_is_found() {
    let (disk, root) = (SimDisk::new(1), folder());
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        assert!(play(&ledger).await.failures.is_empty());
    });
    // The first record behind those of the three agents.
    let names = disk.list("ledger").unwrap();
    let path = names.iter().filter(|name| name.ends_with(".jsonl")).find_map(|name| {
        let path = format!("ledger/{name}");
        let bytes = disk.bytes(&path).unwrap();
        memchr::memmem::find(&bytes, b"\"seq\":4,").map(|_| path)
    });
    disk.corrupt(&path.unwrap(), |bytes| {
        let mut lines: Vec<_> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let fourth = lines.iter().position(|line| line.starts_with(b"{\"seq\":4,")).unwrap();
        lines[fourth] = crate::record::stub(&lines[fourth]).unwrap();
        *bytes = lines.join(&b'\n');
    });
    run(async {
        let ledger = open(&disk, folder().path()).unwrap();
        let found = ledger.check(Against::default()).await.unwrap();
        let problem = found.problem.unwrap();
        assert_eq!(problem, "record 4 is a stub, and no recorded prune names its workflow");
        assert_eq!(found.record, Some(4));
        assert!(found.stream.unwrap().starts_with("workflow/"));
    });
}
