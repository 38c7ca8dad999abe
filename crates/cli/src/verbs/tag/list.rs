//! `baton tag list`: all work that lives in files.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::show::table::Table;
use crate::show::time::{absolute, span};
use crate::show::{Output, width};
use crate::tagging::work::{self, Work, effort_shown, priority_shown};
use crate::tagging::{Ground, shown, told};

/// What the other columns of the table need, and a title's first words.
const OTHERS_WIDTH: usize = 58;
/// The least that is shown of a place.
const PLACE_WIDTH_MIN: usize = 22;

/// List all work in files, the most urgent first
///
/// One row for each tag of a life cycle, on a Tags line or inside a text. The age
/// is that of the file's last change. The order is by priority (#P0 #P1 #P2, which
/// is the default), then by age, the oldest first; effort (#S #M #L) is only shown.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag list
  baton tag list sessions/
  baton tag list --json | jq '.items[] | select(.state == \"needs\")'")]
pub(super) struct List {
    /// A folder or a file; otherwise as `baton tag find`
    path: Option<PathBuf>,
    /// Search also what a .gitignore or .ignore names
    #[arg(long)]
    no_ignore: bool,
}

impl List {
    pub(super) fn run(self, ground: &Ground, out: Output) -> Result<(), Failure> {
        let tree = ground.tree(self.path);
        let (all, skipped) = work::list(&tree, !self.no_ignore)?;
        if out.json {
            let items: Vec<_> = all.iter().map(|work| as_json(work, ground)).collect();
            let skipped = skipped.iter();
            let skipped =
                skipped.map(|it| json!({"path": it.path.to_string_lossy(), "reason": it.reason}));
            return out.value(&json!({"items": items, "skipped": skipped.collect::<Vec<_>>()}));
        }
        out.page(|page| {
            if out.quiet {
                all.iter().for_each(|work| page.line(place(work, ground)));
                return Ok(());
            }
            let header = ["STATE", "KIND", "PRIO", "EFFORT", "AGE", "WHERE", "TITLE"];
            let room = usize::from(width()).saturating_sub(OTHERS_WIDTH).max(PLACE_WIDTH_MIN);
            let mut table = Table::new(&header, &[6]);
            for work in &all {
                let now = page.now.as_micros();
                let age = work.changed.map(|at| span((now - at.as_micros()).max(0)));
                table.row([
                    work.item.stage.family().to_owned(),
                    work.item.key.kind().to_owned(),
                    priority_shown(work.item.priority).to_owned(),
                    work.item.effort.map_or("-", effort_shown).to_owned(),
                    age.unwrap_or_else(|| "-".to_owned()),
                    end_of(&place(work, ground), room),
                    work.title.clone(),
                ]);
            }
            if table.is_empty() {
                page.line("there is no work in files");
            } else {
                page.table(table);
            }
            Ok(())
        })?;
        told::warn_of(&skipped, out);
        Ok(())
    }
}

/// The end of a place, which says more than its beginning: the file's name and the line.
pub(super) fn end_of(place: &str, room: usize) -> String {
    let over = place.chars().count().saturating_sub(room);
    if over == 0 {
        return place.to_owned();
    }
    std::iter::once('…').chain(place.chars().skip(over + 1)).collect()
}

pub(super) fn place(work: &Work, ground: &Ground) -> String {
    format!("{}:{}", shown(ground.seen_from_here(&work.path)), work.item.line)
}

pub(super) fn as_json(work: &Work, ground: &Ground) -> Value {
    json!({
        "state": work.item.stage.family(),
        "kind": work.item.key.kind(),
        "item": work.item.key.to_string(),
        "tag": work.item.tag.as_str(),
        "priority": priority_shown(work.item.priority),
        "effort": work.item.effort.map(effort_shown),
        "changed": work.changed.map(|at| absolute(at).replace(' ', "T")),
        "path": ground.seen_from_here(&work.path).to_string_lossy(),
        "line": work.item.line,
        "inline": !work.item.key.is_on_tags_line(),
        "title": work.title,
    })
}
