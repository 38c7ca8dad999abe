//! How control moves, and what set it off.

use serde::{Deserialize, Serialize};

use crate::agent::Role;
use crate::id::{AgentId, GroupId};
use crate::planted::{Bug, planted};
use crate::text::Text;
use crate::time::{Allowance, Timestamp};

/// How control moves.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A to B, and A is done with it.
    Sequential,
    /// A to B and back; A keeps the whole.
    Delegation(Delegation),
    /// A to one of several, each with a copy of its own; A keeps the whole.
    Broadcast(Broadcast),
    /// A question to somebody above; A waits for the decision.
    Escalation(Escalation),
}

impl Kind {
    /// The word that audit records use.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Delegation(_) => "delegation",
            Self::Broadcast(_) => "broadcast",
            Self::Escalation(_) => "escalation",
        }
    }

    /// The terms on which it comes back, if it does and there is a limit.
    pub fn back(&self) -> Option<&Delegation> {
        match self {
            Self::Sequential => None,
            Self::Delegation(back) => Some(back),
            Self::Broadcast(broadcast) => broadcast.back.as_ref(),
            Self::Escalation(escalation) => escalation.back.as_ref(),
        }
    }

    /// Whether something comes back.
    pub fn returns(&self) -> bool {
        match self {
            Self::Sequential => false,
            Self::Delegation(_) | Self::Escalation(_) => true,
            Self::Broadcast(broadcast) => broadcast.back.is_some(),
        }
    }

    /// Whether the sender does nothing else meanwhile.
    pub fn is_blocking(&self) -> bool {
        let climbed = match self {
            Self::Escalation(escalation) => escalation.blocking,
            Self::Sequential | Self::Delegation(_) | Self::Broadcast(_) => false,
        };
        climbed || self.back().is_some_and(|back| back.blocking)
    }

    /// The broadcast that it is a part of.
    pub fn group(&self) -> Option<GroupId> {
        match self {
            Self::Broadcast(broadcast) => Some(broadcast.group),
            Self::Sequential | Self::Delegation(_) | Self::Escalation(_) => None,
        }
    }
}

/// The terms on which a subtask comes back.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// How long it may take from acceptance to return.
    pub timeout: Allowance,
    /// What happens when it takes longer.
    pub on_timeout: OnTimeout,
    /// Whether the sender does nothing else meanwhile.
    pub blocking: bool,
}

/// One copy of work that went to several.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broadcast {
    /// The broadcast that it is a part of.
    #[serde(rename = "broadcast_group_id")]
    pub group: GroupId,
    /// How it comes back; absent means it does not.
    pub back: Option<Delegation>,
    /// Who else has a copy, if the sender lets them know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<AgentId>,
}

/// When a broadcast has succeeded.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregation {
    /// When all have.
    #[default]
    All,
    /// When one has.
    Any,
    /// When more than half have.
    Majority,
}

impl Aggregation {
    /// What `successes` and `failures` of `expected` returns come to, if they decide it.
    pub fn decided(self, expected: usize, successes: usize, failures: usize) -> Option<bool> {
        let (needed, bearable) = match self {
            Self::All => (expected, 0),
            Self::Any => (1, expected.saturating_sub(1)),
            Self::Majority => {
                let needed = expected / 2 + usize::from(!planted(Bug::MajorityOffByOne));
                (needed, expected.saturating_sub(needed))
            }
        };
        match () {
            () if successes >= needed => Some(true),
            () if failures > bearable => Some(false),
            () => None,
        }
    }
}

/// A question to somebody above.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// How far up it is, counted from the one who asked first: 1 to 3.
    pub level: u8,
    /// What it is about.
    pub matter: Matter,
    /// What each level below thought of it.
    pub trail: Vec<Assessment>,
    /// Until when a decision is due, if there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Delegation>,
    /// Whether the sender does nothing else meanwhile, also when there is no limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocking: bool,
}

/// What an escalation is about.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Matter {
    /// A holder asks, and waits for the decision.
    Question,
    /// A subtask was late; it goes on with whoever stands above.
    Takeover,
    /// A holder is over its time; somebody should look. It stands in nobody's way.
    Overdue,
    /// A subtask was late and has failed; a person should look. It stands in nobody's way.
    Failure,
}

impl Matter {
    /// Whether whoever passed it goes on without an answer.
    pub fn is_a_look(self) -> bool {
        match self {
            Self::Overdue | Self::Failure => true,
            Self::Question | Self::Takeover => false,
        }
    }
}

/// What one level thought of an escalated question.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessment {
    /// Who.
    pub by: AgentId,
    /// In which role.
    pub role: Role,
    /// In its words.
    pub words: Text,
    /// When.
    pub at: Timestamp,
}

/// What happens when a subtask does not come back in time.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnTimeout {
    /// It is sent to the same agent again, at most three times.
    Retry,
    /// The next in the escalation chain takes it over.
    Escalate,
    /// It has failed and the sender is told.
    #[default]
    Fail,
}

/// What set a handoff off.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

#[cfg(test)]
mod properties;
