//! Codex's lines: `{timestamp, type, payload}`, or in older ones the payload by itself.

use serde_json::Value;

use super::{Call, Transcript, TranscriptKind, shown};

/// Lines that belong to a rollout and say nothing that another line does not say too.
const SILENT: [&str; 4] = ["event_msg", "compacted", "ghost_snapshot", "world_state"];

impl Transcript {
    /// Takes a line if it is one of Codex's.
    pub(super) fn codex(&mut self, line: &Value) -> bool {
        let payload = &line["payload"];
        let known = match line["type"].as_str().unwrap_or_default() {
            "session_meta" if payload.is_object() => {
                self.place(payload["cwd"].as_str(), payload["git"]["branch"].as_str());
                true
            }
            "turn_context" if payload.is_object() => {
                self.place(payload["cwd"].as_str(), None);
                true
            }
            "response_item" => self.codex_item(payload),
            kind if SILENT.contains(&kind) => payload.is_object(),
            _ => self.codex_item(line),
        };
        if known {
            self.kind = Some(TranscriptKind::Codex);
        }
        known
    }

    fn codex_item(&mut self, item: &Value) -> bool {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap_or_default() {
            "message" => self.codex_message(item),
            "custom_tool_call" => {
                let input = item["input"].as_str().unwrap_or_default();
                self.codex_patch(id, input);
            }
            "function_call" => {
                let arguments = item["arguments"].as_str().unwrap_or_default();
                let arguments = serde_json::from_str(arguments).unwrap_or(Value::Null);
                self.codex_call(id, item["name"].as_str().unwrap_or_default(), &arguments);
            }
            "local_shell_call" => {
                self.codex_call(id, "shell", &item["action"]);
            }
            "function_call_output" | "custom_tool_call_output" => {
                let (failed, output) = outcome(&item["output"]);
                self.ended(id, failed, &output);
            }
            "reasoning" | "web_search_call" => (),
            _ => return false,
        }
        true
    }

    fn codex_message(&mut self, item: &Value) {
        let by_person = item["role"] == "user";
        if !by_person && item["role"] != "assistant" {
            return;
        }
        for part in item["content"].as_array().into_iter().flatten() {
            let text = part["text"].as_str().unwrap_or_default();
            // The surroundings and the project's instructions come as a person's words.
            let given = text.trim_start().starts_with('<') || text.starts_with("# AGENTS.md");
            if by_person && given {
                continue;
            }
            if by_person {
                self.asked = text.lines().map(str::trim).find(|l| !l.is_empty()).map(shown);
            }
            self.said.hear(text, self.lines);
        }
    }

    fn codex_call(&mut self, id: &str, name: &str, arguments: &Value) {
        match name {
            "update_plan" => {
                let steps = arguments["plan"].as_array().into_iter().flatten();
                let steps = steps
                    .filter_map(|step| Some((step["step"].as_str()?, step["status"].as_str()?)));
                self.plan.set(steps, self.lines);
            }
            "apply_patch" => {
                let patch = arguments["input"].as_str().or(arguments["patch"].as_str());
                self.codex_patch(id, patch.unwrap_or_default());
            }
            _ => {
                let command = command(arguments);
                if command.contains("*** Begin Patch") {
                    self.codex_patch(id, &command);
                } else if !command.is_empty() {
                    self.called(id, Call::Runs(shown(&command)));
                }
            }
        }
    }

    fn codex_patch(&mut self, id: &str, patch: &str) {
        let mut written: Vec<String> = Vec::new();
        for line in patch.lines() {
            let Some(line) = line.trim_end().strip_prefix("*** ") else { continue };
            if let Some(path) =
                line.strip_prefix("Add File: ").or_else(|| line.strip_prefix("Update File: "))
            {
                written.push(path.to_owned());
            } else if let Some(path) = line.strip_prefix("Move to: ") {
                // The file that was to be updated has this name from now on.
                if let Some(old) = written.pop() {
                    self.deleted(&old);
                }
                written.push(path.to_owned());
            } else if let Some(path) = line.strip_prefix("Delete File: ") {
                self.deleted(path);
            }
        }
        if !written.is_empty() {
            self.called(id, Call::Writes(written));
        }
    }
}

/// The command of a call, which is a text or words; of `bash -lc …` what the shell was told.
fn command(arguments: &Value) -> String {
    let command = arguments.get("command").or_else(|| arguments.get("cmd"));
    match command {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(words)) => {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, "-lc" | "-c", script] => (*script).to_owned(),
                words => words.join(" "),
            }
        }
        _ => String::new(),
    }
}

/// Whether a call failed, and what it printed. Outputs are JSON in a text, or plain text.
fn outcome(output: &Value) -> (bool, String) {
    let text = match output {
        Value::String(text) => text.clone(),
        other => other["content"].as_str().unwrap_or_default().to_owned(),
    };
    if let Ok(read @ Value::Object(_)) = serde_json::from_str::<Value>(&text) {
        let failed = read["metadata"]["exit_code"].as_i64().is_some_and(|code| code != 0);
        return (failed, read["output"].as_str().unwrap_or_default().to_owned());
    }
    let code = text.lines().take(8).find_map(|line| {
        let line = line.to_ascii_lowercase();
        let rest = line.split("exit code:").nth(1).or(line.split("exited with code").nth(1))?;
        rest.trim().parse::<i64>().ok()
    });
    (code.is_some_and(|code| code != 0), text)
}
