//! A workspace in a temporary folder, and the real binary to work in it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What must not leak from the developer's terminal into a test.
pub(crate) const OWN: [&str; 17] = [
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "GEMINI_CLI",
    "OPENCODE",
    "BATON_TOKEN",
    "BATON_AGENT",
    "BATON_FENCE",
    "BATON_WORKSPACE",
    "BATON_URL",
    "BATON_CA",
    "BATON_LOG",
    "COLUMNS",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "TRACEPARENT",
    "CLICOLOR_FORCE",
    "NO_COLOR",
];

/// A workspace whose coordinator ends with the test.
pub(crate) struct Desk {
    folder: TempDir,
}

impl Desk {
    /// A fresh workspace without agents.
    pub(crate) fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().expect("a folder") };
        desk.run(&["init"]).ok();
        desk
    }

    /// A fresh workspace where these agents are known.
    pub(crate) fn with(agents: &[&str]) -> Self {
        let desk = Self::new();
        for agent in agents {
            desk.run(&["agent", "add", agent]).ok();
        }
        desk
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The binary, ready to run in the workspace.
    pub(crate) fn baton<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command.args(args).current_dir(self.path()).stdin(Stdio::null());
        for name in OWN {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        let output = self.baton(args).output().expect("the binary runs");
        Ran::new(output, args)
    }

    /// Runs it with more in its environment.
    pub(crate) fn run_with<S: AsRef<OsStr>>(&self, args: &[S], env: &[(&str, &str)]) -> Ran {
        let mut command = self.baton(args);
        let output = command.envs(env.iter().copied()).output().expect("the binary runs");
        Ran::new(output, args)
    }

    /// Runs it and reads what it prints as JSON.
    pub(crate) fn json<S: AsRef<OsStr>>(&self, args: &[S]) -> Value {
        let mut words: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        words.push(OsStr::new("--json"));
        let ran = self.run(&words);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran}"))
    }

    /// Starts a workflow and returns its id.
    pub(crate) fn start(&self, title: &str) -> String {
        self.run(&["start", title, "--quiet"]).ok().trim().to_owned()
    }

    /// The coordinator's process.
    pub(crate) fn coordinator(&self) -> u64 {
        self.json(&["status"])["pid"].as_u64().expect("a running coordinator")
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // Without `expect`: a second panic would hide the first one.
        let _ = self.baton(&["stop"]).output();
    }
}

/// What one run of the binary did.
pub(crate) struct Ran {
    args: Vec<String>,
    exit: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { args, exit, out, err } = self;
        write!(f, "baton {} ended with {exit:?}\n{out}{err}", args.join(" "))
    }
}

impl Ran {
    pub(crate) fn new<S: AsRef<OsStr>>(output: Output, args: &[S]) -> Self {
        Self {
            args: args.iter().map(|arg| arg.as_ref().to_string_lossy().into_owned()).collect(),
            exit: output.status.code(),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// What it printed; the test fails if the run did.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.exit, Some(0), "{self}");
        self.out
    }

    /// What it said on standard error; the test fails if the run ended any other way.
    #[track_caller]
    pub(crate) fn fails(self, exit: i32) -> String {
        assert_eq!(self.exit, Some(exit), "{self}");
        self.err
    }
}
