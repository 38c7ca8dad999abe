//! The programs that call us, and the form in which each of them asks and wants to be answered.
//!
//! Everything that is one program's own lies here, one file a program. Nothing here decides.

mod claude_code;
mod gemini;
mod opencode;

use std::path::PathBuf;
use std::str::FromStr;

use serde_json::Value;

use super::tool::{self, Edit};

/// What happens in a session, as `baton hook` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    SessionStart,
    UserPrompt,
    PreToolUse,
    PostToolUse,
    PreCompact,
    Stop,
    SubagentStart,
    SubagentStop,
}

impl Moment {
    pub(crate) const WORDS: [&'static str; 8] = [
        "session-start",
        "user-prompt",
        "pre-tool-use",
        "post-tool-use",
        "pre-compact",
        "stop",
        "subagent-start",
        "subagent-stop",
    ];
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "session-start" => Self::SessionStart,
            "user-prompt" => Self::UserPrompt,
            "pre-tool-use" => Self::PreToolUse,
            "post-tool-use" => Self::PostToolUse,
            "pre-compact" => Self::PreCompact,
            "stop" => Self::Stop,
            "subagent-start" => Self::SubagentStart,
            "subagent-stop" => Self::SubagentStop,
            _ => return Err(format!("expected one of {}", Self::WORDS.join(", "))),
        })
    }
}

/// A program that a coding agent runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    ClaudeCode,
    Codex,
    Gemini,
    OpenCode,
}

impl Program {
    pub(crate) const WORDS: [&'static str; 4] = ["claude-code", "codex", "gemini", "opencode"];
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "claude-code" => Self::ClaudeCode,
            "codex" => Self::Codex,
            "gemini" => Self::Gemini,
            "opencode" => Self::OpenCode,
            _ => return Err(format!("expected one of {}", Self::WORDS.join(", "))),
        })
    }
}

/// What a program told us. What it did not say, or said in a way that we do not know, is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) session: Option<String>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) transcript: Option<PathBuf>,
    /// What a tool is about to write, or has written.
    pub(crate) edit: Edit,
    /// Whether the tool may have done something; one that only looks, or speaks with us, has not.
    pub(crate) acts: bool,
    /// Whether the agent goes on only because a hook asked it to.
    pub(crate) goes_on: bool,
    /// Whether the session itself is over, and not only a turn of it.
    pub(crate) end: Option<End>,
    pub(crate) subagent: Option<String>,
    /// Whether a prompt came from no person: it is a subagent's, or the program's own.
    pub(crate) unspoken: bool,
    /// Whether it may be about to compact its context, and mostly is not.
    pub(crate) perhaps: bool,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The person begins anew or takes up another session in the same window.
    GoesOn,
    /// Nobody is there any more.
    Left,
}

/// What we answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Nothing,
    /// The model should know this.
    Context(String),
    /// The tool must not run, for this reason.
    Deny(String),
    /// The agent must not stop before it has read this.
    GoOn(String),
}

impl Program {
    /// The one that was named, or the one that asks in this form.
    pub(super) fn of(named: Option<Self>, form: &Value) -> Self {
        let known = || match () {
            () if gemini::is_known(form) => Self::Gemini,
            () if form.get("turn_id").is_some() => Self::Codex,
            () => Self::ClaudeCode,
        };
        named.unwrap_or_else(known)
    }

    /// Reads what it told.
    pub(super) fn read(self, form: &Value) -> Told {
        match self {
            // Codex took over the form of Claude Code.
            Self::ClaudeCode | Self::Codex => claude_code::read(form),
            Self::Gemini => gemini::read(form),
            Self::OpenCode => opencode::read(form),
        }
    }

    /// What it is answered; nothing says the least, and costs nothing.
    pub(super) fn answer(self, moment: Moment, said: &Said) -> Option<Value> {
        match self {
            Self::ClaudeCode | Self::Codex => claude_code::answer(moment, said),
            Self::Gemini => gemini::answer(moment, said),
            Self::OpenCode => opencode::answer(said),
        }
    }
}

/// The fields that all of them have in the same place.
fn plain(form: &Value) -> Told {
    let text = |name: &str| form.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    Told {
        session: text("session_id").map(str::to_owned),
        folder: text("cwd").map(PathBuf::from),
        transcript: text("transcript_path").map(PathBuf::from),
        edit: match (text("tool_name"), form.get("tool_input")) {
            (Some(name), Some(input)) => tool::edit(name, input),
            (Some(_), None) | (None, _) => Edit::default(),
        },
        acts: text("tool_name").is_some_and(tool::acts),
        goes_on: form.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false),
        end: (text("hook_event_name") == Some("SessionEnd")).then(|| match text("reason") {
            Some("clear" | "resume") => End::GoesOn,
            Some(_) | None => End::Left,
        }),
        subagent: text("agent_type").or_else(|| text("agent_name")).map(str::to_owned),
        unspoken: text("agent_id").is_some(),
        perhaps: false,
    }
}
