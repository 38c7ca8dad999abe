//! What other rules would have made of recorded handoffs.

use std::collections::BTreeMap;

use baton_protocol::id::{AgentId, HandoffId, WorkflowId};
use baton_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What other rules would have made of recorded handoffs.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// Handoffs that were recorded from here on were decided again.
    pub since: Timestamp,
    /// How many there were.
    pub handoffs: u64,
    /// How many would be decided the same.
    pub same: u64,
    /// How many would not.
    pub differ: u64,
    /// How many could not be told, because their own rules do not decide them again as they did.
    pub untold: u64,
    /// The differences by kind, such as `initiated -> refused handoff-limit-exceeded`.
    pub by_kind: BTreeMap<String, u64>,
    /// The differences, the oldest first. Of very many the first are listed, and all counted.
    pub rows: Vec<WhatIfRow>,
}

/// A handoff that other rules would have decided otherwise.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIfRow {
    /// The record by which it began.
    pub seq: u64,
    /// When that was.
    pub at: Timestamp,
    /// Of which work.
    pub workflow: WorkflowId,
    /// Which one.
    pub handoff: HandoffId,
    /// Who passed.
    pub from_agent: AgentId,
    /// To whom.
    pub to_agent: AgentId,
    /// What was decided.
    pub then: String,
    /// What would have been.
    pub would: String,
    /// The code of the refusal, if it would have been refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why, in words, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
