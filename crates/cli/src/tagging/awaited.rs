//! Waiting until a tag is there.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use baton_tags::{Search, Tag, TagPattern};

use super::{shown, told};
use crate::failure::Failure;

/// How often is looked, at most.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Looking may take this part of the time, so that a large tree does not keep a core busy.
const SHARE: u32 = 4;

/// A tag that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) file: PathBuf,
    pub(crate) tag: Tag,
    pub(crate) line: usize,
    pub(crate) title: Option<String>,
}

/// Waits until a file at or below `path` has the tag, at most for `most`.
///
/// Returns `None` when the time is up. What was there before counts. It looks at least once, and
/// once more when the time is up, so a tag that is there in time is never missed.
pub(crate) fn wait(
    path: &Path,
    tag: &TagPattern,
    most: Option<Duration>,
) -> Result<Option<Arrived>, Failure> {
    let begun = Instant::now();
    loop {
        let looked = Instant::now();
        let left = most.map(|most| most.saturating_sub(begun.elapsed()));
        if let Some(arrived) = look(path, tag)? {
            return Ok(Some(arrived));
        }
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(None);
        }
        let pause = LOOK_EVERY.max(looked.elapsed() * SHARE);
        thread::sleep(left.map_or(pause, |left| pause.min(left)));
    }
}

/// Looks once. A path that is not there, or not there for a moment while it is saved, has no tag.
fn look(path: &Path, tag: &TagPattern) -> Result<Option<Arrived>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let found = match baton_tags::find(path, &Search::new(tag.clone())) {
        Ok(found) => found,
        Err(_) if !path.exists() => return Ok(None),
        Err(error) => return Err(told::search(error)),
    };
    // In a tree one file that cannot be read is not the one that is waited for; alone it is.
    if let [skipped] = &found.skipped[..]
        && path.is_file()
    {
        let sentence = format!("cannot search {}: {}", shown(path), skipped.reason);
        return Err(Failure::failed(sentence, "check the file and its permissions"));
    }
    Ok(found.hits.into_iter().find_map(|hit| {
        let first = hit.sightings.into_iter().next()?.occurrence;
        Some(Arrived { file: hit.path, tag: first.tag, line: first.line, title: hit.title })
    }))
}
