//! Tells the ledger of every move in a file, so that tags, API and dashboard tell one story.
//!
//! The file is the truth and moves without a coordinator. So a note is made beside it, in
//! `.baton/spool/`: an intent before the move, what it came to after. Whoever finds a coordinator
//! delivers the notes, the oldest first, each under a key of its own, so that twice is once. A
//! crash leaves an intent, and the file itself says whether the move was made.
//!
//! Any process of the same system user can write notes. Therefore what a person approved is never
//! taken from one: it is told directly, by the process that asked the person, or not at all.

mod notes;
mod stands;

use std::collections::HashSet;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use baton_protocol::command::Command;
use baton_protocol::lock::FilePath;
use baton_protocol::tag::{TagMove, TagMover, TagName};
use baton_tags::{BodyHash, Fence, SessionRef, Tag};

use super::ground::Ground;
use super::mover::{has_token, is_marked};
use crate::caller::Caller;
use crate::client::{Client, Untold};
use crate::line::Line;
use crate::place::Place;
use crate::show::time::now;
use crate::workspace::Workspace;
use notes::{Note, Notes, Writer};

/// How long a coordinator may take to hear of one move. It is only told, never waited for.
const TELL_WITHIN: Duration = Duration::from_secs(5);
/// Older notes that are delivered before a new one.
const BACKLOG_MAX: usize = 200;
/// What is said of a move that was found made although nobody noted its end.
const AFTER_CRASH: &str = "found after a crash";

/// A move that is about to be made.
pub(crate) struct Move<'a> {
    /// The whole path.
    pub(crate) file: &'a Path,
    /// The item's key as text, or the tag.
    pub(crate) item: String,
    pub(crate) to: Option<Tag>,
    pub(crate) mover: TagMover,
    pub(crate) session: Option<&'a SessionRef>,
    pub(crate) hash: Option<&'a BodyHash>,
    pub(crate) reason: Option<&'a str>,
}

/// What it came to.
pub(crate) struct Made {
    pub(crate) from: Option<Tag>,
    pub(crate) fence: Option<Fence>,
}

/// Who knows of a move now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// The ledger.
    Ledger,
    /// The spool; the ledger hears of it when a coordinator runs.
    Spool,
    /// Only the file: nothing changed, there is no workspace, or the note cannot be written.
    Nobody,
}

/// Makes a move and notes it: an intent before, what it came to after. A move that failed leaves
/// nothing.
pub(crate) fn noted<T, E>(
    ground: &Ground,
    about: Move<'_>,
    make: impl FnOnce() -> Result<T, E>,
    made: impl FnOnce(&T) -> Made,
) -> Result<T, E> {
    let hash = about.hash.cloned();
    traced(ground, about, make, |done| (made(done), hash)).map(|(done, _)| done)
}

/// The same, for those who know only afterwards what was approved, or ask who was told.
pub(crate) fn traced<T, E>(
    ground: &Ground,
    about: Move<'_>,
    make: impl FnOnce() -> Result<T, E>,
    made: impl FnOnce(&T) -> (Made, Option<BodyHash>),
) -> Result<(T, Told), E> {
    let Some(pending) = Pending::begin(ground, &about) else {
        return make().map(|done| (done, Told::Nobody));
    };
    match make() {
        Ok(done) => {
            let (made, hash) = made(&done);
            let told = pending.end(ground, made, hash);
            Ok((done, told))
        }
        Err(error) => {
            pending.forget();
            Err(error)
        }
    }
}

/// Tells the coordinator, if one runs, what waits in the spool, oldest first; starts none. Returns
/// how many are left.
pub(crate) fn deliver(ground: &Ground, limit: usize) -> usize {
    let Some(workspace) = ground.workspace() else { return 0 };
    let Some(notes) = Notes::existing(workspace) else { return 0 };
    let names = notes.names();
    let total = names.len();
    if names.is_empty() || limit == 0 {
        return total;
    }
    let Some(client) = voice(workspace) else { return total };
    // One at a time, or two callers would tell of one move in two names.
    let Some(_turn) = notes.turn() else { return total };
    notes.sweep();
    let mut gone = 0;
    // What has to stay counts, too: it is read and asked about like the others.
    let mut barred = HashSet::new();
    for name in notes.names().iter().take(limit) {
        // Read before it is told, because then it is gone.
        let made = notes.read(name).ok().flatten().filter(|note| note.made);
        let file = made.map(|note| note.moved.file.as_str().to_owned());
        if file.as_ref().is_some_and(|file| barred.contains(file)) {
            continue;
        }
        match delivered(&notes, workspace, &client, name) {
            Delivery::Gone => gone += 1,
            // A later move of the same file would stand before this one.
            Delivery::Left => barred.extend(file),
            Delivery::Unheard => break,
        }
    }
    total.saturating_sub(gone)
}

/// What became of a note.
enum Delivery {
    /// It is in the spool no more.
    Gone,
    /// It stays: its writer is at work, or another has to tell it.
    Left,
    /// Nobody hears, so there is no use in going on.
    Unheard,
}

fn delivered(notes: &Notes, workspace: &Workspace, client: &Client, name: &str) -> Delivery {
    let mut note = match notes.read(name) {
        Ok(Some(note)) => note,
        // Somebody was faster.
        Ok(None) => return Delivery::Gone,
        Err(_) => return notes.refuse(name).map_or(Delivery::Left, |()| Delivery::Gone),
    };
    match &note.writer {
        Some(writer) if !writer.is_dead() => return Delivery::Left,
        Some(_) if !note.made => {
            if !stands::stands(workspace.root(), &note.moved) {
                return notes.remove(name).map_or(Delivery::Left, |()| Delivery::Gone);
            }
            note.moved.reason = AFTER_CRASH.parse().ok();
        }
        Some(_) | None => (),
    }
    if !client.is_operator() && is_persons(&note.moved) {
        return Delivery::Left;
    }
    // Nobody can know who wrote this into the note.
    note.moved.hash = None;
    tell(notes, client, name, note.moved)
}

/// Whether only a person may tell of it; the ledger refuses it from agents.
fn is_persons(moved: &TagMove) -> bool {
    let approves = moved.to.as_ref().is_some_and(TagName::is_approval);
    let requeued = moved.from.as_ref().is_some_and(|from| from.as_str().starts_with("#claimed-"));
    moved.mover == TagMover::Person || (approves && !requeued)
}

/// Tells of one move. What is refused for good is put aside, so that it does not bar the others.
fn tell(notes: &Notes, client: &Client, name: &str, moved: TagMove) -> Delivery {
    let key = format!("spool-{}", name.trim_end_matches(".json"));
    match client.tell(&Command::ReportTag(Box::new(moved)), key, TELL_WITHIN) {
        Ok(()) => notes.remove(name).map_or(Delivery::Left, |()| Delivery::Gone),
        Err(Untold::Lost | Untold::Refused(401 | 408 | 429 | 500..)) => Delivery::Unheard,
        // A person has to tell of what a person did.
        Err(Untold::Refused(403)) => Delivery::Left,
        Err(Untold::Refused(_)) if !client.is_operator() => Delivery::Left,
        Err(Untold::Refused(_)) => notes.refuse(name).map_or(Delivery::Left, |()| Delivery::Gone),
    }
}

/// A way to tell the coordinator, if one runs and this process may speak to it.
fn voice(workspace: &Workspace) -> Option<Client> {
    if is_marked() && !has_token() {
        return None;
    }
    let socket = workspace.socket().ok()?;
    UnixStream::connect(socket.path()).ok()?;
    let caller = Caller::from_env(None).ok()?;
    Client::new(Line::Socket(workspace.clone()), caller, None).ok()
}

/// A move that is being made, with its note.
struct Pending {
    notes: Notes,
    name: String,
    note: Note,
    /// Whether the intent was written.
    is_noted: bool,
}

impl Pending {
    /// Writes the intent. Nothing is noted of what the ledger has no name for.
    fn begin(ground: &Ground, about: &Move<'_>) -> Option<Self> {
        let workspace = ground.workspace()?;
        let file = Place::new(workspace.root()).file(about.file.to_str()?).ok()?;
        let name = |tag: &Tag| tag.as_str().parse::<TagName>();
        let session = about.session.map(|session| session.as_str().parse::<FilePath>());
        let moved = TagMove {
            file,
            item: about.item.parse().ok()?,
            from: None,
            to: about.to.as_ref().map(name).transpose().ok()?,
            mover: about.mover,
            moved_at: now(),
            fence: None,
            session: session.transpose().ok()?,
            hash: None,
            reason: about.reason.and_then(|reason| reason.parse().ok()),
        };
        let notes = Notes::open(workspace).ok()?;
        let name = notes.fresh_name(moved.moved_at)?;
        // If the file says already what the move would make of it, a crash could not be told from
        // a move; but then there is hardly a move.
        let is_told_apart = !stands::stands(workspace.root(), &moved);
        let note = Note { writer: Writer::own(), made: false, moved };
        let is_noted = is_told_apart && note.writer.is_some() && notes.write(&name, &note).is_ok();
        Some(Self { notes, name, note, is_noted })
    }

    fn forget(self) {
        if self.is_noted {
            // What stays is an intent, and the file tells that nothing came of it.
            let _ = self.notes.remove(&self.name);
        }
    }

    /// Whether no older note about the same file is left that will be told. An intent whose writer
    /// is at work may come to nothing, and is not waited for.
    fn is_first_of_its_file(&self) -> bool {
        let names = self.notes.names();
        let mut older = names.iter().take_while(|name| **name < self.name);
        !older.any(|name| {
            let note = self.notes.read(name).ok().flatten();
            note.is_some_and(|note| note.made && note.moved.file == self.note.moved.file)
        })
    }

    /// Completes the note, and tells the coordinator at once if one runs.
    fn end(mut self, ground: &Ground, made: Made, hash: Option<BodyHash>) -> Told {
        let Made { from, fence } = made;
        let from = from.and_then(|tag| tag.as_str().parse::<TagName>().ok());
        // An approval that is given again says which text it is for, which is news.
        if from == self.note.moved.to && hash.is_none() {
            self.forget();
            return Told::Nobody;
        }
        self.note.made = true;
        self.note.moved.from = from;
        self.note.moved.fence = fence.map(|fence| fence.0);
        self.note.moved.moved_at = now();
        let client = ground.workspace().and_then(voice);
        if client.is_none() {
            self.note.writer = None;
        }
        // With its writer in it the note is left alone until this process has told of the move.
        let is_written = self.notes.write(&self.name, &self.note).is_ok();
        if let Some(client) = client {
            deliver(ground, BACKLOG_MAX);
            let mut moved = self.note.moved.clone();
            moved.hash = hash.and_then(|hash| hash.as_str().parse().ok());
            // Told before an older one, it would stand before it in the ledger. Only an approval
            // goes first: its hash is lost with this process.
            let is_next = moved.hash.is_some() || self.is_first_of_its_file();
            if is_next && let Delivery::Gone = tell(&self.notes, &client, &self.name, moved) {
                return if self.notes.is_refused(&self.name) { Told::Spool } else { Told::Ledger };
            }
            self.note.writer = None;
            // If this fails, the writer's end makes the note anybody's.
            let _ = self.notes.write(&self.name, &self.note);
        }
        if is_written { Told::Spool } else { Told::Nobody }
    }
}
