//! The workspace as a whole: its counts, what an id names, and how the coordinator is.

use std::collections::BTreeMap;

use baton_protocol::id::{GroupId, HandoffId, WorkflowId};
use baton_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Counts, in the names that dashboards of the field use.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Handoffs that ever began; for an agent, those of the live work that it sees.
    pub total_handoffs: u64,
    /// Handoffs that are not over.
    pub pending_handoffs: u64,
    /// By agent.
    pub handoffs_by_agent: BTreeMap<String, AgentStats>,
    /// Records by type; none for an agent.
    pub records_by_type: BTreeMap<String, u64>,
    /// Workflows that are not over.
    pub open_workflows: u64,
    /// Workflows that ever began; for an agent, the live ones that it sees.
    pub total_workflows: u64,
    /// Records in the ledger; absent for an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
}

/// Counts of one agent.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentStats {
    /// Handoffs it passed.
    pub sent: u64,
    /// Handoffs passed to it.
    pub received: u64,
}

/// A thing that an id or a beginning of one names.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// A workflow.
    Workflow(WorkflowId),
    /// A handoff.
    Handoff(HandoffId),
    /// A broadcast of a live workflow.
    Broadcast(WorkflowId, GroupId),
}

/// What the coordinator says of itself.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Since when it runs.
    pub started_at: Timestamp,
    /// Records in the ledger.
    pub records: u64,
    /// Records that the index has.
    pub indexed: u64,
    /// Workflows that are not over.
    pub open_workflows: u64,
    /// Agents, the operator among them.
    pub agents: u64,
    /// Effects that wait to be carried out.
    pub outbox: u64,
    /// What was cut off at start because it was never acknowledged.
    pub cut_at_start: Option<String>,
    /// Records that a signed checkpoint is over.
    #[serde(default)]
    pub signed: u64,
    /// Why no more checkpoints are signed, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsigned: Option<String>,
    /// Where it listens on the network, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
