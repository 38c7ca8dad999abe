//! What a worker says about itself in `.state.json`, and whether it is still there.
//!
//! A process id alone proves nothing: it is given to another process after a while, and after a
//! restart of the machine at once. So a worker is alive only when the process started at the same
//! moment of the same boot, and its heart beats.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::aside::Aside;
use crate::item::ItemKey;
use crate::record::Fence;

/// The name of the file, in the folder of a session.
pub const STATE_FILE: &str = ".state.json";

/// The largest such file, in bytes.
pub const STATE_BYTES_MAX: u64 = 64 * 1024;

/// How often a worker writes that it is alive.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);

/// How old a sign of life may be.
pub const HEARTBEAT_AGE_MAX: Duration = Duration::from_secs(90);

/// What a worker is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The process that does the work.
    pub process: ProcessId,
    /// The skill that it follows, such as `/fix`.
    pub skill: String,
    /// How far it is.
    pub phase: Phase,
    /// How it goes.
    pub status: Status,
    /// When it last said so.
    pub heartbeat: Timestamp,
    /// The request, as a path below the workspace.
    pub file: String,
    /// Which item of it.
    pub item: ItemKey,
    /// The number of its claim.
    pub fence: Fence,
}

/// A process, told apart from all others that ever had or will have its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did.
    pub started: u64,
    /// Which run of the machine that was.
    pub boot: String,
}

/// How far a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It has the item and has not begun.
    Claimed,
    /// It works.
    Running,
    /// It has the answer and ends the item.
    Finishing,
}

/// How a worker's work goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Not over.
    Working,
    /// Over, with an answer.
    Done,
    /// Over, without one.
    Failed,
}

/// Whether a worker is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is.
    Alive,
    /// It is not, and what it held may be taken from it.
    Dead(Death),
}

/// How it is known that a worker is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// The machine was restarted since.
    Rebooted,
    /// No process has its number.
    Gone,
    /// Another process has its number now.
    Reused,
    /// It has ended and nobody asked how.
    Zombie,
    /// It is there, but has not said so for too long.
    Silent {
        /// For how long.
        age: Duration,
    },
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rebooted => f.write_str("the machine was restarted"),
            Self::Gone => f.write_str("the process is gone"),
            Self::Reused => f.write_str("another process has its number"),
            Self::Zombie => f.write_str("the process has ended"),
            Self::Silent { age } => write!(f, "no sign of life for {} s", age.as_secs()),
        }
    }
}

/// What the system knows about its processes. The tests have one where numbers are reused.
pub trait Processes {
    /// Returns which run of the machine this is.
    fn boot(&self) -> io::Result<String>;

    /// Returns what is known of a process, or `None` when nothing has its number.
    fn look(&self, pid: u32) -> io::Result<Option<Process>>;
}

/// What the system knows about one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// When it started, in clock ticks since the machine did.
    pub started: u64,
    /// Whether it has ended and only its entry is left.
    pub zombie: bool,
}

/// The processes of this machine, from `/proc`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proc;

impl Proc {
    /// Names a process, so that it is known again; such as [`std::process::id`] or a child.
    pub fn name(self, pid: u32) -> io::Result<ProcessId> {
        let boot = self.boot()?;
        let gone = || io::Error::new(io::ErrorKind::NotFound, "the process is gone");
        let process = self.look(pid)?.ok_or_else(gone)?;
        Ok(ProcessId { pid, started: process.started, boot })
    }
}

impl Processes for Proc {
    fn boot(&self) -> io::Result<String> {
        Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
    }

    fn look(&self, pid: u32) -> io::Result<Option<Process>> {
        match fs::read(format!("/proc/{pid}/stat")) {
            Ok(stat) => {
                let odd = || io::Error::new(io::ErrorKind::InvalidData, "cannot understand /proc");
                stat_line(&String::from_utf8_lossy(&stat)).map(Some).ok_or_else(odd)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // It ended between the opening and the reading.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Reads `PID (name) S …`. The name may itself have blanks and brackets.
fn stat_line(line: &str) -> Option<Process> {
    const STARTED: usize = 22 - 3;
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<_> = rest.split_ascii_whitespace().collect();
    let zombie = matches!(*fields.first()?, "Z" | "X" | "x");
    Some(Process { started: fields.get(STARTED)?.parse().ok()?, zombie })
}

/// Why a state file could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The disk or the system failed, or the file is not there.
    #[error("{}: cannot {doing}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },

    /// Over the limit.
    #[error("{} is too large, expected at most {STATE_BYTES_MAX} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },

    /// Not what a worker writes.
    #[error("{}: {field}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The field that is wrong; `.` when it is the whole.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The file's own form.
#[derive(Serialize, Deserialize)]
struct Written {
    pid: u32,
    started: u64,
    boot: String,
    skill: String,
    phase: Phase,
    status: Status,
    heartbeat: String,
    file: String,
    item: String,
    fence: u64,
}

impl State {
    /// Reads the state file of a session's folder.
    pub fn read(session: &Path) -> Result<Self, StateError> {
        let path = session.join(STATE_FILE);
        let failed = |source| StateError::Failed { path: path.clone(), doing: "read it", source };
        let mut text = Vec::new();
        let file = File::open(&path).map_err(failed)?;
        file.take(STATE_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > STATE_BYTES_MAX {
            return Err(StateError::TooLarge { path });
        }
        Self::parse(&text).map_err(|(field, why)| StateError::Wrong { path, field, why })
    }

    /// Writes the state file of a session's folder, whole or not at all, and syncs it.
    pub fn write(&self, session: &Path) -> Result<(), StateError> {
        let path = session.join(STATE_FILE);
        let failed = |doing| {
            let path = path.clone();
            move |source| StateError::Failed { path, doing, source }
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(session, flags, Mode::empty()).map_err(io::Error::from);
        let folder = File::from(folder.map_err(failed("open its folder"))?);
        let mut aside = Aside::take(&folder, STATE_FILE.as_ref()).map_err(failed("lock it"))?;
        aside.write_new(&self.to_json()).map_err(failed("write beside it"))?;
        aside.publish().map_err(failed("replace it"))?;
        folder.sync_all().map_err(failed("sync its folder"))
    }

    /// Tells whether the worker is still there.
    ///
    /// An error means that the system did not say, and then nothing may be taken from the worker.
    pub fn liveness(&self, system: &impl Processes, now: Timestamp) -> io::Result<Liveness> {
        if system.boot()? != self.process.boot {
            return Ok(Liveness::Dead(Death::Rebooted));
        }
        let death = match system.look(self.process.pid)? {
            None => Some(Death::Gone),
            Some(process) if process.started != self.process.started => Some(Death::Reused),
            Some(process) if process.zombie => Some(Death::Zombie),
            Some(_) => {
                // A heartbeat from the future is that of a clock that was set back: a sign of life.
                let age = now.duration_since(self.heartbeat);
                let age = Duration::try_from(age).unwrap_or_default();
                (age > HEARTBEAT_AGE_MAX).then_some(Death::Silent { age })
            }
        };
        Ok(death.map_or(Liveness::Alive, Liveness::Dead))
    }

    fn to_json(&self) -> Vec<u8> {
        let written = Written {
            pid: self.process.pid,
            started: self.process.started,
            boot: self.process.boot.clone(),
            skill: self.skill.clone(),
            phase: self.phase,
            status: self.status,
            heartbeat: format!("{:.3}", self.heartbeat),
            file: self.file.clone(),
            item: self.item.to_string(),
            fence: self.fence.0,
        };
        // Strings and numbers always are JSON, so there is nothing that could fail.
        let mut text = serde_json::to_vec_pretty(&written).unwrap_or_default();
        text.push(b'\n');
        text
    }

    fn parse(text: &[u8]) -> Result<Self, (String, String)> {
        let json = &mut serde_json::Deserializer::from_slice(text);
        let written: Written = serde_path_to_error::deserialize(json)
            .map_err(|error| (error.path().to_string(), error.inner().to_string()))?;
        let said = |field: &str| {
            let field = field.to_owned();
            move |error: String| (field, error)
        };
        let heartbeat = written.heartbeat.parse().map_err(|error: jiff::Error| error.to_string());
        let item = written.item.parse().map_err(|error: crate::ItemKeyError| error.to_string());
        let Written { pid, started, boot, skill, phase, status, file, .. } = written;
        Ok(Self {
            process: ProcessId { pid, started, boot },
            skill,
            phase,
            status,
            heartbeat: heartbeat.map_err(said("heartbeat"))?,
            file,
            item: item.map_err(said("item"))?,
            fence: Fence(written.fence),
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use tempfile::TempDir;

    use super::*;

    /// A machine with one process.
    struct Machine {
        boot: &'static str,
        process: Option<Process>,
    }

    impl Processes for Machine {
        fn boot(&self) -> io::Result<String> {
            Ok(self.boot.to_owned())
        }

        fn look(&self, pid: u32) -> io::Result<Option<Process>> {
            Ok(self.process.filter(|_| pid == 7))
        }
    }

    fn state() -> State {
        State {
            process: ProcessId { pid: 7, started: 100, boot: "b1".to_owned() },
            skill: "/fix".to_owned(),
            phase: Phase::Running,
            status: Status::Working,
            heartbeat: "2026-11-16T12:00:00.5Z".parse().unwrap(),
            file: "requests/a.md".to_owned(),
            item: "#fix@0123abcd".parse().unwrap(),
            fence: Fence(2),
        }
    }

    fn after(seconds: i64) -> Timestamp {
        state().heartbeat + SignedDuration::from_secs(seconds)
    }

    #[test]
    fn a_worker_is_alive_only_as_the_same_process_of_the_same_boot() {
        let alive = Some(Process { started: 100, zombie: false });
        let says = |boot, process, seconds| {
            let machine = Machine { boot, process };
            match state().liveness(&machine, after(seconds)).unwrap() {
                Liveness::Alive => "alive".to_owned(),
                Liveness::Dead(death) => death.to_string(),
            }
        };
        assert_eq!(says("b1", alive, 90), "alive");
        assert_eq!(says("b1", alive, -3600), "alive");
        assert_eq!(says("b1", alive, 91), "no sign of life for 91 s");
        assert_eq!(says("b2", alive, 0), "the machine was restarted");
        assert_eq!(says("b1", None, 0), "the process is gone");
        let reused = Some(Process { started: 101, zombie: false });
        assert_eq!(says("b1", reused, 0), "another process has its number");
        let zombie = Some(Process { started: 100, zombie: true });
        assert_eq!(says("b1", zombie, 0), "the process has ended");
    }

    #[test]
    fn what_was_written_is_read_again_and_nothing_else_is_left() {
        let folder = TempDir::new().unwrap();
        state().write(folder.path()).unwrap();
        let done = State { status: Status::Done, phase: Phase::Finishing, ..state() };
        done.write(folder.path()).unwrap();
        assert_eq!(State::read(folder.path()).unwrap(), done);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_wrong_file_is_told_by_its_field() {
        let good = String::from_utf8(state().to_json()).unwrap();
        let complaint = |old: &str, new: &str| {
            assert!(good.contains(old), "{good}");
            let (field, why) = State::parse(good.replace(old, new).as_bytes()).unwrap_err();
            format!("{field}: {why}")
        };
        assert!(complaint("\"pid\": 7", "\"pid\": -7").starts_with("pid: "));
        assert!(complaint("running", "runing").starts_with("phase: unknown variant"));
        assert!(complaint("#fix@", "fix@").starts_with("item: found `fix@0123abcd`"));
        assert!(complaint("2026-11-16T", "16.11.2026 ").starts_with("heartbeat: "));
        assert!(complaint("\"fence\": 2", "\"x\": 2").contains("missing field `fence`"));
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join(STATE_FILE), vec![b' '; 64 * 1024 + 1]).unwrap();
        let refused = State::read(folder.path()).unwrap_err();
        assert!(matches!(refused, StateError::TooLarge { .. }));
    }

    #[test]
    fn this_process_is_alive_and_its_dead_child_is_not() {
        let own = Proc.name(std::process::id()).unwrap();
        let state = State { process: own, heartbeat: Timestamp::now(), ..state() };
        assert_eq!(state.liveness(&Proc, state.heartbeat).unwrap(), Liveness::Alive);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = Proc.name(child.id()).unwrap();
        let of_child = State { process, ..state };
        assert_eq!(of_child.liveness(&Proc, of_child.heartbeat).unwrap(), Liveness::Alive);
        child.kill().unwrap();
        child.wait().unwrap();
        let dead = of_child.liveness(&Proc, of_child.heartbeat).unwrap();
        assert_eq!(dead, Liveness::Dead(Death::Gone));
        let odd = stat_line("7 (a) b) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99 x");
        assert_eq!(odd, Some(Process { started: 99, zombie: true }));
    }
}
