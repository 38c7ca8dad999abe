//! Bringing a result back, in the shape that the handoff specification gives it.

use serde::{Deserialize, Serialize};

use super::guarding::token_count;
use crate::artifact::Produced;
use crate::course::Report;
use crate::handoff::{ContentType, ReturnStatus};
use crate::id::{Fence, HandoffId};
use crate::policy::ModelName;
use crate::text::{Body, Text, body_on_the_wire};
use crate::variables::Changes;

/// Brings a result back.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GiveBack {
    /// Which handoff.
    #[serde(alias = "handoff_id")]
    pub handoff: HandoffId,
    /// The holder's number.
    pub fence: Fence,
    /// Whether it is what was asked for.
    pub status: ReturnStatus,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultContent>,
    /// What it changed.
    #[serde(default)]
    pub context_updates: ContextUpdates,
    /// What the audit should know.
    #[serde(default)]
    pub audit: ReturnAudit,
}

/// A result on its way in.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultContent {
    /// How to read it.
    pub content_type: ContentType,
    /// What it says.
    #[serde(with = "body_on_the_wire")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::text::BodyJson"))]
    pub body: Body,
}

/// What a return changed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContextUpdates {
    /// Variables.
    pub variables_changed: Changes,
    /// Artifacts.
    pub artifacts_produced: Vec<Produced>,
    /// How far the whole work is, and what it has cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
}

impl ContextUpdates {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What the audit should know of a return.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReturnAudit {
    /// Tokens that it cost.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "token_count")]
    pub tokens_consumed: Option<u64>,
    /// Those of them that the model wrote.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "token_count")]
    pub output_tokens: Option<u64>,
    /// Of which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Text>,
}
