//! Sets a client up: plans every file first, then writes them all.
//!
//! The receipt and what files were before are on the disk before the first file is changed, so
//! that whatever happens in between can be taken back.

use std::path::{Path, PathBuf};

use super::clients::{Piece, pieces};
use super::edit::Edit;
use super::files::{self, Seen, hash};
use super::receipt::{Entry, Receipt, others};
use super::{Client, Site, Wish, refused};
use crate::failure::Failure;

/// What is to become of a file, or became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planned {
    /// Ours is not in it, or not as it should be.
    Write,
    /// Ours is in it.
    Same,
    /// The user has a file of their own there.
    Kept,
}

/// What became of one file.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) path: PathBuf,
    pub(crate) what: &'static str,
    pub(crate) planned: Planned,
    /// Why the client does not read it, though all of ours is in it.
    pub(crate) unread: Option<String>,
}

/// What is to be done to one file.
struct Plan {
    piece: Piece,
    seen: Seen,
    planned: Planned,
    text: String,
    /// What it was before, and the old entry if it stays as it is.
    original: Original,
    /// Folders that another client's setup made for it: whoever goes last takes them away.
    made: Vec<PathBuf>,
}

enum Original {
    /// The receipt has it already.
    Known(Entry),
    /// This, or nothing if there was no file.
    Was(Option<String>),
    /// Nothing of ours is in it.
    NotOurs,
}

/// Sets the client up. Returns what became of each file.
pub(crate) fn setup(site: &Site, wish: &Wish) -> Result<Vec<Done>, Failure> {
    let folder = site.receipts();
    let _turn = files::lock(&folder)?;
    let receipt = Receipt::read(&folder, site.client)?;
    let mut others = others(&folder, site.other_receipts().as_deref(), site.client)?;
    let mut plans = Vec::new();
    for piece in pieces(site, wish) {
        plans.push(plan(site, piece, receipt.as_ref(), &folder, &others)?);
    }
    let mut new = record(&plans, &folder, site.client, wish, receipt.as_ref())?;
    for plan in plans.iter().filter(|plan| plan.planned == Planned::Write) {
        let made = plan.seen.write(&plan.text, &site.shown(&plan.piece.path))?;
        if !made.is_empty() {
            let entry = new.files.iter_mut().find(|entry| entry.target == plan.seen.target);
            entry.into_iter().for_each(|entry| entry.made.extend(made.clone()));
            new.write(&folder, site.client)?;
        }
        tell_others(plan, &mut others)?;
    }
    let done = |plan: Plan| {
        let unread = unread(site, &plan.piece, &plan.text);
        let Piece { path, what, .. } = plan.piece;
        Done { path, what, planned: plan.planned, unread }
    };
    Ok(plans.into_iter().map(done).collect())
}

/// Those who share a whole file know what it is now, or they would take it for the user's.
fn tell_others(plan: &Plan, others: &mut [(Client, PathBuf, Receipt)]) -> Result<(), Failure> {
    let Edit::Whole(text) = &plan.piece.edit else { return Ok(()) };
    for (client, folder, receipt) in others {
        let shared = receipt.files.iter_mut().find(|entry| entry.target == plan.seen.target);
        if let Some(entry) = shared {
            entry.wrote = hash(text);
            receipt.write(folder, *client)?;
        }
    }
    Ok(())
}

/// What another client's setup wrote to this file, if that is what is in it.
fn sharer<'a>(
    seen: &Seen,
    others: &'a [(Client, PathBuf, Receipt)],
) -> Option<(&'a Path, &'a Entry)> {
    let wrote = hash(seen.text.as_deref()?);
    others.iter().find_map(|(_, folder, receipt)| {
        let entry = receipt.of(&seen.target).filter(|entry| entry.wrote == wrote)?;
        Some((folder.as_path(), entry))
    })
}

/// Tells what setup would do, and does nothing. A file that stands in the way is told with why.
pub(crate) fn check(site: &Site, wish: &Wish) -> Result<Vec<(Done, Option<Failure>)>, Failure> {
    let folder = site.receipts();
    let receipt = Receipt::read(&folder, site.client)?;
    let others = others(&folder, site.other_receipts().as_deref(), site.client)?;
    let mut found = Vec::new();
    for piece in pieces(site, wish) {
        let (path, what) = (piece.path.clone(), piece.what);
        let planned = Seen::look(&path, &site.shown(&path)).and_then(|seen| {
            let known = receipt.as_ref().and_then(|receipt| receipt.of(&seen.target));
            let known = known.or_else(|| Some(sharer(&seen, &others)?.1));
            let (planned, text) = decide(site, &piece, &seen, known)?;
            Ok((planned, unread(site, &piece, &text)))
        });
        let (planned, unread, failure) = match planned {
            Ok((planned, unread)) => (planned, unread, None),
            Err(failure) => (Planned::Write, None, Some(failure)),
        };
        found.push((Done { path, what, planned, unread }, failure));
    }
    Ok(found)
}

/// Why the client will not read a file with this text.
fn unread(site: &Site, piece: &Piece, text: &str) -> Option<String> {
    let wrong = piece.edit.unread(text, site.client.takes())?;
    let (shown, name) = (site.shown(&piece.path), site.client.name());
    Some(format!("{name} cannot read {shown} until that is mended: {wrong}"))
}

fn plan(
    site: &Site,
    piece: Piece,
    receipt: Option<&Receipt>,
    folder: &Path,
    others: &[(Client, PathBuf, Receipt)],
) -> Result<Plan, Failure> {
    let shown = site.shown(&piece.path);
    let seen = Seen::look(&piece.path, &shown)?;
    let known = receipt.and_then(|receipt| receipt.of(&seen.target));
    let shared = sharer(&seen, others);
    let (planned, text) = decide(site, &piece, &seen, known.or(shared.map(|(_, entry)| entry)))?;
    let wrong = |wrong| refused(&shown, wrong);
    let current = seen.text.as_deref();
    let as_we_wrote = |entry: &Entry| current.is_some_and(|it| hash(it) == entry.wrote);
    let made = shared.map(|(_, entry)| entry.made.clone()).unwrap_or_default();
    let original = match (planned, known, current) {
        (Planned::Kept, ..) => Original::NotOurs,
        (Planned::Same, Some(entry), _) => Original::Known(entry.clone()),
        (_, Some(entry), _) if as_we_wrote(entry) => Original::Known(entry.clone()),
        (_, Some(entry), Some(text)) => {
            // The user changed it since: what it is without ours is what they want to have back.
            let before = entry.original(folder)?;
            Original::Was(piece.edit.take(text, before.as_deref()).map_err(wrong)?)
        }
        (_, None, Some(text)) if shared.is_some() || piece.edit.touches(text).map_err(wrong)? => {
            // It was there before this setup: by another client's, whose receipt knows more, by a
            // colleague, or by the user's own hand. Then it is what taking back leads to.
            Original::Was(match shared {
                Some((folder, entry)) => entry.original(folder)?,
                None => Some(text.to_owned()),
            })
        }
        (_, None | Some(_), current) => Original::Was(current.map(str::to_owned)),
    };
    Ok(Plan { piece, seen, planned, text, original, made })
}

/// What a file should become.
fn decide(
    site: &Site,
    piece: &Piece,
    seen: &Seen,
    known: Option<&Entry>,
) -> Result<(Planned, String), Failure> {
    let current = seen.text.as_deref();
    let put = piece.edit.put(current);
    let text = put.map_err(|wrong| refused(&site.shown(&piece.path), wrong))?;
    let planned = match (&piece.edit, current) {
        (_, Some(current)) if current == text => Planned::Same,
        (Edit::Whole(_), Some(current)) => match known {
            Some(entry) if entry.wrote == hash(current) => Planned::Write,
            Some(_) | None => Planned::Kept,
        },
        (Edit::Json(_) | Edit::Toml(_) | Edit::Block(_), Some(_)) | (_, None) => Planned::Write,
    };
    Ok((planned, text))
}

/// Writes down what will have been done, and what files were before.
fn record(
    plans: &[Plan],
    folder: &Path,
    client: Client,
    wish: &Wish,
    old: Option<&Receipt>,
) -> Result<Receipt, Failure> {
    let program = wish.word.program.clone();
    let mut new = Receipt { agent: wish.agent.clone(), program, files: Vec::new() };
    let old_entries = old.map(|old| old.files.as_slice()).unwrap_or_default();
    for plan in plans {
        let wrote = hash(&plan.text);
        let (path, target) = (plan.piece.path.clone(), plan.seen.target.clone());
        let made = old_entries.iter().find(|entry| entry.target == target);
        let made = made.map_or_else(|| plan.made.clone(), |entry| entry.made.clone());
        let entry = match &plan.original {
            Original::NotOurs => continue,
            Original::Known(entry) if plan.planned == Planned::Same => entry.clone(),
            Original::Known(entry) => Entry { wrote, ..entry.clone() },
            Original::Was(None) => Entry { path, target, backup: None, wrote, made },
            Original::Was(Some(text)) => {
                let name = free_name(folder, client, old_entries, &new.files);
                files::write_private(&folder.join(&name), text.as_bytes()).map_err(|error| {
                    let sentence = format!("cannot write {}: {error}", folder.display());
                    Failure::failed(sentence, "check the space on its disk; nothing was changed")
                })?;
                Entry { path, target, backup: Some(name), wrote, made }
            }
        };
        new.files.push(entry);
    }
    // What an older Baton wrote to elsewhere is still to be taken back one day.
    let dropped = |entry: &&Entry| new.files.iter().all(|it| it.target != entry.target);
    let dropped: Vec<_> = old_entries.iter().filter(dropped).cloned().collect();
    new.files.extend(dropped);
    new.write(folder, client)?;
    Ok(new)
}

fn free_name(folder: &Path, client: Client, old: &[Entry], new: &[Entry]) -> String {
    let taken = |name: &String| {
        let used = |entry: &Entry| entry.backup.as_ref() == Some(name);
        old.iter().chain(new).any(used)
    };
    let names = (0..).map(|n| format!("{}.{n}.orig", client.name()));
    let mut free = names.filter(|name| !taken(name));
    // Never over one that a lost receipt may have spoken of, as far as that can be seen.
    let unused = free.by_ref().take(NAMES_MAX).find(|name| !folder.join(name).exists());
    unused.or_else(|| free.next()).unwrap_or_default()
}

/// Names that are looked at for one that is free.
const NAMES_MAX: usize = 1_000;
