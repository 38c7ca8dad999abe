//! A desk with an agent that works in a session, and what its program says.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::desk::Desk;

pub(super) const CLIENTS: [&str; 4] = ["claude-code", "codex", "gemini", "opencode"];

/// A desk where `coder` and `reviewer` are known and have tokens as sessions of theirs would.
pub(super) struct Bench {
    pub(super) desk: Desk,
}

impl Bench {
    pub(super) fn new() -> Self {
        let bench = Self { desk: Desk::with(&["coder", "reviewer"]) };
        let folder = bench.root().join(".baton/sessions");
        fs::create_dir_all(&folder).expect("a folder");
        for agent in ["coder", "reviewer"] {
            let token = bench.desk.run(&["token", "create", "--agent", agent]).ok();
            fs::write(folder.join(format!("{agent}.token")), token.trim()).expect("a token");
        }
        bench
    }

    pub(super) fn root(&self) -> PathBuf {
        self.desk.path().canonicalize().expect("a folder")
    }

    /// What a program sends, with its own words in place of what stands for them.
    pub(super) fn sample(&self, client: &str, event: &str, words: &[(&str, &str)]) -> String {
        let path = format!("{}/tests/cli/hooks/{client}/{event}.json", env!("CARGO_MANIFEST_DIR"));
        let mut sample = fs::read_to_string(path).expect("a sample");
        let root = self.root().display().to_string();
        let usual =
            [("CWD", root.as_str()), ("TRANSCRIPT", "/nowhere/t.jsonl"), ("SESSION", "s-1")];
        for (name, value) in words.iter().chain(&usual) {
            sample = sample.replace(name, value);
        }
        sample
    }

    /// Runs a hook of `coder` and returns what it says; it must end well and say nothing else.
    #[track_caller]
    pub(super) fn hook(&self, client: &str, event: &str, words: &[(&str, &str)]) -> String {
        let sample = self.sample(client, event, words);
        let verb = match event {
            "session-end" => "stop",
            "user-prompt-subagent" | "user-prompt-task" => "user-prompt",
            event => event,
        };
        let args = ["hook", verb, "--agent", "coder", "--client", client];
        // What would go on in the background is done when the hook ends.
        silent(self.feed(&args, sample.as_bytes(), &[("BATON_HOOK_STAYS", "1")]))
    }

    /// Runs the binary with something on standard input.
    pub(super) fn feed(&self, args: &[&str], input: &[u8], env: &[(&str, &str)]) -> Output {
        let mut command = self.desk.baton(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.envs(env.iter().copied()).spawn().expect("a process");
        // Whoever has heard enough hangs up.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        child.wait_with_output().expect("an end")
    }

    /// Runs a verb on behalf of an agent.
    #[track_caller]
    pub(super) fn as_agent(&self, agent: &str, args: &[&str]) -> String {
        self.desk.run(&[args, &["--as", agent]].concat()).ok()
    }

    /// A workflow that the agent itself began: its id and fence.
    pub(super) fn holds(&self, agent: &str, title: &str) -> (String, String) {
        (self.as_agent(agent, &["start", title, "--quiet"]).trim().to_owned(), "1".to_owned())
    }

    pub(super) fn lock(&self, agent: &str, path: &str) {
        let (work, fence) = self.holds(agent, "Locked");
        self.as_agent(agent, &["lock", &work, "--fence", &fence, path]);
    }

    /// Delegates something to an agent: the handoff.
    pub(super) fn delegate(&self, agent: &str, task: &str) -> String {
        let work = self.desk.start(task.lines().next().unwrap_or(task));
        let pass = ["pass", &work, "--to", agent, "--type", "delegation", "--timeout", "1h"];
        let words = ["--reason", "needed", "--task", task, "--quiet"];
        self.desk.run(&[&pass[..], &words].concat()).ok().trim().to_owned()
    }

    /// The same, and the agent accepts it: workflow, fence, handoff.
    pub(super) fn accepted(&self, agent: &str, task: &str) -> (String, String, String) {
        let handoff = self.delegate(agent, task);
        let line = self.desk.json(&["accept", &handoff, "--as", agent]);
        let workflow = line["handoff"]["workflow"].as_str().expect("a workflow").to_owned();
        (workflow, line["fence"].to_string(), handoff)
    }

    /// Asks for many changes at once, as the operator.
    pub(super) fn batch(&self, lines: &str) {
        let mut stream = UnixStream::connect(self.root().join(".baton/run/baton.sock"));
        let stream = stream.as_mut().expect("a coordinator");
        let length = lines.len();
        let head = format!(
            "POST /v1/batch HTTP/1.1\r\nhost: baton\r\nconnection: close\r\n\
             content-type: application/x-ndjson\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("a line");
        stream.write_all(lines.as_bytes()).expect("a line");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer:.400}");
        assert!(!answer.contains("\"problem\""), "{answer:.800}");
    }

    /// Writes down what the MCP server of an agent would.
    pub(super) fn believes(&self, agent: &str, holds: &[(&str, Option<&str>, &str)]) {
        let hold = |(workflow, handoff, fence): &(&str, Option<&str>, &str)| {
            let fence: u64 = fence.parse().expect("a number");
            json!({ "workflow": workflow, "handoff": handoff, "fence": fence })
        };
        let holds: Vec<_> = holds.iter().map(hold).collect();
        let folder = self.root().join(".baton/run/holds");
        fs::create_dir_all(&folder).expect("a folder");
        let listed = json!({ "holds": holds }).to_string();
        fs::write(folder.join(format!("{agent}.json")), listed).expect("a file");
    }
}

/// What a run said; it must have ended well, and without a word on standard error.
#[track_caller]
pub(super) fn silent(output: Output) -> String {
    let (out, err) = (String::from_utf8(output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), err.as_ref()), (Some(0), ""), "{out:?}");
    out.expect("UTF-8").trim_end().to_owned()
}

pub(super) fn answer(said: &str) -> Value {
    assert_eq!(said.lines().count(), 1, "{said}");
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Why an edit is refused, in the form of `client`.
pub(super) fn denied(client: &str, said: &str) -> Option<String> {
    if said.is_empty() {
        return None;
    }
    let said = answer(said);
    let why = match client {
        "claude-code" | "codex" => {
            let output = &said["hookSpecificOutput"];
            assert_eq!(output["permissionDecision"], "deny", "{said}");
            &output["permissionDecisionReason"]
        }
        "gemini" => {
            assert_eq!(said["decision"], "deny", "{said}");
            &said["reason"]
        }
        _ => &said["deny"],
    };
    why.as_str().map(str::to_owned)
}

/// What the model is told.
pub(super) fn context(said: &str) -> Option<String> {
    if said.is_empty() {
        return None;
    }
    let said = answer(said);
    let specific = said["hookSpecificOutput"]["additionalContext"].as_str();
    specific.or_else(|| said["context"].as_str()).map(str::to_owned)
}
