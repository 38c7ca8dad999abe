//! How the files of a client call `baton`: by name where the name leads to it, else by its path.

use std::env;
use std::path::{Path, PathBuf};

use super::Scope;

/// How it is called, and what should be known about that.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) program: String,
    pub(crate) warning: Option<String>,
}

impl Word {
    /// In a project's files it is always the name: they are read on other machines, too.
    pub(crate) fn of(scope: &Scope) -> Self {
        let own = env::current_exe().and_then(|own| own.canonicalize()).ok();
        let found = in_path("baton");
        let same = found.as_ref().and_then(|found| found.canonicalize().ok()) == own;
        let named = Self { program: "baton".to_owned(), warning: None };
        match (scope, found, own) {
            (_, Some(_), Some(_)) if same => named,
            (Scope::Global, _, Some(own)) => {
                Self { program: own.display().to_string(), warning: None }
            }
            (Scope::Project(_) | Scope::Global, Some(found), _) => {
                let found = found.display();
                let warning = format!("PATH leads to another baton, {found}: clients will call it");
                Self { warning: Some(warning), ..named }
            }
            (Scope::Project(_) | Scope::Global, None, _) => {
                let warning = "there is no baton in PATH: clients will not find it until its \
                               folder is in PATH";
                Self { warning: Some(warning.to_owned()), ..named }
            }
        }
    }

    /// A line for a shell that calls it with these words, which need no quotes.
    pub(crate) fn line(&self, words: &[&str]) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        let program = match self.program.chars().all(plain) {
            true => self.program.clone(),
            false => format!("'{}'", self.program.replace('\'', "'\\''")),
        };
        format!("{program} {}", words.join(" "))
    }
}

/// The program that a name leads to.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    let may_run = rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    may_run && file.is_file()
}
