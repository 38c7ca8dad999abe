//! OpenCode: it has no hooks of its own; a small plugin calls us, so the form is ours.
//!
//! In: `{"hook_event_name", "session_id", "cwd", "tool_name", "tool_input", "transcript_path",
//! "agent_type"}`, all of them optional; `sessionID`, `directory`, `tool` and `args`, as plugins
//! get them, will do as well. `hook_event_name` is the plugin's event; `session.deleted` and
//! `SessionEnd` say that the session is over.
//!
//! Out: nothing, or one object: `{"deny": TEXT}` when the tool must not run (the plugin throws it
//! as an error), `{"context": TEXT}` what the model should know (the plugin adds it to the
//! message), or `{"go_on": TEXT}` what it should read before it stops (the plugin sends it as a
//! prompt).

use serde_json::{Value, json};

use super::{End, Said, Told, plain, tool};

pub(super) fn read(form: &Value) -> Told {
    let text = |name: &str| form.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut told = plain(form);
    told.session = told.session.or_else(|| text("sessionID").map(str::to_owned));
    told.folder = told.folder.or_else(|| text("directory").map(Into::into));
    told.acts |= text("tool").is_some_and(tool::acts);
    if let (Some(name), Some(args)) = (text("tool"), form.get("args")) {
        told.edit = tool::edit(name, args);
    }
    if text("hook_event_name") == Some("session.deleted") {
        told.end = Some(End::Left);
    }
    told
}

pub(super) fn answer(said: &Said) -> Option<Value> {
    match said {
        Said::Nothing => None,
        Said::Context(text) => Some(json!({ "context": text })),
        Said::Deny(why) => Some(json!({ "deny": why })),
        Said::GoOn(why) => Some(json!({ "go_on": why })),
    }
}
