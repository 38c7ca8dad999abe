//! The moves of a work item on disk: each is one locked edit, by the rules of the life cycle.

use std::path::Path;

use jiff::Timestamp;

use crate::file::{FileError, Files, refused};
use crate::item::ItemKey;
use crate::lifecycle::{self, Mover};
use crate::record::{Approver, Fence, Holding, SessionRef};
use crate::request::{
    self, ApproveTo, Changed, Claimed, Recovery, RequestError, RequeueTo, Standing,
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
    /// can follow the ledger's.
    pub fn claim(
        &self,
        path: &Path,
        item: &ItemKey,
        session: &SessionRef,
        at_least: Fence,
        trust: Trust,
        mover: Mover,
    ) -> Result<Claimed, FileError> {
        self.edit(path, |text| {
            let claimed = request::claim(text, item, session, at_least).map_err(unmoved(path))?;
            allowed(path, &claimed.change, mover)?;
            if trust == Trust::Recorded && !stands(text, item) {
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
    /// here, under the lock; with [`Trust::ByHand`] an approval that was never recorded stands.
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
            let approval_stands = match request::standing(text, item) {
                Standing::Holds(_) => true,
                Standing::Void(_) => false,
                Standing::Unrecorded => trust == Trust::ByHand,
            };
            allowed(path, &change, Mover::Daemon { approval_stands })?;
            Ok((Some(change.text.clone()), change))
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
            let covered = match request::standing(text, item) {
                Standing::Holds(_) => true,
                Standing::Void(_) => false,
                Standing::Unrecorded => trust == Trust::ByHand,
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

fn stands(text: &[u8], item: &ItemKey) -> bool {
    matches!(request::standing(text, item), Standing::Holds(_))
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
