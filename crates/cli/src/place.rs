//! Paths as they are typed, made into the one name that each file of the workspace has.
//!
//! Locks go by names. Two spellings of one file must not be two locks, so links are followed here,
//! where the files are.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use baton_protocol::limits::PATH_BYTES_MAX;
use baton_protocol::lock::FilePath;

use crate::failure::Failure;
use crate::show::text::cut;

/// Links that one path may lead through, as many as the system allows.
const LINKS_MAX: usize = 40;

/// Where the caller stands, for paths that are typed from there.
pub(crate) struct Place {
    root: PathBuf,
    here: PathBuf,
}

impl Place {
    /// `here` may lie outside the workspace; then paths are typed from its root.
    pub(crate) fn new(root: &Path) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        Self::seen_from(root, &here)
    }

    /// The same for somebody who stands elsewhere than this process.
    pub(crate) fn seen_from(root: &Path, here: &Path) -> Self {
        let here = if here.starts_with(root) { here } else { root };
        Self { root: root.to_owned(), here: here.to_owned() }
    }

    /// The path from the workspace's root, or why it has none.
    pub(crate) fn file(&self, text: &str) -> Result<FilePath, Failure> {
        let inside = format!("give a file inside {}", self.root.display());
        let wrong = |why: &str, hint: &str| {
            Err(Failure::usage(format!("path `{}` {why}", cut(text)), hint))
        };
        if text.len() > PATH_BYTES_MAX {
            let why = format!("is too long: {} bytes", text.len());
            return wrong(&why, &format!("at most {PATH_BYTES_MAX} bytes can be locked"));
        }
        if text.is_empty() {
            return wrong("is empty", &inside);
        }
        let Some(whole) = resolved(&self.here.join(text)) else {
            return wrong("leads through links that never end", "mend the links");
        };
        let Ok(path) = whole.strip_prefix(&self.root) else {
            return wrong("leads out of the workspace", &inside);
        };
        if path.as_os_str().is_empty() {
            return wrong("is the workspace itself", &inside);
        }
        let Some(path) = path.to_str() else {
            return wrong("is not valid UTF-8", "rename the file");
        };
        path.parse().map_err(|error: baton_protocol::lock::PathError| {
            Failure::usage(error.to_string(), "rename the file, or lock another")
        })
    }
}

/// The path without links, `.` and `..`. Its end need not exist yet; what exists is looked at.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut done = PathBuf::new();
    let mut ahead: VecDeque<OsString> = parts(path).collect();
    let mut links = 0;
    while let Some(part) = ahead.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                done.pop();
            }
            Some(Component::CurDir) | None => (),
            Some(Component::Prefix(_) | Component::RootDir | Component::Normal(_)) => {
                let next = done.join(&part);
                let Ok(target) = fs::read_link(&next) else {
                    done = next;
                    continue;
                };
                links += 1;
                if links > LINKS_MAX {
                    return None;
                }
                // A link stands for what it names, seen from the folder that it lies in.
                for part in parts(&target).rev() {
                    ahead.push_front(part);
                }
            }
        }
    }
    Some(done)
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().map(|part| part.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_typed_from_where_one_stands() {
        let place = Place { root: "/w".into(), here: "/w/src".into() };
        let file = |text: &str| place.file(text).map(String::from).map_err(|f| f.exit as u8);
        assert_eq!(file("a.rs"), Ok("src/a.rs".to_owned()));
        assert_eq!(file("../b.rs"), Ok("b.rs".to_owned()));
        assert_eq!(file("/w/c.rs"), Ok("c.rs".to_owned()));
        for outside in ["../../etc/passwd", "/etc/passwd", "/w", ".."] {
            assert_eq!(file(outside), Err(2), "{outside:?} was taken");
        }
    }

    #[test]
    fn every_spelling_of_a_file_is_one_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        fs::create_dir_all(root.join("src/deep")).expect("a folder");
        fs::write(root.join("src/a.rs"), "").expect("a file");
        let link = |target: &str, name: &str| symlink(target, root.join(name)).expect("a link");
        link("src", "lib");
        link("a.rs", "src/b.rs");
        link("src/new.rs", "dangling");
        link("src/deep", "far");
        link("/etc", "out");
        link("round", "round");
        let place = Place { root: root.clone(), here: root.clone() };
        let file = |text: &str| place.file(text).map(String::from).map_err(|f| f.sentence);
        let absolute = root.join("lib/a.rs").display().to_string();
        for one in ["src/a.rs", "lib/a.rs", "src/b.rs", "lib/b.rs", "far/../a.rs", &absolute] {
            assert_eq!(file(one), Ok("src/a.rs".to_owned()), "{one}");
        }
        for new in ["dangling", "lib/new.rs", "no/../lib/new.rs"] {
            assert_eq!(file(new), Ok("src/new.rs".to_owned()), "{new}");
        }
        let long = "x".repeat(PATH_BYTES_MAX + 1);
        for (bad, why) in [
            ("out/passwd", "path `out/passwd` leads out of the workspace"),
            ("round", "path `round` leads through links that never end"),
            ("", "path `` is empty"),
            ("lib/..", "path `lib/..` is the workspace itself"),
            ("a\tb", "holds a control character"),
            ("a\nb", "holds a control character"),
            (&long, "is too long: 1025 bytes"),
        ] {
            let said = file(bad).expect_err(bad);
            assert!(said.contains(why), "{said}");
        }
    }
}
