//! Finds the tagged files of a tree.
//!
//! Most files of a tree have no tag at all. So a file is first searched for the pattern's literal
//! beginning at memory speed, piece by piece in a buffer that each thread keeps, and only what has
//! it is read whole and parsed. It reads and never writes.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use ignore::{DirEntry, WalkBuilder, WalkState};
use memchr::memmem::Finder;

use crate::aside::is_aside;
use crate::document::{Document, Occurrence};
use crate::file::is_binary;
use crate::name::TagPattern;

/// The most lines that are shown on either side of a match.
pub const CONTEXT_LINES_MAX: usize = 20;

/// The most matches in one file. One with more is no list of work, and is reported as skipped.
pub const SIGHTINGS_MAX: usize = 10_000;

/// How much of a line is shown, in bytes. A file may be one line of many megabytes.
pub const LINE_SHOWN_MAX: usize = 256;

/// The largest file that is searched, in bytes.
///
/// A file without the tag costs no memory, however large. One with it is read whole, and takes
/// about five times its size while it is parsed. Only smaller ones can be edited
/// ([`FILE_BYTES_MAX`](crate::FILE_BYTES_MAX)).
pub const FIND_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How much of a file is read at once. Most files are smaller.
const PIECE_BYTES: usize = 64 * 1024;

thread_local! {
    /// The piece of a file that a thread looks at, kept from file to file.
    static PIECE: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE_BYTES]);
}

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
    let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
    walk.run(|| {
        Box::new(|entry| {
            // Most files have nothing, and then no thread waits for another.
            match entry {
                Ok(entry) if is_wanted(&entry) => match look_into(entry.path(), search, &literal) {
                    Ok(None) => (),
                    Ok(Some(hit)) => lock().hits.push(hit),
                    Err(skipped) => lock().skipped.push(skipped),
                },
                Ok(_) => (),
                Err(error) => lock().skipped.push(skipped(&error)),
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
    is_file && !is_left_out(entry.file_name())
}

/// What databases, editors and merges leave beside the files that people work with.
const LEFT_OUT: [&str; 6] = [".db", ".db.bak", ".orig", ".rej", ".swp", "~"];

/// Tells by its name that a file is no text that people work with.
pub(crate) fn is_left_out(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let leftover = bytes.starts_with(b"#") && bytes.ends_with(b"#");
    let named = LEFT_OUT.iter().any(|ending| bytes.ends_with(ending.as_bytes()));
    leftover || named || name == ".state.json" || is_aside(name)
}

fn look_into(path: &Path, search: &Search, literal: &Finder<'_>) -> Result<Option<Hit>, Skipped> {
    let text = match read_if(path, literal) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(None),
        // Removed between the listing and the reading: it is not in the tree any more.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(skip(path, error.to_string())),
    };
    let document = Document::read_for(&text, &search.pattern, SIGHTINGS_MAX + 1);
    let fits = |found: &&Occurrence| found.on_tags_line || !search.tags_line_only;
    let matches: Vec<_> = document.occurrences().iter().filter(fits).collect();
    if matches.len() > SIGHTINGS_MAX {
        let found = format!("found more than {SIGHTINGS_MAX} matches, which is no list of work");
        return Err(skip(path, found));
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

/// Reads a file whole if it has the literal in it, unless its head shows that it is binary.
fn read_if(path: &Path, literal: &Finder<'_>) -> io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    PIECE.with_borrow_mut(|piece| {
        let (mut filled, ended) = fill(&mut file, piece, 0)?;
        if is_binary(&piece[..filled]) {
            return Ok(None);
        }
        if ended {
            let text = &piece[..filled];
            return Ok(literal.find(text).map(|_| text.to_vec()));
        }
        if file.metadata()?.len() > FIND_BYTES_MAX {
            return Err(too_large());
        }
        // The literal may lie across two pieces, so the end of each stays for the next.
        let overlap = literal.needle().len() - 1;
        while literal.find(&piece[..filled]).is_none() {
            piece.copy_within(filled - overlap..filled, 0);
            let (now, ended) = fill(&mut file, piece, overlap)?;
            filled = now;
            if ended && literal.find(&piece[..filled]).is_none() {
                return Ok(None);
            }
        }
        read_whole(&mut file).map(Some)
    })
}

/// Reads on until the buffer is full or the file has ended, which it says too.
fn fill(file: &mut File, buffer: &mut [u8], mut filled: usize) -> io::Result<(usize, bool)> {
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => return Ok((filled, true)),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok((filled, false))
}

fn read_whole(file: &mut File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut text = Vec::new();
    file.take(FIND_BYTES_MAX + 1).read_to_end(&mut text)?;
    match text.len() as u64 > FIND_BYTES_MAX {
        true => Err(too_large()),
        false => Ok(text),
    }
}

fn too_large() -> io::Error {
    let limit = format!("too large, expected at most {FIND_BYTES_MAX} bytes");
    io::Error::new(io::ErrorKind::FileTooLarge, limit)
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
mod tests;
