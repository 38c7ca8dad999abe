//! Plays a day's work on a ledger whose disk may fail at any moment, and judges what is found
//! afterwards.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;

use baton_protocol::World;
use baton_protocol::command::Submission;
use baton_protocol::event::StreamId;
use baton_protocol::time::{Allowance, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::conformance::desk::{self, hand_in, spelled};
use crate::conformance::{Step, agents, story, submission};
use crate::core::Core;
use crate::line::Envelope;
use crate::log::Cursor;
use crate::record::Record;

/// How many workflows there are, worked on side by side.
pub(super) const WORKFLOWS: usize = 3;

/// What the callers heard.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) answers: Vec<(Submission, Recorded)>,
    pub(super) failures: Vec<LedgerError>,
}

/// Opens the ledger on a disk, with its index in `root`.
pub(super) fn open(disk: &SimDisk, root: &Path) -> Result<Arc<Embedded>, LedgerError> {
    Embedded::open_on(Arc::new(disk.clone()), root, SMALL).map(Arc::new)
}

/// Runs a test's future, and fails if it does not come to an end.
pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let runtime = threads.worker_threads(2).enable_time().build().unwrap();
    let limit = Duration::from_secs(300);
    runtime.block_on(async { tokio::time::timeout(limit, future).await }).expect("nobody hangs")
}

fn moment(step: &Step) -> Timestamp {
    Timestamp::from_micros(desk::BEGIN + step.at * 1_000_000)
}

/// Plays one row of steps until the first that fails.
async fn row(ledger: &Embedded, steps: Vec<Step>, heard: &Mutex<Heard>) {
    for step in steps {
        let now = moment(&step);
        let asked = submission(&step.key, step.who, step.asked);
        let answer = hand_in(ledger, asked.clone(), now).await;
        let mut heard = heard.lock().unwrap();
        match answer {
            Ok(recorded) => heard.answers.push((asked, recorded)),
            Err(TransactError::Failed(failure)) => return heard.failures.push(failure),
            Err(TransactError::Refused(refusal)) => panic!("{}: {refusal}", step.key),
        }
    }
}

/// Plays the whole day: agents, then all workflows at once, then the effects.
pub(super) async fn play(ledger: &Arc<Embedded>) -> Heard {
    let heard = Arc::new(Mutex::new(Heard::default()));
    row(ledger, agents(), &heard).await;
    if heard.lock().unwrap().failures.is_empty() {
        let rows = (0..WORKFLOWS).map(|number| {
            let (ledger, heard) = (ledger.clone(), heard.clone());
            tokio::spawn(async move { row(&ledger, story(number), &heard).await })
        });
        for row in rows.collect::<Vec<_>>() {
            row.await.unwrap();
        }
        settle(ledger, &heard).await;
    }
    Arc::into_inner(heard).expect("all rows have ended").into_inner().unwrap()
}

/// Carries out all effects.
async fn settle(ledger: &Embedded, heard: &Mutex<Heard>) {
    let now = Timestamp::from_micros(desk::BEGIN + 60_000_000);
    let loans = match ledger.lend(now, Allowance::from_secs(1).after(now), 100).await {
        Ok(loans) => loans,
        Err(failure) => return heard.lock().unwrap().failures.push(failure),
    };
    let step = |loan: Loan| Step {
        key: format!("settle {}", loan.id),
        who: "coordinator",
        asked: json!({"settle": {"effect": loan.id, "note": "told"}}),
        at: 61,
    };
    row(ledger, loans.into_iter().map(step).collect(), heard).await;
}

/// The world as the ledger shows it.
pub(super) async fn state(ledger: &Embedded) -> Value {
    let (show, shown) = oneshot::channel();
    let look = Box::new(move |world: &World| drop(show.send(spelled(world))));
    ledger.look(Scope::Everything, look).await.unwrap();
    shown.await.unwrap()
}

/// All records, and the world that follows from them alone.
pub(super) fn from_scratch(ledger: &Embedded) -> (Vec<Record>, Value) {
    let mut core = Core::default();
    let (mut records, mut parts) = (Vec::new(), Vec::new());
    let last = ledger.condition().records;
    let walked = ledger.history.reader.scan(Cursor::START, last, |entry| {
        let record = Record::read(entry.bytes)?;
        parts.push(Envelope::read(entry.bytes)?.part());
        core.replay(&record, entry.hash)?;
        records.push(record);
        Ok(())
    });
    walked.unwrap();
    let mut seen = HashSet::new();
    for (record, (index, count)) in records.iter().zip(&parts) {
        let once = *index > 0 || seen.insert((record.stream.clone(), record.command));
        assert!(once, "record {} does {:?} twice", record.seq, record.command);
        let whole = records.len() as u64 >= record.seq + u64::from(count - index - 1);
        assert!(whole, "record {} is half a command", record.seq);
    }
    (records, spelled(&core.world))
}

/// What happened in each stream, in words.
pub(super) fn words(records: &[Record]) -> BTreeMap<StreamId, Vec<&'static str>> {
    let mut words: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.stream != StreamId::Workspace) {
        words.entry(record.stream.clone()).or_default().push(record.event.word());
    }
    words
}

/// Opens what was found and checks what may never fail: all that was answered is there as it was
/// answered, nothing is there twice, the chains hold, the world is the one that the records tell,
/// and the work goes on to its end.
pub(super) async fn judge(disk: &SimDisk, root: &Path, heard: &Heard, whole: &Whole, what: &str) {
    let ledger = open(disk, root).unwrap_or_else(|error| {
        panic!("{what}: {}", crate::causes(&error));
    });
    let checked = ledger.check(Against::default()).await.unwrap();
    let records = ledger.condition().records;
    assert_eq!((checked.records, checked.problem), (records, None), "{what}");
    assert_eq!(state(&ledger).await, from_scratch(&ledger).1, "{what}");
    for (asked, before) in &heard.answers {
        let again = hand_in(&*ledger, asked.clone(), Timestamp::default()).await;
        let again = again.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(again, *before, "{what}");
    }
    assert_eq!(ledger.condition().records, records, "{what}: something was recorded twice");
    let rest = play(&ledger).await;
    assert!(rest.failures.is_empty(), "{what}: {:?}", rest.failures);
    let (records, world) = from_scratch(&ledger);
    assert_eq!(state(&ledger).await, world, "{what}");
    assert_eq!(words(&records), whole.words, "{what}");
}

/// The day as it goes undisturbed.
pub(super) struct Whole {
    pub(super) words: BTreeMap<StreamId, Vec<&'static str>>,
    /// How many calls of the disk it takes, give or take a few.
    pub(super) calls: u64,
}

impl Whole {
    pub(super) async fn play() -> Self {
        let (disk, root) = (SimDisk::new(0), folder());
        let ledger = open(&disk, root.path()).unwrap();
        let heard = play(&ledger).await;
        assert!(heard.failures.is_empty(), "{:?}", heard.failures);
        let words = words(&from_scratch(&ledger).0);
        drop(ledger);
        let names = disk.list("ledger").unwrap();
        let count = |end| names.iter().filter(|name| name.ends_with(end)).count();
        assert!(count(".jsonl") > 3 && count(".json") == 2, "{names:?}");
        Self { words, calls: disk.calls() }
    }
}
