//! Starts the coordinator of a workspace when a verb finds none.
//!
//! Any number of verbs may come first at the same moment: a file lock lets one of them start the
//! coordinator while the others wait, and a coordinator that lost to another one is no error.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// How long a coordinator may take from its start to its first answer.
const START_WITHIN: Duration = Duration::from_secs(60);
/// The longest pause between two looks, and between two starts.
const PAUSE_MAX: Duration = Duration::from_millis(50);
const RESTART_PAUSE_MAX: Duration = Duration::from_secs(2);
/// A log beyond this is begun anew.
const LOG_BYTES_MAX: u64 = 1024 * 1024;
/// Lines of the log that a failure quotes.
const TAIL_LINES_MAX: usize = 5;
/// What the coordinator must not take over from the verb that starts it: it serves everybody.
const CALLERS_OWN: [&str; 4] = ["BATON_TOKEN", "BATON_AGENT", "BATON_FENCE", "BATON_WORKSPACE"];

/// Returns when a coordinator listens on the socket of `workspace`.
pub(crate) fn launch(workspace: &Workspace) -> Result<(), Failure> {
    // A mistake in the settings is better told here than from the end of a log.
    workspace.idle_after()?;
    let run = workspace.run();
    let unusable = |error: std::io::Error| {
        let sentence = format!("cannot use {}: {error}", run.display());
        Failure::failed(sentence, "check the folder's permissions and the space on its disk")
    };
    DirBuilder::new().recursive(true).mode(0o700).create(&run).map_err(unusable)?;
    let mut private = OpenOptions::new();
    private.create(true).append(true).mode(0o600);
    let turn = private.open(run.join("start.lock")).map_err(unusable)?;
    turn.lock().map_err(unusable)?;

    let mut log = private.clone().read(true).open(workspace.log()).map_err(unusable)?;
    if log.metadata().map_err(unusable)?.len() > LOG_BYTES_MAX {
        log.set_len(0).map_err(unusable)?;
    }
    let quiet_until = log.seek(SeekFrom::End(0)).map_err(unusable)?;
    let spawn = || spawn(workspace, &log).map_err(unusable);
    watch(workspace, spawn).map_err(|why| {
        let said = tail(&log, quiet_until);
        let sentence = format!("the coordinator did not start: {why}{said}");
        Failure::failed(sentence, "run `baton serve` to watch it start")
    })
}

/// Why no coordinator came up.
struct NotUp(String);

impl std::fmt::Display for NotUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn watch(workspace: &Workspace, spawn: impl Fn() -> Result<Child, Failure>) -> Result<(), NotUp> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    let mut child: Option<Child> = None;
    let mut gave_way: Option<Instant> = None;
    let mut restart_pause = Duration::from_millis(50);
    let listens = || {
        let socket = workspace.socket()?;
        UnixStream::connect(socket.path()).map(drop)
    };
    // The first look comes before the first start: another verb may have had the turn before us.
    while listens().is_err() {
        if begun.elapsed() > START_WITHIN {
            return Err(NotUp(format!("it does not listen after {}s", START_WITHIN.as_secs())));
        }
        let ended = match child.as_mut().map(Child::try_wait) {
            None => {
                child = Some(spawn().map_err(|failure| NotUp(failure.sentence))?);
                continue;
            }
            Some(ended) => ended.map_err(|error| NotUp(error.to_string()))?,
        };
        match ended {
            None => (),
            Some(status) if !status.success() => return Err(NotUp(status.to_string())),
            // It found another coordinator and gave way. That one may have been about to end, so
            // it is tried again, ever more slowly in case it only takes long to come up.
            Some(_) if gave_way.get_or_insert_with(Instant::now).elapsed() < restart_pause => (),
            Some(_) => {
                child = None;
                gave_way = None;
                restart_pause = (restart_pause * 2).min(RESTART_PAUSE_MAX);
            }
        }
        sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
    Ok(())
}

fn spawn(workspace: &Workspace, log: &File) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["serve", "--background", "--workspace"])
        .arg(workspace.root())
        .current_dir(workspace.root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.try_clone()?);
    for name in CALLERS_OWN {
        command.env_remove(name);
    }
    command.spawn()
}

/// The last lines that the coordinator wrote after `start`, for the end of a sentence.
fn tail(mut log: &File, start: u64) -> String {
    let mut written = Vec::new();
    let read = log.seek(SeekFrom::Start(start));
    let read = read.and_then(|_| log.take(LOG_BYTES_MAX).read_to_end(&mut written));
    let text = String::from_utf8_lossy(&written);
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match (read, lines.as_slice()) {
        (Err(_), _) | (_, []) => String::new(),
        (Ok(_), lines) => {
            let shown = &lines[lines.len().saturating_sub(TAIL_LINES_MAX)..];
            format!("; its log ends with\n  {}", shown.join("\n  "))
        }
    }
}
