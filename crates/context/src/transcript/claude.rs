//! Claude Code's lines: `user` and `assistant` messages whose content is text or blocks.

use serde_json::Value;

use super::{Call, Transcript, TranscriptKind, shown};

/// Kinds of lines that belong to a transcript and say nothing about the work.
const SILENT: [&str; 8] = [
    "summary",
    "system",
    "progress",
    "file-history-snapshot",
    "queue-operation",
    "permission-mode",
    "attachment",
    "last-prompt",
];

impl Transcript {
    /// Takes a line if it is one of Claude Code's.
    pub(super) fn claude(&mut self, line: &Value) -> bool {
        let kind = line["type"].as_str().unwrap_or_default();
        if SILENT.contains(&kind) && line.get("payload").is_none() {
            return true;
        }
        let message = &line["message"];
        if !matches!(kind, "user" | "assistant") || !message.is_object() {
            return false;
        }
        self.kind = Some(TranscriptKind::ClaudeCode);
        self.place(line["cwd"].as_str(), line["gitBranch"].as_str());
        // An agent below this one speaks for itself: only what it wrote is ours.
        let own = line["isSidechain"] != true && line["isMeta"] != true;
        let by_person = kind == "user";
        match &message["content"] {
            Value::String(text) if own => self.claude_text(text, by_person),
            Value::Array(blocks) => {
                blocks.iter().for_each(|block| self.claude_block(block, own, by_person));
            }
            _ => (),
        }
        true
    }

    fn claude_block(&mut self, block: &Value, own: bool, by_person: bool) {
        match block["type"].as_str().unwrap_or_default() {
            "text" if own => {
                self.claude_text(block["text"].as_str().unwrap_or_default(), by_person);
            }
            "tool_use" => self.claude_call(block, own),
            "tool_result" => {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                let failed = block["is_error"] == true;
                self.ended(id, failed, &output(&block["content"]));
            }
            _ => (),
        }
    }

    fn claude_text(&mut self, text: &str, by_person: bool) {
        // Commands, their output and reminders come as a person's words, in tags.
        if by_person && text.trim_start().starts_with('<') {
            return;
        }
        // The summary with which a full conversation goes on is no order.
        if by_person && !text.starts_with("This session is being continued") {
            self.asked = text.lines().map(str::trim).find(|l| !l.is_empty()).map(shown);
        }
        self.said.hear(text, self.lines);
    }

    fn claude_call(&mut self, block: &Value, own: bool) {
        let (id, input) = (block["id"].as_str().unwrap_or_default(), &block["input"]);
        let text = |key: &str| input[key].as_str().unwrap_or_default();
        match block["name"].as_str().unwrap_or_default() {
            "Write" | "Edit" | "MultiEdit" if !text("file_path").is_empty() => {
                self.called(id, Call::Writes(vec![text("file_path").to_owned()]));
            }
            "NotebookEdit" if !text("notebook_path").is_empty() => {
                self.called(id, Call::Writes(vec![text("notebook_path").to_owned()]));
            }
            "Bash" if own => self.called(id, Call::Runs(shown(text("command")))),
            "TodoWrite" if own => {
                let todos = input["todos"].as_array().into_iter().flatten();
                let todos = todos
                    .filter_map(|todo| Some((todo["content"].as_str()?, todo["status"].as_str()?)));
                self.plan.set(todos, self.lines);
            }
            "TaskCreate" if own => self.plan.add(text("subject"), self.lines),
            "TaskUpdate" if own => {
                let number = text("taskId").parse().unwrap_or(0);
                self.plan.update(number, text("status"), self.lines);
            }
            _ => (),
        }
    }
}

/// The text of a result, which is a text or blocks.
fn output(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
