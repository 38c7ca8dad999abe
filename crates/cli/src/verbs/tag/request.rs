//! `baton tag request`: writes a request that one who was not there understands.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use baton_protocol::mask;
use baton_tags::lifecycle::Mover;
use baton_tags::template::{self, Ask, TEMPLATE_BYTES_MAX, TITLE_MAX};
use baton_tags::{Effort, FileError, Priority, Stage, dispatch};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::show::Output;
use crate::tagging::alerts::{slug, within};
use crate::tagging::spool::{self, Made, Move};
use crate::tagging::{Ground, as_told, shown, told};

/// Requests of one name.
const SAME_NAME_MAX: u32 = 1_000;
/// Where requests go, seen from the workspace.
const FOLDER: &str = "sessions/requests";

/// Write a request for work, which waits for a person's approval
///
/// The file says what, why, where to look, what is expected, when it is good and who
/// asks, and has the tag #needs-KIND. A template of your own for the kind is filled in:
/// one in .baton/templates/ or .claude/skills/*/assets/ with REQUEST in its name and
/// #needs-KIND on its Tags line. Prints the path; never writes over a file.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag request fix --what \"Login takes 9 s\" --why \"Users leave\" --file src/login.rs
  baton tag request research --what \"Which parser?\" --accept \"Names two\" --priority P1
  baton tag request chores --what \"Sweep\" --out sessions/sweep.md --json | jq -r .file")]
pub(super) struct Request {
    /// The kind of work, such as fix, research or implementation
    kind: String,
    /// What is to be done
    #[arg(long, value_name = "TEXT")]
    what: String,
    /// The title [default: the first line of what is to be done]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// A file to look at; may be given several times
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// What is expected of the answer
    #[arg(long, value_name = "TEXT", default_value = "")]
    expect: String,
    /// When it is good; may be given several times
    #[arg(long, value_name = "TEXT")]
    accept: Vec<String>,
    /// The session that asks, or who does
    #[arg(long, value_name = "SESSION")]
    from: Option<String>,
    /// How urgent it is
    #[arg(long, value_name = "P", default_value = "P2", ignore_case = true)]
    priority: Urgency,
    /// How large it is thought to be
    #[arg(long, value_name = "SIZE", ignore_case = true)]
    effort: Option<Size>,
    /// The file to write [default: sessions/requests/KIND_REQUEST_TITLE.md]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How urgent it is.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Urgency {
    #[value(name = "P0")]
    Now,
    #[value(name = "P1")]
    Soon,
    #[value(name = "P2")]
    Normal,
}

/// How large it is thought to be.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Size {
    #[value(name = "S")]
    Small,
    #[value(name = "M")]
    Medium,
    #[value(name = "L")]
    Large,
}

impl Request {
    pub(super) fn run(self, ground: &Ground, mover: Mover, out: Output) -> Result<(), Failure> {
        if let Some(workspace) = ground.workspace() {
            workspace.set_secret_rules()?;
        }
        let kind = self.kind.trim_start_matches('#').to_owned();
        let tag = Stage::Needs.of(&kind).ok().filter(|tag| tag.stage().is_some());
        let tag = tag.ok_or_else(|| {
            let sentence = format!("found `{}`, expected a kind of work", self.kind.escape_debug());
            Failure::usage(sentence, "small letters, digits and dashes, such as fix")
        })?;
        let ask = self.ask(ground);
        let written = match own_template(ground.root(), &kind)? {
            Some(own) => template::fill(&own, &kind, &ask),
            None => template::request(&kind, &ask),
        };
        let text = written.map_err(|error| {
            let hint = "`baton tag request --help` tells what each option is for";
            Failure::usage(error.to_string(), hint)
        })?;
        let place = self.place(ground, &kind, &ask.title)?;
        let write = |path: &Path| {
            let about = Move {
                file: path,
                item: format!("#{kind}"),
                to: Some(tag.clone()),
                mover: as_told(mover),
                session: None,
                hash: None,
                reason: None,
            };
            let added = |(): &()| Made { from: None, fence: None };
            spool::noted(ground, about, || create(path, &text), added)
        };
        let path = self.written(&place, write)?;
        let seen = ground.seen_from_here(&path);
        let json = json!({"file": seen.to_string_lossy(), "tag": tag.as_str()});
        super::done(out, seen, &json, &shown(seen))?;
        out.next(&[format!("baton tag approve {}", shown(seen))]);
        Ok(())
    }

    /// What is asked for. Secrets have no business in a file that others read.
    fn ask(&self, ground: &Ground) -> Ask {
        let plain = |text: &str| mask(text).into_owned();
        let first = self.what.trim().lines().next().unwrap_or_default();
        let cut = || {
            let fits = |(at, c): &(usize, char)| at + c.len_utf8() <= TITLE_MAX;
            first.char_indices().take_while(fits).map(|(_, c)| c).collect::<String>()
        };
        let title = self.title.clone().unwrap_or_else(cut);
        let marked = || std::env::var("BATON_AGENT").ok().filter(|agent| !agent.is_empty());
        let requester = self.from.clone().or_else(marked).unwrap_or_else(|| "operator".to_owned());
        Ask {
            title: plain(&title),
            what: plain(&self.what),
            why: plain(&self.why),
            files: self
                .file
                .iter()
                .map(|file| shown(&ground.seen_from_root(file)).into())
                .collect(),
            expectations: plain(&self.expect),
            criteria: self.accept.iter().map(|line| plain(line)).collect(),
            requester: plain(&requester),
            priority: match self.priority {
                Urgency::Now => Priority::P0,
                Urgency::Soon => Priority::P1,
                Urgency::Normal => Priority::P2,
            },
            effort: self.effort.map(|size| match size {
                Size::Small => Effort::Small,
                Size::Medium => Effort::Medium,
                Size::Large => Effort::Large,
            }),
        }
    }

    /// The path to write to, whose folder is there.
    fn place(&self, ground: &Ground, kind: &str, title: &str) -> Result<PathBuf, Failure> {
        let usual = || {
            let slug = slug(title).replace('-', "_").to_uppercase();
            let kind = kind.replace('-', "_").to_uppercase();
            ground.root().join(FOLDER).join(format!("{kind}_REQUEST_{slug}.md"))
        };
        let Some(chosen) = &self.out else {
            let mut folder = ground.root().to_owned();
            for part in FOLDER.split('/') {
                folder.push(part);
                made_within(&folder, ground.root()).map_err(|error| unwritable(&folder, &error))?;
            }
            return Ok(usual());
        };
        let path = ground.whole(chosen);
        let folder = path.parent().unwrap_or(ground.root());
        let real = folder.canonicalize().map_err(|error| unwritable(folder, &error))?;
        let root = ground.root().to_owned();
        // A link may not lead out of where files are changed.
        if within(folder, &root).is_ok() || real.starts_with(ground.whole(Path::new("."))) {
            return Ok(path);
        }
        Err(told::file(FileError::Outside { path: path.clone(), root }, chosen))
    }

    /// Writes to the place, or to the next of its name that is free if nobody chose it.
    fn written(
        &self,
        place: &Path,
        write: impl Fn(&Path) -> io::Result<()>,
    ) -> Result<PathBuf, Failure> {
        let stem = place.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for again in 1..=SAME_NAME_MAX {
            let path = match again {
                1 => place.to_owned(),
                _ => place.with_file_name(format!("{stem}_{again}.md")),
            };
            match write(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if let Some(chosen) = &self.out {
                        let sentence = format!("{} is there already", shown(chosen));
                        return Err(Failure::new(
                            Exit::Refused,
                            "exists",
                            sentence,
                            "name another file with --out",
                        ));
                    }
                }
                Err(error) => return Err(unwritable(&path, &error)),
            }
        }
        let sentence = format!("{stem} is taken {SAME_NAME_MAX} times");
        Err(Failure::failed(sentence, "name another file with --out"))
    }
}

/// The user's own template for a kind, if there is one.
fn own_template(root: &Path, kind: &str) -> Result<Option<String>, Failure> {
    let found = dispatch::discover(root).into_iter().find(|template| template.kind == kind);
    let Some(found) = found else { return Ok(None) };
    let mut text = String::new();
    let limit = TEMPLATE_BYTES_MAX as u64 + 1;
    let read = File::open(&found.path).and_then(|file| file.take(limit).read_to_string(&mut text));
    read.map(|_| Some(text)).map_err(|error| {
        let sentence = format!("cannot read the template {}: {error}", shown(&found.path));
        Failure::failed(sentence, "mend it, or take it away to use the one of Baton")
    })
}

/// Makes a folder if need be, and makes sure that no link leads out of the root there.
fn made_within(folder: &Path, root: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => within(folder, root),
    }
}

/// Writes a new file, whole or not at all.
fn create(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut aside = tempfile::Builder::new()
        .prefix(".request-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    aside.write_all(text.as_bytes())?;
    aside.as_file().sync_all()?;
    aside.persist_noclobber(path).map_err(|failed| failed.error)?;
    File::open(folder)?.sync_all()
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let sentence = format!("cannot write to {}: {error}", shown(path));
    Failure::failed(sentence, "check the folder and its permissions")
}
