//! What a coding agent's transcript tells about its work, by plain rules and without a model.
//!
//! Lines come one at a time and only what may be told in the end is kept, so a transcript of any
//! length takes the same memory. What the rules are stands in `docs/context.md`, "Packets"; they
//! look at what the agent and the person said (`said`) and at the tools that were called (here).

mod claude;
mod codex;
mod plan;
mod said;

use std::collections::VecDeque;

use baton_protocol::mask;
use serde::Serialize;
use serde_json::Value;

use self::plan::Plan;
use self::said::Said;

/// Files, decisions and failed commands that are remembered; the oldest are forgotten.
const REMEMBERED_MAX: usize = 64;
/// Calls that are remembered until their result comes.
const CALLS_MAX: usize = 256;
/// Characters of a command that a blocker repeats.
const COMMAND_CHARS_MAX: usize = 80;

/// Which program wrote a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TranscriptKind {
    /// Claude Code's JSONL.
    ClaudeCode,
    /// Codex's rollout JSONL.
    Codex,
}

/// What was found in a transcript. What was not found is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Who wrote it, if any line was understood.
    pub kind: Option<TranscriptKind>,
    /// The folder that was worked in.
    pub folder: Option<String>,
    /// The branch that it names last.
    pub branch: Option<String>,
    /// What was decided, oldest first.
    pub decisions: Vec<String>,
    /// Files that were written, in the order in which they were written last.
    pub files: Vec<String>,
    /// What stands in the way.
    pub blockers: Vec<String>,
    /// What was being worked on.
    pub current_task: Option<String>,
    /// What comes next.
    pub next_action: Option<String>,
    /// Lines that there were.
    pub lines: u64,
    /// Lines that were no JSON of a known form.
    pub skipped: u64,
}

/// Reads a transcript line by line.
#[derive(Debug, Default)]
pub struct Transcript {
    kind: Option<TranscriptKind>,
    folder: Option<String>,
    branch: Option<String>,
    said: Said,
    plan: Plan,
    files: Vec<String>,
    calls: VecDeque<(String, Call)>,
    failed: Vec<(String, String)>,
    asked: Option<String>,
    lines: u64,
    skipped: u64,
}

/// A call of a tool whose result is not there yet.
#[derive(Debug)]
enum Call {
    /// It writes these files.
    Writes(Vec<String>),
    /// It runs this command.
    Runs(String),
}

impl Transcript {
    /// Takes one line; empty ones do not count.
    pub fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        self.lines += 1;
        let known = serde_json::from_str::<Value>(line)
            .is_ok_and(|value| self.claude(&value) || self.codex(&value));
        self.skipped += u64::from(!known);
    }

    /// Takes note of a line that was too long to be read.
    pub fn unreadable_line(&mut self) {
        self.lines += 1;
        self.skipped += 1;
    }

    /// What all of it tells.
    pub fn finish(mut self) -> Found {
        // Whoever was interrupted in a call has most likely written.
        for (_, call) in std::mem::take(&mut self.calls) {
            self.wrote_all(call);
        }
        let Self { said, plan, files, failed, asked, .. } = self;
        let mut blockers = said.blockers;
        blockers.extend(failed.into_iter().map(|(command, why)| match why.as_str() {
            "" => format!("`{command}` fails"),
            why => format!("`{command}` fails: {why}"),
        }));
        let current_task = plan.under_way().or(said.task).or(asked);
        // Whatever was said or planned last is meant.
        let next_action = match (said.next, plan.ahead()) {
            (Some((at, next)), Some(_)) if at >= plan.changed_at => Some(next),
            (Some((_, next)), None) => Some(next),
            (_, ahead) => ahead,
        };
        // What is told of a transcript may be shown and sent anywhere.
        let safe = |text: String| mask(&text).into_owned();
        let all = |texts: Vec<String>| texts.into_iter().map(safe).collect();
        Found {
            kind: self.kind,
            folder: self.folder,
            branch: self.branch,
            decisions: all(said.decisions),
            files,
            blockers: all(blockers),
            current_task: current_task.map(safe),
            next_action: next_action.map(safe),
            lines: self.lines,
            skipped: self.skipped,
        }
    }

    fn place(&mut self, folder: Option<&str>, branch: Option<&str>) {
        if self.folder.is_none() {
            self.folder = folder.map(str::to_owned);
        }
        if let Some(branch) = branch.filter(|branch| !branch.is_empty()) {
            self.branch = Some(branch.to_owned());
        }
    }

    fn called(&mut self, id: &str, call: Call) {
        if self.calls.len() == CALLS_MAX
            && let Some((_, call)) = self.calls.pop_front()
        {
            self.wrote_all(call);
        }
        self.calls.push_back((id.to_owned(), call));
    }

    /// Hears how a call went. `output` is looked at only when it failed.
    fn ended(&mut self, id: &str, failed: bool, output: &str) {
        let Some(at) = self.calls.iter().position(|(known, _)| known == id) else { return };
        match self.calls.remove(at) {
            Some((_, call @ Call::Writes(_))) if !failed => self.wrote_all(call),
            Some((_, Call::Runs(command))) => {
                self.failed.retain(|(other, _)| *other != command);
                if failed && checks(&command) {
                    push_bounded(&mut self.failed, (command, telling_line(output)));
                }
            }
            Some((_, Call::Writes(_))) | None => (),
        }
    }

    fn wrote_all(&mut self, call: Call) {
        if let Call::Writes(files) = call {
            files.iter().for_each(|file| self.wrote(file));
        }
    }

    fn wrote(&mut self, path: &str) {
        let path = self.seen_from_folder(path);
        self.files.retain(|file| *file != path);
        push_bounded(&mut self.files, path);
    }

    fn deleted(&mut self, path: &str) {
        let path = self.seen_from_folder(path);
        self.files.retain(|file| *file != path);
    }

    /// The path as it is seen from where the work was done.
    fn seen_from_folder(&self, path: &str) -> String {
        let folder = self.folder.as_deref().unwrap_or_default().trim_end_matches('/');
        let inside = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        inside.filter(|_| !folder.is_empty()).unwrap_or(path).to_owned()
    }
}

fn push_bounded<T>(list: &mut Vec<T>, entry: T) {
    if list.len() == REMEMBERED_MAX {
        list.remove(0);
    }
    list.push(entry);
}

/// Whether a command should succeed before the work goes on: it builds, tests or checks. That a
/// search found nothing stands in nobody's way.
fn checks(command: &str) -> bool {
    const WORDS: [&str; 9] =
        ["test", "build", "check", "lint", "clippy", "compile", "tsc", "pytest", "vitest"];
    let mut words = command.split(|c: char| !c.is_alphanumeric());
    words.any(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()))
}

fn shown(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(COMMAND_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The first line that says `error` or `fail`; otherwise the first that says anything.
fn telling_line(output: &str) -> String {
    let said = |line: &&str| !line.is_empty() && !line.to_ascii_lowercase().contains("exit code");
    let lines = || output.lines().map(str::trim).filter(said);
    let tells = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.contains("error") || line.contains("fail")
    };
    let line = lines().find(tells).or_else(|| lines().next()).unwrap_or_default();
    shown(line)
}

#[cfg(test)]
mod tests;
