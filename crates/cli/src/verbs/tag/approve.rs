//! `baton tag approve` and `baton tag set-aside`: what only a person does.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use baton_protocol::tag::TagMover;
use baton_tags::lifecycle::Mover;
use baton_tags::request::{ApproveTo, Changed, body_hash};
use baton_tags::{Approver, Item, ItemKey, RecordError, Stage};
use clap::Args;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::launch;
use crate::show::Output;
use crate::tagging::spool::{self, Made, Move, Told};
use crate::tagging::work::items_of;
use crate::tagging::{Ground, shown, told};

/// Choices that an error lists.
const CHOICES_MAX: usize = 10;

/// Let work go ahead, as a person: #needs-X becomes #delegated-X
///
/// Writes under the Tags line who approved which text, and prints that text's hash.
/// If the request is changed later, the approval is void and nobody can claim it.
/// Approving again renews it. Agents cannot approve. Starts the coordinator if there
/// is a workspace, because what counts for strict_approval is in the ledger.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag approve sessions/requests/FIX_REQUEST_LOGIN.md
  baton tag approve plan.md --inline 12 --next
  baton tag approve plan.md --kind fix --json | jq -r .hash")]
pub(super) struct Approve {
    #[command(flatten)]
    which: Which,
    /// For the next skill of the same session (#next-X), not for the daemon
    #[arg(long)]
    next: bool,
}

/// Take approved work back to #needs-X, as a person
///
/// Its approval is taken off, too. Work that is claimed already is its holder's.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag set-aside sessions/requests/FIX_REQUEST_LOGIN.md
  baton tag set-aside plan.md --inline 12")]
pub(super) struct SetAside {
    #[command(flatten)]
    which: Which,
}

/// One item of a file.
#[derive(Debug, Args)]
struct Which {
    /// The file
    file: PathBuf,
    /// The item, such as '#fix' or '#fix@1f2e3d4c', as `baton tag status` shows it
    #[arg(long, value_name = "KEY", conflicts_with_all = ["inline", "kind"])]
    item: Option<ItemKey>,
    /// The one inside the text, on this line
    #[arg(long, value_name = "LINE")]
    inline: Option<NonZeroUsize>,
    /// The one of this kind, such as fix
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
}

impl Approve {
    pub(super) fn run(self, ground: &Ground, mover: Mover, out: Output) -> Result<(), Failure> {
        let Self { which, next } = self;
        only_people(mover, &format!("approve {}", shown(&which.file)))?;
        let (files, whole) = ground.files(&which.file)?;
        let item = which.find(&whole, &[Stage::Needs, Stage::Delegated, Stage::Next])?;
        let (to, stage) = match next {
            true => (ApproveTo::Next, Stage::Next),
            false => (ApproveTo::Delegated, Stage::Delegated),
        };
        let by = approver()?;
        let at = jiff::Timestamp::from_microsecond(out.begun.as_micros()).unwrap_or_default();
        // The ledger must hear of it from here, or the hash would not count.
        let up = ground.workspace().map(launch::launch).transpose();
        let make = || files.approve(&whole, &item.key, to, &by, at);
        let made = |changed: &Changed| {
            (Made { from: Some(changed.from.clone()), fence: None }, Some(body_hash(&changed.text)))
        };
        let about = moving(&whole, &item, stage);
        let approved = spool::traced(ground, about, make, made);
        let (changed, heard) = approved.map_err(|error| told::file(error, &which.file))?;
        let hash = body_hash(&changed.text);
        let recorded = heard == Told::Ledger;
        if ground.workspace().is_some() && !recorded {
            let why = up.err().map(|failure| format!(": {}", failure.sentence));
            out.warn(&format!(
                "the ledger has not heard of this approval{}; strict_approval does not count it \
                 until it is given again",
                why.unwrap_or_default()
            ));
        }
        let (file, line) = (shown(&which.file), changed.line);
        if out.json {
            return out.value(&json!({
                "file": which.file.to_string_lossy(),
                "item": item.key.to_string(),
                "from": changed.from.as_str(),
                "to": changed.to.as_str(),
                "line": line,
                "by": by.as_str(),
                "hash": hash.as_str(),
                "recorded": recorded,
            }));
        }
        out.page(|page| {
            if out.quiet {
                page.line(hash);
                return Ok(());
            }
            page.line(format!("{file}:{line} {} -> {}", changed.from, changed.to));
            page.line(format!("approved by {by}: sha256:{hash}"));
            Ok(())
        })
    }
}

impl SetAside {
    pub(super) fn run(self, ground: &Ground, mover: Mover, out: Output) -> Result<(), Failure> {
        let which = self.which;
        only_people(mover, &format!("take back {}", shown(&which.file)))?;
        let (files, whole) = ground.files(&which.file)?;
        let item = which.find(&whole, &[Stage::Delegated, Stage::Next])?;
        let make = || files.set_aside(&whole, &item.key);
        let made = |changed: &Changed| Made { from: Some(changed.from.clone()), fence: None };
        let changed = spool::noted(ground, moving(&whole, &item, Stage::Needs), make, made);
        let changed = changed.map_err(|error| told::file(error, &which.file))?;
        let Changed { from, to, line, .. } = changed;
        let json = json!({
            "file": which.file.to_string_lossy(),
            "item": item.key.to_string(),
            "from": from.as_str(),
            "to": to.as_str(),
            "line": line,
        });
        let said = format!("{}:{line} {from} -> {to}", shown(&which.file));
        super::done(out, &which.file, &json, &said)
    }
}

/// Refuses whoever is not surely a person.
fn only_people(mover: Mover, what: &str) -> Result<(), Failure> {
    match mover {
        Mover::Person => Ok(()),
        Mover::Worker | Mover::Daemon { .. } => {
            let sentence = format!("only a person can {what}, and this process is an agent's");
            let hint =
                "a person can do it in a terminal of their own, without BATON_TOKEN and --as";
            Err(Failure::new(Exit::Refused, "operator-only", sentence, hint))
        }
    }
}

/// The system's name of whoever is at the terminal. It proves nothing; that they are a person does.
fn approver() -> Result<Approver, Failure> {
    let named = std::env::var("USER").ok().and_then(|name| name.parse().ok());
    match named {
        Some(named) => Ok(named),
        None => "operator"
            .parse()
            .map_err(|error: RecordError| Failure::failed(error.to_string(), "set USER")),
    }
}

fn moving<'a>(file: &'a Path, item: &Item, to: Stage) -> Move<'a> {
    Move {
        file,
        item: item.key.to_string(),
        to: to.of(item.key.kind()).ok(),
        mover: TagMover::Person,
        session: None,
        hash: None,
        reason: None,
    }
}

impl Which {
    /// Finds the one item that is meant. One that can make the move goes before those that cannot.
    fn find(&self, whole: &Path, stages: &[Stage]) -> Result<Item, Failure> {
        let all = items_of(whole);
        let kind = self.kind.as_deref().map(|kind| kind.trim_start_matches('#'));
        let meant = |item: &&Item| {
            self.item.as_ref().is_none_or(|key| *key == item.key)
                && self
                    .inline
                    .is_none_or(|line| line.get() == item.line && !item.key.is_on_tags_line())
                && kind.is_none_or(|kind| kind == item.key.kind())
        };
        let named: Vec<_> = all.iter().filter(meant).collect();
        let ready: Vec<_> = named.iter().filter(|it| stages.contains(&it.stage)).copied().collect();
        let file = shown(&self.file);
        match (&ready[..], &named[..]) {
            ([only], _) | ([], [only]) => Ok((*only).clone()),
            ([], []) if !whole.is_file() => {
                let sentence = format!("there is no file {file}");
                Err(Failure::new(Exit::NotFound, "not-found", sentence, "check the path"))
            }
            ([], []) => {
                let sentence = format!("{file} has no such item");
                let hint = match all.is_empty() {
                    true => format!("`baton tag add {file} '#needs-fix'` makes one"),
                    false => format!("it has {}", choices(&all.iter().collect::<Vec<_>>())),
                };
                Err(Failure::new(Exit::NotFound, "missing-item", sentence, hint))
            }
            ([], several) | (several, _) => {
                let sentence = format!("{file} has {} such items", several.len());
                let hint = format!("name one with --item KEY: {}", choices(several));
                Err(Failure::new(Exit::Refused, "ambiguous", sentence, hint))
            }
        }
    }
}

/// The items that could be named, each with its place.
fn choices(items: &[&Item]) -> String {
    let each = |item: &&Item| format!("'{}' (line {}, {})", item.key, item.line, item.tag);
    let mut listed: Vec<_> = items.iter().take(CHOICES_MAX).map(each).collect();
    if let Some(more @ 1..) = items.len().checked_sub(CHOICES_MAX) {
        listed.push(format!("{more} more"));
    }
    listed.join(", ")
}
