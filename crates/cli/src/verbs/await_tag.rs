//! `baton await-tag`: blocks until a file has a tag.

use std::path::PathBuf;
use std::time::Duration;

use baton_protocol::time::Allowance;
use baton_tags::TagPattern;
use clap::Args;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::show::Output;
use crate::tagging::awaited::{self, Arrived};
use crate::tagging::{Ground, shown};

/// Wait until a file has a tag, or any file of a folder
///
/// Also when it was there before. Prints the file, the tag and the title. Exits
/// with 5 when the time is up; --timeout 0 looks once. Needs no coordinator.
#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_long_help = "\
Examples:
  baton await-tag request.md '#done-research' --timeout 2h
  baton await-tag --dir sessions/ '#active-alert'
  baton await-tag request.md '#done-*' --json | jq -r .tag"
)]
pub(crate) struct AwaitTag {
    /// The file; one that is not there yet may still come
    #[arg(required_unless_present = "dir", conflicts_with = "dir")]
    file: Option<PathBuf>,
    /// The tag; a * stands for any characters
    #[arg(required = true)]
    tag: Option<TagPattern>,
    /// Any file below this folder
    #[arg(long, value_name = "PATH")]
    dir: Option<PathBuf>,
    /// How long at most, 0 to look once [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = patience)]
    timeout: Option<Duration>,
}

impl AwaitTag {
    pub(crate) fn run(self, ground: &Ground, out: Output) -> Result<(), Failure> {
        let Self { file, tag, dir, timeout } = self;
        let (Some(path), Some(tag)) = (file.as_ref().or(dir.as_ref()), tag) else {
            return Err(Failure::usage("no file is named", "name one, or a folder with --dir"));
        };
        let missing = |what: &str, path: &std::path::Path| {
            let sentence = format!("there is no {what} {}", shown(path));
            Failure::new(Exit::NotFound, "not-found", sentence, "check the path")
        };
        if let Some(dir) = dir.as_ref().filter(|dir| !dir.is_dir()) {
            return Err(missing("folder", dir));
        }
        if let Some(file) = file.as_ref() {
            let above = file.parent().filter(|above| !above.as_os_str().is_empty());
            if let Some(above) = above.filter(|above| !above.is_dir()) {
                return Err(missing("folder", above));
            }
            if file.is_dir() {
                let sentence = format!("{} is a folder, expected a file", shown(file));
                return Err(Failure::usage(sentence, "name a folder with --dir"));
            }
            if !file.exists() {
                out.note(&format!("{} is not there yet", shown(file)));
            }
        }
        let arrived = awaited::wait(path, &tag, timeout)?.ok_or_else(|| {
            let sentence = format!("{tag} is not in {} in time", shown(path));
            let hint = "wait longer, or leave out --timeout";
            Failure::new(Exit::NoAnswer, "no-answer", sentence, hint)
        })?;
        tell(&arrived, ground, out)
    }
}

fn tell(arrived: &Arrived, ground: &Ground, out: Output) -> Result<(), Failure> {
    let Arrived { file, tag, line, title } = arrived;
    let file = ground.seen_from_here(file);
    if out.json {
        let file = file.to_string_lossy();
        let tag = tag.as_str();
        return out.value(&json!({"file": file, "tag": tag, "line": line, "title": title}));
    }
    out.page(|page| {
        if out.quiet {
            page.line(shown(file));
            return Ok(());
        }
        page.field("file", shown(file));
        page.field("tag", tag);
        page.field("title", title.as_deref().unwrap_or("-"));
        Ok(())
    })
}

/// A span, or nothing at all, which no other verb has a use for.
pub(super) fn patience(text: &str) -> Result<Duration, String> {
    let unit = text.trim_start_matches('0');
    if unit.len() < text.len() && ["", "ms", "s", "m", "h", "d"].contains(&unit) {
        return Ok(Duration::ZERO);
    }
    let allowance: Allowance = text.parse().map_err(|error| format!("{error}"))?;
    Ok(Duration::from_micros(allowance.as_micros().unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_at_all_is_a_time_too() {
        assert_eq!(patience("0"), Ok(Duration::ZERO));
        assert_eq!(patience("00s"), Ok(Duration::ZERO));
        assert_eq!(patience("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "s", "-1s", "0x", "soon"] {
            assert!(patience(wrong).is_err(), "{wrong}");
        }
    }
}
