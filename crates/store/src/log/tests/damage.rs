//! Damage to durable records is reported and never repaired by cutting.

use super::{append, filled, open};
use crate::disk::Disk;
use crate::log::{Cursor, LogError};
use crate::sim::SimDisk;

/// A ledger of 20 records in three segments; for each, its segment's path, start and length.
fn ledger() -> (SimDisk, Vec<(String, usize, usize)>) {
    let disk = SimDisk::new(1);
    let (log, _) = filled(&disk);
    let mut places = Vec::new();
    let place = |entry: crate::log::Entry<'_>| {
        let path = format!("ledger/{:012}.jsonl", entry.position.segment);
        places.push((path, entry.position.offset as usize, entry.bytes.len()));
        Ok(())
    };
    log.reader().scan(Cursor::START, 20, place).unwrap();
    drop(log);
    (disk, places)
}

/// Opens a damaged copy and says what came of it; damage must leave every file as it is.
fn opened(disk: &SimDisk) -> String {
    let files = |disk: &SimDisk| {
        let names = disk.list("ledger").unwrap();
        names.iter().map(|name| disk.bytes(&format!("ledger/{name}"))).collect::<Vec<_>>()
    };
    let before = files(disk);
    match open(disk) {
        Ok((_, opened, lines)) => {
            format!("{} records, {}", lines.len(), opened.cut.map_or("all", |_| "cut"))
        }
        Err(LogError::Corrupt { seq, .. }) => {
            assert_eq!(files(disk), before, "damage is evidence");
            format!("record {seq} is damaged")
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn any_changed_synced_record_is_reported_and_not_cut() {
    let (disk, places) = ledger();
    for (at, (path, start, length)) in places.iter().enumerate() {
        for within in [0, length / 2, length - 1, *length] {
            let copy = disk.restart();
            copy.corrupt(path, |bytes| bytes[start + within] ^= 1);
            // Nothing says that the last batch, records 19 and 20, was ever synced.
            let expected = match at {
                19 => "19 records, cut".to_owned(),
                18 => "18 records, cut".to_owned(),
                _ => format!("record {} is damaged", at + 1),
            };
            assert_eq!(opened(&copy), expected, "record {}, byte {within}", at + 1);
        }
    }
}

#[test]
fn a_synced_record_that_was_blanked_is_reported() {
    let (disk, places) = ledger();
    for (at, (path, start, length)) in places[..18].iter().enumerate() {
        let copy = disk.restart();
        copy.corrupt(path, |bytes| bytes[*start..start + length].fill(b'\n'));
        assert_eq!(opened(&copy), format!("record {} is damaged", at + 1));
    }
}

#[test]
fn a_missing_segment_is_reported_unless_it_is_the_last() {
    let (disk, _) = ledger();
    let without = |name: &str| {
        let copy = disk.restart();
        copy.remove(&format!("ledger/{name}.jsonl")).unwrap();
        opened(&copy)
    };
    assert_eq!(without("000000000001"), "record 1 is damaged");
    assert_eq!(without("000000000004"), "record 4 is damaged");
    assert_eq!(without("000000000010"), "9 records, all");
}

#[test]
fn swapped_and_repeated_records_are_reported() {
    let (disk, places) = ledger();
    let (path, first, length) = &places[6];
    let (same, second, same_length) = &places[7];
    assert_eq!((path, length), (same, same_length));
    let copy = disk.restart();
    copy.corrupt(path, |bytes| bytes.copy_within(*first..first + length, *second));
    assert_eq!(opened(&copy), "record 8 is damaged");
}

#[test]
fn a_cut_tail_says_what_it_was_and_its_place_is_used_again() {
    let (disk, places) = ledger();
    let (path, start, _) = &places[19];
    disk.corrupt(path, |bytes| bytes[start + 9] = b'?');
    let (mut log, opened, _) = open(&disk).unwrap();
    let cut = opened.cut.unwrap();
    assert_eq!((cut.first_seq, cut.position.offset as usize), (20, *start));
    assert!(cut.reason.starts_with("record 20: the line says its hash is"), "{}", cut.reason);
    assert_eq!(append(&mut log, &[1], 3).unwrap(), cut.position);
    drop(log);
    let (_, opened, lines) = open(&disk).unwrap();
    assert_eq!((lines.len(), opened.cut), (20, None));
}
