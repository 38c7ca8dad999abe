//! Items whose line was changed by their worker, and which are therefore called otherwise now.
//!
//! Whoever works on a line may change what it says, such as tick its box. Then one Session line has
//! no item any more and one item that was claimed no Session line. If there is one of each, they
//! belong together; with more of them nobody can tell.

use std::collections::{HashMap, HashSet};

use crate::item::{Item, ItemKey};
use crate::name::Stage;

/// Finds the old and the new name of what was renamed, for each kind. `held` are the items that
/// have a Session line.
///
/// An item at `#done` counts as one that may have lost its line, though nobody holds it any more:
/// else its dead session would be given to the next one that is claimed by hand.
pub(super) fn renamed(
    items: &[Item],
    held: &HashSet<&ItemKey>,
) -> HashMap<String, (ItemKey, ItemKey)> {
    let there: HashSet<_> = items.iter().map(|item| &item.key).collect();
    let mut orphans: HashMap<&str, Vec<&ItemKey>> = HashMap::new();
    for key in held.iter().filter(|key| fits(key) && !there.contains(**key)) {
        orphans.entry(key.kind()).or_default().push(key);
    }
    if orphans.is_empty() {
        return HashMap::new();
    }
    let mut strays: HashMap<&str, Vec<&Item>> = HashMap::new();
    for item in items.iter().filter(|item| fits(&item.key) && !held.contains(&item.key)) {
        match item.stage {
            Stage::Claimed | Stage::Done => strays.entry(item.key.kind()).or_default().push(item),
            // What waits was never begun, or went back by a move that renamed its lines.
            Stage::Needs | Stage::Delegated | Stage::Next => (),
        }
    }
    let pair = |(kind, old): (&str, Vec<&ItemKey>)| match (&old[..], &strays.get(kind)?[..]) {
        ([old], [new]) if new.stage == Stage::Claimed => {
            Some((kind.to_owned(), ((*old).clone(), new.key.clone())))
        }
        _ => None,
    };
    orphans.into_iter().filter_map(pair).collect()
}

/// Only lines inside the text have names that change with them.
pub(super) fn fits(key: &ItemKey) -> bool {
    !key.is_on_tags_line()
}
