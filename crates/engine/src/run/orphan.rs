//! Runs that a coordinator left behind when it was killed. They are ended before the same work is
//! begun again, so that it is never done twice at the same time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::child::{self, Stat};

/// Names one process for ever: numbers are used again, and so are machines.
#[derive(Debug, Serialize, Deserialize)]
struct Trace {
    pid: i32,
    started: u64,
    boot: String,
}

/// Where the trace of the run `name` is.
pub(super) fn path(data: &Path, name: &str) -> PathBuf {
    data.join("run").join("runs").join(format!("{name}.json"))
}

/// Leaves a trace of a process that was just started.
pub(super) fn leave_trace(path: &Path, pid: i32) -> io::Result<()> {
    let Some(stat) = Stat::of(pid) else { return Ok(()) };
    let trace = Trace { pid, started: stat.started, boot: boot() };
    fs::write(path, serde_json::to_vec(&trace)?)
}

/// Ends whatever is left of the run that left the trace at `path`, and everything that carries all
/// its `marks`: a run may have been killed before its trace was written, and members of its group
/// may have outlived the one that was started.
pub(super) async fn end(path: &Path, marks: &[(&str, String)]) {
    let trace = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Trace>(&bytes).ok());
    if let Some(trace) = trace
        && trace.boot == boot()
        && Stat::of(trace.pid).is_some_and(|stat| stat.started == trace.started)
        && let Some(group) = Pid::from_raw(trace.pid)
    {
        tracing::info!(pid = trace.pid, "a run outlived its coordinator; it is ended");
        child::end_group(group).await;
    }
    let marks: Vec<String> = marks.iter().map(|(name, value)| format!("{name}={value}")).collect();
    for pid in child::processes().filter(|pid| carries(*pid, &marks)) {
        kill_marked(pid, &marks);
    }
    // It may never have been written.
    let _ = fs::remove_file(path);
}

/// Kills a process, if it is still the one that carries the marks.
#[cfg(target_os = "linux")]
fn kill_marked(pid: i32, marks: &[String]) {
    use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    let Some(named) = Pid::from_raw(pid) else { return };
    let Ok(held) = pidfd_open(named, PidfdFlags::empty()) else { return };
    // Looked at again through what is held: its number may have gone to another meanwhile.
    if carries(pid, marks) {
        tracing::info!(pid, "a process of a run outlived it; it is killed");
        // A failure means that it has ended by itself.
        let _ = pidfd_send_signal(held, Signal::KILL);
    }
}

/// Elsewhere nobody can tell what a process carries.
#[cfg(not(target_os = "linux"))]
fn kill_marked(_: i32, _: &[String]) {}

fn carries(pid: i32, marks: &[String]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let entries: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
    marks.iter().all(|mark| entries.contains(&mark.as_bytes()))
}

/// Which life of the machine this is.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    fn sleeper(mark: &str) -> std::process::Child {
        let mut command = Command::new("cat");
        command.env("BATON_HANDOFF", mark).stdin(Stdio::piped()).process_group(0);
        command.spawn().expect("it starts")
    }

    #[tokio::test]
    async fn a_number_that_was_used_again_is_never_hit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        let mut child = sleeper("another");
        let pid = i32::try_from(child.id()).expect("a pid");
        leave_trace(&path, pid).expect("a trace");
        let mut trace: Trace =
            serde_json::from_slice(&fs::read(&path).expect("a trace")).expect("a trace");
        trace.started -= 1;
        fs::write(&path, serde_json::to_vec(&trace).expect("json")).expect("a file");
        end(&path, &[("BATON_HANDOFF", "this".to_owned())]).await;
        assert!(child.try_wait().expect("known").is_none(), "it had nothing to do with the run");

        leave_trace(&path, pid).expect("a trace");
        // Waiting would close it, and then it might end by itself first.
        let _stays_open = child.stdin.take();
        let ended = tokio::task::spawn_blocking(move || child.wait());
        end(&path, &[("BATON_HANDOFF", "this".to_owned())]).await;
        assert!(!ended.await.expect("joined").expect("collected").success());
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn what_carries_the_marks_is_ended_also_without_a_trace() {
        let folder = tempfile::tempdir().expect("a folder");
        let mark = format!("mark-{}", std::process::id());
        let (mut marked, mut other) = (sleeper(&mark), sleeper("other"));
        // The marks are there once the program is.
        let marks = vec![format!("BATON_HANDOFF={mark}")];
        while !carries(i32::try_from(marked.id()).expect("a pid"), &marks) {
            tokio::task::yield_now().await;
        }
        end(&folder.path().join("trace"), &[("BATON_HANDOFF", mark)]).await;
        assert!(!marked.wait().expect("collected").success());
        assert!(other.try_wait().expect("known").is_none());
        drop(other.stdin.take());
        other.wait().expect("collected");
    }
}
