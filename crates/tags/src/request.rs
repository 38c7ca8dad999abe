//! Whole moves of a work item in a text: the tag with everything that belongs to the move.
//!
//! Pure: bytes in, bytes out. A claim writes the tag and the Session line, an end the tag and the
//! Response, a requeue the tag and the reason, each in one edit, so that no crash leaves half of
//! it. Which moves are allowed is not asked here (`lifecycle.rs`), and nothing is written
//! ([`Files`](crate::Files)).
//!
//! Every move keeps the body's hash and all other items, or it is refused: it looks at its own
//! result before it returns.

mod adopt;
mod by_hand;
mod error;
mod parts;
mod view;

use std::borrow::Cow;

use jiff::Timestamp;

use crate::document::{Document, Place};
use crate::edit;
use crate::item::{self, Item, ItemKey};
use crate::name::{Stage, Tag};
use crate::record::{
    Approval, Approver, BodyHash, ENTRY, Fence, Holder, Holding, Record, SessionRef, is_path,
};

pub use by_hand::{Bearer, swap};
pub use error::RequestError;
use parts::Name;
pub use view::Request;

/// The longest reason or action in a Recovery section, in characters.
pub const REASON_MAX: usize = 500;

/// The longest path of a response.
pub const LINK_MAX: usize = 300;

/// A text after a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The new text.
    pub text: Vec<u8>,
    /// The tag that was there.
    pub from: Tag,
    /// The tag that is there now.
    pub to: Tag,
    /// The line of the item before the move, counted from 1.
    pub line: usize,
}

/// A text after a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The move.
    pub change: Changed,
    /// The number of the claim, without which the holder can neither end nor give back.
    pub fence: Fence,
}

/// What is written when work goes back to the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// When.
    pub at: Timestamp,
    /// Why, such as `Agent PID 12345 died mid-work`.
    pub reason: String,
    /// What is done about it.
    pub action: String,
}

/// Where requeued work goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequeueTo {
    /// Back to a person. The approval is used up.
    Needs,
    /// Back to the daemon, under the approval that stands.
    Delegated,
}

/// Where approved work goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApproveTo {
    /// To the daemon.
    Delegated,
    /// To the next skill of the same session.
    Next,
}

/// What is known about a person's approval of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Recorded, and the request is as it was then.
    Holds(Approval),
    /// Recorded, but the request has changed since.
    Void(Approval),
    /// Nothing is recorded. The tag may have been written by hand.
    Unrecorded,
}

/// Hashes the body of a request: what a person approves.
///
/// Left out are the Tags line, the Approved and Session lines, the sections `## Recovery` and
/// `## Response`, blanks at the end, and the stages of tags, because all of these change on the
/// way. Mentions in code are part of the body as they are.
pub fn body_hash(text: &[u8]) -> BodyHash {
    parts::body_hash(&Document::read(text))
}

/// Returns the worker's session that holds an item; see [`Request::session_of`].
pub fn session_of(text: &[u8], item: &ItemKey) -> Option<Holding> {
    Request::read(text).session_of(item).cloned()
}

/// Returns who has an item, or had it last; see [`Request::holder_of`].
pub fn holder_of(text: &[u8], item: &ItemKey) -> Option<Holder> {
    Request::read(text).holder_of(item).cloned()
}

/// Returns the approval on record for an item, whether it still holds or not.
pub fn approval_of(text: &[u8], item: &ItemKey) -> Option<Approval> {
    Request::read(text).approval_of(item).cloned()
}

/// Tells whether a person's approval of an item is on record and covers the text as it is.
pub fn standing(text: &[u8], item: &ItemKey) -> Standing {
    Request::read(text).standing(item)
}

/// Tells whether the item's holder has answered; see [`Request::has_response`].
pub fn has_response(text: &[u8], item: &ItemKey) -> bool {
    Request::read(text).has_response(item)
}

/// Counts how often an item went back to the queue.
pub fn recoveries(text: &[u8], item: &ItemKey) -> usize {
    recoveries_since(text, item, Timestamp::MIN)
}

/// Counts how often an item went back to the queue since then, such as since its approval.
pub fn recoveries_since(text: &[u8], item: &ItemKey, since: Timestamp) -> usize {
    let document = Document::read(text);
    let about = |section: &parts::Section| {
        let entries = section.entries(&document);
        let unnamed = entries.is_empty() && item.is_on_tags_line();
        let date = section.date(&document);
        section.name == Name::Recovery
            && (unnamed || entries.iter().any(|(of, _)| of == item))
            && date.is_none_or(|date| date >= since)
    };
    parts::sections(&document).into_iter().filter(about).count()
}

/// Takes an item for a session. The fence grows with every claim, and is `at_least` this.
///
/// Refused when the request has changed since its approval was recorded.
pub fn claim(
    text: &[u8],
    item: &ItemKey,
    session: &SessionRef,
    at_least: Fence,
) -> Result<Claimed, RequestError> {
    claim_at(text, item, session, at_least, None)
}

/// Takes an item as [`claim`] does, and writes down which text was approved if only the tag says
/// that one was: then a change of it is seen when the item goes back to the queue.
pub fn claim_at(
    text: &[u8],
    item: &ItemKey,
    session: &SessionRef,
    at_least: Fence,
    at: Option<Timestamp>,
) -> Result<Claimed, RequestError> {
    let found = located(text, item, &[Stage::Delegated, Stage::Next], "#delegated or #next")?;
    let request = Request::read(text);
    let seen = match (request.standing(item), at) {
        (Standing::Void(Approval { by, .. }), _) => {
            return Err(RequestError::Unlike { item: item.clone(), by });
        }
        (Standing::Unrecorded, Some(at)) => {
            let (by, hash) = (Approver::by_hand(), request.body_hash().clone());
            Some(Record::Approved(item.clone(), Approval { by, at, hash }))
        }
        (Standing::Holds(_), _) | (Standing::Unrecorded, None) => None,
    };
    if let Some(line) = parts::open_fence(text) {
        return Err(RequestError::OpenFence { line });
    }
    let last = request.holder_of(item).map_or(Fence(0), Holder::fence);
    let fence = last.next().max(at_least);
    let holder = Holder::Worker(Holding { session: session.clone(), fence });
    let change = moved(text, &found, Stage::Claimed, |text| {
        let text = seen.map_or_else(|| text.to_vec(), |seen| parts::set(text, &seen));
        parts::set(&text, &Record::Session(item.clone(), holder))
    })?;
    Ok(Claimed { change, fence })
}

/// Ends an item, with a link to its answer. Only its holder can. The approval is used up.
pub fn finish(
    text: &[u8],
    item: &ItemKey,
    holder: &Holding,
    response: &str,
) -> Result<Changed, RequestError> {
    let (text, item) = &adopted(text, item);
    let found = held(text, item, Some(holder))?;
    if response.len() > LINK_MAX || !is_path(response) {
        let found = response.chars().take(LINK_MAX).collect();
        return Err(RequestError::Link { found });
    }
    moved(text, &found, Stage::Done, |text| {
        let entry = format!("{ENTRY}{item}, [response]({response})");
        let there = Document::read(text);
        let mut sections = parts::sections(&there).into_iter();
        let link = format!("[response]({response})");
        let said = |(of, said): &(ItemKey, &str)| of == item && *said == link;
        // A holder that wrote it and crashed before the tag is ended with what it wrote.
        let text = match sections.any(|section| section.entries(&there).iter().any(said)) {
            true => text.to_vec(),
            false => parts::enter(text, Name::Response, entry),
        };
        parts::drop_approval(&text, item)
    })
}

/// Ends an item whose answer is there already, though its holder died before it could say so.
pub fn finish_answered(
    text: &[u8],
    item: &ItemKey,
    holder: Option<&Holding>,
) -> Result<Changed, RequestError> {
    let (text, item) = &adopted(text, item);
    let found = held(text, item, holder)?;
    if !has_response(text, item) {
        let (item, found) = (item.clone(), found.tag);
        return Err(RequestError::Elsewhere { item, found, expected: "a response" });
    }
    moved(text, &found, Stage::Done, |text| parts::drop_approval(text, item))
}

/// Puts an item back into the queue, with the reason.
///
/// `holder` is who was found to hold it. When that is no longer so, somebody else has recovered
/// the item, and this is refused: one crash leaves one Recovery section.
pub fn requeue(
    text: &[u8],
    item: &ItemKey,
    to: RequeueTo,
    holder: Option<&Holding>,
    recovery: &Recovery,
) -> Result<Changed, RequestError> {
    let (text, item) = &adopted(text, item);
    let found = held(text, item, holder)?;
    let stage = match to {
        RequeueTo::Needs => Stage::Needs,
        RequeueTo::Delegated => Stage::Delegated,
    };
    let prior = holder.map_or("unknown".to_owned(), |holder| format!("{}/", holder.session));
    let mut entry = vec![
        format!("*   **Date**: {:.0}", recovery.at),
        format!("*   **Reason**: {}", plain(&recovery.reason)),
        format!("*   **Prior Session**: {prior}"),
        format!("*   **Action**: {}", plain(&recovery.action)),
    ];
    let on_tags_line = |other: &Item| other.key.is_on_tags_line();
    let alone = item::items(text).into_iter().filter(on_tags_line).count() == 1;
    if !(item.is_on_tags_line() && alone) {
        entry.insert(0, format!("{ENTRY}{item}"));
    }
    moved(text, &found, stage, |text| {
        let text = match to {
            RequeueTo::Needs => parts::drop_approval(text, item),
            RequeueTo::Delegated => text.to_vec(),
        };
        parts::append(&text, Name::Recovery, &entry)
    })
}

/// Lets an item go ahead, and records who did and what they saw.
pub fn approve(
    text: &[u8],
    item: &ItemKey,
    to: ApproveTo,
    by: &Approver,
    at: Timestamp,
) -> Result<Changed, RequestError> {
    let waiting = [Stage::Needs, Stage::Delegated, Stage::Next];
    let found = located(text, item, &waiting, "#needs")?;
    if let Some(line) = parts::open_fence(text) {
        return Err(RequestError::OpenFence { line });
    }
    let stage = match to {
        ApproveTo::Delegated => Stage::Delegated,
        ApproveTo::Next => Stage::Next,
    };
    let approval = Approval { by: by.clone(), at, hash: body_hash(text) };
    moved(text, &found, stage, |text| parts::set(text, &Record::Approved(item.clone(), approval)))
}

/// Takes an item back to `#needs`, with its approval.
pub fn set_aside(text: &[u8], item: &ItemKey) -> Result<Changed, RequestError> {
    let waiting = [Stage::Delegated, Stage::Next];
    let found = located(text, item, &waiting, "#delegated or #next")?;
    moved(text, &found, Stage::Needs, |text| parts::drop_approval(text, item))
}

/// Returns a text in which the records of an item stand under the name that it has now.
fn adopted<'t>(text: &'t [u8], item: &ItemKey) -> (Cow<'t, [u8]>, ItemKey) {
    match Request::read(text).renamed(item) {
        Some((old, new)) => (Cow::Owned(parts::rename(text, old, new)), new.clone()),
        None => (Cow::Borrowed(text), item.clone()),
    }
}

/// Finds an item that must stand at one of these stages.
fn located(
    text: &[u8],
    item: &ItemKey,
    stages: &[Stage],
    expected: &'static str,
) -> Result<Item, RequestError> {
    let found = item::items(text).into_iter().find(|found| found.key == *item);
    let found = found.ok_or_else(|| RequestError::Missing { item: item.clone() })?;
    match stages.contains(&found.stage) {
        true => Ok(found),
        false => {
            let (item, found) = (item.clone(), found.tag);
            Err(RequestError::Elsewhere { item, found, expected })
        }
    }
}

/// Finds an item that `holder` must still hold.
fn held(text: &[u8], item: &ItemKey, holder: Option<&Holding>) -> Result<Item, RequestError> {
    let found = located(text, item, &[Stage::Claimed], "#claimed")?;
    let says = holder_of(text, item);
    let expected = holder.cloned();
    // Nobody's worker has it: then it is nobody's to take, whether by hand or by a mere tag.
    if says.as_ref().and_then(Holder::worker) != holder {
        return Err(RequestError::Stale { item: item.clone(), found: says, expected });
    }
    match parts::open_fence(text) {
        Some(line) => Err(RequestError::OpenFence { line }),
        None => Ok(found),
    }
}

/// Changes an item's tag and then what belongs to the move, and looks at the result.
fn moved(
    text: &[u8],
    found: &Item,
    to: Stage,
    rest: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Result<Changed, RequestError> {
    let new = to.of(found.key.kind())?;
    let edited = rest(&with_tag(text, found, &new)?);
    let (before, after) = (Document::read(text), Document::read(&edited));
    let moves = |mut item: Item| {
        if item.key == found.key {
            item.stage = to;
        }
        (item.key, item.stage)
    };
    let expected = item::list(&before).into_iter().map(moves);
    let same_items = item::list(&after).into_iter().map(|item| (item.key, item.stage)).eq(expected);
    if !same_items || parts::body_hash(&before) != parts::body_hash(&after) {
        return Err(RequestError::Entangled { item: found.key.clone() });
    }
    Ok(Changed { text: edited, from: found.tag.clone(), to: new, line: found.line })
}

fn with_tag(text: &[u8], found: &Item, new: &Tag) -> Result<Vec<u8>, RequestError> {
    if found.tag == *new {
        return Ok(text.to_vec());
    }
    let document = Document::read(text);
    if found.key.is_on_tags_line() {
        let stages = Stage::ALL.into_iter().filter_map(|stage| stage.of(found.key.kind()).ok());
        let old: Vec<_> = stages.filter(|old| old != new).collect();
        return Ok(edit::swap(text, &old, new, Place::TagsLine)?.text);
    }
    let gone = || RequestError::Missing { item: found.key.clone() };
    let (_, at) = item::locate(&document, &found.key).ok_or_else(gone)?;
    let new = new.as_str().as_bytes();
    Ok([&text[..at.range.start], new, &text[at.range.end..]].concat())
}

/// Makes one line without marks of what somebody said, so that it is no tag, code or heading.
fn plain(said: &str) -> String {
    let said: String = said.chars().take(REASON_MAX).collect();
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    let said: String = said.chars().map(blank).collect();
    said.replace('\\', "/").replace('`', "'").replace('#', "\\#").trim().to_owned()
}

#[cfg(test)]
mod tests;
