//! Stories of the log as its one user tells them, and the harness that the crash tests share.

use std::sync::Arc;

use super::*;
use crate::disk::RealDisk;
use crate::line::seal;
use crate::sim::SimDisk;

mod crash;
mod damage;

/// Small segments, so that short stories have many.
pub(super) const SMALL: Options = Options { segment_bytes_first: 1024, segment_bytes_max: 4096 };

/// Builds a batch of commands with the given numbers of records, beginning at `first_seq`.
pub(super) fn batch(first_seq: u64, commands: &[u32], text_bytes: usize) -> Vec<u8> {
    let (mut lines, mut seq, safe) = (Vec::new(), first_seq, first_seq - 1);
    for &count in commands {
        for index in 0..count {
            let start = lines.len();
            let part =
                if count == 1 { String::new() } else { format!(",\"part\":[{index},{count}]") };
            let text = "x".repeat(text_bytes);
            let json = format!(r#"{{"seq":{seq},"safe":{safe}{part},"text":"{text}"}}"#);
            lines.extend_from_slice(json.as_bytes());
            seal(&mut lines, start);
            seq += 1;
        }
    }
    lines
}

/// Opens the log from its start and returns what it showed.
pub(super) fn open(disk: &SimDisk) -> Result<(Log, Opened, Vec<Vec<u8>>), LogError> {
    open_from(disk, Cursor::START)
}

/// Opens the log from `from` and returns what it showed.
pub(super) fn open_from(
    disk: &SimDisk,
    from: Cursor,
) -> Result<(Log, Opened, Vec<Vec<u8>>), LogError> {
    let mut shown = Vec::new();
    let (log, opened) = Log::open(Arc::new(disk.clone()), SMALL, from, |entry| {
        assert_eq!(entry.seq, from.seq + shown.len() as u64);
        shown.push(entry.bytes.to_vec());
        Ok(())
    })?;
    assert_eq!(opened.next.seq, from.seq + shown.len() as u64);
    Ok((log, opened, shown))
}

/// Appends one batch and returns where it went.
pub(super) fn append(
    log: &mut Log,
    commands: &[u32],
    text_bytes: usize,
) -> Result<Position, LogError> {
    let first = log.next().seq;
    let last = first + u64::from(commands.iter().sum::<u32>()) - 1;
    log.append(&batch(first, commands, text_bytes), first, last)
}

/// A log of several segments, and the lines in it.
pub(super) fn filled(disk: &SimDisk) -> (Log, Vec<Vec<u8>>) {
    let (mut log, ..) = open(disk).unwrap();
    for commands in [&[1, 2][..], &[3], &[1, 1, 1], &[2, 2], &[1], &[4], &[1, 1]] {
        append(&mut log, commands, 100).unwrap();
    }
    drop(log);
    let (log, opened, lines) = open(disk).unwrap();
    assert_eq!(opened.cut, None);
    (log, lines)
}

#[test]
fn what_was_appended_is_there_after_reopening_across_segments() {
    let disk = SimDisk::new(1);
    let (log, lines) = filled(&disk);
    assert_eq!(lines.len(), 20);
    assert_eq!(
        disk.list(FOLDER).unwrap(),
        ["000000000001.jsonl", "000000000004.jsonl", "000000000010.jsonl", "FORMAT"]
    );
    assert_eq!(log.next().position.segment, 10);

    let reader = log.reader();
    let mut positions = Vec::new();
    let next = reader.scan(Cursor::START, 20, |entry| {
        positions.push(entry.position);
        Ok(())
    });
    assert_eq!(next.unwrap(), log.next());
    for (position, line) in positions.iter().zip(&lines) {
        assert_eq!(&reader.read_line(*position).unwrap(), line);
    }
    assert!(reader.read_line(log.next().position).is_err());
    assert!(reader.scan(log.next(), 21, |_| Ok(())).is_err());
}

#[test]
fn a_scan_stops_where_it_is_told_and_goes_on_from_there() {
    let disk = SimDisk::new(1);
    let (log, lines) = filled(&disk);
    let (reader, mut cursor, mut found) = (log.reader(), Cursor::START, Vec::new());
    for up_to in 0..=20 {
        cursor = reader
            .scan(cursor, up_to, |entry| {
                found.push(entry.bytes.to_vec());
                Ok(())
            })
            .unwrap();
        assert_eq!((cursor.seq, found.len()), (up_to + 1, up_to as usize));
    }
    assert_eq!(found, lines);
}

#[test]
fn history_before_a_snapshot_is_not_read() {
    let disk = SimDisk::new(1);
    let (log, lines) = filled(&disk);
    let mut starts = vec![Cursor::START];
    for seq in 1..=20 {
        starts.push(log.reader().scan(starts[seq - 1], seq as u64, |_| Ok(())).unwrap());
    }
    drop(log);
    disk.remove("ledger/000000000001.jsonl").unwrap();
    disk.remove("ledger/LOCK").unwrap_err();
    // Record 14 begins a command, as 10 does; 4 is found through the end of a removed segment.
    for (at, there) in [(9, true), (13, true), (19, true), (20, true), (0, false), (3, false)] {
        let result = open_from(&disk, starts[at]);
        assert_eq!(result.is_ok(), there, "{at}");
        if let Ok((_, _, shown)) = result {
            assert_eq!(shown, lines[at..]);
        }
    }
}

#[test]
fn a_snapshot_of_more_than_the_log_holds_is_refused() {
    let disk = SimDisk::new(1);
    let (mut log, _) = filled(&disk);
    let older = disk.restart();
    append(&mut log, &[1], 10).unwrap();
    let error = open_from(&older, log.next()).err().unwrap();
    assert!(error.to_string().contains("the record before it is not there"), "{error}");
}

#[test]
fn a_batch_larger_than_any_segment_gets_one_of_its_own() {
    let disk = SimDisk::new(1);
    let (mut log, ..) = open(&disk).unwrap();
    // The first segment is still empty, so the larger one takes its very name.
    assert_eq!(append(&mut log, &[1, 1], 5000).unwrap(), Cursor::START.position);
    append(&mut log, &[1], 50_000).unwrap();
    append(&mut log, &[1], 10).unwrap();
    drop(log);
    let (log, opened, lines) = open(&disk).unwrap();
    assert_eq!((lines.len(), opened.cut), (4, None));
    assert_eq!(log.bytes, 65_536);
}

#[test]
fn the_next_segment_can_be_made_ahead_or_not_at_all() {
    for ahead in [true, false] {
        let disk = SimDisk::new(1);
        let (mut log, ..) = open(&disk).unwrap();
        assert!(log.preparation().is_none(), "an empty segment needs no successor yet");
        append(&mut log, &[1], 600).unwrap();
        let preparation = log.preparation().unwrap();
        assert!(log.preparation().is_none(), "one is enough");
        if ahead {
            preparation.run().unwrap();
        }
        let before = disk.calls();
        append(&mut log, &[1], 600).unwrap();
        let calls = disk.calls() - before;
        assert_eq!(calls, if ahead { 4 } else { 7 });
        assert_eq!(log.bytes, 2048);
    }
}

#[test]
fn a_second_opener_is_told_who_is_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder.path()).unwrap());
    let show = |_: Entry<'_>| Ok(());
    let open = || Log::open(disk.clone(), SMALL, Cursor::START, show);
    let (mut log, _) = open().unwrap();
    append(&mut log, &[1, 2], 10).unwrap();
    let message = open().err().unwrap().to_string();
    let place = folder.path().join(FOLDER);
    assert_eq!(message, format!("the ledger in {} is in use by another process", place.display()));
    drop(log);
    assert_eq!(open().unwrap().1.next.seq, 4);
}

#[test]
fn a_visitor_that_cannot_go_on_stops_the_opening() {
    let disk = SimDisk::new(1);
    drop(filled(&disk));
    let visit = |entry: Entry<'_>| if entry.seq == 5 { Err("enough".into()) } else { Ok(()) };
    let error = Log::open(Arc::new(disk), SMALL, Cursor::START, visit).err().unwrap();
    assert_eq!(error.to_string(), "cannot take in record 5");
}

#[test]
#[should_panic(expected = "in order")]
fn records_out_of_order_are_a_bug() {
    let (mut log, ..) = open(&SimDisk::new(1)).unwrap();
    let _ = log.append(&batch(2, &[1], 10), 2, 2);
}
