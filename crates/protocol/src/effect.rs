//! Effects: what must happen in the world because of what was recorded.
//!
//! They are written with the events that cause them and carried out afterwards, at least once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, HandoffId, WorkflowId};
use crate::reach::Argv;

/// Names an effect: the record that caused it, and which of its effects it is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectId {
    /// The sequence number of the record.
    pub seq: u64,
    /// Its place among the record's effects.
    pub n: u32,
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.seq, self.n)
    }
}

/// Something to carry out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Run the agent's `notify` command.
    Notify {
        /// Whom to tell.
        agent: AgentId,
        /// The command as it was registered then.
        argv: Argv,
        /// About which work.
        workflow: WorkflowId,
        /// About which handoff.
        handoff: HandoffId,
        /// What happened.
        news: News,
    },
}

/// What there is to tell an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// A handoff waits for its answer.
    Arrived,
    /// A return is late.
    Reminder,
    /// Its handoff was accepted.
    Accepted,
    /// A result came back.
    Returned,
    /// Its handoff ended without a result.
    Failed,
    /// What it held was taken back.
    Cancelled,
    /// Its broadcast has succeeded or failed.
    Decided,
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Arrived => "arrived",
            Self::Reminder => "reminder",
            Self::Accepted => "accepted",
            Self::Returned => "returned",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Decided => "decided",
        })
    }
}
