//! Starts workers: in windows of tmux, or by themselves with what they say in a file.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use baton_tags::ItemKey;
use jiff::Timestamp;

use crate::tagging::tmux::Tmux;

/// Starts workers.
#[derive(Clone, Debug)]
pub(crate) struct Spawner {
    /// This program as it was at the beginning: later another may stand in its place.
    program: PathBuf,
    /// Where a person can watch them; nowhere if there is none.
    tmux: Option<Tmux>,
}

impl Spawner {
    pub(crate) fn new(tmux: Option<Tmux>) -> io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, tmux })
    }

    /// Starts a worker for one item, and returns what it is called. It goes on when the daemon
    /// ends.
    pub(crate) fn start(&self, root: &Path, file: &Path, item: &ItemKey) -> io::Result<String> {
        let words = words(&self.program, root, file, item, self.tmux.is_none());
        match &self.tmux {
            Some(tmux) => tmux.open(item.kind(), Timestamp::now().as_second(), root, &words),
            None => headless(root, &words),
        }
    }
}

/// The worker as words. The mark comes by `env`, because what is set for a session of tmux would
/// mark every shell that a person opens there.
fn words(
    program: &Path,
    root: &Path,
    file: &Path,
    item: &ItemKey,
    headless: bool,
) -> Vec<OsString> {
    let clean = ["env", "-u", "BATON_TOKEN", "-u", "BATON_URL"];
    let mut words: Vec<OsString> = clean.into_iter().map(OsString::from).collect();
    words.push(format!("BATON_AGENT={}", item.kind()).into());
    words.push(program.into());
    words.push("--workspace".into());
    words.push(root.into());
    words.push("work".into());
    words.push(format!("--item={item}").into());
    if headless {
        words.push("--headless".into());
    }
    words.push("--".into());
    words.push(file.into());
    words
}

fn headless(root: &Path, words: &[OsString]) -> io::Result<String> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    // A group of its own: Ctrl-C at the daemon is not meant for it. What it says stands in the
    // folder of its session.
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let name = format!("process {}", child.id());
    // Collected when it ends, or its number would look alive.
    std::thread::spawn(move || child.wait());
    Ok(name)
}
