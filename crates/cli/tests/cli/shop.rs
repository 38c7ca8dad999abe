//! A workspace with skills that are small scripts, and a tmux server of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::desk::Desk;

/// How long a tag may take to come before a test has failed.
const WITHIN: &str = "60s";

pub(crate) struct Shop {
    pub(crate) desk: Desk,
    socket: String,
}

impl Shop {
    /// A workspace where these kinds are done by these scripts.
    pub(crate) fn new(skills: &[(&str, &str)]) -> Self {
        let desk = Desk::new();
        let mut table = "kinds:\n".to_owned();
        for (kind, script) in skills {
            let program = desk.path().join(format!(".baton/{kind}.sh"));
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a script");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a script");
            let program = program.display();
            table.push_str(&format!("  {kind}:\n    skill: /{kind}\n    mode: agent\n"));
            table.push_str(&format!("    command: [\"{program}\", \"{{file}}\", \"{{item}}\"]\n"));
        }
        fs::write(desk.path().join(".baton/dispatch.yaml"), table).expect("a table");
        let name = desk.path().file_name().expect("a name").to_string_lossy().replace('.', "");
        Self { desk, socket: format!("baton-test-{name}") }
    }

    /// Adds lines to the dispatch table.
    pub(crate) fn rule(&self, line: &str) {
        let path = self.desk.path().join(".baton/dispatch.yaml");
        let table = fs::read_to_string(&path).expect("a table");
        fs::write(path, format!("{line}\n{table}")).expect("a table");
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.desk.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.desk.path().join(name)).expect("a text")
    }

    /// One look of the daemon; returns what it said.
    pub(crate) fn looks(&self, more: &[&str]) -> String {
        let look = ["run", "--monitor-tags", "--once", "--tmux-socket", &self.socket];
        self.desk.run(&[&look[..], more].concat()).ok()
    }

    /// The daemon, watching.
    pub(crate) fn watches(&self, more: &[&str]) -> Child {
        let watch = ["run", "--monitor-tags", "--headless", "--debounce", "50ms"];
        self.desk.baton(&[&watch[..], more].concat()).spawn().expect("a daemon")
    }

    /// Waits until a file has a tag.
    pub(crate) fn awaits(&self, file: &str, tag: &str) {
        let ran = self.desk.run(&["await-tag", file, tag, "--timeout", WITHIN]);
        assert!(ran.err.is_empty(), "{ran}\n{}", self.text(file));
        ran.ok();
    }

    /// Waits until something is so, which no verb can wait for.
    pub(crate) fn until(&self, is_so: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < deadline, "it never was so");
            std::thread::yield_now();
        }
    }

    pub(crate) fn approves(&self, file: &str, kind: &str) {
        let (needs, go) = (format!("#needs-{kind}"), format!("#delegated-{kind}"));
        self.desk.run(&["tag", "swap", file, &needs, &go]).ok();
    }

    /// The names of tmux's windows.
    pub(crate) fn windows(&self) -> String {
        let list = ["-L", &self.socket, "list-windows", "-a", "-F", "#S #W"];
        let output = Command::new("tmux").args(list).output().expect("tmux");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The folders of sessions, in the order of their names.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let folders = ["sessions", ".baton/sessions"].map(|folder| self.desk.path().join(folder));
        let all = folders.iter().flat_map(fs::read_dir).flatten().flatten();
        let mut all: Vec<_> = all.map(|entry| entry.path()).collect();
        all.retain(|path| path.join(".state.json").exists());
        all.sort();
        all
    }

    /// Changes one field of a session's state, as another world would have written it.
    pub(crate) fn pretends(&self, session: &Path, field: &str, value: serde_json::Value) {
        let path = session.join(".state.json");
        let state = fs::read(&path).expect("a state");
        let mut state: serde_json::Value = serde_json::from_slice(&state).expect("JSON");
        state[field] = value;
        fs::write(path, state.to_string()).expect("a state");
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        // Without `expect`: a second panic would hide the first one.
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}
