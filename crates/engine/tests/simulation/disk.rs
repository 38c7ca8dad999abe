//! Runs on the embedded ledger over a simulated disk that loses power, or breaks, at any call.
//!
//! The ledger has threads of its own, so which call fails is not all in the seed's hands: a replay
//! comes close to the run that failed and is not its copy.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use baton_store::sim::{Fault, SimDisk};
use baton_store::{Embedded, Envelope, Filter, Options, Record, Tuning};

use crate::around::{self, Loans};
use crate::invariants::{Broken, Checked, must};
use crate::play::{Failure, open, step};
use crate::stage::{Halt, Memories, Stage, Went};

/// Small numbers, so that short runs roll segments and take snapshots.
const SMALL: Tuning = Tuning {
    log: Options { segment_bytes_first: 4 * 1024, segment_bytes_max: 16 * 1024 },
    records_between_snapshots: 25,
    full_pause: Duration::ZERO,
    accept_loss: false,
};
/// How often a run loses its disk.
const LIVES: u32 = 3;

/// Plays the run of this seed, with a crash at the end of each life.
pub(crate) fn play(seed: u64) -> Result<(), Box<Failure>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let mut own = Some(Memories::new(seed));
    let went = runtime.expect("a runtime").block_on(lives(seed, &mut own));
    let (broken, tail) = match went {
        Ok(()) => return Ok(()),
        Err((Halt::Broken(broken), tail)) => (broken, tail),
        Err((Halt::Down, tail)) => {
            let how = "a disk that is well stopped the ledger".to_owned();
            (Broken { id: "D1", how }, tail)
        }
    };
    let step = own.map_or(0, |own| own.step);
    Err(Box::new(Failure { seed, step, broken, tail }))
}

async fn lives(seed: u64, own: &mut Option<Memories>) -> Result<(), (Halt, String)> {
    let root = folder();
    let mut disk = SimDisk::new(seed);
    let mut shown: Vec<Vec<u8>> = Vec::new();
    for life in 0..=LIVES {
        let mut now = own.take().expect("whoever had it gave it back");
        let (last, nth) = (life == LIVES, now.chance.below(90));
        let cut = now.chance.percent(60);
        match (last, cut) {
            (true, _) => (),
            (false, true) => disk.cut_power_at(nth),
            (false, false) => disk.fail_at(nth, Fault::Broken),
        }
        let image = now.chance.below(u64::MAX);
        let opened = Embedded::open_on(Arc::new(disk.clone()), root.path(), SMALL);
        let Ok(ledger) = opened else {
            *own = Some(now);
            let dead = || (Halt::Down, String::new());
            disk = if last { return Err(dead()) } else { disk.crash(image) };
            continue;
        };
        let mut stage = Stage::on(Arc::new(ledger), now);
        let went = live(&mut stage, &mut shown, last).await;
        let tail = stage.tail();
        // What somebody may have been shown last.
        if let Ok(lines) = stage.ledger.history(Filter::default()).await
            && lines.len() > shown.len()
        {
            shown = lines;
        }
        let killed = stage.own.chance.percent(25);
        *own = Some(stage.leave());
        match went {
            Ok(()) if last => return Ok(()),
            Err(Halt::Broken(broken)) => return Err((Halt::Broken(broken), tail)),
            Err(Halt::Down) if last => return Err((Halt::Down, tail)),
            Ok(()) | Err(Halt::Down) => (),
        }
        disk = if killed { disk.restart() } else { disk.crash(image) };
    }
    Ok(())
}

/// One life: what was answered and shown is there, then the work goes on.
async fn live(stage: &mut Stage, shown: &mut Vec<Vec<u8>>, last: bool) -> Went<()> {
    let lines = stage.ledger.history(Filter::default()).await.map_err(|_| Halt::Down)?;
    survived(stage.own.acked, shown, &lines)?;
    *shown = lines;
    stage.own.given.clear();
    stage.own.handoffs.clear();
    stage.absorb().await?;
    for (asked, before) in stage.own.heard.iter().rev().take(8).cloned().collect::<Vec<_>>() {
        let again = stage.submit(asked).await?;
        let same = again.as_ref() == Ok(&before);
        must(same, "D1", || format!("{before:?}\nbecame {again:?}"))?;
    }
    open(stage).await?;
    let mut loans = Loans::default();
    for _ in 0..25 {
        stage.own.step += 1;
        step(stage, &mut loans).await?;
    }
    if last {
        around::finish(stage).await?;
        stage.verify("D4").await?;
    }
    Ok(())
}

/// What was answered is there, what was shown is as it was, and nothing is there twice.
fn survived(acked: u64, shown: &[Vec<u8>], lines: &[Vec<u8>]) -> Checked {
    let count = lines.len() as u64;
    must(count >= acked, "D1", || format!("record {acked} was answered, {count} are left"))?;
    let kept = lines.starts_with(shown);
    must(kept, "D3", || format!("{} records were shown, not the {count} there are", shown.len()))?;
    let mut seen = BTreeSet::new();
    for line in lines {
        let unread = |how: String| Broken { id: "I24", how };
        let record = Record::read(line).map_err(|error| unread(error.to_string()))?;
        let part = Envelope::read(line).map_err(|error| unread(error.to_string()))?.part();
        let once = part.0 > 0 || seen.insert((record.stream.clone(), record.command));
        must(once, "D2", || format!("record {} does its command again", record.seq))?;
    }
    Ok(())
}

/// A folder for the index, in memory where the system has such a place: no test needs it to last.
fn folder() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.expect("a folder")
}
