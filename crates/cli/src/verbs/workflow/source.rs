//! Definitions as files.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use baton_protocol::definition::Definition;
use baton_protocol::limits::DEFINITION_BYTES_MAX;

use crate::failure::Failure;

/// The file of a definition, and what it says.
pub(crate) struct Source {
    pub(crate) definition: Definition,
}

impl Source {
    /// Reads a definition.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = text(path)?;
        let read = baton_rules::read(&text).map_err(|problems| {
            let first = problems.first().map(|problem| problem.message.clone());
            let shown = path.display();
            let sentence = format!("{shown} is no definition: {}", first.unwrap_or_default());
            Failure::usage(sentence, format!("`baton workflow check {shown}` shows every place"))
        })?;
        // Texts are masked as they are read, and a rule that was changed says something else.
        if baton_protocol::mask(&text) != text {
            let sentence = format!("{} holds something that looks like a secret", path.display());
            let hint = "definitions are recorded for good; keep secrets with the agents";
            return Err(Failure::usage(sentence, hint));
        }
        Ok(Self { definition: read.definition })
    }
}

/// Reads a text file that is not too large.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let unreadable = |error| {
        let hint = "give the path of a YAML file";
        Failure::usage(format!("cannot read {shown}: {error}"), hint)
    };
    let mut text = String::new();
    let most = DEFINITION_BYTES_MAX as u64 * 4 + 1;
    File::open(path)
        .and_then(|file| file.take(most).read_to_string(&mut text))
        .map_err(unreadable)?;
    Ok(text)
}

/// The definitions of a folder, by name.
pub(super) fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| {
        let sentence = format!("cannot read {}: {error}", folder.display());
        Failure::usage(sentence, "name the files, or keep them in workflows/")
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|ends| ends == "yaml" || ends == "yml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
