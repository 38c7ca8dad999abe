//! Whether a file says that a move was made.

use std::path::Path;

use baton_protocol::tag::TagMove;
use baton_tags::request::session_of;
use baton_tags::{Document, ItemKey, Tag, items};

use crate::tagging::work::text_of;

/// Whether the item stands where the move would have brought it. A claim must name the session
/// that made it: another's is no proof.
pub(super) fn stands(root: &Path, moved: &TagMove) -> bool {
    let Some(text) = read(root, moved.file.as_str()) else { return false };
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
    let is_there = match found {
        Some(item) if of_kind => item.tag == to,
        Some(_) | None => !of_kind && has(to.as_str()),
    };
    match (&moved.session, key) {
        (Some(session), Some(key)) if is_there && to.as_str().starts_with("#claimed-") => {
            session_of(&text, &key).is_some_and(|held| held.session.as_str() == session.as_str())
        }
        _ => is_there,
    }
}

/// Reads a file of the workspace. A link may not lead out of it.
fn read(root: &Path, file: &str) -> Option<Vec<u8>> {
    let path = root.join(file).canonicalize().ok()?;
    if path.starts_with(root) { text_of(&path) } else { None }
}
