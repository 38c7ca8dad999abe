//! What comes back.

use serde::{Deserialize, Serialize};

use crate::artifact::Produced;
use crate::course::Report;
use crate::handoff::Evidence;
use crate::id::Fence;
use crate::policy::{ModelName, Money};
use crate::text::{Body, Text};
use crate::variables::Changes;

/// What a holder brings back.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// How far it said that the whole work is, and what it has cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
    /// Tokens that it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_consumed: Option<u64>,
    /// Of which model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// What they cost by the prices of the day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Text>,
    /// What its checks showed, once they have run: until then it is only what its holder says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Box<Evidence>>,
}

/// Whether a result is what was asked for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// How to read it.
    pub content_type: ContentType,
    /// What it says.
    pub body: Body,
}

/// How to read a result.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
