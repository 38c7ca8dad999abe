//! Finds the tagged files of a tree.
//!
//! Most files of a tree have no tag at all. So a file is first searched for the pattern's literal
//! beginning at memory speed, and only what has it is parsed. It reads and never writes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use ignore::{DirEntry, WalkBuilder, WalkState};
use memchr::memmem::Finder;

use crate::aside::is_aside;
use crate::document::{Document, Occurrence};
use crate::file::{FILE_BYTES_MAX, HEAD_BYTES_MAX, is_binary};
use crate::name::TagPattern;

/// The most lines that are shown on either side of a match.
pub const CONTEXT_LINES_MAX: usize = 20;

/// The most matches in one file. One with more is no list of work, and is reported as skipped.
pub const SIGHTINGS_MAX: usize = 10_000;

/// How much of a line is shown, in bytes. A file may be one line of many megabytes.
pub const LINE_SHOWN_MAX: usize = 256;

/// More threads than this wait for the disk and not for each other.
const THREADS_MAX: usize = 8;

/// What to look for.
#[derive(Clone, Debug)]
pub struct Search {
    /// Which tags.
    pub pattern: TagPattern,
    /// Only tags on the Tags line, not those inside the text.
    pub tags_line_only: bool,
    /// How many lines to return on either side, at most [`CONTEXT_LINES_MAX`].
    pub context_lines: usize,
    /// Leave out what a `.gitignore` or `.ignore` inside the tree names.
    ///
    /// Ignore files above the tree are never asked: who names an ignored folder means it.
    pub honour_ignores: bool,
}

/// What was found, the same for the same tree, however many threads looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The files that match, each once, in the order of their paths.
    pub hits: Vec<Hit>,
    /// What could not be searched, in the order of their paths. Binaries are not counted.
    pub skipped: Vec<Skipped>,
}

/// A file with a tag that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The file, under the path that was searched.
    pub path: PathBuf,
    /// Its first heading.
    pub title: Option<String>,
    /// Where the tags are, in the order of the text; never empty.
    pub sightings: Vec<Sighting>,
}

/// One match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The tag and its place.
    pub occurrence: Occurrence,
    /// The line number of the first line of `lines`.
    pub first_line: usize,
    /// The line of the tag, with as many around it as were asked for, each cut to
    /// [`LINE_SHOWN_MAX`]; bytes that are not UTF-8 show as `�`.
    pub lines: Vec<String>,
}

/// A path that could not be searched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// The path, as far as it is known.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Why nothing was searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The tree is not there.
    #[error("cannot search {}", path.display())]
    Unreachable {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Search {
    /// Looks for `pattern` on Tags lines and in texts, without context, honouring ignore files.
    pub fn new(pattern: TagPattern) -> Self {
        Self { pattern, tags_line_only: false, context_lines: 0, honour_ignores: true }
    }
}

/// Searches `tree`, a folder or a single file.
///
/// Left out are hidden files and folders, binaries, databases (`*.db`, `*.db.bak`), `.state.json`,
/// and links, which would show one file twice.
pub fn find(tree: &Path, search: &Search) -> Result<Found, FindError> {
    tree.metadata().map_err(|source| FindError::Unreachable { path: tree.to_owned(), source })?;
    let threads = thread::available_parallelism().map_or(1, |count| count.get().min(THREADS_MAX));
    let walk = WalkBuilder::new(tree)
        .threads(threads)
        .parents(false)
        .require_git(false)
        .ignore(search.honour_ignores)
        .git_ignore(search.honour_ignores)
        .git_exclude(search.honour_ignores)
        .git_global(false)
        .build_parallel();
    let literal = Finder::new(search.pattern.prefix());
    let found = Mutex::new(Found::default());
    let note = |look: Result<Option<Hit>, Skipped>| {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        match look {
            Ok(hit) => found.hits.extend(hit),
            Err(skipped) => found.skipped.push(skipped),
        }
    };
    walk.run(|| {
        Box::new(|entry| {
            match entry {
                Ok(entry) if is_wanted(&entry) => note(look_into(entry.path(), search, &literal)),
                Ok(_) => (),
                Err(error) => note(Err(skipped(&error))),
            }
            WalkState::Continue
        })
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.hits.sort_by(|a, b| a.path.cmp(&b.path));
    found.skipped.sort();
    Ok(found)
}

fn is_wanted(entry: &DirEntry) -> bool {
    let named_by_caller = entry.depth() == 0;
    let is_file = match named_by_caller {
        true => entry.path().is_file(),
        false => entry.file_type().is_some_and(|kind| kind.is_file()),
    };
    let name = entry.file_name();
    let ending = |ending: &str| name.as_encoded_bytes().ends_with(ending.as_bytes());
    let left_out = ending(".db") || ending(".db.bak") || name == ".state.json" || is_aside(name);
    is_file && !left_out
}

fn look_into(path: &Path, search: &Search, literal: &Finder<'_>) -> Result<Option<Hit>, Skipped> {
    let text = match read(path) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(None),
        // Removed between the listing and the reading: it is not in the tree any more.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(skip(path, error.to_string())),
    };
    if literal.find(&text).is_none() {
        return Ok(None);
    }
    let document = Document::read(&text);
    let fits = |found: &&Occurrence| {
        search.pattern.matches(&found.tag) && (found.on_tags_line || !search.tags_line_only)
    };
    let matches: Vec<_> = document.occurrences().iter().filter(fits).collect();
    if matches.len() > SIGHTINGS_MAX {
        let found = matches.len();
        return Err(skip(path, format!("found {found} matches, expected at most {SIGHTINGS_MAX}")));
    }
    let show = |found: &Occurrence| sighting(&document, found, search.context_lines);
    let sightings: Vec<_> = matches.into_iter().map(show).collect();
    Ok((!sightings.is_empty()).then(|| Hit {
        path: path.to_owned(),
        title: document.title(),
        sightings,
    }))
}

fn sighting(document: &Document<'_>, found: &Occurrence, around: usize) -> Sighting {
    let around = around.min(CONTEXT_LINES_MAX);
    let first_line = found.line.saturating_sub(around).max(1);
    Sighting {
        occurrence: found.clone(),
        first_line,
        lines: (first_line..=found.line + around)
            .map_while(|at| Some(shown(document.line(at)?)))
            .collect(),
    }
}

pub(crate) fn shown(line: &[u8]) -> String {
    if line.len() <= LINE_SHOWN_MAX {
        return String::from_utf8_lossy(line).into_owned();
    }
    // The cut may split a character, which would show as a broken one.
    let head = String::from_utf8_lossy(&line[..LINE_SHOWN_MAX]);
    format!("{}…", head.trim_end_matches(char::REPLACEMENT_CHARACTER))
}

fn skip(path: &Path, reason: String) -> Skipped {
    Skipped { path: path.to_owned(), reason }
}

/// Reads a file, unless its head shows that it is binary.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let mut text = Vec::new();
    (&mut file).take(HEAD_BYTES_MAX as u64).read_to_end(&mut text)?;
    if is_binary(&text) {
        return Ok(None);
    }
    let left = FILE_BYTES_MAX + 1 - text.len() as u64;
    file.take(left).read_to_end(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let limit = format!("too large, expected at most {FILE_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, limit));
    }
    Ok(Some(text))
}

/// Takes the path out of a walk's error, where it has one.
fn skipped(error: &ignore::Error) -> Skipped {
    let mut inner = error;
    let mut path = PathBuf::new();
    loop {
        inner = match inner {
            ignore::Error::WithPath { path: at, err } => {
                path.clone_from(at);
                err
            }
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => err,
            _ => break,
        };
    }
    Skipped { path, reason: inner.to_string() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn tree(files: &[(&str, &[u8])]) -> TempDir {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    /// Lists the matches as `path:line tag`.
    fn seen(folder: &Path, search: &Search) -> Vec<String> {
        let found = find(folder, search).unwrap();
        assert_eq!(found.skipped, []);
        let mut seen = Vec::new();
        for hit in &found.hits {
            let path = hit.path.strip_prefix(folder).unwrap().display();
            for sighting in &hit.sightings {
                let Occurrence { line, tag, .. } = &sighting.occurrence;
                seen.push(format!("{path}:{line} {tag}"));
            }
        }
        seen
    }

    fn search(pattern: &str) -> Search {
        Search::new(pattern.parse().unwrap())
    }

    const TAGGED: &[u8] = b"# A\n**Tags**: #delegated-fix\n\n1. b #delegated-chores\n";

    #[test]
    fn tags_are_found_in_texts_and_mentions_are_not() {
        let folder = tree(&[
            ("b/a.md", TAGGED),
            ("a.txt", b"\xff #delegated-fix\r\n"),
            ("c.md", b"`#delegated-fix` #delegated-fix-later\n"),
        ]);
        assert_eq!(
            seen(folder.path(), &search("#delegated-fix")),
            ["a.txt:1 #delegated-fix", "b/a.md:2 #delegated-fix"]
        );
        assert_eq!(seen(folder.path(), &search("#delegated-*")).len(), 4);
        assert_eq!(seen(folder.path(), &search("#needs-*")), [""; 0]);
        let tags_line_only = Search { tags_line_only: true, ..search("#delegated-*") };
        assert_eq!(seen(folder.path(), &tags_line_only), ["b/a.md:2 #delegated-fix"]);
    }

    #[test]
    fn each_file_counts_once_and_what_is_no_work_is_left_out() {
        let binary = [TAGGED, b"\0"].concat();
        let folder = tree(&[
            ("a.md", TAGGED),
            ("binary.md", &binary),
            ("x.db", TAGGED),
            ("x.db.bak", TAGGED),
            ("s/.state.json", TAGGED),
            (".a.md.baton-aside", TAGGED),
            (".git/description", TAGGED),
        ]);
        symlink(folder.path().join("a.md"), folder.path().join("link.md")).unwrap();
        symlink(folder.path(), folder.path().join("loop")).unwrap();
        assert_eq!(seen(folder.path(), &search("#delegated-fix")), ["a.md:2 #delegated-fix"]);
        assert_eq!(seen(&folder.path().join("a.md"), &search("#delegated-fix")).len(), 1);
    }

    #[test]
    fn ignore_files_count_inside_the_tree_and_not_above_it() {
        let folder = tree(&[(".gitignore", b"sessions/\n"), ("sessions/a.md", TAGGED)]);
        assert_eq!(seen(folder.path(), &search("#delegated-fix")), [""; 0]);
        assert_eq!(seen(&folder.path().join("sessions"), &search("#delegated-fix")).len(), 1);
        let everything = Search { honour_ignores: false, ..search("#delegated-fix") };
        assert_eq!(seen(folder.path(), &everything).len(), 1);
    }

    #[test]
    fn a_match_comes_with_its_title_and_the_lines_around_it() {
        let folder = tree(&[("a.md", TAGGED)]);
        let with_context = Search { context_lines: 1, ..search("#delegated-chores") };
        let found = find(folder.path(), &with_context).unwrap();
        assert_eq!(found.hits[0].title.as_deref(), Some("A"));
        let sighting = &found.hits[0].sightings[0];
        assert_eq!(sighting.first_line, 3);
        assert_eq!(sighting.lines, ["", "1. b #delegated-chores"]);
        assert_eq!(shown("é".repeat(200).as_bytes()), format!("{}…", "é".repeat(128)));
    }

    #[test]
    fn a_large_tree_is_listed_in_order_and_what_could_not_be_read_is_told() {
        let names: Vec<_> = (0..300).map(|at| format!("{}/{at:03}.md", at % 7)).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), TAGGED)).collect();
        let folder = tree(&files);
        let first = find(folder.path(), &search("#delegated-*")).unwrap();
        assert_eq!(first.hits.len(), 300);
        assert!(first.hits.is_sorted_by(|a, b| a.path < b.path));
        let large = folder.path().join("large.md");
        File::create(&large).unwrap();
        fs::write(&large, vec![b'x'; HEAD_BYTES_MAX]).unwrap();
        File::options().write(true).open(&large).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        let again = find(folder.path(), &search("#delegated-*")).unwrap();
        assert_eq!(again.hits, first.hits);
        assert_eq!(again.skipped[0].path, large);
        fs::write(&large, "#delegated-x ".repeat(SIGHTINGS_MAX + 1)).unwrap();
        let again = find(folder.path(), &search("#delegated-*")).unwrap();
        assert_eq!(again.skipped[0].reason, "found 10001 matches, expected at most 10000");
        assert!(find(Path::new("no-such-tree"), &search("#a")).is_err());
    }
}
