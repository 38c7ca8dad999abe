//! The worker: claims one piece of tagged work, has its skill do it, and writes down what came.
//!
//! What it holds is in the file, with a fence. A worker that was thought dead and comes back later
//! finds another fence there, and changes nothing.

mod session;
mod skill;

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use baton_protocol::mask;
use baton_protocol::tag::TagMover;
use baton_tags::dispatch::{Filling, Mode, Route, Skill, Table};
use baton_tags::lifecycle::Mover;
use baton_tags::request::{self, Recovery, RequeueTo, Standing};
use baton_tags::state::{Phase, Status};
use baton_tags::{
    FILE_BYTES_MAX, Fence, FileError, Files, Holding, Item, ItemKey, Stage, Trust, items,
};
use jiff::Timestamp;

use self::session::Session;
use self::skill::Job;
use super::spool::{Made, Move, noted};
use super::{Ground, alerts, approval, mover, shown, told};
use crate::failure::{Exit, Failure};
use crate::show::Output;
use crate::show::time;
use crate::workspace::NO_WORKSPACE;

/// The answer, and what the program said, in the folder of the session.
pub(crate) const RESPONSE: &str = "RESPONSE.md";
pub(crate) const OUTPUT: &str = "output.log";

/// How much of a file tells that it is no text.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// What is to be worked on.
pub(crate) struct Task {
    pub(crate) file: PathBuf,
    /// Which item of it; otherwise the one that is due first.
    pub(crate) item: Option<ItemKey>,
    /// Which skill; otherwise that of the table.
    pub(crate) skill: Option<Skill>,
    /// Whether nobody is at the terminal, whatever the table says.
    pub(crate) headless: bool,
}

/// A piece of work that is held.
struct Held<'a> {
    ground: &'a Ground,
    files: Files,
    path: PathBuf,
    item: Item,
    holder: Holding,
    session: &'a Session,
}

impl Task {
    /// Does the work. An error means that it was not claimed, or did not succeed.
    pub(crate) fn run(self, ground: &Ground, table: &Table, out: Output) -> Result<(), Failure> {
        let workspace = ground.workspace().ok_or_else(no_workspace)?;
        // What a skill says is masked by the rules of this place.
        workspace.set_secret_rules()?;
        let (files, path) = ground.files(&self.file)?;
        let text = read(&path)?;
        let item = self.due(&text, table)?;
        covered(ground, table, &path, &text, &item.key)?;
        let (route, skill) = self.routed(table, &item)?;
        let below = ground.seen_from_root(&path);
        let file = below.to_str().ok_or_else(|| {
            let sentence = format!("{} is no name in UTF-8", shown(&below));
            Failure::usage(sentence, "give the file another name")
        })?;
        let session = Session::open(ground.root(), file, &item.key, &skill)?;
        let claimed = claim(ground, &files, &path, &item.key, &session, table.trust);
        let fence = match claimed {
            Ok(fence) => fence,
            Err(error) => {
                session.discard();
                return Err(told::file(error, &self.file));
            }
        };
        session.claimed(fence);
        out.note(&format!("claimed {} in {file} as {}", item.key, session.reference));
        let holder = Holding { session: session.reference.clone(), fence };
        let held = Held { ground, files, path, item, holder, session: &session };
        match held.done(route, &skill, file, self.headless) {
            Ok(said) => held.finish(&said, file, out),
            Err(why) => held.give_back(&why, out),
        }
    }

    /// The item that is meant: the one that was named, or the most urgent that can be claimed.
    fn due(&self, text: &[u8], table: &Table) -> Result<Item, Failure> {
        let all = items(text);
        if let Some(key) = &self.item {
            let found = all.into_iter().find(|item| item.key == *key);
            return found.ok_or_else(|| {
                let sentence = format!("{}: there is no item {key}", shown(&self.file));
                let hint = "`baton tag status` lists the items of a file".to_owned();
                Failure::new(Exit::NotFound, "missing-item", sentence, hint)
            });
        }
        let fits = |item: &&Item| match (&self.skill, table.route(item.key.kind())) {
            (Some(skill), Some(route)) => route.skill == *skill,
            (Some(_), None) => false,
            (None, _) => true,
        };
        let claimable = |item: &&Item| matches!(item.stage, Stage::Delegated | Stage::Next);
        let mut due: Vec<&Item> = all.iter().filter(claimable).filter(fits).collect();
        due.sort_by_key(|item| (item.priority, item.line));
        due.first().map(|item| (*item).clone()).ok_or_else(|| {
            let what = self.skill.as_ref().map(|skill| format!(" for {skill}"));
            let what = what.unwrap_or_default();
            let sentence = format!("{}: nothing{what} waits to be claimed", shown(&self.file));
            let hint = "a person approves work with `baton tag approve`; then it can be claimed";
            Failure::new(Exit::Refused, "nothing-to-claim", sentence, hint)
        })
    }

    fn routed<'t>(&self, table: &'t Table, item: &Item) -> Result<(&'t Route, Skill), Failure> {
        let kind = item.key.kind();
        let route = table.route(kind).ok_or_else(|| {
            let sentence = format!("no skill does work of the kind {kind}");
            let hint = format!("name one under `kinds` in {}", super::table::TABLE_FILE);
            Failure::new(Exit::Refused, "no-skill", sentence, hint)
        })?;
        Ok((route, self.skill.clone().unwrap_or_else(|| route.skill.clone())))
    }
}

fn claim(
    ground: &Ground,
    files: &Files,
    path: &Path,
    item: &ItemKey,
    session: &Session,
    trust: Trust,
) -> Result<Fence, FileError> {
    let about = Move {
        file: path,
        item: item.to_string(),
        to: Stage::Claimed.of(item.kind()).ok(),
        mover: TagMover::Worker,
        session: Some(&session.reference),
        hash: None,
        reason: None,
    };
    let make = || files.claim(path, item, &session.reference, Fence(1), trust, Mover::Worker);
    let claimed = noted(ground, about, make, |claimed| Made {
        from: Some(claimed.change.from.clone()),
        fence: Some(claimed.fence),
    });
    claimed.map(|claimed| claimed.fence)
}

impl Held<'_> {
    /// Has the skill do the work. Returns what it said, or why there is no answer.
    fn done(
        &self,
        route: &Route,
        skill: &Skill,
        file: &str,
        headless: bool,
    ) -> Result<Vec<u8>, String> {
        let sentence = |failure: Failure| failure.sentence;
        self.session.enter(Phase::Running, Status::Working).map_err(sentence)?;
        let _beat = self.session.heartbeat();
        let mode = match headless || !std::io::stdin().is_terminal() {
            true => Mode::Agent,
            false => route.modes.first().copied().unwrap_or(Mode::Agent),
        };
        let (key, reference) = (self.item.key.to_string(), self.holder.session.as_str());
        let filling = Filling { file, item: &key, session: reference, skill: skill.as_str() };
        let job = Job {
            argv: skill::argv(route, &self.item, &filling, mode),
            root: self.ground.root(),
            session: &self.session.folder,
            request: &read(&self.path).map_err(sentence)?,
            facts: self.facts(file, &key),
            interactive: mode == Mode::Interactive,
        };
        let (status, said) = job.run().map_err(|error| {
            let program = job.argv.first().map_or("", String::as_str);
            format!("{program} could not be started: {error}")
        })?;
        if !status.success() {
            return Err(format!("{skill} ended with {status}"));
        }
        match job.interactive && !self.has_answer() {
            true => Err(format!("{skill} ended and left no answer")),
            false => Ok(said),
        }
    }

    /// What tells the program what it is about, and that it is an agent.
    fn facts(&self, file: &str, item: &str) -> Vec<(&'static str, String)> {
        let root = self.ground.root().display().to_string();
        vec![
            ("BATON_AGENT", self.item.key.kind().to_owned()),
            ("BATON_WORKSPACE", root),
            ("BATON_REQUEST", file.to_owned()),
            ("BATON_ITEM", item.to_owned()),
            ("BATON_TAG_FENCE", self.holder.fence.to_string()),
            ("BATON_SESSION", self.session.folder.display().to_string()),
            ("BATON_RESPONSE", self.session.folder.join(RESPONSE).display().to_string()),
        ]
    }

    fn finish(&self, said: &[u8], file: &str, out: Output) -> Result<(), Failure> {
        self.session.enter(Phase::Finishing, Status::Working)?;
        self.answer(said, file)?;
        let link = format!("{}/{RESPONSE}", self.holder.session);
        let key = &self.item.key;
        let about = self.about(Stage::Done, None);
        let make = || self.files.finish(&self.path, key, &self.holder, &link);
        let made = noted(self.ground, about, make, |change| self.made(&change.from));
        match made {
            Ok(_) => {
                self.session.enter(Phase::Finishing, Status::Done)?;
                out.page(|page| {
                    page.line(format!("{key} in {file} is done: {link}"));
                    Ok(())
                })
            }
            // Some skills end their item themselves.
            Err(FileError::Request { .. }) if self.is_done() => {
                self.session.enter(Phase::Finishing, Status::Done)
            }
            Err(error) => {
                self.session.enter(Phase::Finishing, Status::Failed)?;
                Err(told::file(error, &self.path))
            }
        }
    }

    /// Whether the item is done, and nobody else had it since.
    fn is_done(&self) -> bool {
        let Ok(text) = read(&self.path) else { return false };
        let key = &self.item.key;
        let done = items(&text).iter().any(|item| item.key == *key && item.stage == Stage::Done);
        done && request::session_of(&text, key).is_some_and(|holder| holder == self.holder)
    }

    /// Whether the program wrote an answer.
    fn has_answer(&self) -> bool {
        let path = self.session.folder.join(RESPONSE);
        path.symlink_metadata().is_ok_and(|data| data.is_file() && data.len() > 0)
    }

    /// Makes sure that there is an answer: the one that the program wrote, or what it said.
    fn answer(&self, said: &[u8], file: &str) -> Result<(), Failure> {
        let path = self.session.folder.join(RESPONSE);
        if self.has_answer() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(said);
        let said = match said.trim() {
            "" => "(It ended without a word.)",
            said => said,
        };
        let head = format!("# Response\n\n*   **Request**: `{file}`\n*   **Item**: `{}`\n", {
            &self.item.key
        });
        // What it says is no work, whatever it looks like.
        let text = format!("{head}\n{}\n", mask(said).replace('#', "\\#"));
        // Written anew: whatever else has this name is not ours to write through.
        let _ = fs::remove_file(&path);
        fs::write(&path, text).map_err(|error| {
            let sentence = format!("cannot write {}: {error}", path.display());
            Failure::failed(sentence, "check the space on its disk; the work is still claimed")
        })
    }

    /// Puts the work back before a person, with the reason, and raises an alert.
    fn give_back(&self, why: &str, out: Output) -> Result<(), Failure> {
        self.session.enter(Phase::Finishing, Status::Failed)?;
        let key = &self.item.key;
        let action = "Re-queued for review".to_owned();
        let recovery = Recovery { at: Timestamp::now(), reason: why.to_owned(), action };
        let about = self.about(Stage::Needs, Some(why));
        let make = || {
            let (path, holder) = (&self.path, Some(&self.holder));
            let (to, trust) = (RequeueTo::Needs, Trust::ByHand);
            self.files.requeue(path, key, to, holder, &recovery, trust)
        };
        let made = noted(self.ground, about, make, |change| self.made(&change.from));
        made.map_err(|error| told::file(error, &self.path))?;
        let below = self.ground.seen_from_root(&self.path);
        let text = format!("{key} failed: {why}");
        let alert = alerts::Draft {
            text: &text,
            severity: "warning",
            about: Some(&below),
            by: key.kind(),
            at: time::now(),
            mover: TagMover::Worker,
        };
        match alert.raise(self.ground) {
            Ok(path) => out.note(&format!("raised {}", shown(self.ground.seen_from_here(&path)))),
            Err(failure) => out.warn(&failure.sentence),
        }
        let log = self.session.folder.join(OUTPUT);
        let hint = match log.exists() {
            true => format!("{} tells more; a person can approve it again", shown(&log)),
            false => "a person can approve it again".to_owned(),
        };
        let sentence = format!("{}: {why}; it is back at #needs-{}", shown(&below), key.kind());
        Err(Failure::new(Exit::Failure, "skill-failed", sentence, hint))
    }

    fn about<'m>(&'m self, to: Stage, reason: Option<&'m str>) -> Move<'m> {
        Move {
            file: &self.path,
            item: self.item.key.to_string(),
            to: to.of(self.item.key.kind()).ok(),
            mover: TagMover::Worker,
            session: Some(&self.holder.session),
            hash: None,
            reason,
        }
    }

    fn made(&self, from: &baton_tags::Tag) -> Made {
        Made { from: Some(from.clone()), fence: Some(self.holder.fence) }
    }
}

fn no_workspace() -> Failure {
    let sentence = "there is no workspace in this folder or above it";
    Failure::new(Exit::NotFound, NO_WORKSPACE, sentence, "run `baton init` to make one here")
}

/// With `strict_approval` the ledger must know of the approval. A process that is marked as an
/// agent cannot ask it: such a worker was started by the daemon, which has asked.
fn covered(
    ground: &Ground,
    table: &Table,
    path: &Path,
    text: &[u8],
    item: &ItemKey,
) -> Result<(), Failure> {
    if table.trust == Trust::ByHand || mover(None) != Mover::Person {
        return Ok(());
    }
    let known = match request::standing(text, item) {
        Standing::Holds(approval) => approval::is_on_record(ground, path, item, &approval),
        Standing::Void(_) | Standing::Unrecorded => false,
    };
    if known {
        return Ok(());
    }
    let sentence = format!("{}: the ledger has no approval of {item}", shown(path));
    let hint = "a person approves it with `baton tag approve`; the table has strict_approval";
    Err(Failure::new(Exit::Refused, "unrecorded", sentence, hint))
}

/// Reads a request, as far as one may be long.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let wrong = |why: String| {
        let sentence = format!("cannot read {}: {why}", shown(path));
        Failure::new(Exit::NotFound, "not-found", sentence, "check the path")
    };
    let data = fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if !data.is_file() || data.len() > FILE_BYTES_MAX {
        return Err(wrong("it is no file, or too large for a request".to_owned()));
    }
    let text = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    match text.iter().take(HEAD_BYTES_MAX).any(|byte| *byte == 0) {
        true => Err(wrong("it is binary".to_owned())),
        false => Ok(text),
    }
}
