//! What checks, exports and prunes say.

use baton_protocol::id::WorkflowId;
use baton_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What a check of the ledger or of a bundle found.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Records that were read.
    pub records: u64,
    /// Streams whose chains were followed.
    pub streams: u64,
    /// What is wrong first, if anything is.
    pub problem: Option<String>,
    /// The number of the first record that is wrong, where one can be named.
    pub record: Option<u64>,
    /// The stream of that record, where it can still be read.
    pub stream: Option<String>,
    /// Signed checkpoints that the records agree with.
    pub checkpoints: u64,
    /// How many records the newest of them is over.
    pub signed: u64,
    /// Records of which only the stub is left.
    pub pruned: u64,
    /// The key that the checkpoints are signed with.
    pub key: Option<String>,
    /// What is not wrong, and worth knowing.
    pub notes: Vec<String>,
}

/// What was exported.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exported {
    /// Records in the bundle.
    pub records: u64,
    /// Its size.
    pub bytes: u64,
    /// How many records the checkpoint in it is over.
    pub signed: u64,
    /// The key to check it with.
    pub key: String,
}

/// The newest checkpoint.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signed {
    /// The key to check it with.
    pub key: String,
    /// How many records it is over.
    pub records: u64,
    /// The signed note.
    pub checkpoint: String,
}

/// What a prune would drop.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prunable {
    /// Work that is over and past its period.
    pub workflows: Vec<PrunableLine>,
    /// How long records are kept, in words.
    pub kept: String,
}

/// One workflow that a prune would drop.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrunableLine {
    /// Which one.
    pub id: WorkflowId,
    /// When it ended.
    pub closed_at: Timestamp,
    /// When its period was over.
    pub kept_until: Timestamp,
}
