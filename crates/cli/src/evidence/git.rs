//! Asks git about the folder that is worked in.
//!
//! Git is started with words, never through a shell, with a time limit, and so that it starts
//! nothing that the repository names: no hooks, no pager, no monitor, no diff programs.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use baton_protocol::mask;
use serde::Serialize;

/// How long one question to git may take.
const WITHIN: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Changed files that are named; a packet has room for fewer.
const FILES_MAX: usize = 200;
/// Commits that are named.
const COMMITS: &str = "3";

/// What git says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Repository {
    /// Its top folder.
    #[serde(skip)]
    pub(crate) root: PathBuf,
    /// The branch, or where a detached head stands.
    pub(crate) branch: String,
    /// How much is changed and not committed, as git puts it.
    pub(crate) diff_stat: String,
    /// Files that are changed and not committed, the last touched last; if there are none, those
    /// of the last commit.
    pub(crate) files: Vec<String>,
    /// Whether `files` are those of the last commit.
    pub(crate) committed: bool,
    /// The last commits, the newest first.
    pub(crate) commits: Vec<String>,
}

/// Asks about `folder`; nothing if it lies in no repository, or there is no git to ask.
pub(crate) fn repository(folder: &Path) -> Option<Repository> {
    let ask = |words: &[&str]| answer(folder, words);
    let root = PathBuf::from(line(ask(&["rev-parse", "--show-toplevel"])?));
    let branch = ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).map(line);
    let branch = branch.filter(|branch| !branch.is_empty()).unwrap_or_else(|| {
        let commit = ask(&["rev-parse", "--short", "HEAD"]).map(line).unwrap_or_default();
        format!("detached at {commit}")
    });
    let status = ["status", "--porcelain=v1", "-z", "--untracked-files=all"];
    let changed = ask(&[&status[..], &["--ignore-submodules=all"]].concat());
    let mut files = changed_files(&changed.unwrap_or_default());
    let committed = files.is_empty();
    if committed {
        let tree = ["diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-z", "HEAD"];
        let names = ask(&tree).unwrap_or_default();
        files = names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(lossy).collect();
    }
    // A name alone does not tell which file was touched last; the disk does.
    files.sort_by_cached_key(|file| (touched(&root.join(file)), file.clone()));
    files.drain(..files.len().saturating_sub(FILES_MAX));
    let plain = ["--shortstat", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"];
    let diff = |more: &[&str]| ask(&[&["diff"][..], &plain, more].concat()).map(line);
    // Before the first commit there is no HEAD to compare with.
    let diff_stat = diff(&["HEAD"]).or_else(|| diff(&["--cached"])).unwrap_or_default();
    let log = ask(&["log", "-n", COMMITS, "--no-show-signature", "--format=%h %s"]);
    let told = lossy(&log.unwrap_or_default());
    let commits = told.lines().map(|line| mask(line).into_owned()).collect();
    Some(Repository { root, branch, diff_stat, files, committed, commits })
}

/// The paths of `git status --porcelain=v1 -z`; files that are gone were not modified.
fn changed_files(status: &[u8]) -> Vec<String> {
    let mut entries = status.split(|byte| *byte == 0);
    let mut files = Vec::new();
    while let Some(entry) = entries.next() {
        let (Some(states), Some(path)) = (entry.get(..2), entry.get(3..)) else { continue };
        // The name that a renamed or copied file had before follows as an entry of its own.
        if states.iter().any(|state| matches!(state, b'R' | b'C')) {
            entries.next();
        }
        if states[1] != b'D' && states != b"D " {
            files.push(lossy(path));
        }
    }
    files
}

fn touched(path: &Path) -> SystemTime {
    let touched = path.symlink_metadata().and_then(|data| data.modified());
    touched.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Names need not be UTF-8; what is not is shown as a question mark in a box.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn line(bytes: Vec<u8>) -> String {
    lossy(&bytes).trim().to_owned()
}

/// What git prints, if it succeeds in time.
fn answer(folder: &Path, words: &[&str]) -> Option<Vec<u8>> {
    let quiet = ["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
    let words = quiet.iter().chain(words).map(OsStr::new);
    let mut child = Command::new("git")
        .args(words)
        .current_dir(folder)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .env_remove("GIT_EXTERNAL_DIFF")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let output = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes);
        // Nobody waits any more when the time is over.
        let _ = send.send(read.map(|_| bytes));
    });
    let began = Instant::now();
    let read = receive.recv_timeout(WITHIN);
    let ended = ends(&mut child, WITHIN.saturating_sub(began.elapsed()));
    read.ok()?.ok().filter(|_| ended)
}

/// Waits for a child; one that takes too long is killed.
fn ends(child: &mut Child, within: Duration) -> bool {
    let until = Instant::now() + within;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
            Ok(None) | Err(_) => {
                // It may have ended by itself just now.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_deleted_and_odd_names_are_read() {
        let status = b"R  new name.rs\0old.rs\0 M a.rs\0?? b\xff.bin\0 D gone.rs\0D  too.rs\0\
                       A  \xe6\xbc\xa2.txt\0UU both.rs\0x\0";
        let expected = ["new name.rs", "a.rs", "b\u{fffd}.bin", "漢.txt", "both.rs"];
        assert_eq!(changed_files(status), expected);
        assert_eq!(changed_files(b""), [""; 0]);
    }
}
