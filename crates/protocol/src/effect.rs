//! Effects: what must happen in the world because of what was recorded.
//!
//! They are written with the events that cause them and carried out afterwards, at least once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, Fence, HandoffId, WorkflowId};
use crate::policy::Notifier;
use crate::reach::{Argv, Url};
use crate::text::Text;

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
    /// Accept a handoff in the name of an agent that is a command. The acceptance brings the run.
    Accept {
        /// In whose name.
        agent: AgentId,
        /// Of which work.
        workflow: WorkflowId,
        /// Which handoff.
        handoff: HandoffId,
    },
    /// Run the command that the agent is, until what it holds is over.
    Run {
        /// On whose behalf.
        agent: AgentId,
        /// The command as it was registered when the handoff was accepted.
        argv: Argv,
        /// Of which work.
        workflow: WorkflowId,
        /// Which handoff.
        handoff: HandoffId,
        /// The number of its holding: once that is not in force, neither is the run.
        fence: Fence,
    },
    /// Run the checks of a return, and say what they came to.
    Check {
        /// Of which work.
        workflow: WorkflowId,
        /// Which handoff.
        handoff: HandoffId,
        /// The number of the holding that returned it.
        fence: Fence,
    },
    /// Tell people that a handoff waits for one of them.
    Announce {
        /// How.
        by: Notifier,
        /// About which work.
        workflow: WorkflowId,
        /// Which handoff.
        handoff: HandoffId,
        /// In words.
        words: Text,
    },
    /// Call the web service that the agent is.
    Call {
        /// Whom to call.
        agent: AgentId,
        /// Where it listened then.
        url: Url,
        /// About which work.
        workflow: WorkflowId,
        /// About which handoff.
        handoff: HandoffId,
    },
}

impl Effect {
    /// The work that it is about.
    pub fn workflow(&self) -> WorkflowId {
        match self {
            Self::Notify { workflow, .. }
            | Self::Accept { workflow, .. }
            | Self::Run { workflow, .. }
            | Self::Check { workflow, .. }
            | Self::Announce { workflow, .. }
            | Self::Call { workflow, .. } => *workflow,
        }
    }

    /// The handoff that it is about.
    pub(crate) fn about(&self) -> Option<HandoffId> {
        match self {
            Self::Notify { handoff, .. }
            | Self::Accept { handoff, .. }
            | Self::Run { handoff, .. }
            | Self::Check { handoff, .. }
            | Self::Announce { handoff, .. }
            | Self::Call { handoff, .. } => Some(*handoff),
        }
    }

    /// The handoff that it brings to its receiver, if that is what it does.
    pub fn delivers(&self) -> Option<HandoffId> {
        match self {
            Self::Notify { .. } | Self::Announce { .. } | Self::Check { .. } => None,
            Self::Accept { handoff, .. }
            | Self::Run { handoff, .. }
            | Self::Call { handoff, .. } => Some(*handoff),
        }
    }
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
    /// What it returned did not pass its checks.
    Unverified,
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
            Self::Unverified => "unverified",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Decided => "decided",
        })
    }
}
