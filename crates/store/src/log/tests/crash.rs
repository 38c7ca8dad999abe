//! Pulls the plug, and breaks the disk, at every single call of a story that rolls over segments.

use super::{append, batch, open, open_from};
use crate::log::{Log, LogError};
use crate::sim::{Fault, SimDisk};

/// The story: batches of commands of so many records, and how long each record is.
const STORY: [(&[u32], usize); 7] =
    [(&[1, 2], 20), (&[3, 1], 150), (&[1], 0), (&[2], 700), (&[5, 1], 30), (&[1], 2000), (&[2], 9)];

const SEEDS: u64 = 24;

/// All lines of the story, each with its newline cut off, and the ends of its commands.
fn expected() -> (Vec<Vec<u8>>, Vec<usize>) {
    let (mut lines, mut ends) = (Vec::new(), vec![0]);
    for (commands, text_bytes) in STORY {
        let bytes = batch(lines.len() as u64 + 1, commands, text_bytes);
        lines.extend(bytes.split(|&b| b == b'\n').filter(|l| !l.is_empty()).map(<[u8]>::to_vec));
        for &count in commands {
            ends.push(ends[ends.len() - 1] + count as usize);
        }
    }
    (lines, ends)
}

/// Plays the story from where `log` stands and returns how many records were acknowledged.
fn play(log: &mut Log) -> (u64, Result<(), LogError>) {
    let mut first = 1;
    for (commands, text_bytes) in STORY {
        if first == log.next().seq
            && let Err(error) = append(log, commands, text_bytes)
        {
            return (log.next().seq - 1, Err(error));
        }
        first += u64::from(commands.iter().sum::<u32>());
    }
    (log.next().seq - 1, Ok(()))
}

/// Opens and plays, also preparing ahead, until the story or the disk ends.
fn live(disk: &SimDisk) -> u64 {
    let Ok((mut log, ..)) = open(disk) else { return 0 };
    if let Some(preparation) = log.preparation() {
        let _ = preparation.run();
    }
    play(&mut log).0
}

/// Counts the calls of an undisturbed story.
fn calls() -> u64 {
    let disk = SimDisk::new(0);
    assert_eq!(live(&disk), 19);
    disk.calls()
}

/// Opens what a crash left and checks what may never fail: the acknowledged records are there, in
/// order, whole commands only. Returns how many records there are.
fn check(disk: &SimDisk, acknowledged: u64, story: &str) -> u64 {
    let (lines, ends) = expected();
    let (_, opened, shown) = open(disk).unwrap_or_else(|error| panic!("{story}: {error}"));
    assert!(shown.len() as u64 >= acknowledged, "{story}: lost, {opened:?}");
    assert_eq!(shown, lines[..shown.len()], "{story}");
    assert!(ends.contains(&shown.len()), "{story}: half a command");
    shown.len() as u64
}

#[test]
fn no_power_cut_loses_what_was_acknowledged_or_keeps_half_a_command() {
    let mut cuts = 0;
    for nth in 0..=calls() {
        let disk = SimDisk::new(nth);
        disk.cut_power_at(nth);
        let acknowledged = live(&disk);
        for seed in 0..SEEDS {
            let story = format!("call {nth}, seed {seed}");
            let found = disk.crash(seed);
            let there = check(&found, acknowledged, &story);
            // What was shown once stays, whatever happens next.
            check(&found.crash(seed), there, &story);
            cuts += u64::from(there > acknowledged);
        }
    }
    assert!(cuts > 0, "some unacknowledged batches survive whole");
}

#[test]
fn a_power_cut_during_recovery_is_recovered_from() {
    for nth in 0..=calls() {
        let disk = SimDisk::new(nth);
        disk.cut_power_at(nth);
        let acknowledged = live(&disk);
        for seed in 0..SEEDS / 4 {
            for again in 0..12 {
                let found = disk.crash(seed);
                found.cut_power_at(again);
                let _ = open(&found);
                check(&found.crash(again), acknowledged, &format!("{nth}, {seed}, {again}"));
            }
        }
    }
}

#[test]
fn after_a_crash_the_story_goes_on_to_its_end() {
    let whole = expected().0.len() as u64;
    for nth in 0..=calls() {
        let disk = SimDisk::new(nth);
        disk.cut_power_at(nth);
        live(&disk);
        let found = disk.crash(nth);
        let (mut log, opened, _) = open(&found).unwrap();
        let boundary = opened.next.seq;
        let (there, result) = play(&mut log);
        result.unwrap();
        // Only a batch that was cut in its middle leaves the story at another place than it knows.
        assert!(there == whole || there == boundary - 1);
        drop(log);
        open(&found).unwrap();
    }
}

#[test]
fn a_failing_disk_stops_the_log_and_loses_nothing_it_acknowledged() {
    for nth in 0..=calls() {
        let disk = SimDisk::new(nth);
        disk.fail_at(nth, Fault::Broken);
        let Ok((mut log, ..)) = open(&disk) else {
            check(&disk.restart(), 0, "failed to open");
            continue;
        };
        let (acknowledged, result) = play(&mut log);
        if result.is_err() {
            let again = append(&mut log, &[1], 1).unwrap_err();
            assert!(matches!(again, LogError::Poisoned), "{again}");
        }
        // The next process sees all that was written; once it has, no power cut may take it.
        let next = disk.restart();
        let shown = check(&next, acknowledged, &format!("call {nth}"));
        for seed in 0..SEEDS {
            check(&next.crash(seed), shown, &format!("call {nth}, then seed {seed}"));
        }
    }
}

#[test]
fn a_killed_process_leaves_nothing_unsynced_to_its_successor() {
    for nth in 0..=calls() {
        let disk = SimDisk::new(nth);
        disk.cut_power_at(nth);
        live(&disk);
        let next = disk.restart();
        let (mut log, ..) = open(&next).unwrap();
        // Small, so that it goes where the killed process would have gone.
        append(&mut log, &[1], 0).unwrap();
        let acknowledged = log.next().seq - 1;
        for seed in 0..SEEDS {
            let (_, opened, _) = open(&next.crash(seed)).unwrap();
            assert!(opened.next.seq > acknowledged, "call {nth}, seed {seed}: {opened:?}");
        }
    }
}

#[test]
fn what_follows_a_snapshot_at_the_end_of_a_segment_is_made_durable_too() {
    for seed in 0..SEEDS {
        let disk = SimDisk::new(seed);
        let (mut log, ..) = open(&disk).unwrap();
        append(&mut log, &[2], 200).unwrap();
        let snapshot = log.next();
        // Making the next segment takes five calls, then comes the write, and then the sync.
        disk.fail_at(6, Fault::Broken);
        append(&mut log, &[3], 300).unwrap_err();
        let next = disk.restart();
        let (log, _, shown) = open_from(&next, snapshot).unwrap();
        assert_eq!((shown.len(), log.next().position.segment), (3, 3));
        drop(log);
        let (_, _, shown) = open(&next.crash(seed)).unwrap();
        assert_eq!(shown.len(), 5, "seed {seed}");
    }
}

#[test]
fn a_failing_disk_during_recovery_changes_nothing_for_the_worse() {
    for nth in 0..=calls() {
        let disk = SimDisk::new(nth);
        disk.cut_power_at(nth);
        let acknowledged = live(&disk);
        let found = disk.crash(nth);
        for fail in 0..24 {
            let image = found.restart();
            image.fail_at(fail, Fault::Broken);
            let _ = open(&image);
            check(&image.restart(), acknowledged, &format!("call {nth}, failing {fail}"));
        }
    }
}

#[test]
fn a_full_disk_is_refused_cleanly_and_the_log_goes_on_when_there_is_room() {
    let mut refusals = 0;
    for nth in 0..=calls() {
        let disk = SimDisk::new(nth);
        disk.fail_at(nth, Fault::Full);
        let (mut log, ..) = match open(&disk) {
            Ok(opened) => opened,
            Err(_) => open(&disk).unwrap(),
        };
        let (mut there, mut result) = play(&mut log);
        if let Err(LogError::DiskFull { .. }) = result {
            refusals += 1;
            (there, result) = play(&mut log);
            result.as_ref().unwrap();
        }
        // Only writing into a pre-written segment, which real disks have room for, may poison.
        assert!(result.is_ok() || log.poisoned);
        drop(log);
        check(&disk.crash(nth), there, &format!("full at {nth}"));
    }
    assert!(refusals >= 8, "each step of making a segment is refused: {refusals}");
}
