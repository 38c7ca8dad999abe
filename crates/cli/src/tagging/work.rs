//! The work items of a tree, in the order in which they are due.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use baton_protocol::time::Timestamp;
use baton_tags::request::Request;
use baton_tags::{
    Document, Effort, FILE_BYTES_MAX, Holding, Item, Priority, Search, Skipped, Stage, Tag, items,
};

use super::alerts::DONE;
use super::told;
use crate::failure::Failure;

/// One occurrence of a life-cycle tag: a piece of work and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) path: PathBuf,
    pub(crate) item: Item,
    /// Who holds it, if it is claimed and somebody wrote down who did.
    pub(crate) holding: Option<Holding>,
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
    let mut all: Vec<_> = found.hits.iter().flat_map(|hit| of_file(&hit.path)).collect();
    all.sort_by(|a, b| {
        let due = |work: &Work| (work.item.priority, work.changed);
        let order = due(a).cmp(&due(b)).then_with(|| a.path.cmp(&b.path));
        order.then(a.item.line.cmp(&b.item.line))
    });
    Ok((all, found.skipped))
}

fn of_file(path: &Path) -> Vec<Work> {
    let text = text_of(path).unwrap_or_default();
    // A resolved alert is tagged like work that is done, but nobody ever worked on it.
    let is_work = |item: &Item| item.tag.as_str() != DONE;
    let request = Request::read(&text);
    let all: Vec<_> = request.items().iter().filter(|item| is_work(item)).cloned().collect();
    let changed = if all.is_empty() { None } else { changed(path) };
    let title = Document::read(&text).title().unwrap_or_default();
    let work = |item: Item| Work {
        path: path.to_owned(),
        holding: match item.stage {
            Stage::Claimed => request.session_of(&item.key).cloned(),
            Stage::Needs | Stage::Delegated | Stage::Next | Stage::Done => None,
        },
        changed,
        title: match item.key.is_on_tags_line() {
            true => title.clone(),
            false => words(&item.text),
        },
        item,
    };
    all.into_iter().map(work).collect()
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
