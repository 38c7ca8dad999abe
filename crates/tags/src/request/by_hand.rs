//! A move that is made by naming tags (`tag swap`), with what belongs to it.
//!
//! The tag is all that the caller says. But whoever claims by hand takes the item from its last
//! worker, who must not end it any more; and an approval is used up when the work goes back to a
//! person or is done, whoever says so.

use super::{Changed, Request, RequestError, Standing, parts};
use crate::document::{Document, Place};
use crate::edit;
use crate::item::{self, Item, ItemKey};
use crate::name::{Stage, Tag};
use crate::record::{Approval, Fence, Holder, Holding, Record};

/// A worker's program that moves tags by itself, and what it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// The claim that it works under.
    pub holding: Holding,
    /// The item of this file that the claim is about, if it is one of this file.
    pub item: Option<ItemKey>,
}

/// Turns one of the tags `old` into `new`, with the lines that belong to the item.
///
/// To `#claimed`: the Session line of a worker that had the item becomes one that says `by-hand`,
/// with the next fence. A file that no worker ever held stays as plain as it is. Refused when the
/// request has changed since its approval. Out of `#claimed`: refused when `bearer` is not, or no
/// longer, the worker that has it. To `#needs` and `#done`: the approval goes.
pub fn swap(
    text: &[u8],
    old: &[Tag],
    new: &Tag,
    at: Place,
    bearer: Option<&Bearer>,
) -> Result<Changed, RequestError> {
    let swapped = edit::swap(text, old, new, at)?;
    let changed = |text| {
        let (from, line) = (swapped.old.clone(), swapped.line);
        Changed { text, from, to: new.clone(), line }
    };
    let request = Request::read(text);
    let moves = |item: &&Item| {
        item.tag == swapped.old
            && item.line == swapped.line
            && item.key.is_on_tags_line() == (at == Place::TagsLine)
    };
    let Some(item) = request.items().iter().find(moves) else {
        return Ok(changed(swapped.text.clone()));
    };
    if item.stage == Stage::Claimed
        && let Some(bearer) = bearer
    {
        borne(&request, &item.key, bearer)?;
    }
    let Some((to, _)) = new.stage() else {
        return Ok(changed(swapped.text.clone()));
    };
    let edited = match to {
        Stage::Claimed => claimed(&request, &item.key, &swapped.text)?,
        Stage::Needs | Stage::Done => {
            let text = match request.renamed(&item.key) {
                Some((old, new)) => parts::rename(&swapped.text, old, new),
                None => swapped.text.clone(),
            };
            parts::drop_approval(&text, &item.key)
        }
        Stage::Delegated | Stage::Next => swapped.text.clone(),
    };
    match is_like(&swapped.text, &edited) {
        true => Ok(changed(edited)),
        false => Err(RequestError::Entangled { item: item.key.clone() }),
    }
}

/// Refuses a program whose worker has lost the item.
fn borne(request: &Request<'_>, item: &ItemKey, bearer: &Bearer) -> Result<(), RequestError> {
    let is_its_own = |own: &ItemKey| {
        own == item || request.renamed(item).is_some_and(|(old, new)| own == old || own == new)
    };
    let holder = request.holder_of(item);
    let may = match holder {
        Some(Holder::Worker(holding)) => *holding == bearer.holding,
        // What it claimed by hand on the way is its own, but not what was taken from it.
        Some(Holder::ByHand(_)) | None => !bearer.item.as_ref().is_some_and(is_its_own),
    };
    match may {
        true => Ok(()),
        false => Err(RequestError::Stale {
            item: item.clone(),
            found: holder.cloned(),
            expected: Some(bearer.holding.clone()),
        }),
    }
}

/// Takes an item from the worker that had it, if one did.
fn claimed(request: &Request<'_>, item: &ItemKey, text: &[u8]) -> Result<Vec<u8>, RequestError> {
    if let Standing::Void(Approval { by, .. }) = request.standing(item) {
        return Err(RequestError::Unlike { item: item.clone(), by });
    }
    let last = request.holder_of(item).map(Holder::fence);
    // A Session line whose item is gone must not pass for that of this one.
    let is_open = !item.is_on_tags_line() && request.has_orphans(item.kind());
    if last.is_none() && !is_open {
        return Ok(text.to_vec());
    }
    let holder = Holder::ByHand(last.unwrap_or(Fence(0)).next());
    Ok(parts::set(text, &Record::Session(item.clone(), holder)))
}

/// Tells whether both texts have the same items and the same body.
fn is_like(before: &[u8], after: &[u8]) -> bool {
    let (before, after) = (Document::read(before), Document::read(after));
    let items = |document: &Document<'_>| -> Vec<_> {
        item::list(document).into_iter().map(|item| (item.key, item.stage)).collect()
    };
    items(&before) == items(&after) && parts::body_hash(&before) == parts::body_hash(&after)
}
