//! Whether a file says that a move was made.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use baton_protocol::tag::TagMove;
use baton_tags::request::session_of;
use baton_tags::{Document, FILE_BYTES_MAX, ItemKey, items};

/// Whether the item stands where the move would have brought it. A claim must name the session
/// that made it: another's is no proof.
pub(super) fn stands(root: &Path, moved: &TagMove) -> bool {
    let Some(text) = read(root, moved.file.as_str()) else { return false };
    let to = moved.to.as_ref().map(|to| to.as_str());
    let Ok(key) = moved.item.as_str().parse::<ItemKey>() else {
        // A tag outside of the life cycles is no item: it is there or it is not.
        let tag = to.unwrap_or(moved.item.as_str());
        let is_there = Document::read(&text).tags().any(|found| found.as_str() == tag);
        return is_there == to.is_some();
    };
    let found = items(&text).into_iter().find(|item| item.key == key);
    let is_there = found.as_ref().map(|item| item.tag.as_str()) == to;
    match &moved.session {
        Some(session) if is_there && to.is_some_and(|to| to.starts_with("#claimed-")) => {
            session_of(&text, &key).is_some_and(|held| held.session.as_str() == session.as_str())
        }
        Some(_) | None => is_there,
    }
}

/// Reads a file of the workspace. A link may not lead out of it.
fn read(root: &Path, file: &str) -> Option<Vec<u8>> {
    let path = root.join(file).canonicalize().ok()?;
    if !path.starts_with(root) || !path.is_file() {
        return None;
    }
    let mut text = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= FILE_BYTES_MAX).then_some(text)
}
