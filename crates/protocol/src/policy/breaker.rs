//! Circuit breakers: an agent that fails again and again gets no new work for a while.
//!
//! One for each agent, shared by all workflows. Closed lets everything through; open lets nothing
//! through; after the cool-down exactly one handoff goes through, and its end decides.

use serde::{Deserialize, Serialize};

use crate::id::HandoffId;
use crate::limits::{BREAKER_COOL_DOWN, BREAKER_FAILURES};
use crate::time::{Allowance, Timestamp};

/// When an agent gets no new work for a while.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BreakerRules {
    /// Failures in a row that open it; 0 means never.
    pub failures: u8,
    /// How long it stays open before one handoff is let through.
    pub cool_down: Allowance,
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self { failures: BREAKER_FAILURES, cool_down: BREAKER_COOL_DOWN }
    }
}

/// Whether an agent gets new work.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Breaker {
    /// It does.
    Closed {
        /// Failures in a row.
        failures: u8,
    },
    /// It does not.
    Open {
        /// When one handoff may try.
        until: Timestamp,
    },
    /// One handoff tries.
    HalfOpen {
        /// Which one.
        probe: HandoffId,
    },
}

impl Default for Breaker {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl Breaker {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed { .. } => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen { .. } => "half-open",
        }
    }

    /// Whether a new handoff may go to the agent now.
    pub fn admits(self, now: Timestamp) -> bool {
        match self {
            Self::Closed { .. } => true,
            Self::Open { until } => until <= now,
            Self::HalfOpen { .. } => false,
        }
    }

    /// A handoff was sent to the agent.
    pub(crate) fn sent(&mut self, handoff: HandoffId, at: Timestamp) {
        match *self {
            Self::Open { until } if until <= at => *self = Self::HalfOpen { probe: handoff },
            Self::Open { .. } | Self::Closed { .. } | Self::HalfOpen { .. } => (),
        }
    }

    /// A handoff came to what it was meant to.
    pub(crate) fn succeeded(&mut self, handoff: HandoffId) {
        match *self {
            Self::Closed { .. } => *self = Self::default(),
            Self::HalfOpen { probe } if probe == handoff => *self = Self::default(),
            // It was sent before the breaker opened and says nothing of now.
            Self::HalfOpen { .. } | Self::Open { .. } => (),
        }
    }

    /// The agent failed a handoff.
    pub(crate) fn failed(&mut self, handoff: HandoffId, rules: BreakerRules, at: Timestamp) {
        let open = Self::Open { until: rules.cool_down.after(at) };
        match *self {
            Self::Closed { failures } => {
                let failures = failures.saturating_add(1);
                let opens = rules.failures > 0 && failures >= rules.failures;
                *self = if opens { open } else { Self::Closed { failures } };
            }
            Self::HalfOpen { probe } if probe == handoff => *self = open,
            Self::HalfOpen { .. } | Self::Open { .. } => (),
        }
    }

    /// A handoff is no longer with the agent, and nothing was learnt: another may try.
    pub(crate) fn left(&mut self, handoff: HandoffId, at: Timestamp) {
        match *self {
            Self::HalfOpen { probe } if probe == handoff => *self = Self::Open { until: at },
            Self::HalfOpen { .. } | Self::Open { .. } | Self::Closed { .. } => (),
        }
    }
}
