//! Which handoffs wait for a person, and what happens when nobody answers.

use serde::{Deserialize, Serialize};

use crate::id::CapabilityId;
use crate::text::Text;
use crate::time::Allowance;

/// A rule that makes handoffs wait for a person.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRule {
    /// What people call it; no two have the same.
    pub name: CapabilityId,
    /// When it holds, in CEL.
    pub when: Text,
    /// How long a person has to answer; absent means for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Allowance>,
    /// What happens when nobody does.
    #[serde(default)]
    pub unanswered: Unanswered,
    /// What happens when the answer is no.
    #[serde(default)]
    pub denied: OnDenied,
}

/// What happens when nobody answers in time.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unanswered {
    /// As if the answer was no.
    #[default]
    Deny,
    /// The handoff has failed, and the work stays with its sender.
    Fail,
}

/// What happens when the answer is no.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDenied {
    /// The workflow ends.
    #[default]
    End,
    /// The handoff has failed, and the work stays with its sender.
    Fail,
}

/// A rule that held for a handoff, as the engine found before it was decided. It is recorded, so
/// nobody has to evaluate it again.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    /// Which one.
    pub rule: CapabilityId,
    /// What it says, or why it could not be told whether it holds.
    pub why: Text,
    /// How long a person has to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Allowance>,
    /// What happens when nobody does.
    #[serde(default)]
    pub unanswered: Unanswered,
    /// What happens when the answer is no.
    #[serde(default)]
    pub denied: OnDenied,
}
