//! What a worker says about itself in `.state.json`, and whether it is still there.
//!
//! A process id alone proves nothing: it is given to another process after a while, and after a
//! restart of the machine at once. So a worker is alive only when the process started at the same
//! moment of the same boot, and its heart beats. Beats are counted on the clock of that boot, which
//! nobody sets and which stands still while the machine sleeps. Of a worker on another machine only
//! the time of day is known.

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
use crate::plain::open_plain;
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
    /// Which machine; empty in files of before it was written down, which means this one.
    pub machine: String,
    /// When it last said that it lives, on the clock of that boot. Set by [`State::write`].
    pub beat: Option<Duration>,
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

    /// Returns which machine this is.
    fn machine(&self) -> io::Result<String>;

    /// Returns how long this run of the machine has been awake.
    fn awake(&self) -> Duration;

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
        let machine = self.machine()?;
        Ok(ProcessId { pid, started: process.started, boot, machine, beat: Some(self.awake()) })
    }
}

impl Processes for Proc {
    fn boot(&self) -> io::Result<String> {
        Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
    }

    fn machine(&self) -> io::Result<String> {
        let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        match id.trim() {
            "" => Ok(rustix::system::uname().nodename().to_string_lossy().into_owned()),
            id => Ok(id.to_owned()),
        }
    }

    fn awake(&self) -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Duration::try_from(now).unwrap_or_default()
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
    #[serde(default, skip_serializing_if = "String::is_empty")]
    machine: String,
    skill: String,
    phase: Phase,
    status: Status,
    heartbeat: String,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beat: Option<u64>,
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
        let file = open_plain(&path).map_err(failed)?;
        file.take(STATE_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > STATE_BYTES_MAX {
            return Err(StateError::TooLarge { path });
        }
        Self::parse(&text).map_err(|(field, why)| StateError::Wrong { path, field, why })
    }

    /// Writes the state file of a session's folder, whole or not at all, and syncs it.
    ///
    /// The time of this sign of life is read here, on both clocks.
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
        let mut now = self.clone();
        (now.heartbeat, now.process.beat) = (Timestamp::now(), Some(Proc.awake()));
        aside.write_new(&now.to_json()).map_err(failed("write beside it"))?;
        aside.publish().map_err(failed("replace it"))?;
        folder.sync_all().map_err(failed("sync its folder"))
    }

    /// Tells whether the worker is still there.
    ///
    /// An error means that the system did not say, and then nothing may be taken from the worker.
    pub fn liveness(&self, system: &impl Processes, now: Timestamp) -> io::Result<Liveness> {
        // A heartbeat from the future is that of a clock that was set back: a sign of life.
        let by_day = Duration::try_from(now.duration_since(self.heartbeat)).unwrap_or_default();
        let ProcessId { pid, started, boot, machine, beat } = &self.process;
        let silent = |age| (age > HEARTBEAT_AGE_MAX).then_some(Death::Silent { age });
        let death = if !machine.is_empty() && *machine != system.machine()? {
            silent(by_day)
        } else if system.boot()? != *boot {
            Some(Death::Rebooted)
        } else {
            match system.look(*pid)? {
                None => Some(Death::Gone),
                Some(process) if process.started != *started => Some(Death::Reused),
                Some(process) if process.zombie => Some(Death::Zombie),
                Some(_) => silent(beat.map_or(by_day, |beat| system.awake().saturating_sub(beat))),
            }
        };
        Ok(death.map_or(Liveness::Alive, Liveness::Dead))
    }

    fn to_json(&self) -> Vec<u8> {
        let written = Written {
            pid: self.process.pid,
            started: self.process.started,
            boot: self.process.boot.clone(),
            machine: self.process.machine.clone(),
            skill: self.skill.clone(),
            phase: self.phase,
            status: self.status,
            heartbeat: format!("{:.3}", self.heartbeat),
            beat: self.process.beat.and_then(|beat| u64::try_from(beat.as_millis()).ok()),
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
        let beat = written.beat.map(Duration::from_millis);
        let Written { pid, started, boot, machine, skill, phase, status, file, .. } = written;
        Ok(Self {
            process: ProcessId { pid, started, boot, machine, beat },
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
mod tests;
