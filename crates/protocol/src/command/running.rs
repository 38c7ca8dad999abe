//! What the operator and Baton itself ask: credentials, health, moving work, time.

use serde::{Deserialize, Serialize};

use crate::agent::Grant;
use crate::effect::EffectId;
use crate::handoff::Evidence;
use crate::id::{AgentId, Fence, HandoffId, TokenId, WorkflowId};
use crate::text::Text;
use crate::time::Allowance;

/// Gives an agent a credential.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssueToken {
    /// Whose.
    pub agent: AgentId,
    /// SHA-256 of the secret, as 64 hexadecimal digits.
    pub digest: String,
    /// What it is good for.
    #[serde(default, skip_serializing_if = "Grant::is_act")]
    pub grant: Grant,
    /// For how long; absent means until revoked.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub span: Option<Allowance>,
}

/// Takes a credential away.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevokeToken {
    /// Whose.
    pub agent: AgentId,
    /// Which one.
    pub token: TokenId,
}

/// Looks at a handoff whose time has come.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wake {
    /// Which one.
    pub handoff: HandoffId,
}

/// Looks at a hold whose time has come.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WakeHold {
    /// Of which work.
    pub workflow: WorkflowId,
    /// Which hold.
    pub fence: Fence,
}

/// Says that a handoff did not get to an agent that Baton reaches by itself.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undelivered {
    /// Which one.
    pub handoff: HandoffId,
    /// To whom.
    pub agent: AgentId,
    /// What stood in the way.
    pub reason: Text,
}

/// Says what the checks of a return came to.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Of which handoff.
    pub handoff: HandoffId,
    /// The number of the holding that returned it.
    pub fence: Fence,
    /// What they showed.
    pub evidence: Evidence,
}

/// Gives work from a stuck holder to another.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reassign {
    /// The work.
    pub what: Reassigned,
    /// To whom.
    pub to_agent: AgentId,
    /// Why.
    pub reason: Text,
}

/// What is given to another.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reassigned {
    /// The whole work, taken from its owner.
    Workflow(WorkflowId),
    /// A handoff, taken from whoever has it.
    Handoff(HandoffId),
}

/// Says that an agent is well, or not.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportHealth {
    /// Which agent. An agent speaks only of itself.
    pub agent: AgentId,
    /// Whether it is.
    pub healthy: bool,
    /// What was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
}

/// Says that an effect was carried out.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// Which one.
    pub effect: EffectId,
    /// How it went.
    pub note: Text,
}
