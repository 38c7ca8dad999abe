//! Looks at everything that can keep sessions from working together, and says how to mend it.
//!
//! It starts the coordinator, as every verb does, and changes nothing else.

mod clients;
mod tokens;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use baton_engine::view;
use hyper::Method;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::client::Client;
use crate::failure::Failure;
use crate::line::Line;
use crate::setup::in_path;
use crate::workspace::Workspace;

/// Less than this on the disk is worth a word, and less than that keeps the ledger from writing.
const SPACE_LOW: u64 = 200 * MIB;
const SPACE_OUT: u64 = 20 * MIB;
const MIB: u64 = 1024 * 1024;

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Ok,
    Warning,
    Problem,
}

impl Level {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    /// What was looked at, for programs.
    check: &'static str,
    pub(crate) sentence: String,
    pub(crate) hint: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, sentence: impl Into<String>) -> Self {
        Self { level: Level::Ok, check, sentence: sentence.into(), hint: None }
    }

    fn warning(check: &'static str, sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        let (sentence, hint) = (sentence.into(), Some(hint.into()));
        Self { level: Level::Warning, check, sentence, hint }
    }

    fn problem(check: &'static str, sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { level: Level::Problem, ..Self::warning(check, sentence, hint) }
    }

    fn failed(check: &'static str, failure: Failure) -> Self {
        Self::problem(check, failure.sentence, failure.hint)
    }

    pub(crate) fn json(&self) -> Value {
        let Self { level, check, sentence, hint } = self;
        json!({"check": check, "level": level.word(), "message": sentence, "hint": hint})
    }
}

/// Looks at everything.
pub(crate) fn examine(named: Option<&Path>) -> Vec<Finding> {
    let mut findings = vec![program()];
    match Workspace::find(named) {
        Err(failure) => {
            findings.push(Finding::failed("workspace", failure));
            findings.extend(clients::examine(None));
        }
        Ok(workspace) => {
            let root = workspace.root().display();
            findings.push(Finding::ok("workspace", format!("{root} is a workspace")));
            findings.extend([settings(&workspace), permissions(&workspace), disk(&workspace)]);
            findings.push(socket(&workspace));
            let (told, reachable) = coordinator(&workspace);
            findings.extend(told);
            findings.extend(tokens::examine(&workspace, reachable));
            findings.extend(clients::examine(Some(&workspace)));
        }
    }
    findings
}

/// Clients call `baton` by its name.
fn program() -> Finding {
    const CHECK: &str = "path";
    let own = std::env::current_exe().and_then(|own| own.canonicalize());
    let own = match own {
        Ok(own) => own,
        Err(error) => {
            let sentence = format!("cannot tell where this program is: {error}");
            return Finding::warning(CHECK, sentence, "start it by its whole path");
        }
    };
    let folder = own.parent().unwrap_or(&own).display();
    match in_path("baton").map(|found| (found.canonicalize().ok(), found)) {
        Some((Some(real), found)) if real == own => {
            Finding::ok(CHECK, format!("`baton` is this program: {}", found.display()))
        }
        Some((_, found)) => Finding::warning(
            CHECK,
            format!("`baton` is another program than this one: {}", found.display()),
            format!("put {folder} before it in PATH, or install this one over it"),
        ),
        None => Finding::warning(
            CHECK,
            "there is no `baton` in PATH, so clients do not find it",
            format!("add {folder} to PATH"),
        ),
    }
}

fn settings(workspace: &Workspace) -> Finding {
    const CHECK: &str = "settings";
    match workspace.settings().and_then(|_| workspace.secret_rules()) {
        Ok(_) => Finding::ok(CHECK, "its settings can be read"),
        Err(failure) => Finding::failed(CHECK, failure),
    }
}

fn permissions(workspace: &Workspace) -> Finding {
    const CHECK: &str = "permissions";
    let folder = workspace.root().join(Workspace::FOLDER);
    let data = match fs::metadata(&folder) {
        Ok(data) => data,
        Err(error) => {
            let sentence = format!("cannot look at {}: {error}", folder.display());
            return Finding::problem(CHECK, sentence, "check who owns it");
        }
    };
    let me = rustix::process::geteuid().as_raw();
    if data.uid() != me {
        let sentence = format!("{} belongs to another user", folder.display());
        return Finding::problem(CHECK, sentence, "run Baton as its owner, or change the owner");
    }
    if data.mode() & 0o077 != 0 {
        let sentence = format!("others may look into {}", folder.display());
        return Finding::problem(CHECK, sentence, format!("chmod 700 {}", folder.display()));
    }
    Finding::ok(CHECK, "only you can look into .baton")
}

fn disk(workspace: &Workspace) -> Finding {
    const CHECK: &str = "disk";
    let folder = workspace.root().join(Workspace::FOLDER);
    let free = match rustix::fs::statvfs(&folder) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => {
            let sentence = format!("cannot tell how much space there is: {error}");
            return Finding::warning(CHECK, sentence, "check the disk");
        }
    };
    let mib = free / MIB;
    let hint = "make room: `baton audit prune` drops records that are past their time";
    let sentence = format!("{mib} MiB are free on its disk");
    if free < SPACE_OUT {
        Finding::problem(CHECK, sentence, hint)
    } else if free < SPACE_LOW {
        Finding::warning(CHECK, sentence, hint)
    } else {
        Finding::ok(CHECK, sentence)
    }
}

/// A long path is no obstacle to us, but to other programs that would speak to the socket.
fn socket(workspace: &Workspace) -> Finding {
    const CHECK: &str = "socket";
    let named = workspace.run().join("baton.sock");
    match workspace.socket() {
        Ok(socket) if socket.path() == named => {
            Finding::ok(CHECK, "its socket's path is short enough for every program")
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Finding::problem(
            CHECK,
            format!("cannot use {}: {error}", named.display()),
            "check the folder's permissions",
        ),
        Ok(_) | Err(_) => Finding::warning(
            CHECK,
            "its socket's path is too long for other programs; Baton itself gets along",
            "move the workspace to a folder with a shorter path if others must speak to it",
        ),
    }
}

/// What is to be said of the coordinator and the ledger's lock, and whether it can be asked.
fn coordinator(workspace: &Workspace) -> (Vec<Finding>, bool) {
    const CHECK: &str = "coordinator";
    let line = Line::Socket(workspace.clone());
    let client = Caller::from_env(None).and_then(|caller| Client::new(line, caller, None));
    let client = match client {
        Ok(client) => client,
        Err(failure) => return (vec![Finding::failed(CHECK, failure)], false),
    };
    let running = matches!(client.peek(Method::GET, "/v1/status"), Ok(Some(_)));
    let held = workspace.is_held();
    let status = client.read("/v1/status").and_then(|reply| reply.read::<view::Status>());
    let status = match status {
        Ok(status) => status,
        Err(failure) if held => {
            let hint = "end the process that has it open, such as `baton serve` of another user";
            let lock =
                Finding::problem("lock", "a process has the ledger and answers nobody", hint);
            return (vec![lock, Finding::failed(CHECK, failure)], false);
        }
        Err(failure) => return (vec![Finding::failed(CHECK, failure)], false),
    };
    let (own, pid) = (env!("CARGO_PKG_VERSION"), status.pid);
    let how = if running { "runs" } else { "was started and runs" };
    let told = match status.version.as_str() {
        version if version == own => {
            Finding::ok(CHECK, format!("the coordinator {how} as process {pid}, version {own}"))
        }
        version => Finding::problem(
            CHECK,
            format!("the coordinator is version {version}, and this program is {own}"),
            "run `baton stop`; the next verb starts one of this version",
        ),
    };
    let lock = match workspace.is_held() {
        true => Finding::ok("lock", "the coordinator alone has the ledger open"),
        false => Finding::problem(
            "lock",
            "the coordinator runs without the ledger's lock: somebody replaced .baton/ledger",
            "run `baton stop`, and bring the folder back that was there before",
        ),
    };
    (vec![told, lock], true)
}
