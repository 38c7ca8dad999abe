//! Where a handoff stands.

use serde::{Deserialize, Serialize};

use super::{Return, Trigger};
use crate::id::{AgentId, Fence, HandoffId};
use crate::policy::Matched;
use crate::text::Text;
use crate::time::Timestamp;

/// How often a handoff was tried. One record counts every reason, so that layers of retrying
/// never multiply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// Sent to the same agent again.
    pub resends: u8,
    /// Sent to another agent.
    #[serde(default)]
    pub reroutes: u8,
}

/// Where a handoff stands.
///
/// Each variant holds what is true in that state and nothing else, so "accepted by nobody" and
/// "over without an outcome" cannot be written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum State {
    /// Waits for a person to say yes.
    AwaitingApproval {
        /// By which rule.
        matched: Box<Matched>,
        /// Until when, if there is a limit.
        until: Option<Timestamp>,
    },
    /// Waits to be sent.
    Queued {
        /// When it is sent; absent means when its receiver has room.
        until: Option<Timestamp>,
        /// When nobody waits for that room any longer, if ever.
        #[serde(default)]
        give_up: Option<Timestamp>,
    },
    /// Waits for its receiver to answer.
    Initiated {
        /// When the receiver counts as unavailable, if ever.
        answer_by: Option<Timestamp>,
        /// Whether it was called from the queue; then room is kept for it until it is answered.
        #[serde(default)]
        called: bool,
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
        /// Since when it waits; what was due moves by as much.
        at: Timestamp,
        /// Since when it is held.
        since: Timestamp,
        /// What is due once it goes on.
        due: Option<Due>,
    },
    /// The result is there and its acceptance checks run.
    Returned {
        /// The number of this holding.
        fence: Fence,
        /// What came back.
        result: Box<Return>,
        /// Since when its checks run; what was due moves by as much.
        at: Timestamp,
        /// Since when it is held.
        since: Timestamp,
        /// What is due if they fail and its holder goes on.
        due: Option<Due>,
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
            Self::AwaitingApproval { .. }
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
            Self::AwaitingApproval { .. } => "awaiting_approval",
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
            Self::Queued { until, give_up } => until.or(*give_up),
            Self::Deferred { until, .. } => Some(*until),
            Self::AwaitingApproval { until, .. } => *until,
            Self::Initiated { answer_by, .. } => *answer_by,
            Self::Accepted { due, .. } => due.map(Due::at),
            Self::Suspended { .. }
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
            Self::AwaitingApproval { .. }
            | Self::Queued { .. }
            | Self::Initiated { .. }
            | Self::Deferred { .. }
            | Self::Completed { .. }
            | Self::Failed { .. } => None,
        }
    }
}

/// What comes next for a holder that must return.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// The return; a reminder goes out when it is late.
    Return(Timestamp),
    /// The `on_timeout` policy; the reminder went out.
    Timeout(Timestamp),
}

impl Due {
    /// The same, later by as long as it took from `from` to `to`.
    #[must_use]
    pub(crate) fn shifted(self, from: Timestamp, to: Timestamp) -> Self {
        match self {
            Self::Return(at) => Self::Return(at.shifted(from, to)),
            Self::Timeout(at) => Self::Timeout(at.shifted(from, to)),
        }
    }

    /// When.
    pub fn at(self) -> Timestamp {
        match self {
            Self::Return(at) | Self::Timeout(at) => at,
        }
    }
}

/// Why an attempt ended without an acceptance.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The receiver said no.
    #[default]
    Answer,
    /// It has none of the capabilities that are asked for.
    CapabilityMismatch,
    /// The risk is above what it may take.
    Risk,
    /// It holds as much as it can.
    AtCapacity,
    /// It did not answer in time, which says something of the agent.
    Unavailable,
    /// It is known not to be well, so it was not asked.
    Unwell,
}

impl Cause {
    /// Whether the receiver itself said no, as most do who do not take work.
    pub fn is_answer(&self) -> bool {
        *self == Self::Answer
    }

    /// What the coordinator raised by it, if it did.
    pub fn trigger(self) -> Option<Trigger> {
        match self {
            Self::CapabilityMismatch => Some(Trigger::CapabilityMismatch),
            Self::Risk => Some(Trigger::Escalation),
            Self::Unavailable => Some(Trigger::Timeout),
            Self::Answer | Self::AtCapacity | Self::Unwell => None,
        }
    }
}

/// How a handoff ended when it did not complete.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// A person said no.
    Denied {
        /// Who.
        by: AgentId,
        /// Why.
        reason: Text,
    },
    /// No person answered in time whether it may go on.
    Unapproved,
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
            Self::Denied { .. } => "denied",
            Self::Unapproved => "unapproved",
        }
    }
}
