//! Starts the coordinator of a workspace when a verb finds none.
//!
//! Any number of verbs may come first at the same moment: a file lock lets one of them start the
//! coordinator while the others wait, and a coordinator that lost to another one is no error.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// How long a coordinator may take from its start to its first answer.
const START_WITHIN: Duration = Duration::from_secs(60);
/// The longest pause between two looks, and between two starts.
const PAUSE_MAX: Duration = Duration::from_millis(50);
const RESTART_PAUSE_MAX: Duration = Duration::from_millis(500);
/// How often a coordinator that was killed while it came up is started again.
const KILLED_MAX: u32 = 3;
/// A log beyond this is begun anew.
const LOG_BYTES_MAX: u64 = 1024 * 1024;
/// The first number of an open file that is neither input, output nor errors.
const FIRST_OWN: i32 = 3;
/// Lines of the log that a failure quotes.
const TAIL_LINES_MAX: usize = 5;
/// All that the coordinator takes over from the verb that starts it. It serves everybody and runs
/// their notify commands, so no secret of the first one's shell may stay in it.
const TAKEN_OVER: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "BATON_LOG",
    // Where traces go, but not the headers that may hold a key for it.
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_RESOURCE_ATTRIBUTES",
    "OTEL_SDK_DISABLED",
    "OTEL_SERVICE_NAME",
    "RUST_BACKTRACE",
];
const TAKEN_OVER_BEGINNINGS: &[&str] = &["LC_", "XDG_"];

/// Returns when a coordinator listens on the socket of `workspace`.
pub(crate) fn launch(workspace: &Workspace) -> Result<(), Failure> {
    // A mistake in the settings is better told here than from the end of a log.
    workspace.settings()?;
    workspace.secret_rules()?;
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
    watch(workspace, spawn).map_err(|why| not_up(&why, &said_after(&log, quiet_until)))
}

/// Tells why, in the coordinator's own words if its log has any.
fn not_up(why: &NotUp, log: &str) -> Failure {
    let lines: Vec<_> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let after = |word: &str| lines.iter().rev().find_map(|line| line.trim().strip_prefix(word));
    if let (Some(cause), Some(hint)) = (after("error: "), after("hint: ")) {
        return Failure::failed(format!("the coordinator did not start: {cause}"), hint);
    }
    let shown = lines[lines.len().saturating_sub(TAIL_LINES_MAX)..].join("\n  ");
    let ends = if shown.is_empty() { "" } else { "; its log ends with\n  " };
    let sentence = format!("the coordinator did not start: {why}{ends}{shown}");
    Failure::failed(sentence, "run `baton serve` to watch it start")
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
    let mut killed = 0;
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
            // Somebody cleaned up too broadly, or memory was short; neither need happen again.
            Some(status) if status.signal().is_some() && killed < KILLED_MAX => {
                killed += 1;
                child = None;
            }
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
    // Whatever the caller's shell has open, locks among it, must not live on in the coordinator.
    close_fds::set_fds_cloexec_threadsafe(FIRST_OWN, &[]);
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["serve", "--background", "--workspace"])
        .arg(workspace.root())
        .current_dir(workspace.root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.try_clone()?)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_taken_over)));
    command.spawn()
}

fn is_taken_over(name: &str) -> bool {
    let begins = |beginning: &&str| name.starts_with(beginning);
    TAKEN_OVER.contains(&name) || TAKEN_OVER_BEGINNINGS.iter().any(begins)
}

/// What the coordinator wrote after `start`.
fn said_after(mut log: &File, start: u64) -> String {
    let mut written = Vec::new();
    let read = log.seek(SeekFrom::Start(start));
    let read = read.and_then(|_| log.take(LOG_BYTES_MAX).read_to_end(&mut written));
    read.map(|_| String::from_utf8_lossy(&written).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use expect_test::expect;

    use super::*;

    #[test]
    fn a_coordinator_that_is_killed_while_it_comes_up_is_started_again_a_few_times() {
        let folder = tempfile::tempdir().expect("a folder");
        let (workspace, _) = Workspace::create(folder.path()).expect("a workspace");
        let starts = Cell::new(0);
        let spawn = |script: &str| {
            starts.set(starts.get() + 1);
            Command::new("sh")
                .args(["-c", script])
                .spawn()
                .map_err(|error| Failure::failed(error.to_string(), ""))
        };
        let why = watch(&workspace, || spawn("kill -9 $$")).expect_err("nobody listens");
        assert_eq!((starts.get(), why.0.contains("signal: 9")), (1 + KILLED_MAX, true), "{why}");

        starts.set(0);
        watch(&workspace, || spawn("exit 1")).expect_err("nobody listens");
        assert_eq!(starts.get(), 1, "what fails by itself fails again");
    }

    #[test]
    fn the_cause_is_told_once_in_the_coordinators_own_words() {
        let said = |log: &str| {
            let Failure { sentence, hint, .. } = not_up(&NotUp("exit status: 1".to_owned()), log);
            format!("{sentence}\n{hint}\n")
        };
        expect![[r#"
            the coordinator did not start: cannot open the ledger: record 3 is damaged
            restore it
        "#]]
        .assert_eq(&said(
            "INFO up\nerror: cannot open the ledger: record 3 is damaged\n hint: restore it\n",
        ));
        expect![[r#"
            the coordinator did not start: exit status: 1; its log ends with
              thread main panicked
            run `baton serve` to watch it start
        "#]]
        .assert_eq(&said("thread main panicked\n\n"));
        assert!(!said("").contains("log"), "an empty log has nothing to say");
    }

    #[test]
    fn a_coordinator_takes_over_no_secrets() {
        for name in ["PATH", "LC_ALL", "XDG_RUNTIME_DIR", "BATON_LOG"] {
            assert!(is_taken_over(name), "{name}");
        }
        for name in ["BATON_TOKEN", "BATON_AGENT", "AWS_SECRET_ACCESS_KEY", "PATHS", "LD_PRELOAD"] {
            assert!(!is_taken_over(name), "{name}");
        }
    }
}
