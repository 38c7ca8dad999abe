//! The dispatch daemon: watches files, starts a worker for each approved item, and recovers what
//! dead workers left.
//!
//! It keeps no state: what is to be done is in the tags, who does it in the sessions' state files.
//! Killed at any moment and started again, or started twice, it goes on from there; a claim is made
//! by the worker, and only one succeeds. It looks at `#delegated` and `#claimed` alone.

mod recover;
mod spawn;
mod told;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baton_tags::dispatch::{Queued, Table};
use baton_tags::request::{self, Request, Standing as Approved};
use baton_tags::state::STATE_FILE;
use baton_tags::watch::{Batch, Pace, Stopper, Watcher};
use baton_tags::{
    Fence, FileError, Files, ItemKey, RecordError, Search, Stage, TagPattern, Trust, find,
};
use jiff::Timestamp;

use self::recover::{Outcome, Standing, is_faster, recover, standing};
pub(crate) use self::spawn::Spawner;
use self::told::Told;
use super::table::table;
use super::worker::{OUTPUT, RESPONSE};
use super::{Ground, spool, told as words, worker};
use crate::failure::Failure;
use crate::show::Output;

/// How often workers are looked after, and what waits is tried again.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a worker has from its start to its claim.
const CLAIM_WITHIN: Duration = Duration::from_secs(30);
/// How long an item is left alone that could not be started, claimed or recovered.
const AGAIN_AFTER: Duration = Duration::from_secs(5 * 60);
/// Moves that are told to the ledger in one round.
const TOLD_AT_ONCE: usize = 1_000;

/// What the daemon is to do.
pub(crate) struct Daemon {
    pub(crate) ground: Ground,
    /// The table as it was last read without a mistake.
    pub(crate) table: RefCell<Table>,
    pub(crate) tree: PathBuf,
    /// Only items with these tags; none means all that are delegated.
    pub(crate) tags: Vec<TagPattern>,
    pub(crate) spawner: Spawner,
    pub(crate) agents_max: Option<usize>,
    /// Whether it only says what it would do.
    pub(crate) dry: bool,
    pub(crate) quiet: Duration,
    pub(crate) out: Output,
}

/// An item of a file.
type Key = (PathBuf, ItemKey);

/// What is remembered between two looks, to save work and words. Whoever forgets it does nothing
/// wrong: a second worker for an item loses the claim.
#[derive(Default)]
struct Memory {
    /// Files that had work at the last look.
    files: BTreeSet<PathBuf>,
    /// Workers that were started and have not claimed yet.
    started: HashMap<Key, Instant>,
    /// Items that are left alone until then.
    later: HashMap<Key, Instant>,
    /// What was said already, so that it is not said every two seconds.
    said: HashMap<Key, String>,
}

/// What one look at all files found.
#[derive(Default)]
struct Look {
    queue: Vec<Queued>,
    /// Workers that are alive.
    running: usize,
}

impl Daemon {
    /// Looks once, starts what is due, and returns.
    pub(crate) fn once(&self) -> Result<(), Failure> {
        let mut memory = Memory { files: self.scan()?, ..Memory::default() };
        self.round(&mut memory);
        Ok(())
    }

    /// Goes on until it is stopped. `ready` gets what stops it.
    pub(crate) fn watch(&self, ready: impl FnOnce(Stopper)) -> Result<(), Failure> {
        let pace = Pace { quiet: self.quiet, ..Pace::default() };
        let mut watcher = Watcher::start(&self.tree, true, pace).map_err(|error| {
            let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
            let sentence = format!("{error}{}", source.unwrap_or_default());
            Failure::failed(sentence, "check the folder, and the limit on inotify watches")
        })?;
        let stopper = watcher.stopper();
        ready(stopper.clone());
        if watcher.is_partial() {
            let sentence = "the system gives no more watches; everything is looked at every 5 s";
            self.out.warn(sentence);
        }
        let mut memory = Memory::default();
        let mut look_at = Instant::now();
        while !stopper.is_stopped() {
            let batches = watcher.next(look_at);
            for batch in &batches {
                match batch {
                    Batch::Files(files) => memory.files.extend(files.iter().cloned()),
                    // A folder that is away for a moment comes back.
                    Batch::Everything(_) => match self.scan() {
                        Ok(found) => memory.files.extend(found),
                        Err(failure) => self.out.warn(&failure.sentence),
                    },
                }
            }
            let now = Instant::now();
            if !batches.is_empty() || now >= look_at {
                self.round(&mut memory);
                look_at = Instant::now() + LOOK_EVERY;
            }
        }
        Ok(())
    }

    /// The files of the tree that have work for the daemon.
    fn scan(&self) -> Result<BTreeSet<PathBuf>, Failure> {
        let mut files = BTreeSet::new();
        for pattern in ["#delegated-*", "#claimed-*"] {
            let search = Search::new(words::read(pattern)?);
            let found = find(&self.tree, &search).map_err(words::search)?;
            words::warn_of(&found.skipped, self.out);
            files.extend(found.hits.into_iter().map(|hit| hit.path));
        }
        Ok(files)
    }

    /// One look at everything that is known, and what follows from it.
    fn round(&self, memory: &mut Memory) {
        // Before anything moves on: a note tells of a move that can still be seen.
        self.tell();
        match table(&self.ground) {
            Ok(table) => drop(self.table.replace(table)),
            Err(failure) => self.out.warn(&failure.sentence),
        }
        let now = Instant::now();
        memory.later.retain(|_, until| now < *until);
        let mut look = Look::default();
        let mut kept = BTreeSet::new();
        for path in std::mem::take(&mut memory.files) {
            if self.look_into(&path, &mut look, memory) {
                kept.insert(path);
            }
        }
        memory.said.retain(|(path, _), _| kept.contains(path));
        memory.files = kept;
        let waits: HashSet<Key> = look.queue.iter().map(key_of).collect();
        memory.started.retain(|key, _| waits.contains(key));
        self.dispatch(look, memory);
        self.tell();
    }

    fn tell(&self) {
        if !self.dry {
            spool::deliver(&self.ground, TOLD_AT_ONCE);
        }
    }

    /// Looks at one file; returns whether there is anything in it for a later look.
    fn look_into(&self, path: &Path, look: &mut Look, memory: &mut Memory) -> bool {
        // What workers write is no work, whatever it looks like.
        if is_output(path) {
            return false;
        }
        let Ok(text) = worker::read(path) else { return false };
        let request = Request::read(&text);
        let stands = |stage: Stage| request.items().iter().filter(move |it| it.stage == stage);
        let mut later = stands(Stage::Delegated).next().is_some();
        for item in stands(Stage::Claimed) {
            let key = (path.to_owned(), item.key.clone());
            if memory.later.contains_key(&key) {
                later = true;
                continue;
            }
            match standing(&self.ground, &request, item) {
                Standing::Held { by_worker } => {
                    look.running += usize::from(by_worker);
                    later |= by_worker;
                }
                Standing::Unclear(why) => {
                    self.say(memory, key, Told::Unclear { why: &why });
                    later = true;
                }
                Standing::Dead(dead) if self.dry => {
                    self.say(memory, key, Told::Dead { reason: &dead.reason });
                }
                Standing::Dead(dead) => {
                    let found = (path, text.as_slice(), item);
                    match recover(&self.ground, &self.table.borrow(), found, &dead) {
                        Ok(Outcome::Finished) => self.say(memory, key, Told::Finished),
                        Ok(Outcome::Requeued(to)) => {
                            let told = Told::Requeued { to: &to, reason: &dead.reason };
                            self.say(memory, key, told);
                        }
                        Ok(Outcome::Over) => (),
                        Err(error) => {
                            let why = words::file(error, path).sentence;
                            recover::alert(&self.ground, path, &item.key, &why);
                            memory.later.insert(key.clone(), Instant::now() + AGAIN_AFTER);
                            self.say(memory, key, Told::Unclear { why: &why });
                        }
                    }
                    later = true;
                }
            }
        }
        let modified = modified(path);
        look.queue.extend(
            Queued::of(path, &text, modified).into_iter().filter(|queued| self.is_meant(queued)),
        );
        later
    }

    fn is_meant(&self, queued: &Queued) -> bool {
        let fits = |pattern: &TagPattern| pattern.matches(&queued.item.tag);
        self.tags.is_empty() || self.tags.iter().any(fits)
    }

    /// Starts workers for what waits, in order, as far as there may be so many.
    fn dispatch(&self, look: Look, memory: &mut Memory) {
        let Look { mut queue, running } = look;
        self.table.borrow().order(&mut queue);
        let mut room = self.agents_max.map(|most| most.saturating_sub(running));
        room = room.map(|room| room.saturating_sub(memory.started.len()));
        for queued in queue {
            let key = key_of(&queued);
            if memory.later.contains_key(&key) || self.is_coming(memory, &key) {
                continue;
            }
            if room == Some(0) {
                self.say(memory, key, Told::Waits);
                continue;
            }
            if self.start(memory, &queued) {
                room = room.map(|room| room - 1);
            }
        }
    }

    /// Whether a worker was started for it a moment ago. One that took too long is not replaced at
    /// once: whatever stood in its way stands in the way of the next, too.
    fn is_coming(&self, memory: &mut Memory, key: &Key) -> bool {
        let Some(at) = memory.started.get(key) else { return false };
        if at.elapsed() < CLAIM_WITHIN {
            return true;
        }
        memory.started.remove(key);
        memory.later.insert(key.clone(), Instant::now() + AGAIN_AFTER);
        let why = "its worker did not claim it; `baton work` shows why";
        self.say(memory, key.clone(), Told::NotStarted { why });
        true
    }

    /// Starts a worker; returns whether it did, or would.
    fn start(&self, memory: &mut Memory, queued: &Queued) -> bool {
        let Queued { path, item, .. } = queued;
        let key = key_of(queued);
        let Some(route) = self.table.borrow().route(item.key.kind()).cloned() else {
            self.say(memory, key, Told::Unrouted);
            return false;
        };
        if let Err(why) = self.approved(path, &item.key) {
            self.say(memory, key, Told::NotApproved { why: &why });
            return false;
        }
        if let Err(why) = claimable(path, &item.key) {
            memory.later.insert(key.clone(), Instant::now() + AGAIN_AFTER);
            self.say(memory, key, Told::NotStarted { why: &why });
            return false;
        }
        if self.dry {
            self.say(memory, key, Told::Would { skill: &route.skill });
            return true;
        }
        match self.spawner.start(self.ground.root(), path, &item.key) {
            Ok(name) => {
                memory.started.insert(key.clone(), Instant::now());
                self.say(memory, key, Told::Started { skill: &route.skill, name: &name });
                true
            }
            Err(error) => {
                let why = error.to_string();
                memory.later.insert(key.clone(), Instant::now() + AGAIN_AFTER);
                self.say(memory, key, Told::NotStarted { why: &why });
                false
            }
        }
    }

    /// Whether a person's word covers the item as it is. One that covers another text is void, and
    /// the item goes back.
    fn approved(&self, path: &Path, item: &ItemKey) -> Result<(), String> {
        let text = worker::read(path).map_err(|failure| failure.sentence)?;
        let trust = self.table.borrow().trust;
        let why = match (request::standing(&text, item), trust) {
            (Approved::Holds(approval), Trust::Recorded) => {
                return match super::approval::is_on_record(&self.ground, path, item, &approval) {
                    true => Ok(()),
                    false => Err("the ledger has no such approval".to_owned()),
                };
            }
            (Approved::Holds(_), Trust::ByHand) | (Approved::Unrecorded, Trust::ByHand) => {
                return Ok(());
            }
            (Approved::Void(approval), _) => format!("it changed since {} saw it", approval.by),
            (Approved::Unrecorded, Trust::Recorded) => "nobody's approval is recorded".to_owned(),
        };
        if !self.dry {
            self.void(path, item, &why);
        }
        Err(why)
    }

    fn void(&self, path: &Path, item: &ItemKey, why: &str) {
        let trust = self.table.borrow().trust;
        let make = || Files::within(self.ground.root())?.void(path, item, trust);
        let about = spool::Move {
            file: path,
            item: item.to_string(),
            to: Stage::Needs.of(item.kind()).ok(),
            mover: baton_protocol::tag::TagMover::Daemon,
            session: None,
            hash: None,
            reason: Some(why),
        };
        let made = spool::noted(&self.ground, about, make, |change| spool::Made {
            from: Some(change.from.clone()),
            fence: None,
        });
        match made {
            Ok(_) => (),
            // It moved, or was approved again, meanwhile.
            Err(FileError::Request { source, .. }) if is_faster(&source) => (),
            Err(error) => self.out.warn(&words::file(error, path).sentence),
        }
    }

    /// Says it once, until there is something else to say of the same item.
    fn say(&self, memory: &mut Memory, key: Key, told: Told<'_>) {
        let below = self.ground.seen_from_root(&key.0);
        let line = told.line(&below, &key.1);
        if memory.said.get(&key) == Some(&line) {
            return;
        }
        told.print(&below, &key.1, &line, self.dry, self.out);
        memory.said.insert(key, line);
    }
}

fn key_of(queued: &Queued) -> Key {
    (queued.path.clone(), queued.item.key.clone())
}

/// Whether a file was written by a worker about its own work.
fn is_output(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let ours = matches!(name, Some(RESPONSE | OUTPUT));
    ours && path.with_file_name(STATE_FILE).exists()
}

/// Whether the item can be claimed at all, tried on the text alone.
fn claimable(path: &Path, item: &ItemKey) -> Result<(), String> {
    let text = worker::read(path).map_err(|failure| failure.sentence)?;
    let session = "sessions/try".parse().map_err(|error: RecordError| error.to_string())?;
    match request::claim(&text, item, &session, Fence(1)) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// When a file was last changed.
fn modified(path: &Path) -> Timestamp {
    let changed = path.metadata().and_then(|data| data.modified()).ok();
    changed.and_then(|time| Timestamp::try_from(time).ok()).unwrap_or(Timestamp::MAX)
}
