//! What a holder writes while it works: variables, artifacts, locks.

use serde::{Deserialize, Serialize};

use crate::artifact::{ArtifactStatus, Produced};
use crate::id::{ArtifactId, Fence, WorkflowId};
use crate::lock::{FilePath, LockMode};
use crate::time::Allowance;
use crate::variables::Changes;

/// Writes variables.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetVariables {
    /// Of which work.
    pub workflow: WorkflowId,
    /// The writer's hold. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// What to write.
    pub changes: Changes,
    /// The version that the writer has seen, if it says so: the write is refused on any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
}

/// Makes an artifact known.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddArtifact {
    /// Of which work.
    pub workflow: WorkflowId,
    /// The maker's hold. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// What it is.
    pub artifact: Produced,
}

/// Says whether an artifact can be relied on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkArtifact {
    /// Of which work.
    pub workflow: WorkflowId,
    /// The speaker's hold. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Which one.
    pub artifact: ArtifactId,
    /// Whether it can.
    pub status: ArtifactStatus,
}

/// Locks files, all or none of them.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFiles {
    /// Under which work.
    pub workflow: WorkflowId,
    /// The asker's hold. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Which files.
    pub paths: Vec<FilePath>,
    /// Whether others may share them.
    #[serde(default)]
    pub mode: LockMode,
    /// For how long, unless renewed.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lease: Option<Allowance>,
    /// Whether to wait for those that others have: it is noted, and nothing is locked yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
}

/// Gives locks back.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnlockFiles {
    /// Under which work.
    pub workflow: WorkflowId,
    /// The holder's number. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Which files; none means all that this holding locked.
    #[serde(default)]
    pub paths: Vec<FilePath>,
}
