//! Claude Code, and Codex, which took over its form: the event's name and the common fields lie at
//! the top, and an answer is `hookSpecificOutput`, or `decision` and `reason` when a turn ends.
//!
//! Codex refuses an answer with a field that it does not know, so no more is said than is meant.

use serde_json::{Value, json};

use super::{Moment, Said, Told, plain};

/// How it begins what it says itself, when a task in the background is done.
const OWN_PROMPT: &str = "<task-notification>";

pub(super) fn read(form: &Value) -> Told {
    let own = form.get("prompt").and_then(Value::as_str);
    let own = own.is_some_and(|prompt| prompt.starts_with(OWN_PROMPT));
    let told = plain(form);
    Told { unspoken: told.unspoken || own, ..told }
}

pub(super) fn answer(moment: Moment, said: &Said) -> Option<Value> {
    let event = match moment {
        Moment::SessionStart => "SessionStart",
        Moment::UserPrompt => "UserPromptSubmit",
        Moment::PreToolUse => "PreToolUse",
        Moment::PostToolUse => "PostToolUse",
        Moment::SubagentStart => "SubagentStart",
        // These have no output of their own.
        Moment::PreCompact | Moment::Stop | Moment::SubagentStop => "",
    };
    match said {
        Said::Nothing => None,
        Said::Context(_) if event.is_empty() => None,
        Said::Context(text) => Some(json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": text },
        })),
        Said::Deny(why) => Some(json!({
            "hookSpecificOutput": {
                "hookEventName": event,
                "permissionDecision": "deny",
                "permissionDecisionReason": why,
            },
        })),
        Said::GoOn(why) => Some(json!({ "decision": "block", "reason": why })),
    }
}
