//! Waiting until a tag is there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baton_tags::watch::Awaiting;
use baton_tags::{Hit, Search, Tag, TagPattern};

use super::{shown, told};
use crate::failure::Failure;

/// How long one waits at a time when one waits for ever.
const TURN: Duration = Duration::from_secs(3_600);

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
    let deadline = most.map(|most| Instant::now() + most);
    // Watched first and looked at then: what comes in between is seen twice and not missed.
    let awaiting = match path.is_dir() {
        true => Awaiting::tree(path, tag.clone()),
        false => Awaiting::file(path, tag.clone()),
    };
    let mut awaiting = awaiting.map_err(|error| {
        let why = std::error::Error::source(&error).map(|why| format!(": {why}"));
        let sentence = format!("{error}{}", why.unwrap_or_default());
        Failure::failed(sentence, "check the path, and fs.inotify.max_user_instances")
    })?;
    if let Some(arrived) = look(path, tag)? {
        return Ok(Some(arrived));
    }
    loop {
        let now = Instant::now();
        let until = deadline.unwrap_or(now + TURN);
        if let Some(arrived) = awaiting.wait(until).and_then(arrived) {
            return Ok(Some(arrived));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return look(path, tag);
        }
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
    Ok(found.hits.into_iter().find_map(arrived))
}

fn arrived(hit: Hit) -> Option<Arrived> {
    let first = hit.sightings.into_iter().next()?.occurrence;
    Some(Arrived { file: hit.path, tag: first.tag, line: first.line, title: hit.title })
}
