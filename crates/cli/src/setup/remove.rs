//! Takes a client's setup back.
//!
//! A file that is as we left it becomes what it was before. From one that was changed since, only
//! ours is taken out.

use std::fs;
use std::path::{Path, PathBuf};

use super::clients::{Piece, pieces};
use super::edit::Edit;
use super::files::{self, Seen, hash};
use super::receipt::{Entry, Receipt, others};
use super::{Client, Site, Wish, refused};
use crate::failure::Failure;

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is again what it was before setup.
    Restored,
    /// What it says of us was there before setup, so it is as it was.
    Before,
    /// It was not there before, and is gone.
    Deleted,
    /// It was changed since; only ours was taken out.
    TakenOut,
    /// It was changed since, and all of it is ours, so nothing can be told apart.
    Kept,
    /// Another client that is set up needs what is in it.
    Shared(Client),
}

/// What became of one file.
#[derive(Clone, Debug)]
pub(crate) struct Removed {
    pub(crate) path: PathBuf,
    pub(crate) fate: Fate,
}

struct Plan {
    seen: Seen,
    fate: Fate,
    /// What it becomes; nothing means that it goes.
    text: Option<String>,
    made: Vec<PathBuf>,
}

/// Takes the client's setup back. Returns what became of each file that had to do with it.
pub(crate) fn remove(site: &Site, wish: &Wish) -> Result<Vec<Removed>, Failure> {
    let folder = site.receipts();
    let _turn = files::lock(&folder)?;
    let receipt = Receipt::read(&folder, site.client)?;
    let others = others(&folder, site.other_receipts().as_deref(), site.client)?;
    let agent = receipt.as_ref().map_or(&wish.agent, |receipt| &receipt.agent).clone();
    let pieces = pieces(site, &Wish { agent, ..wish.clone() });
    let entries = receipt.as_ref().map(|receipt| receipt.files.as_slice()).unwrap_or_default();
    let mut plans = Vec::new();
    let recorded = entries.iter().map(|entry| (entry.path.as_path(), Some(entry)));
    let known = |path: &Path| entries.iter().any(|entry| entry.path == path);
    let unrecorded = pieces.iter().map(|it| it.path.as_path()).filter(|it| !known(it));
    for (path, entry) in recorded.chain(unrecorded.map(|path| (path, None))) {
        let shown = site.shown(path);
        let seen = Seen::look(path, &shown)?;
        let sharer = others.iter().find(|(_, _, receipt)| receipt.of(&seen.target).is_some());
        if let (Some((client, ..)), Some(_)) = (sharer, &seen.text) {
            let (fate, text) = (Fate::Shared(*client), seen.text.clone());
            plans.push(Plan { seen, fate, text, made: Vec::new() });
            continue;
        }
        let piece = pieces.iter().find(|piece| piece.path == path);
        let plan = plan(seen, entry, piece, &folder, &shown)?;
        plans.extend(plan);
    }
    let removed = plans.iter().map(|plan| carry_out(site, plan)).collect::<Result<Vec<_>, _>>()?;
    remove_empty(&plans);
    if let Some(receipt) = receipt {
        receipt.discard(&folder, site.client)?;
    }
    Ok(removed)
}

fn plan(
    seen: Seen,
    entry: Option<&Entry>,
    piece: Option<&Piece>,
    folder: &Path,
    shown: &str,
) -> Result<Option<Plan>, Failure> {
    let made = entry.map(|entry| entry.made.clone()).unwrap_or_default();
    let Some(current) = &seen.text else {
        // The user deleted it; the folders that we made may still be there.
        let plan = Plan { seen, fate: Fate::Deleted, text: None, made };
        return Ok((!plan.made.is_empty()).then_some(plan));
    };
    let before = entry.map(|entry| entry.original(folder)).transpose()?.flatten();
    if entry.is_some_and(|entry| entry.wrote == hash(current)) {
        let fate = match &before {
            Some(before) if before == current => Fate::Before,
            Some(_) => Fate::Restored,
            None => Fate::Deleted,
        };
        return Ok(Some(Plan { seen, fate, text: before, made }));
    }
    let Some(Piece { edit, .. }) = piece else {
        // Only an older Baton knows what of it is ours.
        let text = seen.text.clone();
        return Ok(Some(Plan { seen, fate: Fate::Kept, text, made }));
    };
    let left = edit.take(current, before.as_deref()).map_err(|wrong| refused(shown, wrong))?;
    let fate = match (&left, edit, entry) {
        (None, ..) => Fate::Deleted,
        (Some(left), Edit::Whole(_), Some(_)) if left == current => Fate::Kept,
        (Some(left), ..) if left == current => return Ok(None),
        (Some(_), ..) => Fate::TakenOut,
    };
    Ok(Some(Plan { seen, fate, text: left, made }))
}

fn carry_out(site: &Site, plan: &Plan) -> Result<Removed, Failure> {
    let shown = site.shown(&plan.seen.path);
    match &plan.text {
        Some(text) if plan.seen.text.as_ref() != Some(text) => {
            plan.seen.write(text, &shown)?;
        }
        Some(_) => (),
        None => plan.seen.delete(&shown)?,
    }
    Ok(Removed { path: plan.seen.path.clone(), fate: plan.fate.clone() })
}

/// Removes the folders that we made and that nobody uses.
fn remove_empty(plans: &[Plan]) {
    let mut made: Vec<_> = plans.iter().flat_map(|plan| &plan.made).collect();
    // The innermost first; one that is not empty, or gone already, stays as it is.
    made.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in made {
        let _ = fs::remove_dir(folder);
    }
}
