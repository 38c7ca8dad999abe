//! The folder of one worker's session: who works, on what, and that it is still alive.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use baton_tags::dispatch::Skill;
use baton_tags::state::{HEARTBEAT_EVERY, Phase, Proc, State, StateError, Status};
use baton_tags::{Fence, ItemKey, SessionRef};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::tagging::alerts::within;

/// Names that are tried for one session before something else must be wrong.
const NAMES_MAX: usize = 100;

/// A session, from before the claim to the end of the work.
pub(crate) struct Session {
    pub(crate) folder: PathBuf,
    pub(crate) reference: SessionRef,
    state: Arc<Mutex<State>>,
}

impl Session {
    /// Makes the folder, under a name that nobody has, and says in it who works. Before the claim,
    /// so that a file never names a session that cannot tell whether it lives.
    pub(crate) fn open(
        root: &Path,
        file: &str,
        item: &ItemKey,
        skill: &Skill,
    ) -> Result<Self, Failure> {
        // Where sessions have a folder of their own; making one would change where tags are looked
        // for.
        let own = "sessions";
        let place = if root.join(own).is_dir() { own } else { ".baton/sessions" };
        let above = root.join(place);
        let unwritable = |error: io::Error| {
            let sentence = format!("cannot make a session in {}: {error}", above.display());
            Failure::failed(sentence, "check the folder's permissions and the space on its disk")
        };
        fs::create_dir_all(&above).and_then(|()| within(&above, root)).map_err(unwritable)?;
        let now = Timestamp::now();
        let (folder, reference) = new_folder(&above, place, item, now).map_err(unwritable)?;
        let process = Proc.name(std::process::id()).map_err(unwritable)?;
        let state = State {
            process,
            skill: skill.to_string(),
            phase: Phase::Claimed,
            status: Status::Working,
            heartbeat: now,
            file: file.to_owned(),
            item: item.clone(),
            fence: Fence(0),
        };
        let session = Self { folder, reference, state: Arc::new(Mutex::new(state)) };
        session.write().map_err(told)?;
        Ok(session)
    }

    /// Says how far it is.
    pub(crate) fn enter(&self, phase: Phase, status: Status) -> Result<(), Failure> {
        let mut state = locked(&self.state);
        (state.phase, state.status) = (phase, status);
        drop(state);
        self.write().map_err(told)
    }

    /// The claim was made under this number.
    pub(crate) fn claimed(&self, fence: Fence) {
        locked(&self.state).fence = fence;
    }

    /// The claim went to somebody else: nothing is left of this session.
    pub(crate) fn discard(self) {
        // What cannot be removed is a folder that nothing names.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Says that it lives, again and again, until what is returned is dropped.
    pub(crate) fn heartbeat(&self) -> Heartbeat {
        let (stop, stopped) = channel::<()>();
        let (state, folder) = (self.state.clone(), self.folder.clone());
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(HEARTBEAT_EVERY) == Err(RecvTimeoutError::Timeout) {
                // A beat that could not be written is written with the next one.
                let _ = write(&state, &folder);
            }
        });
        Heartbeat { stop: Some(stop), thread: Some(thread) }
    }

    fn write(&self) -> Result<(), StateError> {
        write(&self.state, &self.folder)
    }
}

/// Under the lock, so that an older state is never written over a newer one.
fn write(state: &Mutex<State>, folder: &Path) -> Result<(), StateError> {
    locked(state).write(folder)
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn told(error: StateError) -> Failure {
    Failure::failed(error.to_string(), "check the folder's permissions and the space on its disk")
}

/// Ends with the work.
pub(crate) struct Heartbeat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it has said so itself.
            let _ = thread.join();
        }
    }
}

fn new_folder(
    above: &Path,
    place: &str,
    item: &ItemKey,
    now: Timestamp,
) -> io::Result<(PathBuf, SessionRef)> {
    let at = now.strftime("%Y%m%dT%H%M%SZ");
    for _ in 0..NAMES_MAX {
        let mut random = [0; 2];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let [a, b] = random;
        let name = format!("{at}-{}-{a:02x}{b:02x}", item.kind());
        let folder = above.join(&name);
        match fs::create_dir(&folder) {
            Ok(()) => {
                let reference = format!("{place}/{name}").parse();
                return Ok((folder, reference.map_err(io::Error::other)?));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("every name is taken"))
}
