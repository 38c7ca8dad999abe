//! The threads of the ledger in many schedules: whoever waits is answered exactly once, by an Ok
//! only when the record would survive a power cut; nothing is lost or reordered; nobody waits for
//! ever (shuttle fails a schedule in which all that are left wait).
//!
//! Mistakes that were made on purpose, one at a time, and found by these tests: each of the four
//! notifications in `syncer.rs` left out; answers given before the sync; `durable` stored after the
//! answers; a panic of the syncer told to nobody; the lock let go between looking at `set_back` and
//! joining a batch; the batch behind a refused one forgotten; its waiters replaced instead of
//! joined; `set_back` not set; the last batch skipped when the end was announced; the end not
//! announced; nothing rebuilt after a set-back; in `prover.rs` either notification left out, a wait
//! that ends one record early, and a stop that leaves records unsigned.

use std::panic::resume_unwind;
use std::sync::Mutex as Plain;
use std::sync::atomic::AtomicU64;

use serde_json::json;
use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use tokio::sync::oneshot::error::TryRecvError;

use super::play::{from_scratch, open, state};
use super::*;
use crate::conformance::desk::{BEGIN, hand_in};
use crate::conformance::{Step, agents, story, submission};
use crate::embedded::syncer::Batch;
use crate::line::seal;
use crate::log::{Cursor, Log};
use crate::sim::Fault;
use crate::sync::explored::explore;
use crate::sync::spawn as start;

/// So many batches are handed over in one schedule.
const BATCHES: u64 = 5;
/// So many calls of the disk may pass before it fails: about as many as a schedule makes.
const CALLS: u64 = 40;

/// What goes wrong in a schedule.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Nothing,
    /// The disk has no room until it is healed, at some point.
    Full,
    /// One call of the disk fails.
    Broken,
    /// The syncer panics after a sync, before or while it tells.
    Panic,
}

const TROUBLES: [Trouble; 4] = [Trouble::Nothing, Trouble::Full, Trouble::Broken, Trouble::Panic];

/// What was handed over, in order: the number that the record has, its words, and who waits.
type Handed = Vec<(u64, String, oneshot::Receiver<Result<(), LedgerError>>)>;

/// A line of the log that says `words`.
fn line(seq: u64, words: &str) -> Vec<u8> {
    let mut line = Vec::new();
    serde_json::to_writer(&mut line, &json!({"seq": seq, "safe": 0, "words": words})).unwrap();
    seal(&mut line, 0);
    line
}

/// The words of all records that a log holds, by their order.
fn surviving(disk: &SimDisk) -> Vec<String> {
    let mut found = Vec::new();
    let visit = |entry: crate::log::Entry<'_>| {
        let line: serde_json::Value = serde_json::from_slice(entry.bytes)?;
        assert_eq!(line["seq"], entry.seq);
        found.push(line["words"].as_str().unwrap().to_owned());
        Ok(())
    };
    let disk = Arc::new(disk.clone());
    Log::open(disk, SMALLEST, Cursor::START, visit).expect("the log can be read");
    found
}

/// So small that nearly every batch takes a new segment.
const SMALLEST: Options = Options { segment_bytes_first: 256, segment_bytes_max: 512 };

/// A syncer that meets `trouble` somewhere.
fn syncer(disk: &SimDisk, exchange: &Arc<Exchange>, trouble: Trouble) -> Syncer {
    let (log, _) = Log::open(Arc::new(disk.clone()), SMALLEST, Cursor::START, |_| Ok(())).unwrap();
    let nth = thread_rng().gen_range(0..CALLS);
    let (mut syncs, mut told) = (nth % BATCHES, nth % BATCHES);
    match trouble {
        Trouble::Nothing | Trouble::Panic => (),
        Trouble::Full => disk.fill_at(nth),
        Trouble::Broken => disk.fail_at(nth, Fault::Broken),
    }
    let panic = move |left: &mut u64, odd: bool| {
        if matches!(trouble, Trouble::Panic) && odd == (nth % 2 == 1) {
            if *left == 0 {
                // A panic without the noise.
                resume_unwind(Box::new("as a test asked for"));
            }
            *left -= 1;
        }
    };
    Syncer {
        log,
        disk: Arc::new(disk.clone()),
        exchange: exchange.clone(),
        tell: Box::new(move |_| panic(&mut told, true)),
        observer: Some(Box::new(move |_| panic(&mut syncs, false))),
        preparing: Vec::new(),
    }
}

/// Hands batches over as the decider does, and says what was in them.
fn decide(exchange: &Arc<Exchange>, disk: &SimDisk) -> Handed {
    let hand = LastBatch(exchange.clone());
    let mut handed = Handed::new();
    let mut next = 1;
    for number in 0..BATCHES {
        if number == BATCHES - 2 {
            disk.heal();
        }
        if hand.0.take_set_back() {
            next = hand.0.durable.load(Ordering::Acquire) + 1;
        }
        let mut batch = Batch { first_seq: next, ..Batch::default() };
        for part in 0..thread_rng().gen_range(0..3_u32) {
            let words = format!("{number}.{part}");
            batch.lines.extend(line(next, &words));
            let (reply, answer) = oneshot::channel();
            let (seq, disk) = (next, disk.clone());
            batch.waiting.push(Box::new(move |durable: Result<(), LedgerError>| {
                if durable.is_ok() {
                    let left = surviving(&disk.crash(seq));
                    assert!(left.len() as u64 >= seq, "{seq} was answered before it was durable");
                }
                reply.send(durable).expect("nobody gives up waiting");
            }));
            handed.push((next, words, answer));
            next += 1;
        }
        batch.last_seq = next - 1;
        if batch.lines.is_empty() {
            // Somebody who only looked.
            let (reply, answer) = oneshot::channel();
            batch.waiting.push(Box::new(move |durable| drop(reply.send(durable))));
            handed.push((0, String::new(), answer));
        }
        // While one waits to be stored, the next batch has to wait.
        batch.snapshot = thread_rng().gen_bool(0.2).then(|| b"{}".to_vec());
        hand.0.hand_over(batch);
    }
    handed
}

/// Checks what those who waited heard against what the disk holds.
fn judge(handed: Handed, disk: &SimDisk, trouble: Trouble) {
    let mut found = surviving(&disk.restart()).into_iter().peekable();
    for (seq, words, mut answer) in handed {
        let is_next = seq > 0 && found.next_if_eq(&words).is_some();
        let heard = match answer.try_recv() {
            Ok(heard) => heard,
            Err(TryRecvError::Empty) => panic!("{words} waits for ever"),
            // What its asker makes of it is `Stopped`.
            Err(TryRecvError::Closed) => Err(LedgerError::Stopped { why: "dropped".into() }),
        };
        match heard {
            Ok(()) => assert!(seq == 0 || is_next, "{words} was answered and is not there"),
            Err(LedgerError::DiskFull) => {
                assert!(!is_next, "{words} was refused and is there");
                assert!(matches!(trouble, Trouble::Full), "{words} was refused for no reason");
            }
            // Nobody knows whether it is there.
            Err(_) => assert!(matches!(trouble, Trouble::Broken | Trouble::Panic), "{trouble:?}"),
        }
    }
    assert_eq!(found.next(), None, "something else is there");
}

#[test]
fn whoever_hands_over_is_answered_once_and_only_for_what_is_durable() {
    explore(8_000, || {
        let trouble = TROUBLES[thread_rng().gen_range(0..TROUBLES.len())];
        let (disk, exchange) = (SimDisk::new(1), Arc::new(Exchange::default()));
        let syncer = syncer(&disk, &exchange, trouble);
        let thread = start("syncer", move || syncer.run()).unwrap();
        let (hand, disk_too) = (exchange.clone(), disk.clone());
        let decider = start("decider", move || decide(&hand, &disk_too)).unwrap();
        let handed = decider.join().unwrap();
        thread.join().expect("a panic of the syncer is caught");
        judge(handed, &disk, trouble);
    });
}

/// What one caller asked and heard.
type Answers = Vec<(baton_protocol::command::Submission, Recorded)>;

/// Asks for one step after the other until one fails, and looks each time whether history knows
/// what was just recorded.
fn call(ledger: &Embedded, steps: Vec<Step>) -> (Answers, Option<LedgerError>) {
    let mut answers = Vec::new();
    for step in steps {
        let asked = submission(&step.key, step.who, step.asked);
        let now = Timestamp::from_micros(BEGIN + step.at * 1_000_000);
        match block_on(hand_in(ledger, asked.clone(), now)) {
            Ok(recorded) => {
                let seq = recorded.seq.expect("each step is recorded");
                let (after_seq, limit) = (Some(seq - 1), 1);
                let filter = Filter { after_seq, limit, ..Filter::default() };
                match block_on(ledger.history(filter)) {
                    Ok(lines) => assert_eq!(lines.len(), 1, "{} is not in history", step.key),
                    Err(error) => return (answers, Some(error)),
                }
                answers.push((asked, recorded));
            }
            Err(TransactError::Failed(failure)) => return (answers, Some(failure)),
            Err(TransactError::Refused(refusal)) => panic!("{}: {refusal}", step.key),
        }
    }
    (answers, None)
}

/// The whole ledger with decider, syncer, index and callers.
fn whole(trouble: Trouble) {
    let (disk, root) = (SimDisk::new(1), folder());
    let ledger = open(&disk, root.path()).unwrap();
    let (first, failed) = call(&ledger, agents());
    assert!(failed.is_none(), "{failed:?}");
    let nth = thread_rng().gen_range(0..2 * CALLS);
    match trouble {
        Trouble::Nothing | Trouble::Panic => (),
        Trouble::Full => disk.fill_at(nth),
        Trouble::Broken => disk.fail_at(nth, Fault::Broken),
    }
    let heard = Arc::new(Plain::new(first));
    let callers = (0..2).map(|number| {
        let (ledger, heard) = (ledger.clone(), heard.clone());
        let run = move || {
            let (answers, failed) = call(&ledger, story(number).into_iter().take(4).collect());
            heard.lock().unwrap().extend(answers);
            failed
        };
        start("caller", run).unwrap()
    });
    let failures = callers.collect::<Vec<_>>().into_iter().filter_map(|c| c.join().unwrap());
    for failure in failures {
        let expected = match trouble {
            Trouble::Nothing | Trouble::Panic => false,
            Trouble::Full => matches!(failure, LedgerError::DiskFull),
            Trouble::Broken => true,
        };
        assert!(expected, "{trouble:?}: {failure:?}");
    }
    drop(ledger);
    let found = disk.crash(nth);
    let ledger = open(&found, root.path()).unwrap();
    assert_eq!(block_on(state(&ledger)), from_scratch(&ledger).1);
    for (asked, before) in heard.lock().unwrap().iter() {
        let again = block_on(hand_in(&*ledger, asked.clone(), Timestamp::default()));
        assert_eq!(again.expect("it was answered before"), *before);
    }
}

#[test]
fn the_whole_ledger_keeps_its_word_in_every_schedule() {
    explore(300, || whole(TROUBLES[thread_rng().gen_range(0..3)]));
}

#[test]
fn a_decider_that_ends_leaves_nobody_waiting() {
    let ends = Arc::new(AtomicU64::new(0));
    let seen = ends.clone();
    explore(300, move || {
        let (disk, root) = (SimDisk::new(1), folder());
        let ledger = open(&disk, root.path()).unwrap();
        assert!(call(&ledger, agents()).1.is_none());
        disk.fill_at(thread_rng().gen_range(0..CALLS));
        let work = |number| {
            let (ledger, disk) = (ledger.clone(), disk.clone());
            move || {
                let (answers, _) = call(&ledger, story(number));
                // Set back by the full disk, the decider reads the log again; failing, it ends.
                disk.cut_power_at(0);
                call(&ledger, story(number).split_off(answers.len())).1
            }
        };
        let other = start("caller", work(0)).unwrap();
        let failed = [work(1)(), other.join().unwrap()];
        let ended = |error: &&LedgerError| error.to_string().ends_with("its threads have ended");
        seen.fetch_add(failed.iter().flatten().filter(ended).count() as u64, Ordering::Relaxed);
    });
    assert!(ends.load(Ordering::Relaxed) > 10, "hardly any schedule has met it: {ends:?}");
}

#[test]
fn a_wait_for_a_checkpoint_ends_when_it_is_signed_or_an_error_is_told() {
    explore(3_000, || {
        let disk = SimDisk::new(1);
        let on: Arc<dyn Disk> = Arc::new(disk.clone());
        let (mut log, _) = Log::open(on.clone(), SMALLEST, Cursor::START, |_| Ok(())).unwrap();
        for seq in 1..=BATCHES {
            log.append(&line(seq, "proven"), seq, seq).unwrap();
        }
        let anchor = crate::proof::anchor(&disk).unwrap();
        let prover = Prover::spawn(on, log.reader(), 0, anchor, log.hold()).unwrap();
        let broken = thread_rng().gen_bool(0.5);
        if broken {
            disk.fail_at(thread_rng().gen_range(0..CALLS), Fault::Broken);
        }
        let prover = Arc::new(prover);
        // Asking is enough; and what nobody asks for is signed at the end.
        let asked = thread_rng().gen_bool(0.5);
        let waits = [1, if asked { BATCHES } else { 2 }].map(|seq| {
            let prover = prover.clone();
            let run = move || match prover.wait_for(seq) {
                Ok(proven) => assert!(proven.size() >= seq, "{seq} is not signed"),
                Err(why) => assert!(broken, "for no reason: {why}"),
            };
            start("waits", run).unwrap()
        });
        if !asked {
            (1..=BATCHES).for_each(|seq| prover.advance(seq));
        }
        waits.into_iter().for_each(|waits| waits.join().unwrap());
        drop(Arc::into_inner(prover).expect("nobody waits any more"));
        let signed = crate::proof::anchor(&disk.crash(0)).unwrap().signed();
        assert!(broken || signed == BATCHES, "a clean stop signs all: {signed}");
    });
}
