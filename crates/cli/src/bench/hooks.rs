//! How long a hook takes, from the start of its process to its end, as a coding agent's program
//! waits for it.
//!
//! Every run is the whole: a fresh process, one connection, a heartbeat that is due, and the
//! answer. Nothing is left out, not even where a real session would save the heartbeat. What keeps
//! a packet after `pre-compact` has answered is no part of it: nobody waits for that.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use baton_engine::view::Answer;
use baton_protocol::command::Command;
use baton_protocol::id::AgentId;
use serde::Serialize;
use serde_json::{Value, json};

use super::{BenchError, io};
use crate::caller::Caller;
use crate::client::Client;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::line::Line;
use crate::workspace::Workspace;

/// How long the process that a hook leaves behind may take to be done.
const BEHIND: Duration = Duration::from_millis(500);

/// What to measure.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct HooksArgs {
    /// How often each hook is run
    #[arg(long, value_name = "N", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,
    /// The folder in which a temporary workspace is made
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: std::path::PathBuf,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) runs: u32,
    /// A process that only says its version, for comparison.
    pub(crate) bare: Row,
    pub(crate) hooks: Vec<Row>,
}

/// One hook.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) hook: &'static str,
    pub(crate) median_ms: f64,
    pub(crate) worst_ms: f64,
    /// Bytes of the last answer.
    pub(crate) answered: usize,
}

/// What each hook is told, beside where and in which session.
fn told() -> Vec<(&'static str, &'static str, Value)> {
    let edit = |file: &str| json!({ "tool_name": "Edit", "tool_input": { "file_path": file } });
    vec![
        ("session-start", "session-start", json!({ "hook_event_name": "SessionStart" })),
        ("user-prompt", "user-prompt", json!({ "hook_event_name": "UserPromptSubmit" })),
        ("pre-tool-use, free file", "pre-tool-use", edit("free.rs")),
        ("pre-tool-use, locked file", "pre-tool-use", edit("locked.rs")),
        ("post-tool-use", "post-tool-use", edit("free.rs")),
        ("pre-compact", "pre-compact", json!({ "hook_event_name": "PreCompact" })),
        ("stop", "stop", json!({ "hook_event_name": "Stop", "stop_hook_active": false })),
        ("subagent-start", "subagent-start", json!({ "agent_type": "explorer" })),
        ("subagent-stop", "subagent-stop", json!({ "agent_type": "explorer" })),
        ("statusline", "statusline", json!({})),
        ("no workspace", "post-tool-use", json!({ "elsewhere": true })),
    ]
}

pub(super) fn measure(args: &HooksArgs, folder: &Path) -> Result<Report, BenchError> {
    let (workspace, _) = Workspace::create(folder).map_err(refused)?;
    let measured = furnished(&workspace).map_err(refused).and_then(|()| {
        let bare = row("a bare process", args.runs, || run(&workspace, &["--version"], ""))?;
        let mut hooks = Vec::new();
        for (name, event, form) in told() {
            hooks.push(hook(&workspace, args.runs, (name, event), form)?);
        }
        Ok(Report { runs: args.runs, bare, hooks })
    });
    run(&workspace, &["stop"], "")?;
    measured
}

fn hook(
    workspace: &Workspace,
    runs: u32,
    (name, event): (&'static str, &'static str),
    mut form: Value,
) -> Result<Row, BenchError> {
    let nowhere = tempfile::tempdir().map_err(io("make a folder"))?;
    let elsewhere = form.get("elsewhere").is_some();
    let place = if elsewhere { nowhere.path() } else { workspace.root() };
    form["cwd"] = json!(place);
    form["session_id"] = json!("bench");
    let input = form.to_string();
    let place = place.display().to_string();
    let words = match event {
        "statusline" => vec!["statusline", "--agent", "coder", "--workspace", &place],
        event => vec!["hook", event, "--agent", "coder", "--workspace", &place],
    };
    let beat = workspace.run().join("hooks/coder/beat");
    row(name, runs, || {
        // Whether it was there or not, the next heartbeat is due.
        let _ = fs::remove_file(&beat);
        let ran = run(workspace, &words, &input);
        if event == "pre-compact" {
            // Nobody compacts twice in a second, so what still runs is not measured with the next.
            std::thread::sleep(BEHIND);
        }
        ran
    })
}

fn row(
    hook: &'static str,
    runs: u32,
    mut once: impl FnMut() -> Result<(f64, usize), BenchError>,
) -> Result<Row, BenchError> {
    // The first one finds nothing in the system's caches.
    once()?;
    let mut times = Vec::new();
    let mut answered = 0;
    for _ in 0..runs {
        let (took, bytes) = once()?;
        times.push(took);
        answered = bytes;
    }
    times.sort_by(f64::total_cmp);
    let median_ms = times.get(times.len() / 2).copied().unwrap_or_default();
    let worst_ms = times.last().copied().unwrap_or_default();
    Ok(Row { hook, median_ms, worst_ms, answered })
}

/// Runs this program, and returns how long it took in milliseconds and how much it said.
fn run(workspace: &Workspace, words: &[&str], input: &str) -> Result<(f64, usize), BenchError> {
    let program = std::env::current_exe().map_err(io("find this program"))?;
    let mut command = Process::new(program);
    command.args(words).current_dir(workspace.root());
    for name in ["BATON_TOKEN", "BATON_AGENT", "BATON_URL", "BATON_WORKSPACE", "BATON_LOG"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let begun = Instant::now();
    let mut child = command.spawn().map_err(io("start a process"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that needs no input may have ended.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(io("wait for a process"))?;
    let took = begun.elapsed().as_secs_f64() * 1_000.0;
    match output.status.success() {
        true => Ok((took, output.stdout.len())),
        false => Err(BenchError::Baton(format!("`baton {}` failed", words.join(" ")))),
    }
}

/// Two agents, something that waits, something that is held, and a file that is locked.
fn furnished(workspace: &Workspace) -> Result<(), Failure> {
    let name = |name: &str| {
        let wrong = |error: baton_protocol::id::IdError| Failure::failed(error.to_string(), "");
        name.parse::<AgentId>().map_err(wrong)
    };
    let (coder, reviewer) = (name("coder")?, name("reviewer")?);
    Identity::made(workspace, Some(&coder))?;
    Identity::made(workspace, Some(&reviewer))?;
    let ask = |caller: Caller, command: Value| -> Result<Answer, Failure> {
        let command: Command = serde_json::from_value(command)
            .map_err(|error| Failure::failed(error.to_string(), "this is a bug; tell us"))?;
        let client = Client::new(Line::Socket(workspace.clone()), caller, None)?;
        client.command(&command)?.read()
    };
    let theirs = Caller::OperatorAs(reviewer);
    let work = ask(theirs.clone(), json!({ "start": { "title": "Review" } }))?.workflow;
    let lock = json!({ "workflow": work, "fence": 1, "paths": ["locked.rs"] });
    ask(theirs, json!({ "lock": lock }))?;
    let work = ask(Caller::Operator, json!({ "start": { "title": "Add a login page" } }))?.workflow;
    let mut passed = Vec::new();
    for reason in ["the design is done", "it needs notes"] {
        let back = json!({ "timeout": "1h" });
        let pass = json!({
            "workflow": work, "fence": 1, "to_agent": coder, "type": "delegation",
            "reason": reason, "return_protocol": back,
        });
        passed.push(ask(Caller::Operator, json!({ "pass": pass }))?.handoff);
    }
    let accept = json!({ "accept": { "handoff": passed[0] } });
    let taken = ask(Caller::OperatorAs(coder), accept)?;
    let held = json!({ "workflow": taken.workflow, "handoff": passed[0], "fence": taken.fence });
    let holds = workspace.run().join("holds");
    let written = fs::create_dir_all(&holds)
        .and_then(|()| fs::write(holds.join("coder.json"), json!({ "holds": [held] }).to_string()));
    written.map_err(|error| Failure::failed(error.to_string(), "see that there is room"))
}

fn refused(failure: Failure) -> BenchError {
    BenchError::Baton(failure.sentence)
}

/// The report for people.
pub(super) fn table(report: &Report) -> String {
    let mut text =
        format!("{:<28} {:>10} {:>10} {:>8}\n", "hook", "median ms", "worst ms", "bytes");
    for Row { hook, median_ms, worst_ms, answered } in
        std::iter::once(&report.bare).chain(&report.hooks)
    {
        let _ = writeln!(text, "{hook:<28} {median_ms:>10.1} {worst_ms:>10.1} {answered:>8}");
    }
    let _ = writeln!(text, "\n{} runs each, process start and heartbeat included", report.runs);
    text
}
