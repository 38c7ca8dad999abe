//! `baton alert`: says in a file that something needs a look, until somebody resolves it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use baton_protocol::id::AgentId;
use baton_protocol::mask;
use baton_protocol::time::Timestamp;
use baton_tags::lifecycle::Mover;
use baton_tags::{Hit, Moved, Place, Search, Skipped, Tag, TagPattern};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::args::Global;
use crate::failure::Failure;
use crate::show::Output;
use crate::show::table::Table;
use crate::show::time::{absolute, span};
use crate::tagging::alerts::{self, ACTIVE, DONE, Draft};
use crate::tagging::spool::{self, Made, Move};
use crate::tagging::{Ground, as_told, mover, shown, told, work};

/// Bytes at the head of an alert that are read for its severity.
const HEAD_BYTES_MAX: u64 = 4 * 1024;

/// Raise alerts, see which are open, and resolve them
///
/// An alert is a file with the tag #active-alert, in sessions/alerts/ if there is a
/// sessions/, otherwise in alerts/. Resolved it has #done-alert. Needs no
/// coordinator.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton alert raise \"The build is red\" --severity critical
  baton alert list
  baton alert resolve 20261116T1200")]
pub(crate) struct Alert {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Raise(Raise),
    List(List),
    Resolve(Resolve),
}

/// Write an alert, and print its file
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton alert raise \"The build is red\" --severity critical
  baton alert raise \"Nobody answers\" --file sessions/request.md")]
struct Raise {
    /// What is wrong; the first line is the title
    text: String,
    /// The file that it is about
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How bad it is
    #[arg(long, value_name = "HOW", default_value = "warning")]
    severity: Severity,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Severity {
    Info,
    Warning,
    Critical,
}

/// List the alerts that nobody has resolved, the oldest first
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton alert list
  baton alert list --all --json | jq '.alerts[].title'")]
struct List {
    /// Also those that are resolved
    #[arg(long)]
    all: bool,
}

/// Resolve an alert, which exactly one of any number of callers can
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton alert resolve sessions/alerts/ALERT_20261116T120000Z_the-build-is-red.md
  baton alert resolve 20261116T1200")]
struct Resolve {
    /// Its file, or any unique beginning of its id
    #[arg(value_name = "FILE|ID")]
    alert: String,
}

impl Alert {
    pub(crate) fn run(self, ground: &Ground, global: &Global, out: Output) -> Result<(), Failure> {
        match self.what {
            What::Raise(raise) => raise.run(ground, global.on_behalf.as_ref(), out),
            What::List(list) => list.run(ground, out),
            What::Resolve(resolve) => resolve.run(ground, global.on_behalf.as_ref(), out),
        }
    }
}

impl Raise {
    fn run(self, ground: &Ground, by: Option<&AgentId>, out: Output) -> Result<(), Failure> {
        if let Some(workspace) = ground.workspace() {
            workspace.set_secret_rules()?;
        }
        let severity = self.severity.to_possible_value();
        let about = self.file.map(|file| ground.seen_from_root(&file));
        let draft = Draft {
            text: &mask(&self.text),
            severity: severity.as_ref().map_or("warning", |it| it.get_name()),
            about: about.as_deref(),
            by: &who(by),
            mover: as_told(mover(by)),
            at: out.begun,
        };
        let path = draft.raise(ground)?;
        let path = ground.seen_from_here(&path);
        if out.json {
            let (id, tag) = (alerts::id(path), ACTIVE);
            return out.value(&json!({"file": path.to_string_lossy(), "id": id, "tag": tag}));
        }
        out.page(|page| {
            page.line(shown(path));
            Ok(())
        })?;
        let id = alerts::id(path).unwrap_or_default();
        out.next(&[format!("baton alert resolve {id}")]);
        Ok(())
    }
}

/// Who raises it, for people to read; it proves nothing.
fn who(on_behalf: Option<&AgentId>) -> String {
    let marked = || std::env::var("BATON_AGENT").ok()?.parse::<AgentId>().ok();
    match (on_behalf.cloned().or_else(marked), mover(on_behalf)) {
        (Some(agent), _) => agent.to_string(),
        (None, Mover::Person) => "operator".to_owned(),
        (None, Mover::Worker | Mover::Daemon { .. }) => "an agent".to_owned(),
    }
}

/// An alert as it is listed.
struct Listed {
    path: PathBuf,
    open: bool,
    severity: String,
    changed: Option<Timestamp>,
    title: String,
}

impl List {
    fn run(self, ground: &Ground, out: Output) -> Result<(), Failure> {
        let (listed, skipped) = find(ground, self.all)?;
        let path = |alert: &Listed| ground.seen_from_here(&alert.path).to_owned();
        let state = |alert: &Listed| if alert.open { "active" } else { "done" };
        if out.json {
            let each = listed.iter().map(|alert| {
                json!({
                    "file": path(alert).to_string_lossy(),
                    "id": alerts::id(&alert.path),
                    "state": state(alert),
                    "severity": alert.severity,
                    "changed": alert.changed.map(|at| absolute(at).replace(' ', "T")),
                    "title": alert.title,
                })
            });
            return out.value(&json!({"alerts": each.collect::<Vec<_>>()}));
        }
        out.page(|page| {
            if out.quiet {
                listed.iter().for_each(|alert| page.line(shown(&path(alert))));
                return Ok(());
            }
            let mut table = Table::new(&["ID", "STATE", "SEVERITY", "AGE", "TITLE"], &[0, 4]);
            for alert in &listed {
                let now = page.now.as_micros();
                let age = alert.changed.map(|at| span((now - at.as_micros()).max(0)));
                let path = path(alert);
                table.row([
                    alerts::id(&path).map_or_else(|| shown(&path).into_owned(), str::to_owned),
                    state(alert).to_owned(),
                    alert.severity.clone(),
                    age.unwrap_or_else(|| "-".to_owned()),
                    alert.title.clone(),
                ]);
            }
            if table.is_empty() {
                page.line("no alert is active");
            } else {
                page.table(table);
            }
            Ok(())
        })?;
        told::warn_of(&skipped, out);
        Ok(())
    }
}

/// Finds alerts wherever they are: people and other tools tag files, too.
fn find(ground: &Ground, all: bool) -> Result<(Vec<Listed>, Vec<Skipped>), Failure> {
    let tree = ground.tree(None);
    let beside = ground.root().join(alerts::FOLDER);
    let mut trees = vec![tree.clone()];
    if beside.is_dir() && !beside.starts_with(&tree) {
        trees.push(beside);
    }
    let (mut seen, mut listed, mut skipped) = (BTreeSet::new(), Vec::new(), Vec::new());
    let patterns = if all { &[ACTIVE, DONE][..] } else { &[ACTIVE] };
    for pattern in patterns {
        let pattern: TagPattern = told::read(pattern)?;
        let open = pattern.as_str() == ACTIVE;
        for tree in &trees {
            let search = Search { tags_line_only: true, ..Search::new(pattern.clone()) };
            let found = baton_tags::find(tree, &search).map_err(told::search)?;
            let fresh = found.hits.into_iter().filter(|hit| seen.insert(hit.path.clone()));
            listed.extend(fresh.map(|hit| list(hit, open)));
            skipped.extend(found.skipped);
        }
    }
    listed.sort_by(|a: &Listed, b| (a.changed, &a.path).cmp(&(b.changed, &b.path)));
    Ok((listed, skipped))
}

fn list(hit: Hit, open: bool) -> Listed {
    let severity = head(&hit.path).as_deref().and_then(alerts::severity).map(str::to_owned);
    Listed {
        open,
        severity: severity.unwrap_or_else(|| "-".to_owned()),
        changed: work::changed(&hit.path),
        title: hit.title.unwrap_or_default().replace("\\#", "#"),
        path: hit.path,
    }
}

fn head(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD_BYTES_MAX).read_to_end(&mut head).ok()?;
    Some(String::from_utf8_lossy(&head).into_owned())
}

impl Resolve {
    fn run(self, ground: &Ground, by: Option<&AgentId>, out: Output) -> Result<(), Failure> {
        let path = alerts::named(ground, &self.alert)?;
        let shown_path = ground.seen_from_here(&path).to_owned();
        let (files, whole) = ground.files(&path)?;
        let (active, done): (Tag, Tag) = (told::read(ACTIVE)?, told::read(DONE)?);
        let about = Move {
            file: &whole,
            item: ACTIVE.to_owned(),
            to: Some(done.clone()),
            mover: as_told(mover(by)),
            session: None,
            hash: None,
            reason: None,
        };
        let make = || files.swap(&whole, &[active], &done, Place::TagsLine, mover(by));
        let made = |moved: &Moved| Made { from: Some(moved.from.clone()), fence: None };
        let moved = spool::noted(ground, about, make, made);
        moved.map_err(|error| told::file(error, &shown_path))?;
        if out.json {
            let id = alerts::id(&path);
            return out
                .value(&json!({"file": shown_path.to_string_lossy(), "id": id, "tag": DONE}));
        }
        let line = match out.quiet {
            true => shown(&shown_path).into_owned(),
            false => format!("resolved {}", shown(&shown_path)),
        };
        out.page(|page| {
            page.line(line);
            Ok(())
        })
    }
}
