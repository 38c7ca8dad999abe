//! The moves of a work item on disk: each is one locked edit, by the rules of the life cycle.

use std::path::Path;

use jiff::Timestamp;

use crate::document::Place;
use crate::edit;
use crate::file::{FileError, Files, Moved, refused, unedited};
use crate::item::ItemKey;
use crate::lifecycle::{self, Mover};
use crate::name::Tag;
use crate::record::{Approver, Fence, Holding, SessionRef};
use crate::request::{
    self, ApproveTo, Bearer, Changed, Claimed, Recovery, RequestError, RequeueTo, Standing,
};

/// Whose word is taken for an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// A `#delegated` that somebody wrote by hand counts as approved.
    #[default]
    ByHand,
    /// Only an approval on record counts (`strict_approval`).
    Recorded,
}

impl Files {
    /// Takes an item for a session. Of any number of racing claimants exactly one does.
    ///
    /// The others are told [`RequestError::Elsewhere`]. The fence is `at_least` this, so that it
    /// can follow the ledger's. What was only approved by a tag is written down as it is now.
    pub fn claim(
        &self,
        path: &Path,
        item: &ItemKey,
        session: &SessionRef,
        at_least: Fence,
        trust: Trust,
        mover: Mover,
    ) -> Result<Claimed, FileError> {
        let now = Timestamp::now();
        self.edit(path, |text| {
            let claimed = request::claim_at(text, item, session, at_least, Some(now));
            let claimed = claimed.map_err(unmoved(path))?;
            allowed(path, &claimed.change, mover)?;
            if trust == Trust::Recorded && !stands(text, item, trust) {
                let source = RequestError::Unrecorded { item: item.clone() };
                return Err(unmoved(path)(source));
            }
            Ok((Some(claimed.change.text.clone()), claimed))
        })
    }

    /// Ends an item with a link to its answer; only for the one who holds it with this fence.
    pub fn finish(
        &self,
        path: &Path,
        item: &ItemKey,
        holder: &Holding,
        response: &str,
    ) -> Result<Changed, FileError> {
        self.make(path, Mover::Worker, |text| request::finish(text, item, holder, response))
    }

    /// Ends an item whose holder died after it had answered.
    pub fn finish_answered(
        &self,
        path: &Path,
        item: &ItemKey,
        holder: Option<&Holding>,
    ) -> Result<Changed, FileError> {
        let mover = Mover::Daemon { approval_stands: false };
        self.make(path, mover, |text| request::finish_answered(text, item, holder))
    }

    /// Puts an item back into the queue. Of any number of recoverers exactly one does.
    ///
    /// The daemon may only go back to `#delegated` while the approval stands, which is looked up
    /// here, under the lock. One that only a tag said counts with [`Trust::ByHand`], and while the
    /// text is as it was claimed; of one that was never written down nobody knows that.
    pub fn requeue(
        &self,
        path: &Path,
        item: &ItemKey,
        to: RequeueTo,
        holder: Option<&Holding>,
        recovery: &Recovery,
        trust: Trust,
    ) -> Result<Changed, FileError> {
        self.edit(path, |text| {
            let change = request::requeue(text, item, to, holder, recovery);
            let change = change.map_err(unmoved(path))?;
            let approval_stands = stands(text, item, trust);
            allowed(path, &change, Mover::Daemon { approval_stands })?;
            Ok((Some(change.text.clone()), change))
        })
    }

    /// Turns one of the tags `old` into `new` by hand, with the lines that belong to the item.
    ///
    /// As [`Files::swap`], but a claim takes the item from its last worker, and an approval that is
    /// used up goes. `bearer` is the worker in whose name it is asked, if there is one.
    pub fn swap_item(
        &self,
        path: &Path,
        (old, new): (&[Tag], &Tag),
        place: Place,
        mover: Mover,
        bearer: Option<&Bearer>,
    ) -> Result<Moved, FileError> {
        self.edit(path, |text| {
            // The rules are asked first: whether it is allowed at all, and then whether it fits.
            let swapped = edit::swap(text, old, new, place).map_err(unedited(path))?;
            lifecycle::swap(&swapped.old, new, mover).map_err(refused(path))?;
            let change = request::swap(text, old, new, place, bearer).map_err(unmoved(path))?;
            let moved = Moved { from: change.from, to: change.to, line: change.line };
            Ok((Some(change.text), moved))
        })
    }

    /// Lets an item go ahead, in a person's name. That it is a person, the caller has made sure.
    pub fn approve(
        &self,
        path: &Path,
        item: &ItemKey,
        to: ApproveTo,
        by: &Approver,
        at: Timestamp,
    ) -> Result<Changed, FileError> {
        self.make(path, Mover::Person, |text| request::approve(text, item, to, by, at))
    }

    /// Takes an item back to `#needs` in a person's name, with its approval.
    pub fn set_aside(&self, path: &Path, item: &ItemKey) -> Result<Changed, FileError> {
        self.make(path, Mover::Person, |text| request::set_aside(text, item))
    }

    /// Takes an item back to `#needs` because its approval covers another text, or, with
    /// [`Trust::Recorded`], because there is none.
    pub fn void(&self, path: &Path, item: &ItemKey, trust: Trust) -> Result<Changed, FileError> {
        self.edit(path, |text| {
            let change = request::set_aside(text, item).map_err(unmoved(path))?;
            let covered = match (request::standing(text, item), trust) {
                (Standing::Unrecorded, Trust::ByHand) => true,
                _ => stands(text, item, trust),
            };
            if covered {
                return Err(unmoved(path)(RequestError::Stands { item: item.clone() }));
            }
            lifecycle::void(&change.from, covered).map_err(refused(path))?;
            Ok((Some(change.text.clone()), change))
        })
    }

    fn make(
        &self,
        path: &Path,
        mover: Mover,
        change: impl Fn(&[u8]) -> Result<Changed, RequestError>,
    ) -> Result<Changed, FileError> {
        self.edit(path, |text| {
            let change = change(text).map_err(unmoved(path))?;
            allowed(path, &change, mover)?;
            Ok((Some(change.text.clone()), change))
        })
    }
}

/// Tells whether an approval that is trusted covers the text as it is.
fn stands(text: &[u8], item: &ItemKey, trust: Trust) -> bool {
    match (request::standing(text, item), trust) {
        (Standing::Holds(_), Trust::ByHand) => true,
        (Standing::Holds(approval), Trust::Recorded) => !approval.by.is_by_hand(),
        (Standing::Void(_) | Standing::Unrecorded, _) => false,
    }
}

fn allowed(path: &Path, change: &Changed, mover: Mover) -> Result<(), FileError> {
    // Approving again what is there already renews the record and moves nothing.
    let renewed = change.from == change.to && mover == Mover::Person;
    match renewed {
        true => Ok(()),
        false => lifecycle::swap(&change.from, &change.to, mover).map_err(refused(path)),
    }
}

fn unmoved(path: &Path) -> impl FnOnce(RequestError) -> FileError {
    move |source| FileError::Request { path: path.to_owned(), source: Box::new(source) }
}

#[cfg(test)]
mod tests;
