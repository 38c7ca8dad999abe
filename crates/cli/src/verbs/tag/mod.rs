//! `baton tag`: puts tags on files, takes them away, moves work from stage to stage, and finds it.

mod approve;
mod find;
mod list;
mod request;
mod status;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use baton_tags::lifecycle::Mover;
use baton_tags::request::Bearer;
use baton_tags::{Fence, Holding, ItemKey, Moved, Place, Tag as Name, TagError, alternatives};
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
        let (at, bearer) = (place(inline), bearer(ground, &whole));
        let make = || files.swap_item(&whole, (&old, &new), at, mover, bearer.as_ref());
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

/// The worker for whose skill this process runs, if it is for one: what it was given is compared
/// with what the file says, so that a skill whose work was given to another changes nothing.
fn bearer(ground: &Ground, file: &Path) -> Option<Bearer> {
    let said = |name| std::env::var(name).ok();
    let fence = Fence(said("BATON_TAG_FENCE")?.parse().ok()?);
    let folder = PathBuf::from(said("BATON_SESSION")?);
    let root = said("BATON_WORKSPACE").map_or_else(|| ground.root().to_owned(), PathBuf::from);
    let session = folder.strip_prefix(&root).unwrap_or(&folder).to_str()?.parse().ok()?;
    let is_request = said("BATON_REQUEST").is_none_or(|request| {
        let (request, file) = (root.join(request).canonicalize(), file.canonicalize());
        matches!((request, file), (Ok(request), Ok(file)) if request == file)
    });
    let item = said("BATON_ITEM").filter(|_| is_request).and_then(|item| item.parse().ok());
    Some(Bearer { holding: Holding { session, fence }, item })
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
