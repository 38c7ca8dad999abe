//! Starts workers: in windows of tmux, or by themselves with what they say in a file.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use baton_tags::ItemKey;
use jiff::Timestamp;

use crate::tagging::tmux::Tmux;

/// How workers are started.
#[derive(Clone, Debug)]
pub(crate) enum Spawner {
    /// In a window that a person can watch.
    Tmux(Tmux),
    /// Without a terminal.
    Headless,
}

impl Spawner {
    /// Starts a worker for one item, and returns what it is called. It goes on when the daemon
    /// ends.
    pub(crate) fn start(&self, root: &Path, file: &Path, item: &ItemKey) -> io::Result<String> {
        let words = words(root, file, item, self)?;
        match self {
            Self::Tmux(tmux) => tmux.open(item.kind(), Timestamp::now().as_second(), root, &words),
            Self::Headless => headless(root, &words),
        }
    }
}

/// The worker as words. The mark comes by `env`, because what is set for a session of tmux would
/// mark every shell that a person opens there.
fn words(root: &Path, file: &Path, item: &ItemKey, spawner: &Spawner) -> io::Result<Vec<OsString>> {
    let mut words: Vec<OsString> = vec!["env".into()];
    words.push(format!("BATON_AGENT={}", item.kind()).into());
    words.push(std::env::current_exe()?.into_os_string());
    words.push("--workspace".into());
    words.push(root.into());
    words.push("work".into());
    words.push(format!("--item={item}").into());
    if let Spawner::Headless = spawner {
        words.push("--headless".into());
    }
    words.push("--".into());
    words.push(file.into());
    Ok(words)
}

fn headless(root: &Path, words: &[OsString]) -> io::Result<String> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    // A group of its own: Ctrl-C at the daemon is not meant for it. What it says stands in the
    // folder of its session.
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .env_remove("BATON_TOKEN")
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
