//! The thread that extends the tree behind the log and signs checkpoints.
//!
//! It must cost nearly nothing: it reads the hashes that the records say of themselves, signs at
//! most about once a second while work goes on, when the log has been quiet for a moment, and at a
//! clean stop. Its trouble is a warning and another try, never anybody else's.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use baton_protocol::planted::{Bug, planted};

use super::checkpoints::{self, Newest};
use super::key::{self, Key};
use super::merkle::leaf;
use super::note::{Checkpoint, Signer, VerifierKey};
use super::tree::Tree;
use crate::causes::causes;
use crate::disk::Disk;
use crate::hash::Hash;
use crate::log::{Cursor, LogError, LogReader};
use crate::pace;
use crate::sync::{self, Condvar, Instant, JoinHandle, Mutex, MutexGuard};

/// The log is quiet when nothing was recorded for so long.
const QUIET: Duration = Duration::from_millis(150);
/// So long records may wait for their checkpoint while work goes on.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// The pause after a failure while nobody asks.
const RETRY: Duration = Duration::from_secs(5);
/// Records that are read before the nodes made from them are written.
const STEP_RECORDS: u64 = 64 * 1024;

/// What was signed before the ledger was opened.
pub(crate) struct Anchor {
    pub(crate) key: Option<Key>,
    pub(crate) newest: Newest,
}

impl Anchor {
    /// How many records the newest checkpoint is over.
    pub(crate) fn signed(&self) -> u64 {
        self.newest.checkpoint.map_or(0, |checkpoint| checkpoint.size)
    }

    /// Whether checkpoints were made once and are gone.
    pub(crate) fn is_lost(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.used) && self.newest.checkpoint.is_none()
    }
}

/// Reads the key and the newest checkpoint.
pub(crate) fn anchor(disk: &dyn Disk) -> io::Result<Anchor> {
    let key = match key::read(disk) {
        // It cannot sign, and what it signed still counts.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            tracing::error!(%error, "the signing key cannot be read");
            None
        }
        key => key?,
    };
    let verifier = key.as_ref().map(|key| key.signer.verifier());
    let newest = checkpoints::newest(disk, verifier.as_ref())?;
    Ok(Anchor { key, newest })
}

/// The thread that proves. Dropping it signs what is there and ends the thread.
pub(crate) struct Prover {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    progress: Mutex<Progress>,
    /// Wakes the thread.
    wake: Condvar,
    /// Wakes those who wait for it.
    moved: Condvar,
}

/// What is proven so far.
#[derive(Clone, Default)]
pub(crate) struct Proven {
    /// The newest checkpoint as it is signed.
    pub(crate) note: String,
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) signer: Option<Arc<Signer>>,
    /// Why nothing is signed any more, if that is so.
    pub(crate) halted: Option<String>,
}

impl Proven {
    /// The key to check with.
    pub(crate) fn key(&self) -> Option<VerifierKey> {
        self.signer.as_ref().map(|signer| signer.verifier())
    }

    /// How many records are signed.
    pub(crate) fn size(&self) -> u64 {
        self.checkpoint.map_or(0, |checkpoint| checkpoint.size)
    }
}

#[derive(Default)]
struct Progress {
    /// The last durable record.
    known: u64,
    /// The last record that somebody wants signed.
    wanted: u64,
    proven: Proven,
    failures: u64,
    why: String,
    idle: bool,
    failed: bool,
    stop: bool,
    ended: bool,
}

impl Prover {
    /// Goes on from `anchor` behind the log that `reader` reads and that has `last` records.
    /// `hold` keeps the ledger locked until the thread has ended.
    pub(crate) fn spawn(
        disk: Arc<dyn Disk>,
        reader: LogReader,
        last: u64,
        anchor: Anchor,
        hold: Arc<dyn Send + Sync>,
    ) -> io::Result<Self> {
        let lost = anchor.is_lost();
        let Anchor { key, newest } = anchor;
        let orphaned = key.is_none() && newest.checkpoint.is_some();
        let halted = match (orphaned, lost) {
            (true, _) => Some("there are checkpoints, but the key that signed them is missing"),
            (_, true) => Some("there is a signing key, but its checkpoints are missing"),
            (false, false) => None,
        };
        let proven = Proven {
            note: newest.note.clone(),
            checkpoint: newest.checkpoint,
            signer: key.as_ref().map(|key| key.signer.clone()),
            halted: halted.map(str::to_owned),
        };
        if let Some(why) = halted {
            tracing::error!(why, "no checkpoints are signed; `baton audit verify` says more");
        }
        let progress = Progress { known: last, proven, ..Progress::default() };
        let (wake, moved) = Default::default();
        let shared = Arc::new(Shared { progress: Mutex::new(progress), wake, moved });
        let work = Work { disk, reader, shared: shared.clone(), key, newest, going: None };
        let run = move || {
            work.run();
            drop(hold);
        };
        let thread = sync::spawn("proof", run)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Says that all records up to `seq` are durable. Cheap, and does not wait.
    pub(crate) fn advance(&self, seq: u64) {
        let mut progress = self.shared.progress();
        progress.known = progress.known.max(seq);
        // While it works or waits for quiet it will see the new number by itself.
        if progress.idle {
            self.shared.wake.notify_one();
        }
    }

    /// What is proven now.
    pub(crate) fn proven(&self) -> Proven {
        self.shared.progress().proven.clone()
    }

    /// Waits until a checkpoint over at least `seq` records, which must be durable, is signed.
    pub(crate) fn wait_for(&self, seq: u64) -> Result<Proven, String> {
        let mut progress = self.shared.progress();
        progress.known = progress.known.max(seq);
        progress.wanted = progress.wanted.max(seq);
        let failures = progress.failures;
        self.shared.wake.notify_one();
        let waits = |p: &mut Progress| {
            let done = p.proven.size() >= seq || p.proven.halted.is_some();
            !done && !p.ended && p.failures == failures
        };
        let progress = self.shared.moved.wait_while(progress, waits);
        let progress = progress.unwrap_or_else(PoisonError::into_inner);
        match &progress.proven.halted {
            Some(why) => Err(why.clone()),
            None if progress.proven.size() >= seq => Ok(progress.proven.clone()),
            None if progress.why.is_empty() => Err("its thread has ended".to_owned()),
            None => Err(progress.why.clone()),
        }
    }
}

impl Drop for Prover {
    fn drop(&mut self) {
        self.shared.progress().stop = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic in it has been reported on its own thread.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until a checkpoint is due and returns how many records it shall cover, and whether
    /// it is the last one; `None` when there is nothing left to do.
    fn due(&self) -> Option<(u64, bool)> {
        let mut progress = self.progress();
        let mut since: Option<Instant> = None;
        let mut seen = 0;
        loop {
            let known = progress.known;
            let ahead = known > progress.proven.size() && progress.proven.halted.is_none();
            if progress.stop {
                return ahead.then_some((known, true));
            }
            if ahead && progress.wanted > progress.proven.size() {
                return Some((known, false));
            }
            if !ahead {
                since = None;
                progress.idle = true;
                progress = self.wake.wait(progress).unwrap_or_else(PoisonError::into_inner);
                progress.idle = false;
                continue;
            }
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            let quiet = seen == known && waited >= QUIET;
            if !progress.failed && (quiet || waited >= WAIT_MAX) || waited >= RETRY {
                return Some((known, false));
            }
            seen = known;
            let pause = if progress.failed { RETRY } else { QUIET };
            let woken = self.wake.wait_timeout(progress, pause);
            progress = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn tell(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress());
        self.moved.notify_all();
    }
}

/// Why a checkpoint was not made.
#[derive(Debug, thiserror::Error)]
enum ProveError {
    #[error("cannot read the ledger")]
    Log(#[from] LogError),
    #[error("cannot write the tree or its checkpoints")]
    Io(#[from] io::Error),
}

struct Work {
    disk: Arc<dyn Disk>,
    reader: LogReader,
    shared: Arc<Shared>,
    key: Option<Key>,
    newest: Newest,
    /// The tree, and where the log goes on behind it, once both are known to agree.
    going: Option<(Tree, Cursor)>,
}

impl Work {
    fn run(mut self) {
        pace::behind();
        let _ended = TellEnd(self.shared.clone());
        while let Some((up_to, last)) = self.shared.due() {
            let result = self.prove(up_to);
            match result {
                Ok(None) => self.shared.tell(|progress| {
                    progress.proven.note.clone_from(&self.newest.note);
                    progress.proven.checkpoint = self.newest.checkpoint;
                    progress.proven.signer = self.key.as_ref().map(|key| key.signer.clone());
                    progress.failed = false;
                }),
                Ok(Some(why)) => {
                    tracing::error!(why, "no more checkpoints are signed");
                    self.shared.tell(|progress| progress.proven.halted = Some(why));
                }
                Err(error) => {
                    // Whatever was half done is done again from what the disk holds.
                    self.going = None;
                    let why = causes(&error);
                    tracing::warn!(why, "could not sign a checkpoint");
                    self.shared.tell(|progress| {
                        progress.failed = true;
                        progress.failures += 1;
                        progress.wanted = 0;
                        progress.why = why;
                    });
                }
            }
            if last {
                break;
            }
        }
    }

    /// Signs a checkpoint over the first `up_to` records, or says why none can be signed.
    fn prove(&mut self, up_to: u64) -> Result<Option<String>, ProveError> {
        let (mut tree, mut next) = match self.going.take() {
            Some(going) => going,
            None => match self.begin(up_to)? {
                Some(going) => going,
                None => {
                    let size = self.newest.checkpoint.map_or(0, |checkpoint| checkpoint.size);
                    let why = format!("the first {size} records are not those that were signed");
                    return Ok(Some(why));
                }
            },
        };
        next = extend(&self.reader, &mut tree, next, up_to)?;
        // Up to a checkpoint the tree can be relied on, so it is synced first.
        tree.sync()?;
        let checkpoint = Checkpoint { size: tree.size(), root: tree.root() };
        if self.key.is_none() {
            self.key = Some(key::make(&*self.disk)?);
        }
        if let Some(key) = &mut self.key {
            let note = checkpoint.sign(&key.signer);
            // Where it goes is asked again after a failure: nobody knows what was written.
            if self.newest.checkpoint.is_none() {
                self.newest = checkpoints::newest(&*self.disk, Some(&key.signer.verifier()))?;
            }
            checkpoints::append(&*self.disk, &mut self.newest, &note)?;
            self.newest.checkpoint = Some(checkpoint);
            if !key.used {
                key::used(&*self.disk)?;
                key.used = true;
            }
        }
        self.going = Some((tree, next));
        Ok(None)
    }

    /// Opens the tree as far as the newest checkpoint vouches for it, and finds where the log goes
    /// on behind that. A tree that does not agree with the checkpoint and the log is built anew;
    /// `None` if it still does not agree.
    fn begin(&self, last: u64) -> Result<Option<(Tree, Cursor)>, ProveError> {
        let signed = self.newest.checkpoint;
        let size = signed.map_or(0, |signed| signed.size);
        if size > last {
            return Ok(None);
        }
        let mut tree = Tree::open(&*self.disk, size)?;
        let fits = |tree: &Tree| {
            tree.size() == size && signed.is_none_or(|signed| tree.root() == signed.root)
        };
        let mut agrees = fits(&tree);
        let start = self.reader.segment_of(size + 1)?;
        let mut next = self.reader.hashes(start, size, |seq, hash| {
            agrees = agrees && tree.leaf(seq - 1)? == leaf(&hash);
            Ok(())
        })?;
        if !agrees {
            tracing::info!("building the tree anew");
            tree.clear();
            next = extend(&self.reader, &mut tree, Cursor::START, size)?;
            if !fits(&tree) {
                return Ok(None);
            }
        }
        Ok(Some((tree, next)))
    }
}

/// Adds the records from `next` up to `up_to` to the tree and returns where to go on.
fn extend(
    reader: &LogReader,
    tree: &mut Tree,
    mut next: Cursor,
    up_to: u64,
) -> Result<Cursor, ProveError> {
    while next.seq <= up_to {
        let step = up_to.min(next.seq + STEP_RECORDS);
        next = reader.hashes(next, step, |_, hash| {
            let wrong = planted(Bug::CheckpointOverWrongLeaf);
            tree.push(leaf(&if wrong { Hash::default() } else { hash }));
            Ok(())
        })?;
        tree.flush()?;
    }
    Ok(next)
}

/// Tells those who wait, also when the thread panics, so that nobody waits for ever.
struct TellEnd(Arc<Shared>);

impl Drop for TellEnd {
    fn drop(&mut self) {
        self.0.tell(|progress| progress.ended = true);
    }
}
