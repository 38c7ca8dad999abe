//! Finds the transcript that a coding agent keeps of its work in a folder, and reads it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use baton_context::{Found, Transcript};
use baton_protocol::limits::TRANSCRIPT_LINE_BYTES_MAX;
use serde_json::Value;

use crate::failure::Failure;

/// Rollouts of Codex that are looked at, from the newest: it keeps those of all folders together.
const ROLLOUTS_MAX: usize = 200;
/// Bytes of the first line of a rollout, which names its folder.
const FIRST_LINE_BYTES_MAX: u64 = 1024 * 1024;

/// The newest transcript of work in one of `folders`, if there is any.
pub(crate) fn newest(folders: &[&Path]) -> Option<PathBuf> {
    let claude = folders.iter().filter_map(|folder| claude_code(folder));
    let codex = codex(folders);
    claude.chain(codex).max_by_key(|path| touched(path))
}

fn claude_code(folder: &Path) -> Option<PathBuf> {
    let home = configured("CLAUDE_CONFIG_DIR", ".claude")?;
    let munged = folder.to_str()?.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let mut found = entries(&home.join("projects").join(munged));
    // Those of agents below the one that talks are named by them.
    found.retain(|path| named(path, "", ".jsonl") && !named(path, "agent-", ""));
    found.into_iter().max_by_key(|path| touched(path))
}

fn codex(folders: &[&Path]) -> Option<PathBuf> {
    let mut level = vec![configured("CODEX_HOME", ".codex")?.join("sessions")];
    let mut rollouts: Vec<PathBuf> = Vec::new();
    // By year, month and day; older versions keep all of them in one folder.
    for _ in 0..4 {
        let inside: Vec<_> = level.iter().flat_map(|folder| entries(folder)).collect();
        let (below, files) = inside.into_iter().partition(|path| path.is_dir());
        level = below;
        rollouts.extend(files);
    }
    rollouts.retain(|path| named(path, "rollout-", ".jsonl"));
    rollouts.sort_by_cached_key(|path| std::cmp::Reverse(touched(path)));
    rollouts.truncate(ROLLOUTS_MAX);
    rollouts.into_iter().find(|path| {
        let worked_in = worked_in(path);
        folders.iter().any(|folder| worked_in.as_deref() == folder.to_str())
    })
}

/// The folder that a rollout says on its first line.
fn worked_in(path: &Path) -> Option<String> {
    let mut line = String::new();
    let file = BufReader::new(File::open(path).ok()?.take(FIRST_LINE_BYTES_MAX));
    { file }.read_line(&mut line).ok()?;
    let first: Value = serde_json::from_str(&line).ok()?;
    first["payload"]["cwd"].as_str().map(str::to_owned)
}

fn configured(variable: &str, usual: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set(variable).map(PathBuf::from).or_else(|| Some(PathBuf::from(set("HOME")?).join(usual)))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    inside.map(|entry| entry.path()).collect()
}

fn named(path: &Path, begin: &str, end: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(begin) && name.ends_with(end))
}

fn touched(path: &Path) -> SystemTime {
    path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Reads a transcript of any length, a line at a time.
pub(crate) fn read(path: &Path) -> Result<Found, Failure> {
    let wrong = |error: io::Error| {
        let sentence = format!("cannot read {}: {error}", path.display());
        Failure::failed(sentence, "name a transcript (JSON lines) with --transcript FILE")
    };
    // Whoever opens a pipe that nobody writes to waits for ever.
    if !path.metadata().map_err(wrong)?.is_file() {
        return Err(wrong(io::Error::other("it is no file")));
    }
    let mut file = BufReader::new(File::open(path).map_err(wrong)?);
    let mut transcript = Transcript::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = TRANSCRIPT_LINE_BYTES_MAX as u64 + 1;
        let length = file.by_ref().take(most).read_until(b'\n', &mut line).map_err(wrong)?;
        if length == 0 {
            return Ok(transcript.finish());
        }
        if length > TRANSCRIPT_LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            transcript.unreadable_line();
            skip_line(&mut file).map_err(wrong)?;
        } else {
            transcript.line(&String::from_utf8_lossy(&line));
        }
    }
}

/// Passes over the rest of a line without keeping it.
fn skip_line(file: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = file.fill_buf()?;
        let (length, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        file.consume(length);
        if ended {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_rest_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.jsonl");
        let said = r#"{"type":"user","message":{"content":"Next: go on"}}"#;
        let long = "x".repeat(TRANSCRIPT_LINE_BYTES_MAX * 2 + 7);
        fs::write(&path, format!("{long}\n{said}\n\n")).expect("a file");
        let found = read(&path).expect("a transcript");
        assert_eq!((found.lines, found.skipped), (2, 1));
        assert_eq!(found.next_action.as_deref(), Some("go on"));
        assert!(read(folder.path()).is_err(), "a folder is no transcript");
    }
}
