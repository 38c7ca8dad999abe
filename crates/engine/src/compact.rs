//! The compact artifact of a handoff, made from what its receiver sees of the work: for agents that
//! have little room.

use baton_context::{Door, Draft, Story, Tokenizer, TooLong};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::view::HandoffView;

/// What a handoff comes to in at most 500 tokens.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactView {
    /// As YAML.
    pub yaml: String,
    /// How many tokens that is.
    pub tokens: usize,
    /// What was cut so that it fits, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<String>,
}

/// Makes the artifact, unless an agent's name alone is too long for it: names are never cut.
pub(crate) fn compact(view: &HandoffView) -> Result<CompactView, TooLong> {
    // Its limits are those of this vocabulary, whatever else is counted with.
    let made = draft(view).compact(view.timestamp, Door::Shorten, Tokenizer::default())?;
    let cuts = made.cuts.iter().map(ToString::to_string).collect();
    Ok(CompactView { yaml: made.yaml, tokens: made.tokens, cuts })
}

fn draft(view: &HandoffView) -> Draft {
    let (line, variables) = (&view.line, &view.context.context_variables);
    let custom = |name: &str| said(&variables["custom"][name]);
    let or = |text: String, other: String| if text.is_empty() { other } else { text };
    let task = line.task.clone().unwrap_or_else(|| line.title.clone());
    let paths = view.context.artifacts.iter().map(|made| made.produced.path.to_string());
    let held = list(&variables["files_in_progress"], "path");
    let mut files: Vec<String> = paths.collect();
    files.extend(held.into_iter().filter(|path| !files.contains(path)).collect::<Vec<_>>());
    Draft {
        story_context: Story {
            story_id: or(custom("story_id"), line.workflow.short()),
            story_path: custom("story_path"),
            story_status: or(custom("story_status"), said(&variables["task_status"])),
            current_task: task,
            branch: custom("branch"),
        },
        decisions: list(&variables["decisions_made"], "description"),
        files_modified: files,
        blockers: list(&variables["custom"]["blockers"], "description"),
        next_action: or(custom("next_action"), line.reason.clone()),
        ..Draft::between(line.from_agent.clone(), line.to_agent.clone())
    }
}

/// The entries of a list: words, or objects that say it under `name`.
fn list(value: &Value, name: &str) -> Vec<String> {
    let entry = |entry: &Value| match entry {
        Value::Object(fields) => fields.get(name).map(said).unwrap_or_default(),
        other => said(other),
    };
    match value {
        Value::Array(entries) => {
            entries.iter().map(entry).filter(|text| !text.is_empty()).collect()
        }
        Value::Null => Vec::new(),
        other => vec![said(other)],
    }
}

fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
