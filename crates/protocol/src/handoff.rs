//! A handoff: what is passed, how, and where it stands.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::agent::{Requirement, Risk};
use crate::artifact::Produced;
use crate::id::{AgentId, CapabilityId, Fence, HandoffId};
use crate::text::{Body, Text};
use crate::time::{Allowance, Timestamp};
use crate::variables::{Changes, VariableName};

/// One handoff inside a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handoff {
    /// What was asked for, as it was recorded when it began.
    pub terms: Terms,
    /// Who has it now to answer or to do; a reroute changes it, the terms keep the first.
    pub to: AgentId,
    /// When it began.
    pub initiated_at: Timestamp,
    /// How often it was tried, whatever the reason.
    pub attempts: Attempts,
    /// Where it stands.
    pub state: State,
}

/// What a handoff is about. It never changes after it was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Which handoff.
    pub id: HandoffId,
    /// Who passes.
    pub from_agent: AgentId,
    /// The fence of the sender's hold under which it is passed.
    pub parent: Fence,
    /// Whom it was meant for first.
    pub to_agent: AgentId,
    /// How it is passed.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Why.
    pub reason: Text,
    /// What set it off.
    pub trigger: Trigger,
    /// How urgent it is.
    pub priority: Priority,
    /// The subtask in the sender's words; absent when the whole work moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text>,
    /// Messages that travel with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Body>,
    /// The variables that a delegate may see; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Vec<VariableName>>,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Constraints::is_empty")]
    pub constraints: Constraints,
    /// What the receiver must be able to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_capabilities: Vec<Requirement>,
    /// How much autonomy the task needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_budget: Option<u64>,
    /// Capabilities asked for that the receiver lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gap: Vec<CapabilityId>,
    /// Why the sender decided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_rationale: Option<Text>,
    /// How much can go wrong.
    pub risk_level: Risk,
}

/// How control moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A to B, and A is done with it.
    Sequential,
    /// A to B and back; A keeps the whole.
    Delegation(Delegation),
}

impl Kind {
    /// The word that audit records use.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Delegation(_) => "delegation",
        }
    }
}

/// The terms on which a subtask comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// How long it may take from acceptance to return.
    pub timeout: Allowance,
    /// What happens when it takes longer.
    pub on_timeout: OnTimeout,
    /// Whether the sender does nothing else meanwhile.
    pub blocking: bool,
}

/// What happens when a subtask does not come back in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnTimeout {
    /// It is sent to the same agent again, at most three times.
    Retry,
    /// It has failed and the sender is told.
    #[default]
    Fail,
}

/// What set a handoff off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The sender has finished its part.
    TaskCompletion,
    /// The sender lacks a capability.
    CapabilityMismatch,
    /// The sender may not decide this.
    Escalation,
    /// The sender took too long.
    Timeout,
    /// The sender asked for it.
    #[default]
    ExplicitRequest,
}

/// How urgent work is. Lower numbers go first; inside a level, first in first out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Priority {
    /// Before everything: 1.
    Critical,
    /// Soon: 2.
    High,
    /// In turn: 5.
    #[default]
    Normal,
    /// When there is time: 10.
    Low,
}

impl Priority {
    /// The number that decides the order of a queue.
    pub fn rank(self) -> u8 {
        match self {
            Self::Critical => 1,
            Self::High => 2,
            Self::Normal => 5,
            Self::Low => 10,
        }
    }
}

/// A text that is not a priority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a priority; expected critical (urgent, P0), high (P1), normal (P2) or low"
)]
pub struct PriorityError {
    text: String,
}

impl FromStr for Priority {
    type Err = PriorityError;

    fn from_str(text: &str) -> Result<Self, PriorityError> {
        match text {
            "critical" | "urgent" | "P0" => Ok(Self::Critical),
            "high" | "P1" => Ok(Self::High),
            "normal" | "P2" => Ok(Self::Normal),
            "low" => Ok(Self::Low),
            _ => Err(PriorityError { text: text.chars().take(80).collect() }),
        }
    }
}

impl TryFrom<String> for Priority {
    type Error = PriorityError;

    fn try_from(text: String) -> Result<Self, PriorityError> {
        text.parse()
    }
}

impl From<Priority> for String {
    fn from(priority: Priority) -> Self {
        priority.to_string()
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        })
    }
}

/// What a handoff may cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraints {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// The latest moment it is of use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

impl Constraints {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How often a handoff was tried. One record counts every reason, so that layers of retrying
/// never multiply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// Sent to the same agent again.
    pub resends: u8,
}

/// Where a handoff stands.
///
/// Each variant holds what is true in that state and nothing else, so "accepted by nobody" and
/// "over without an outcome" cannot be written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum State {
    /// Waits for a person to say yes.
    AwaitingApproval,
    /// Waits to be sent.
    Queued {
        /// When it is sent.
        until: Timestamp,
    },
    /// Waits for its receiver to answer.
    Initiated {
        /// When the receiver counts as unavailable, if ever.
        answer_by: Option<Timestamp>,
    },
    /// The receiver asked for time.
    Deferred {
        /// When it comes back by itself.
        until: Timestamp,
        /// Why.
        reason: Text,
    },
    /// Held by exactly one agent.
    Accepted {
        /// The number of this holding.
        fence: Fence,
        /// Since when.
        since: Timestamp,
        /// When the holder says it will be done.
        estimated_completion: Option<Timestamp>,
        /// What is due next, if anything.
        due: Option<Due>,
    },
    /// Its holder asked somebody above and waits, fence kept.
    Suspended {
        /// The number of this holding.
        fence: Fence,
        /// The handoff that carries the question.
        escalation: HandoffId,
    },
    /// The result is there and its acceptance checks run.
    Returned {
        /// The number of this holding.
        fence: Fence,
        /// What came back.
        result: Box<Return>,
    },
    /// Over, as it was meant to end.
    Completed {
        /// When.
        at: Timestamp,
        /// What came back, if a return was expected.
        result: Option<Box<Return>>,
    },
    /// Over, some other way.
    Failed {
        /// When.
        at: Timestamp,
        /// Which way.
        detail: Detail,
    },
}

impl State {
    /// Whether no command can change it again.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Completed { .. } | Self::Failed { .. } => true,
            Self::AwaitingApproval
            | Self::Queued { .. }
            | Self::Initiated { .. }
            | Self::Deferred { .. }
            | Self::Accepted { .. }
            | Self::Suspended { .. }
            | Self::Returned { .. } => false,
        }
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::AwaitingApproval => "awaiting_approval",
            Self::Queued { .. } => "queued",
            Self::Initiated { .. } => "initiated",
            Self::Deferred { .. } => "deferred",
            Self::Accepted { .. } => "accepted",
            Self::Suspended { .. } => "suspended",
            Self::Returned { .. } => "returned",
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
        }
    }

    /// When the coordinator must look at it again.
    pub fn wake_at(&self) -> Option<Timestamp> {
        match self {
            Self::Queued { until } | Self::Deferred { until, .. } => Some(*until),
            Self::Initiated { answer_by } => *answer_by,
            Self::Accepted { due, .. } => due.map(Due::at),
            Self::AwaitingApproval
            | Self::Suspended { .. }
            | Self::Returned { .. }
            | Self::Completed { .. }
            | Self::Failed { .. } => None,
        }
    }

    /// The fence of the agent that holds it, if one does.
    pub fn fence(&self) -> Option<Fence> {
        match self {
            Self::Accepted { fence, .. }
            | Self::Suspended { fence, .. }
            | Self::Returned { fence, .. } => Some(*fence),
            Self::AwaitingApproval
            | Self::Queued { .. }
            | Self::Initiated { .. }
            | Self::Deferred { .. }
            | Self::Completed { .. }
            | Self::Failed { .. } => None,
        }
    }
}

/// What comes next for a holder that must return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// The return; a reminder goes out when it is late.
    Return(Timestamp),
    /// The `on_timeout` policy; the reminder went out.
    Timeout(Timestamp),
}

impl Due {
    /// When.
    pub fn at(self) -> Timestamp {
        match self {
            Self::Return(at) | Self::Timeout(at) => at,
        }
    }
}

/// How a handoff ended when it did not complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Detail {
    /// The receiver said no.
    Rejected {
        /// Why.
        reason: Text,
    },
    /// The receiver did not answer.
    Unavailable,
    /// The holder did not return, however often it was tried.
    TimedOut,
    /// Somebody who may took it back.
    Cancelled {
        /// Who.
        by: AgentId,
        /// Why.
        reason: Text,
    },
    /// The holder returned that it failed.
    Error {
        /// What it said.
        result: Box<Return>,
    },
    /// Somebody above took over.
    PassedOn {
        /// The handoff that goes on.
        to: HandoffId,
    },
}

impl Detail {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Rejected { .. } => "rejected",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed_out",
            Self::Cancelled { .. } => "cancelled",
            Self::Error { .. } => "error",
            Self::PassedOn { .. } => "passed_on",
        }
    }
}

/// What a holder brings back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Return {
    /// The number of the holding that brought it.
    pub fence: Fence,
    /// Whether it is what was asked for.
    pub status: ReturnStatus,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Variables that it changed.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub variables_changed: Changes,
    /// Artifacts that it made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts_produced: Vec<Produced>,
    /// Tokens that it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_consumed: Option<u64>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Text>,
}

/// Whether a result is what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReturnStatus {
    /// It is.
    Success,
    /// Some of it.
    Partial,
    /// It is not; the notes or the body say why.
    Failed,
    /// The holder ran out of time and says so itself.
    Timeout,
}

/// A result and how to read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// How to read it.
    pub content_type: ContentType,
    /// What it says.
    pub body: Body,
}

/// How to read a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentType {
    /// Words.
    Text,
    /// Data.
    Json,
    /// The id or path of an artifact.
    ArtifactRef,
}
