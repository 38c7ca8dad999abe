//! Two thousand ways to meddle with a ledger or a bundle, drawn at random: every one is found.

use std::collections::HashMap;

use serde_json::Value;

use super::play::{open, play, run};
use super::*;
use crate::line;
use crate::proof::bundle::verify_bundle;

const LOG_TAMPERS: u64 = 1_000;
const BUNDLE_TAMPERS: u64 = 1_000;

/// A small generator of numbers, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        self.0 >> 33
    }

    fn below(&mut self, most: usize) -> usize {
        self.roll() as usize % most
    }
}

fn lines_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect()
}

fn segments(disk: &SimDisk) -> Vec<String> {
    let names = disk.list("ledger").unwrap();
    names.into_iter().filter(|n| n.ends_with(".jsonl")).map(|n| format!("ledger/{n}")).collect()
}

/// The first line of the command that the line `at` belongs to: a forger makes it anew as a whole.
fn command_start(lines: &[Vec<u8>], at: usize) -> usize {
    let part = |n: usize| lines.get(n).map_or((0, 1), |l| line::Envelope::read(l).unwrap().part());
    let mut start = at;
    while start > 0 && (part(start).0 > 0 || part(start - 1).0 + 1 < part(start - 1).1) {
        start -= 1;
    }
    start
}

/// Numbers, chains and hashes made anew from the line `at` on, as one could who lacks nothing but
/// the key.
fn forged(lines: &[Vec<u8>], at: usize) -> Vec<Vec<u8>> {
    let from = command_start(lines, at);
    let mut heads: HashMap<String, (u64, String)> = HashMap::new();
    let mut forged = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let mut value: Value = serde_json::from_slice(line).unwrap();
        let stream = value["stream"].as_str().unwrap().to_owned();
        if n < from {
            let version = value["version"].as_u64().unwrap();
            heads.insert(stream, (version, value["hash"].as_str().unwrap().to_owned()));
            forged.push(line.clone());
            continue;
        }
        let zero = Hash::default().to_string();
        let (version, prev) = heads.get(&stream).cloned().unwrap_or((0, zero));
        value.as_object_mut().unwrap().remove("hash");
        value["seq"] = (n + 1).into();
        value["safe"] = n.into();
        value.as_object_mut().unwrap().remove("part");
        value["version"] = (version + 1).into();
        value["prev"] = prev.into();
        let mut sealed = serde_json::to_vec(&value).unwrap();
        let hash = line::seal(&mut sealed, 0);
        sealed.pop();
        heads.insert(stream, (version + 1, hash.to_string()));
        forged.push(sealed);
    }
    forged
}

/// Replaces the log by these lines, with nothing left that could contradict them but what is
/// signed.
fn put(disk: &SimDisk, lines: &[Vec<u8>], dice: &mut Dice) {
    for path in segments(disk).iter().skip(1) {
        disk.remove(path).unwrap();
    }
    disk.corrupt("ledger/000000000001.jsonl", |bytes| *bytes = joined(lines));
    crate::snapshot::forget(disk).unwrap();
    if dice.below(2) == 0 {
        disk.remove("ledger/tree").unwrap();
    }
}

/// Changes one line so that it says something else.
fn reworded(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(line.to_vec()).unwrap();
    text.replace("\"at\":\"2025", "\"at\":\"2024").into_bytes()
}

/// Meddles with the log in one way and returns what was done.
fn meddle(disk: &SimDisk, dice: &mut Dice) -> String {
    let paths = segments(disk);
    let path = &paths[dice.below(paths.len())];
    let all = || -> Vec<Vec<u8>> {
        paths.iter().flat_map(|path| lines_of(&disk.bytes(path).unwrap())).collect()
    };
    let in_place = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        disk.corrupt(path, |bytes| {
            let mut lines = lines_of(bytes);
            change(&mut lines);
            let length = bytes.len();
            *bytes = joined(&lines);
            bytes.resize(length.max(bytes.len()), b'\n');
        });
    };
    let count = lines_of(&disk.bytes(path).unwrap()).len();
    let (a, b, c) = (dice.below(count), dice.below(count), dice.roll());
    match dice.below(10) {
        0..=2 => {
            let at = dice.below(disk.bytes(path).unwrap().len());
            let flip = (c % 255 + 1) as u8;
            disk.corrupt(path, |bytes| bytes[at] ^= flip);
            format!("flipped byte {at} of {path}")
        }
        3 => {
            in_place(&|lines| drop(lines.remove(a)));
            format!("removed line {a} of {path}")
        }
        4 => {
            let b = if a == b { (a + 1) % count } else { b };
            in_place(&|lines| if a == b { lines.clear() } else { lines.swap(a, b) });
            format!("swapped lines {a} and {b} of {path}")
        }
        5 => {
            in_place(&|lines| lines.truncate(a));
            format!("cut {path} at line {a}")
        }
        6 => {
            let mut lines = all();
            lines.truncate(1 + c as usize % (lines.len() - 1));
            let left = lines.len();
            put(disk, &lines, dice);
            format!("cut the log to {left} records and dropped the snapshots")
        }
        7 => {
            let mut lines = all();
            let at = c as usize % lines.len();
            lines.remove(at);
            put(disk, &forged(&lines, at), dice);
            format!("removed record {} and forged the rest", at + 1)
        }
        8 => {
            let mut lines = all();
            let at = c as usize % lines.len();
            lines[at] = reworded(&lines[at]);
            put(disk, &forged(&lines, at), dice);
            format!("reworded record {} and forged the rest", at + 1)
        }
        _ => {
            let mut lines = all();
            let at = c as usize % (lines.len() - 1);
            lines.swap(at, at + 1);
            put(disk, &forged(&lines, at), dice);
            format!("swapped records {} and {} and forged the rest", at + 1, at + 2)
        }
    }
}

/// What is found, if anything is: when opening, as a word about a cut, or by a check.
fn found(disk: &SimDisk) -> Option<String> {
    let root = folder();
    run(async {
        let ledger = match open(disk, root.path()) {
            Ok(ledger) => ledger,
            Err(error) => return Some(crate::causes(&error)),
        };
        let checked = ledger.check(Against::default()).await.unwrap();
        checked.problem.or(ledger.condition().cut)
    })
}

fn ledger() -> (SimDisk, tempfile::TempDir) {
    let (disk, root) = (SimDisk::new(1), folder());
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        assert!(play(&ledger).await.failures.is_empty());
    });
    (disk, root)
}

#[test]
fn a_thousand_tampers_with_the_log_are_found() {
    let (whole, _root) = ledger();
    assert_eq!(found(&whole.restart()), None, "a good ledger raises no alarm");
    let mut dice = Dice(4_711);
    let mut kinds: HashMap<String, u64> = HashMap::new();
    let mut missed = Vec::new();
    for n in 0..LOG_TAMPERS {
        let disk = whole.restart();
        let what = meddle(&disk, &mut dice);
        let kind: String = what.split(' ').take(1).collect();
        *kinds.entry(kind).or_default() += 1;
        if found(&disk).is_none() {
            missed.push(format!("{n}: {what}"));
        }
    }
    assert!(kinds.len() >= 4, "{kinds:?}");
    assert!(missed.is_empty(), "{} of {LOG_TAMPERS} went unnoticed: {missed:#?}", missed.len());
}

#[test]
fn a_spoilt_checkpoint_keeps_an_export_from_being_made() {
    let (disk, root) = ledger();
    let out = folder();
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        let (_, note) = ledger.checkpoint().await.unwrap();
        for workflow in [None, Some(crate::conformance::workflow("0 pass"))] {
            let (since, to) = (Some(note.replacen("baton", "other", 1)), out.path().join("no"));
            let refused = ledger.export(Export { workflow, since, to: to.clone() }).await;
            assert!(refused.unwrap_err().to_string().contains("checkpoint") && !to.exists());
        }
    });
}

#[test]
fn a_thousand_tampers_with_a_bundle_are_found() {
    let (disk, root) = ledger();
    let out = folder();
    let (key, bundles, note) = run(async {
        let ledger = open(&disk, root.path()).unwrap();
        let (key, note) = ledger.checkpoint().await.unwrap();
        let mut bundles = Vec::new();
        let one = crate::conformance::workflow("0 pass");
        for (name, workflow) in [("all", None), ("one", Some(one))] {
            let to = out.path().join(name);
            let since = Some(note.clone());
            ledger.export(Export { workflow, since, to: to.clone() }).await.unwrap();
            bundles.push(std::fs::read(&to).unwrap());
        }
        (key, bundles, note)
    });
    let verdict = |bytes: &[u8]| verify_bundle(bytes, &key, Some(&note)).unwrap();
    for bundle in &bundles {
        assert_eq!(verdict(bundle).problem, None);
    }
    let mut dice = Dice(815);
    let (mut missed, mut named) = (Vec::new(), 0);
    for n in 0..BUNDLE_TAMPERS {
        let mut bytes = bundles[dice.below(2)].clone();
        let mut lines = lines_of(&bytes);
        let (a, b) = (dice.below(lines.len()), dice.below(lines.len() - 1));
        let what = match dice.below(6) {
            0 | 1 => {
                let at = dice.below(bytes.len());
                bytes[at] ^= (dice.roll() % 255 + 1) as u8;
                format!("flipped byte {at}")
            }
            2 => {
                lines.remove(a);
                bytes = joined(&lines);
                format!("removed line {a}")
            }
            3 => {
                lines.swap(b, b + 1);
                bytes = joined(&lines);
                format!("swapped lines {b} and {}", b + 1)
            }
            4 => {
                bytes.truncate(dice.below(bytes.len()));
                format!("cut to {} bytes", bytes.len())
            }
            _ => {
                let again = lines[a].clone();
                lines.insert(a, again);
                bytes = joined(&lines);
                format!("doubled line {a}")
            }
        };
        let checked = verdict(&bytes);
        named += u64::from(checked.record.is_some());
        if checked.problem.is_none() {
            missed.push(format!("{n}: {what}"));
        }
    }
    assert!(missed.is_empty(), "{} of {BUNDLE_TAMPERS} went unnoticed: {missed:#?}", missed.len());
    assert!(named > BUNDLE_TAMPERS / 2, "{named}");
}

#[test]
fn the_first_bad_record_is_named_with_its_stream() {
    let (whole, _root) = ledger();
    let count = segments(&whole).len();
    // Forged with everything but the key; the tree that was kept beside it names the record, and
    // without it the checkpoints tell from where on.
    let disk = whole.restart();
    let mut lines: Vec<_> =
        segments(&disk).iter().flat_map(|path| lines_of(&disk.bytes(path).unwrap())).collect();
    lines[16] = reworded(&lines[16]);
    let first = command_start(&lines, 16);
    let stream = crate::proof::audit::stream_of(&lines[first]);
    let forged = forged(&lines, 16);
    for path in segments(&disk).iter().skip(1) {
        disk.remove(path).unwrap();
    }
    disk.corrupt("ledger/000000000001.jsonl", |bytes| *bytes = joined(&forged));
    crate::snapshot::forget(&disk).unwrap();
    assert!(count > 3);
    let root = folder();
    run(async {
        let ledger = open(&disk, root.path()).unwrap();
        let checked = ledger.check(Against::default()).await.unwrap();
        let seq = first as u64 + 1;
        let problem = format!("record {seq} is not the one that was signed");
        assert_eq!(checked.problem, Some(problem));
        assert_eq!((checked.record, checked.stream), (Some(seq), stream));
    });
}
