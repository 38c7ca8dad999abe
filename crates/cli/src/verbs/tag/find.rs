//! `baton tag find`: the files that have a tag, one path a line.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use baton_tags::{Found, Hit, Search, Sighting, TagPattern};
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::show::Output;
use crate::show::text::Plain;
use crate::tagging::{Ground, shown, told};

/// Find the files that have a tag
///
/// Prints one path a line, each file once; finding nothing is no error. Searches
/// sessions/ if there is one, otherwise the workspace or this folder, and leaves
/// out binaries, databases, hidden files and what a .gitignore names. What could
/// not be searched is told on stderr.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag find '#needs-fix'
  baton tag find '#delegated-*' sessions/ --context
  baton tag find '#claimed-fix' --json | jq -r '.files[].path'")]
pub(super) struct Find {
    /// The tag; a * stands for any characters, as in '#delegated-*'
    tag: TagPattern,
    /// A folder or a file
    path: Option<PathBuf>,
    /// Show where it stands, with N lines on either side [2 unless given, at most
    /// 20]
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = clap::value_parser!(u8).range(0..=20)
    )]
    context: Option<u8>,
    /// Only tags on the Tags line
    #[arg(long)]
    tags_only: bool,
    /// Search also what a .gitignore or .ignore names
    #[arg(long)]
    no_ignore: bool,
}

impl Find {
    pub(super) fn run(self, ground: &Ground, out: Output) -> Result<(), Failure> {
        let search = Search {
            tags_line_only: self.tags_only,
            context_lines: self.context.map_or(0, usize::from),
            honour_ignores: !self.no_ignore,
            ..Search::new(self.tag)
        };
        let tree = ground.tree(self.path);
        let found = baton_tags::find(&tree, &search).map_err(told::search)?;
        if out.json {
            return out.value(&as_json(&found, ground, self.context.is_some()));
        }
        match self.context {
            Some(_) => out.write(&in_context(&found, ground))?,
            None => out.bytes(&paths(&found, ground))?,
        }
        told::warn_of(&found.skipped, out);
        Ok(())
    }
}

/// The paths as they are. Only one that would not stay on its line is escaped.
fn paths(found: &Found, ground: &Ground) -> Vec<u8> {
    let mut text = Vec::new();
    for hit in &found.hits {
        let path = ground.seen_from_here(&hit.path);
        match path.as_os_str().as_bytes() {
            bytes if bytes.iter().any(u8::is_ascii_control) => {
                text.extend_from_slice(shown(path).as_bytes());
            }
            bytes => text.extend_from_slice(bytes),
        }
        text.push(b'\n');
    }
    text
}

/// Each match as `path:line` with its surroundings below, its own line marked.
fn in_context(found: &Found, ground: &Ground) -> String {
    let mut text = String::new();
    for Hit { path, sightings, .. } in &found.hits {
        let path = shown(ground.seen_from_here(path));
        for Sighting { occurrence, first_line, lines } in sightings {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("{path}:{}\n", occurrence.line));
            for (number, line) in (*first_line..).zip(lines) {
                let mark = if number == occurrence.line { '>' } else { ' ' };
                let line = format!("{mark} {number:>4} | {}", Plain::line(line));
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
    }
    text
}

fn as_json(found: &Found, ground: &Ground, with_context: bool) -> Value {
    let seen = |seen: &Sighting| {
        let mut value = json!({
            "tag": seen.occurrence.tag.as_str(),
            "line": seen.occurrence.line,
            "column": seen.occurrence.column,
            "on_tags_line": seen.occurrence.on_tags_line,
        });
        if with_context {
            value["context"] = json!({"first_line": seen.first_line, "lines": seen.lines});
        }
        value
    };
    let path = |path: &Path| ground.seen_from_here(path).to_string_lossy().into_owned();
    let hit = |hit: &Hit| {
        let sightings: Vec<_> = hit.sightings.iter().map(seen).collect();
        json!({"path": path(&hit.path), "title": hit.title, "sightings": sightings})
    };
    let skipped = found.skipped.iter();
    let skipped = skipped.map(|it| json!({"path": path(&it.path), "reason": it.reason}));
    json!({
        "files": found.hits.iter().map(hit).collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
    })
}
