//! A workspace in a temporary folder, and the real coordinator in it, to be killed.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::wire::{Caller, Request, Wire};

/// How long a coordinator may take from its start until it listens.
const START_WITHIN: Duration = Duration::from_secs(60);
/// What must not leak from the developer's terminal into a test.
const OWN: [&str; 5] =
    ["BATON_TOKEN", "BATON_AGENT", "BATON_FENCE", "BATON_WORKSPACE", "BATON_LOG"];

/// A workspace and its coordinator, which ends with the test.
pub(crate) struct Coordinator {
    pub(crate) folder: TempDir,
    pub(crate) child: Option<Child>,
}

impl Coordinator {
    /// A fresh workspace whose coordinator listens.
    pub(crate) fn new() -> Self {
        let mut new = Self { folder: tempfile::tempdir().expect("a folder"), child: None };
        let made = new.baton().arg("init").output().expect("the binary runs");
        assert!(made.status.success(), "{made:?}");
        // Many share one token here, and none of them is mad.
        let config = new.folder.path().join(".baton/config.toml");
        fs::write(config, "requests_per_second = 0\n").expect("a file");
        new.start();
        new
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join(".baton/run/baton.sock")
    }

    /// A new connection; the test fails if nobody listens.
    pub(crate) fn wire(&self) -> Wire {
        Wire::connect(&self.socket()).unwrap_or_else(|error| panic!("{error}\n{}", self.log()))
    }

    /// Starts it, as a verb would that found nobody, and returns when it listens.
    pub(crate) fn start(&mut self) {
        self.spawn();
        let (begun, socket) = (Instant::now(), self.socket());
        while Wire::connect(&socket).is_err() {
            let child = self.child.as_mut().expect("a child was spawned");
            let ended = child.try_wait().expect("a child can be asked");
            assert!(ended.is_none(), "it ended with {ended:?}\n{}", self.log());
            assert!(begun.elapsed() < START_WITHIN, "it does not listen\n{}", self.log());
            // Nothing tells when a socket begins to listen; this only paces the looking.
            sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn spawn(&mut self) {
        assert!(self.child.is_none(), "one coordinator at a time");
        let log = File::options().create(true).append(true).open(self.log_path());
        let mut command = self.baton();
        command.args(["serve", "--background"]).stderr(log.expect("a log"));
        self.child = Some(command.spawn().expect("the binary runs"));
    }

    /// Ends it without warning, and returns when it has gone.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Without `expect`: while a test fails, a second panic would hide the first one.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Makes agents known that can hold any number of tasks, and returns a token for each.
    pub(crate) fn agents<const N: usize>(&self, names: [&str; N]) -> [Caller; N] {
        let mut wire = self.wire();
        let mut post = |path, body: Value| {
            let (body, caller) = (body.to_string(), &Caller::OPERATOR);
            let body = body.as_bytes();
            let request = Request { method: "POST", path, caller, key: None, body };
            wire.ask(&request).expect("an answer").granted()
        };
        names.map(|name| {
            // Some delegations have little time, and may still be answered late.
            let tasks = 10_000;
            let profile = json!({"id": name, "max_concurrent_tasks": tasks, "answer_within": "1h"});
            post("/v1/commands", json!({"register": profile}));
            let made = post("/v1/tokens", json!({"agent": name}));
            Caller::agent(made["token"].as_str().expect("a token"))
        })
    }

    /// What it said on standard error, over all its lives.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("coordinator.log")
    }

    fn baton(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command.current_dir(self.folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
        for name in OWN {
            command.env_remove(name);
        }
        command
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.kill();
    }
}
