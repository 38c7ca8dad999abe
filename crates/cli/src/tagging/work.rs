//! The work items of a tree, in the order in which they are due.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use baton_protocol::time::Timestamp;
use baton_tags::{
    Effort, FILE_BYTES_MAX, Hit, Item, Priority, Search, Sighting, Skipped, Stage, Tag, Weight,
    items,
};

use super::alerts::DONE;
use super::told;
use crate::failure::Failure;

/// One occurrence of a life-cycle tag: a piece of work and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) path: PathBuf,
    pub(crate) line: usize,
    pub(crate) tag: Tag,
    pub(crate) stage: Stage,
    pub(crate) kind: String,
    /// Whether it stands inside the text and not on the Tags line.
    pub(crate) inline: bool,
    pub(crate) priority: Priority,
    pub(crate) effort: Option<Effort>,
    /// When its file was last changed, which is when the work last moved or later.
    pub(crate) changed: Option<Timestamp>,
    pub(crate) title: String,
}

/// Lists the work of a tree: priority first, and what has waited longest before the rest.
pub(crate) fn list(
    tree: &Path,
    honour_ignores: bool,
) -> Result<(Vec<Work>, Vec<Skipped>), Failure> {
    let any = told::read("#*")?;
    let search = Search { honour_ignores, ..Search::new(any) };
    let found = baton_tags::find(tree, &search).map_err(told::search)?;
    let mut all: Vec<_> = found.hits.iter().flat_map(of_file).collect();
    all.sort_by(|a, b| {
        let due = |work: &Work| (work.priority, work.changed);
        due(a).cmp(&due(b)).then_with(|| a.path.cmp(&b.path)).then(a.line.cmp(&b.line))
    });
    Ok((all, found.skipped))
}

fn of_file(hit: &Hit) -> Vec<Work> {
    // A resolved alert is tagged like work that is done, but nobody ever worked on it.
    let is_work = |seen: &&Sighting| {
        let tag = &seen.occurrence.tag;
        tag.stage().is_some() && tag.as_str() != DONE
    };
    let mut items: Vec<_> = hit.sightings.iter().filter(is_work).collect();
    // Copies of a tag on the Tags line are one piece of work.
    items.dedup_by(|next, first| {
        let (next, first) = (&next.occurrence, &first.occurrence);
        next.on_tags_line && first.on_tags_line && next.tag == first.tag
    });
    let changed = if items.is_empty() { None } else { changed(&hit.path) };
    items.into_iter().filter_map(|seen| work(hit, seen, changed)).collect()
}

fn work(hit: &Hit, seen: &Sighting, changed: Option<Timestamp>) -> Option<Work> {
    let occurrence = &seen.occurrence;
    let (stage, kind) = occurrence.tag.stage()?;
    let line = occurrence.line;
    // An item on the Tags line is weighed there, one inside the text on its own line.
    let beside = hit.sightings.iter().filter(|other| other.occurrence.line == line);
    let (mut priority, mut effort) = (None, None);
    for weight in beside.filter_map(|other| other.occurrence.tag.weight()) {
        match weight {
            Weight::Priority(found) => priority = priority.or(Some(found)),
            Weight::Effort(found) => effort = effort.or(Some(found)),
        }
    }
    let title = match occurrence.on_tags_line {
        true => hit.title.clone().unwrap_or_default(),
        false => words(seen.lines.first().map_or("", String::as_str)),
    };
    Some(Work {
        path: hit.path.clone(),
        line,
        tag: occurrence.tag.clone(),
        stage,
        kind: kind.to_owned(),
        inline: !occurrence.on_tags_line,
        priority: priority.unwrap_or_default(),
        effort,
        changed,
        title,
    })
}

/// What a line says beside its tags and its list marker.
fn words(line: &str) -> String {
    let line = line.trim().trim_start_matches(['-', '*', '+', '>', '|', ' ']);
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = match numbered.strip_prefix(['.', ')']) {
        Some(rest) if numbered.len() < line.len() => rest,
        Some(_) | None => line,
    };
    let says = |word: &&str| word.parse::<Tag>().is_err() && !word.trim_matches('#').is_empty();
    line.split_whitespace().filter(says).collect::<Vec<_>>().join(" ")
}

/// When a file was last changed.
pub(crate) fn changed(path: &Path) -> Option<Timestamp> {
    let changed = path.metadata().and_then(|data| data.modified()).ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_micros(i64::try_from(since.as_micros()).ok()?))
}

/// A file's text, unless it is too large or no file.
pub(crate) fn text_of(path: &Path) -> Option<Vec<u8>> {
    let file = path.is_file().then(|| File::open(path).ok())??;
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= FILE_BYTES_MAX).then_some(text)
}

/// The work items of one file; none if it cannot be read.
pub(crate) fn items_of(path: &Path) -> Vec<Item> {
    text_of(path).map(|text| items(&text)).unwrap_or_default()
}

/// The priority as it is written, without its `#`.
pub(crate) fn priority_shown(priority: Priority) -> &'static str {
    match priority {
        Priority::P0 => "P0",
        Priority::P1 => "P1",
        Priority::P2 => "P2",
    }
}

/// The effort as it is written, without its `#`.
pub(crate) fn effort_shown(effort: Effort) -> &'static str {
    match effort {
        Effort::Small => "S",
        Effort::Medium => "M",
        Effort::Large => "L",
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn an_inline_item_is_named_by_its_words() {
        assert_eq!(words("1. Refactor auth #needs-implementation #P1 #M"), "Refactor auth");
        assert_eq!(words("  - [ ] fix #needs-fix the #1 typo"), "[ ] fix the #1 typo");
        assert_eq!(words("#needs-fix"), "");
        assert_eq!(words("2026 is over #needs-x"), "2026 is over");
    }
}
