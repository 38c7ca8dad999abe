//! `baton tag`: puts tags on files, takes them away, moves work from stage to stage, and finds it.

mod approve;
mod find;
mod list;
mod request;
mod status;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use baton_tags::lifecycle::{self, Mover};
use baton_tags::request::{self as requests, RequestError, Standing};
use baton_tags::{
    Approval, FileError, Files, Item, ItemKey, Moved, Place, Stage, Tag as Name, TagError,
    alternatives, edit, items,
};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::args::Global;
use crate::failure::Failure;
use crate::show::Output;
use crate::tagging::spool::{self, Made, Move};
use crate::tagging::work::items_of;
use crate::tagging::{Ground, as_told, mover, shown, told};

/// Move work that lives in files, by tags such as #needs-fix
///
/// A tag on the line `**Tags**: ...` under a file's first heading, or inside its
/// text, is a piece of work. In `code` it is only mentioned. Work goes from
/// #needs-X over #delegated-X (or #next-X) and #claimed-X to #done-X; only people
/// approve, which is the first step. Needs no coordinator. Write tags in quotes: to
/// a shell a bare # begins a comment.
///
/// Errors end with 1, and their message begins with ERROR.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag request fix --what \"Login takes 9 s\"
  baton tag approve sessions/requests/FIX_REQUEST_LOGIN_TAKES_9_S.md
  baton tag swap notes.md '#delegated-fix' '#claimed-fix'
  baton tag find '#delegated-*'
  baton tag status")]
pub(crate) struct Tag {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Add(Add),
    Remove(Remove),
    Swap(Swap),
    Request(Box<request::Request>),
    Approve(approve::Approve),
    SetAside(approve::SetAside),
    Find(find::Find),
    List(list::List),
    Status(status::Status),
}

/// Put a tag on a file's Tags line
///
/// Makes the line under the first heading if there is none. A tag that is there
/// already is no error.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag add notes.md '#needs-fix'
  baton tag add notes.md '#P1'")]
struct Add {
    /// The file
    file: PathBuf,
    /// The tag, such as '#needs-fix'
    tag: Name,
}

/// Take a tag off a file
///
/// A tag that is not there is no error.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag remove notes.md '#needs-fix'
  baton tag remove notes.md '#needs-fix' --inline 12")]
struct Remove {
    /// The file
    file: PathBuf,
    /// The tag
    tag: Name,
    /// The one inside the text, on this line
    #[arg(long, value_name = "LINE")]
    inline: Option<NonZeroUsize>,
}

/// Turn one tag into another, which exactly one of any number of callers can
///
/// Of OLD,OLD2 whichever is there is swapped. If none of them is there, somebody
/// was faster: that is an error, and the file is as it was.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag swap notes.md '#delegated-fix' '#claimed-fix'
  baton tag swap notes.md '#delegated-fix,#next-fix' '#claimed-fix'
  baton tag swap notes.md '#claimed-fix' '#done-fix' --inline 12")]
struct Swap {
    /// The file
    file: PathBuf,
    /// The tag that must be there, or several with commas between
    #[arg(value_name = "OLD[,OLD2]")]
    old: Old,
    /// What it becomes
    new: Name,
    /// The one inside the text, on this line
    #[arg(long, value_name = "LINE")]
    inline: Option<NonZeroUsize>,
}

/// The tags of which one must be there.
#[derive(Clone, Debug)]
struct Old(Vec<Name>);

impl FromStr for Old {
    type Err = TagError;

    fn from_str(text: &str) -> Result<Self, TagError> {
        alternatives(text).map(Self)
    }
}

impl Tag {
    pub(crate) fn run(self, ground: &Ground, global: &Global, out: Output) -> Result<(), Failure> {
        let mover = || mover(global.on_behalf.as_ref());
        match self.what {
            What::Add(add) => add.run(ground, mover(), out),
            What::Remove(remove) => remove.run(ground, mover(), out),
            What::Swap(swap) => swap.run(ground, mover(), out),
            What::Request(request) => request.run(ground, mover(), out),
            What::Approve(approve) => approve.run(ground, mover(), out),
            What::SetAside(back) => back.run(ground, mover(), out),
            What::Find(find) => find.run(ground, out),
            What::List(list) => list.run(ground, out),
            What::Status(status) => status.run(ground, out),
        }
    }
}

impl Add {
    fn run(self, ground: &Ground, mover: Mover, out: Output) -> Result<(), Failure> {
        let Self { file, tag } = self;
        let (files, whole) = ground.files(&file)?;
        let about = moving(&whole, &tag, Place::TagsLine, Some(tag.clone()), mover);
        let make = || files.add(&whole, &tag, mover);
        let made = |added: &bool| Made { from: (!added).then(|| tag.clone()), fence: None };
        let added = spool::noted(ground, about, make, made);
        let added = added.map_err(|error| told::file(error, &file))?;
        let said = match added {
            true => format!("added {tag} to {}", shown(&file)),
            false => format!("{} has {tag} already", shown(&file)),
        };
        let json = json!({"file": file.to_string_lossy(), "tag": tag.as_str(), "changed": added});
        done(out, &file, &json, &said)
    }
}

impl Remove {
    fn run(self, ground: &Ground, mover: Mover, out: Output) -> Result<(), Failure> {
        let Self { file, tag, inline } = self;
        let (files, whole) = ground.files(&file)?;
        let about = moving(&whole, &tag, place(inline), None, mover);
        let make = || files.remove(&whole, &tag, place(inline));
        let made = |removed: &bool| Made { from: removed.then(|| tag.clone()), fence: None };
        let removed = spool::noted(ground, about, make, made);
        let removed = removed.map_err(|error| told::file(error, &file))?;
        let said = match removed {
            true => format!("removed {tag} from {}", shown(&file)),
            false => format!("{} has no {tag} there", shown(&file)),
        };
        let json = json!({"file": file.to_string_lossy(), "tag": tag.as_str(), "changed": removed});
        done(out, &file, &json, &said)
    }
}

impl Swap {
    fn run(self, ground: &Ground, mover: Mover, out: Output) -> Result<(), Failure> {
        let Self { file, old: Old(old), new, inline } = self;
        let (files, whole) = ground.files(&file)?;
        let about = moving(&whole, &old[0], place(inline), Some(new.clone()), mover);
        let make = || match new.stage() {
            Some((Stage::Claimed, _)) => claim(&files, &whole, &old, &new, place(inline), mover),
            Some(_) | None => files.swap(&whole, &old, &new, place(inline), mover),
        };
        let made = |moved: &Moved| Made { from: Some(moved.from.clone()), fence: None };
        let moved = spool::noted(ground, about, make, made);
        let Moved { from, to, line } = moved.map_err(|error| told::file(error, &file))?;
        let json = json!({
            "file": file.to_string_lossy(),
            "from": from.as_str(),
            "to": to.as_str(),
            "line": line,
        });
        done(out, &file, &json, &format!("{}:{line} {from} -> {to}", shown(&file)))
    }
}

/// Swaps as [`Files::swap`] does, but not what has changed since a person approved it.
fn claim(
    files: &Files,
    path: &Path,
    old: &[Name],
    new: &Name,
    at: Place,
    mover: Mover,
) -> Result<Moved, FileError> {
    files.edit(path, |text| {
        let path = path.to_owned();
        let swapped = match edit::swap(text, old, new, at) {
            Ok(swapped) => swapped,
            Err(source) => return Err(FileError::Edit { path, source }),
        };
        if let Err(source) = lifecycle::swap(&swapped.old, new, mover) {
            return Err(FileError::Refused { path, source });
        }
        let on_tags_line = at == Place::TagsLine;
        let moves = |item: &Item| {
            item.tag == swapped.old
                && item.line == swapped.line
                && item.key.is_on_tags_line() == on_tags_line
        };
        if let Some(item) = items(text).into_iter().find(moves).map(|item| item.key)
            && let Standing::Void(Approval { by, .. }) = requests::standing(text, &item)
        {
            let source = Box::new(RequestError::Unlike { item, by });
            return Err(FileError::Request { path, source });
        }
        let moved = Moved { from: swapped.old, to: new.clone(), line: swapped.line };
        Ok((Some(swapped.text), moved))
    })
}

/// What the ledger hears of a move of `tag`: of the item that it is, or of the tag itself.
fn moving<'a>(file: &'a Path, tag: &Name, at: Place, to: Option<Name>, mover: Mover) -> Move<'a> {
    let item = match at {
        Place::TagsLine => {
            let new = to.as_ref().and_then(ItemKey::of_tags_line);
            new.or_else(|| ItemKey::of_tags_line(tag))
        }
        Place::Line(line) => items_of(file).into_iter().find_map(|item| {
            let kind = |tag: &Name| tag.stage().map(|(_, kind)| kind.to_owned());
            let meant = item.line == line && !item.key.is_on_tags_line();
            (meant && kind(&item.tag) == kind(tag)).then_some(item.key)
        }),
    };
    let item = item.map_or_else(|| tag.to_string(), |item| item.to_string());
    let mover = as_told(mover);
    Move { file, item, to, mover, session: None, hash: None, reason: None }
}

fn place(inline: Option<NonZeroUsize>) -> Place {
    inline.map_or(Place::TagsLine, |line| Place::Line(line.get()))
}

/// Says that it is done: as JSON, as the file alone, or as a sentence.
fn done(out: Output, file: &Path, json: &serde_json::Value, said: &str) -> Result<(), Failure> {
    if out.json {
        return out.value(json);
    }
    let line = if out.quiet { shown(file).into_owned() } else { said.to_owned() };
    out.page(|page| {
        page.line(line);
        Ok(())
    })
}
