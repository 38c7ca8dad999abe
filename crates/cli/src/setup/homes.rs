//! Where this user's clients keep their files, as the clients themselves find it out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The folders.
#[derive(Clone, Debug)]
pub(crate) struct Homes {
    pub(crate) home: PathBuf,
    pub(crate) claude: PathBuf,
    /// The one file of Claude Code that does not lie in its folder, unless the folder was named.
    pub(crate) claude_json: PathBuf,
    pub(crate) codex: PathBuf,
    pub(crate) gemini: PathBuf,
    pub(crate) opencode: PathBuf,
    state: PathBuf,
}

impl Homes {
    pub(crate) fn of_user() -> Result<Self, Failure> {
        Self::told_by(|name| std::env::var_os(name)).ok_or_else(|| {
            Failure::usage("it is not known where your files are", "set HOME to your home folder")
        })
    }

    fn told_by(set: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let folder = |name| set(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        // A relative one means nothing, says the specification of these folders.
        let base = |name| folder(name).filter(|it| it.is_absolute());
        let home = base("HOME")?;
        let claude = folder("CLAUDE_CONFIG_DIR");
        Some(Self {
            claude_json: claude.as_deref().unwrap_or(&home).join(".claude.json"),
            claude: claude.unwrap_or_else(|| home.join(".claude")),
            codex: folder("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            gemini: folder("GEMINI_CLI_HOME").as_deref().unwrap_or(&home).join(".gemini"),
            opencode: base("XDG_CONFIG_HOME")
                .unwrap_or_else(|| home.join(".config"))
                .join("opencode"),
            state: base("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state")),
            home,
        })
    }

    /// All under one folder.
    #[cfg(test)]
    pub(crate) fn under(home: &Path) -> Self {
        let home = home.as_os_str().to_owned();
        Self::told_by(|name| (name == "HOME").then(|| home.clone())).expect("an absolute path")
    }

    /// Where the receipts for what was set up for this user lie.
    pub(crate) fn receipts(&self) -> PathBuf {
        self.state.join("baton").join("setup")
    }

    /// The folder in which a client keeps what is this user's.
    pub(crate) fn of(&self, client: super::Client) -> &Path {
        match client {
            super::Client::ClaudeCode => &self.claude,
            super::Client::Codex => &self.codex,
            super::Client::Gemini => &self.gemini,
            super::Client::OpenCode => &self.opencode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(vars: &[(&str, &str)]) -> Option<Homes> {
        Homes::told_by(|name| vars.iter().find(|(key, _)| *key == name).map(|(_, it)| it.into()))
    }

    #[test]
    fn folders_are_found_where_the_clients_find_them() {
        let usual = told(&[("HOME", "/h"), ("CODEX_HOME", ""), ("XDG_CONFIG_HOME", "x")]);
        let usual = usual.expect("a home");
        assert_eq!(usual.claude_json, Path::new("/h/.claude.json"));
        assert_eq!(usual.claude, Path::new("/h/.claude"));
        assert_eq!(usual.codex, Path::new("/h/.codex"));
        assert_eq!(usual.opencode, Path::new("/h/.config/opencode"));
        assert_eq!(usual.receipts(), Path::new("/h/.local/state/baton/setup"));
        let moved = told(&[
            ("HOME", "/h"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("GEMINI_CLI_HOME", "/g"),
            ("XDG_STATE_HOME", "/s"),
        ]);
        let moved = moved.expect("a home");
        assert_eq!(moved.claude_json, Path::new("/c/.claude.json"));
        assert_eq!(moved.gemini, Path::new("/g/.gemini"));
        assert_eq!(moved.receipts(), Path::new("/s/baton/setup"));
        assert!(told(&[]).is_none());
    }
}
