//! Claude Code, and Codex, which took over its form: the event's name and the common fields lie at
//! the top, and an answer is `hookSpecificOutput`, or `decision` and `reason` when a turn ends.
//!
//! Codex refuses an answer with a field that it does not know, so no more is said than is meant.

use serde_json::{Value, json};

use super::{Moment, Said, Told, plain};

pub(super) fn read(form: &Value) -> Told {
    plain(form)
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
