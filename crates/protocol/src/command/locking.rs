//! Locking files, and giving locks back.

use serde::{Deserialize, Serialize};

use crate::id::{Fence, WorkflowId};
use crate::lock::{FilePath, LockMode};
use crate::time::Allowance;

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
