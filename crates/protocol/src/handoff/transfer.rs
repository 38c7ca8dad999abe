//! How much of a conversation travels with a handoff, and what was made of it.

use serde::{Deserialize, Serialize};

/// What becomes of a conversation on its way.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferMode {
    /// All of it.
    Full,
    /// A summary instead of it.
    Summary,
    /// The messages that have to do with the task, in their order.
    RelevantOnly,
}

/// Which parts of a conversation travel.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Include {
    /// What was said to the model by whoever set it up.
    pub system_messages: bool,
    /// What the agent asked of its tools.
    pub tool_calls: bool,
    /// What they answered.
    pub tool_results: bool,
    /// What the agent thought.
    pub agent_reasoning: bool,
}

impl Default for Include {
    fn default() -> Self {
        Self {
            system_messages: true,
            tool_calls: true,
            tool_results: true,
            // What an agent thought on its way helps nobody after it, and is most of what it said.
            agent_reasoning: false,
        }
    }
}

/// How the sender wants its conversation to travel. What it does not say follows from the type of
/// the handoff.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Transfer {
    /// What becomes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_mode: Option<TransferMode>,
    /// How many messages travel at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_messages: Option<u32>,
    /// How many tokens they are at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Which parts travel.
    pub include: Include,
}

/// What was made of a conversation before it was recorded.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transferred {
    /// In which way.
    pub mode: TransferMode,
    /// How many messages there were.
    pub messages_before: u32,
    /// How many travel; a summary is one.
    pub messages: u32,
    /// How many tokens there were.
    pub tokens_before: u64,
    /// How many travel.
    pub tokens: u64,
    /// How many secrets were masked in what there was.
    #[serde(default, skip_serializing_if = "none")]
    pub masked: u32,
    /// SHA-256 of what there was, as canonical JSON.
    pub source: String,
    /// What was mended so that every tool call has its one result, in the order of the messages.
    /// A long list ends with how many there were more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
    /// What else the receiver should know, such as a summariser that did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn none(count: &u32) -> bool {
    *count == 0
}
