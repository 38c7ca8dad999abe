//! Gemini CLI: the common fields are those of Claude Code, the events have other names, and a
//! refusal is `decision` and `reason` everywhere.

use serde_json::{Value, json};

use super::{Moment, Said, Told, plain};

/// The events that only this program has.
const EVENTS: [&str; 5] = ["BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "PreCompress"];

pub(super) fn is_known(form: &Value) -> bool {
    let event = form.get("hook_event_name").and_then(Value::as_str);
    event.is_some_and(|event| EVENTS.contains(&event))
}

pub(super) fn read(form: &Value) -> Told {
    // It tells before it looks whether there is anything to compress: with every request.
    Told { perhaps: true, ..plain(form) }
}

pub(super) fn answer(moment: Moment, said: &Said) -> Option<Value> {
    let event = match moment {
        Moment::SessionStart => "SessionStart",
        Moment::UserPrompt => "BeforeAgent",
        Moment::PostToolUse => "AfterTool",
        // A tool that is about to run, a compression and an end have no room for context, and
        // there are no events for subagents.
        Moment::PreToolUse
        | Moment::PreCompact
        | Moment::Stop
        | Moment::SubagentStart
        | Moment::SubagentStop => "",
    };
    match said {
        Said::Nothing => None,
        Said::Context(_) if event.is_empty() => None,
        Said::Context(text) => Some(json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": text },
        })),
        Said::Deny(why) | Said::GoOn(why) => Some(json!({ "decision": "deny", "reason": why })),
    }
}
