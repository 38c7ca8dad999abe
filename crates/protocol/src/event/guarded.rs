//! What guards a handoff that began, as it was recorded with it.

use serde::{Deserialize, Serialize};

use crate::id::CapabilityId;
use crate::policy::{Matched, Usage};
use crate::time::Timestamp;
use crate::workflow::ContextHash;

/// What guards a handoff that began.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Guarded {
    /// Whether it counts among the handoffs that agents may begin.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
    /// A digest of what travels, to know it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextHash>,
    /// What its sender used so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The rule by which it waits for a person, or which a person has answered for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

impl Guarded {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a handoff waits for a person.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// It does.
    Waits {
        /// By which rule.
        matched: Matched,
        /// Until when, if there is a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// It does not: a person said that this rule need not ask for now.
    Standing {
        /// Which rule.
        rule: CapabilityId,
        /// Until when.
        until: Timestamp,
    },
}
