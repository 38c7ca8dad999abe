//! Where tagged files are: the workspace, or the folder one stands in when there is none.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use baton_tags::Files;

use super::told;
use crate::args::Global;
use crate::failure::{Exit, Failure};
use crate::workspace::{Workspace, current_folder};

/// The folder that holds the files of sessions, and is searched unless another is named.
const SESSIONS: &str = "sessions";

/// The ground that the tag verbs stand on.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    workspace: Option<Workspace>,
    here: PathBuf,
}

impl Ground {
    /// A workspace that was named must be there; otherwise none is needed.
    pub(crate) fn find(global: &Global) -> Result<Self, Failure> {
        let here = current_folder()?;
        let workspace = match Workspace::find(global.workspace.as_deref()) {
            Ok(workspace) => Some(workspace),
            Err(failure) if global.workspace.is_none() && failure.exit == Exit::NotFound => None,
            Err(failure) => return Err(failure),
        };
        Ok(Self { workspace, here })
    }

    /// The ground of a workspace, seen from its root.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        Self { workspace: Some(workspace.clone()), here: workspace.root().to_owned() }
    }

    /// The workspace, if there is one.
    pub(crate) fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    /// The workspace's folder, or the current one.
    pub(crate) fn root(&self) -> &Path {
        self.workspace.as_ref().map_or(&self.here, Workspace::root)
    }

    /// The files among which `path` may be changed, and its whole path.
    ///
    /// That is the workspace if the path lies in it as it is spelled, so that a link which leads
    /// out of the workspace is refused, and the current folder otherwise.
    pub(crate) fn files(&self, path: &Path) -> Result<(Files, PathBuf), Failure> {
        let whole = self.here.join(path);
        let root = self.root();
        let inside = spelled(&whole).starts_with(root)
            || whole.canonicalize().is_ok_and(|real| real.starts_with(root));
        let root = if inside { root } else { &self.here };
        let files = Files::within(root).map_err(|error| told::file(error, root))?;
        Ok((files, whole))
    }

    /// A path as it was typed, whole.
    pub(crate) fn whole(&self, path: &Path) -> PathBuf {
        spelled(&self.here.join(path))
    }

    /// The tree to search: what was named, or `sessions/` if there is one, or all there is.
    pub(crate) fn tree(&self, named: Option<PathBuf>) -> PathBuf {
        named.unwrap_or_else(|| self.sessions().unwrap_or_else(|| self.root().to_owned()))
    }

    /// The folder of sessions here, or that of the workspace.
    pub(crate) fn sessions(&self) -> Option<PathBuf> {
        let inside = Some(&*self.here).filter(|here| here.starts_with(self.root()));
        let folders = inside.into_iter().chain([self.root()]);
        folders.map(|folder| folder.join(SESSIONS)).find(|folder| folder.is_dir())
    }

    /// A path as it reads from the root, wherever it was typed.
    pub(crate) fn seen_from_root(&self, path: &Path) -> PathBuf {
        let whole = spelled(&self.here.join(path));
        whole.strip_prefix(self.root()).unwrap_or(&whole).to_owned()
    }

    /// A path as one would type it from here.
    pub(crate) fn seen_from_here<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.here).unwrap_or(path)
    }
}

/// The path without `.` and `..`, and without asking the disk.
fn spelled(path: &Path) -> PathBuf {
    let mut spelled = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => (),
            Component::ParentDir => {
                spelled.pop();
            }
            part => spelled.push(part),
        }
    }
    spelled
}

/// A path on one line: what would break the line or move a cursor is escaped.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    let text = path.to_string_lossy();
    if !text.contains(char::is_control) {
        return text;
    }
    let escape = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    Cow::Owned(text.chars().map(escape).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_on_one_line() {
        assert_eq!(shown(Path::new("a b/ü.md")), "a b/ü.md");
        assert_eq!(shown(Path::new("a\n/etc\u{1b}")), "a\\n/etc\\u{1b}");
    }

    #[test]
    fn a_path_is_judged_as_it_is_spelled() {
        assert_eq!(spelled(Path::new("/w/a/./../b")), Path::new("/w/b"));
        assert_eq!(spelled(Path::new("/../../b")), Path::new("/b"));
    }
}
