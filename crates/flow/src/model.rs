//! What is drawn: a workflow as agents and the handoffs between them, in the order they began.

use baton_protocol::handoff::{Aggregation, Matter, ReturnStatus};
use baton_protocol::id::{AgentId, GroupId, HandoffId, WorkflowId};
use baton_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::standing::Standing;

/// A workflow as a graph: agents are its nodes, handoffs its edges.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Which workflow.
    pub workflow: WorkflowId,
    /// What it is about.
    pub title: String,
    /// Where it stands.
    pub status: FlowStatus,
    /// Who began it.
    pub started_by: AgentId,
    /// When it began.
    pub started_at: Timestamp,
    /// How it ended, once it is over.
    pub ended: Option<FlowEnd>,
    /// Everybody who had a part in it, in the order in which they came to it.
    pub agents: Vec<FlowAgent>,
    /// Its handoffs, in the order in which they began.
    pub handoffs: Vec<FlowHandoff>,
    /// Its broadcasts.
    pub broadcasts: Vec<FlowBroadcast>,
    /// Tokens that returns reported.
    pub tokens_consumed: u64,
}

/// Where a workflow stands.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowStatus {
    /// Not over.
    Open,
    /// Over, as it was meant to end.
    Completed,
    /// Called off.
    Cancelled,
    /// Over, because it could not be done.
    Failed,
}

impl FlowStatus {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

/// How a workflow ended.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowEnd {
    /// When.
    pub at: Timestamp,
    /// Who ended it.
    pub by: AgentId,
    /// A note, or why it was called off.
    pub words: Option<String>,
}

/// Somebody who had a part in a workflow.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowAgent {
    /// Who.
    pub id: AgentId,
    /// What it is.
    pub party: Party,
    /// What it has in hand now, if anything.
    pub holds: Option<Holding>,
}

/// What somebody is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// A program.
    Agent,
    /// A person, the operator among them.
    Person,
}

/// What somebody has in hand.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holding {
    /// The whole work.
    Whole,
    /// A part of it.
    Part,
    /// Whole or part, and it waits for a decision from above.
    Waits,
}

/// A handoff as an edge.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowHandoff {
    /// Its place among all that are shown, from 1.
    pub number: usize,
    /// Which one.
    pub id: HandoffId,
    /// Who passed.
    pub from_agent: AgentId,
    /// Who has it, or had it last.
    pub to_agent: AgentId,
    /// How it was passed.
    #[serde(rename = "type")]
    pub kind: FlowKind,
    /// How far up a question is, if it is one.
    pub level: Option<u8>,
    /// What an escalation is about.
    pub matter: Option<Matter>,
    /// Why.
    pub reason: String,
    /// The state, in the word that all views use.
    pub state: String,
    /// What that comes to.
    pub standing: Standing,
    /// How it ended, if some other way than completed.
    pub detail: Option<String>,
    /// When it began.
    pub initiated_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// How often it was sent to the same agent again.
    pub resends: u8,
    /// How often it went to another agent.
    pub reroutes: u8,
    /// Who had it before and did not do it, in order.
    pub tries: Vec<FlowTry>,
    /// Artifacts that came with it: what its sender had made known by then, each told once.
    pub artifacts: Vec<String>,
    /// What came back.
    pub returned: Option<FlowReturn>,
    /// The broadcast that it is a copy of.
    #[serde(rename = "broadcast_group_id")]
    pub group: Option<GroupId>,
}

/// How a handoff was passed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// For good.
    Sequential,
    /// And back.
    Delegation,
    /// To several.
    Broadcast,
    /// To somebody above.
    Escalation,
}

impl FlowKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Delegation => "delegation",
            Self::Broadcast => "broadcast",
            Self::Escalation => "escalation",
        }
    }
}

/// Somebody who had a handoff and did not do it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowTry {
    /// Who.
    pub agent: AgentId,
    /// How that ended, in a word: `rejected`, `unavailable`, `reassigned` and so on.
    pub ended: String,
    /// Why.
    pub reason: Option<String>,
}

/// What came back.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowReturn {
    /// Whether it is what was asked for.
    pub status: ReturnStatus,
    /// Artifacts that came with it.
    pub artifacts: Vec<String>,
    /// What the holder said, if it is short words.
    pub words: Option<String>,
}

/// A broadcast as a whole.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowBroadcast {
    /// Which one.
    #[serde(rename = "broadcast_group_id")]
    pub group: GroupId,
    /// When it has succeeded.
    pub aggregation: Aggregation,
    /// How many copies must return something.
    pub expected: usize,
    /// Copies that succeeded.
    pub successes: usize,
    /// Copies that failed.
    pub failures: usize,
    /// Whether it succeeded, once that is decided.
    pub success: Option<bool>,
}
