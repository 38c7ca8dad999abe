//! Whether a file says that a move was made.

use std::path::Path;

use baton_protocol::tag::TagMove;
use baton_tags::{Document, ItemKey, Tag, items};

use crate::tagging::work::text_of;

/// Whether the item stands where the move would have brought it. A claim of a session is proved by
/// the session's name alone, which nobody had before: in the Session line, or in what was written
/// when the item moved on. Where it stands now, or another's claim, says nothing about it.
pub(super) fn stands(root: &Path, moved: &TagMove) -> bool {
    let Some(text) = read(root, moved.file.as_str()) else { return false };
    let is_claim = moved.to.as_ref().is_some_and(|to| to.as_str().starts_with("#claimed-"));
    if let (true, Some(session)) = (is_claim, &moved.session) {
        return is_named(&text, session.as_str());
    }
    let document = Document::read(&text);
    let has = |tag: &str| document.tags().any(|found| found.as_str() == tag);
    let key = moved.item.as_str().parse::<ItemKey>().ok();
    let found = key.as_ref().and_then(|key| items(&text).into_iter().find(|it| it.key == *key));
    let Some(to) = moved.to.as_ref().and_then(|to| to.as_str().parse::<Tag>().ok()) else {
        // A tag outside of the life cycles is no item, and is named by itself.
        return found.is_none() && !has(moved.item.as_str());
    };
    let of_kind =
        to.stage().is_some_and(|(_, kind)| key.as_ref().is_some_and(|k| k.kind() == kind));
    match found {
        Some(item) if of_kind => item.tag == to,
        Some(_) | None => !of_kind && has(to.as_str()),
    }
}

/// Whether a file says that a session had one of its items.
fn is_named(text: &[u8], session: &str) -> bool {
    let lines = text.split(|&byte| byte == b'\n');
    let lines = lines.filter_map(|line| std::str::from_utf8(line).ok()).map(str::trim_end);
    let held = format!("**Session**: {session}, ");
    let (prior, linked) = (format!("**Prior Session**: {session}/"), format!("]({session}/"));
    lines.into_iter().any(|line| {
        let recovered = line.starts_with('*') && line.ends_with(&prior);
        let answered = line.starts_with('*') && line.contains(&linked);
        line.starts_with(&held) || recovered || answered
    })
}

/// Reads a file of the workspace. A link may not lead out of it.
fn read(root: &Path, file: &str) -> Option<Vec<u8>> {
    let path = root.join(file).canonicalize().ok()?;
    if path.starts_with(root) { text_of(&path) } else { None }
}
