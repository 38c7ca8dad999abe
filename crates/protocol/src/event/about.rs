//! What an event is called, and what it is about.

use super::Event;
use crate::handoff::Detail;
use crate::id::HandoffId;
use crate::text::{BlobRef, Body};
use crate::workflow::Ending;

impl Event {
    /// Every word that [`Event::word`] can be.
    pub const WORDS: [&str; 44] = [
        "started",
        "initiated",
        "group_opened",
        "aggregated",
        "queued",
        "rerouted",
        "reassigned",
        "reclaimed",
        "escalated",
        "overdue",
        "health_reported",
        "accepted",
        "rejected",
        "deferred",
        "undelivered",
        "resent",
        "reminded",
        "timeout",
        "returned",
        "unverified",
        "completed",
        "failed",
        "progressed",
        "variables_set",
        "artifact_added",
        "artifact_marked",
        "locked",
        "unlocked",
        "closed",
        "registered",
        "token_issued",
        "token_revoked",
        "settled",
        "pruned",
        "policy_set",
        "tag_moved",
        "defined",
        "moved",
        "step_failed",
        "breaker_reset",
        "approved",
        "limits_set",
        "fell_back",
        "lock_wanted",
    ];

    /// The word for it, which audit queries filter on.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Initiated { .. } => "initiated",
            Self::GroupOpened { .. } => "group_opened",
            Self::Aggregated { .. } => "aggregated",
            Self::Queued { .. } => "queued",
            Self::Rerouted { .. } => "rerouted",
            Self::Reassigned { .. } => "reassigned",
            Self::Reclaimed { .. } => "reclaimed",
            Self::Escalated { .. } => "escalated",
            Self::Overdue { .. } => "overdue",
            Self::HealthReported { .. } => "health_reported",
            Self::Accepted { .. } => "accepted",
            Self::Rejected { .. } => "rejected",
            Self::Deferred { .. } => "deferred",
            Self::Undelivered { .. } => "undelivered",
            Self::Resent { .. } => "resent",
            Self::Reminded { .. } => "reminded",
            Self::TimedOut { .. } => "timeout",
            Self::Returned { .. } => "returned",
            Self::Unverified { .. } => "unverified",
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
            Self::Progressed { .. } => "progressed",
            Self::VariablesSet { .. } => "variables_set",
            Self::ArtifactAdded { .. } => "artifact_added",
            Self::ArtifactMarked { .. } => "artifact_marked",
            Self::Locked { .. } => "locked",
            Self::Unlocked { .. } => "unlocked",
            Self::Closed { .. } => "closed",
            Self::Registered { .. } => "registered",
            Self::TokenIssued { .. } => "token_issued",
            Self::TokenRevoked { .. } => "token_revoked",
            Self::Settled { .. } => "settled",
            Self::Pruned { .. } => "pruned",
            Self::PolicySet { .. } => "policy_set",
            Self::TagMoved(_) => "tag_moved",
            Self::Defined(_) => "defined",
            Self::Moved(_) => "moved",
            Self::StepFailed(_) => "step_failed",
            Self::BreakerReset => "breaker_reset",
            Self::Approved { .. } => "approved",
            Self::LimitsSet { .. } => "limits_set",
            Self::FellBack { .. } => "fell_back",
            Self::LockWanted { .. } => "lock_wanted",
        }
    }

    /// The body beside the ledger that it names, if it does.
    pub fn body(&self) -> Option<&BlobRef> {
        let body: Option<&Body> = match self {
            Self::Initiated { terms, .. } => terms.history.as_ref(),
            Self::Completed { result: Some(result), .. }
            | Self::Returned { result, .. }
            | Self::Failed { detail: Detail::Error { result }, .. } => {
                result.content.as_ref().map(|content| &content.body)
            }
            Self::Closed { ending: Ending::Completed { result, .. }, .. } => result.as_ref(),
            Self::Moved(moved) => moved.result.as_ref(),
            _ => None,
        };
        match body? {
            Body::Blob(blob) => Some(blob),
            Body::Inline(_) => None,
        }
    }

    /// The handoff it is about, if it is about one.
    pub fn handoff(&self) -> Option<HandoffId> {
        match self {
            Self::Initiated { terms, .. } => Some(terms.id),
            Self::Escalated { handoff, .. } => *handoff,
            Self::Accepted { handoff, .. }
            | Self::Rejected { handoff, .. }
            | Self::Deferred { handoff, .. }
            | Self::Queued { handoff, .. }
            | Self::Rerouted { handoff, .. }
            | Self::Reassigned { handoff, .. }
            | Self::Undelivered { handoff, .. }
            | Self::Resent { handoff, .. }
            | Self::Reminded { handoff, .. }
            | Self::TimedOut { handoff, .. }
            | Self::Returned { handoff, .. }
            | Self::Unverified { handoff, .. }
            | Self::Completed { handoff, .. }
            | Self::Approved { handoff, .. }
            | Self::Failed { handoff, .. } => Some(*handoff),
            Self::Started { .. }
            | Self::GroupOpened { .. }
            | Self::Aggregated { .. }
            | Self::Reclaimed { .. }
            | Self::Overdue { .. }
            | Self::HealthReported { .. }
            | Self::Progressed { .. }
            | Self::VariablesSet { .. }
            | Self::ArtifactAdded { .. }
            | Self::ArtifactMarked { .. }
            | Self::Locked { .. }
            | Self::Unlocked { .. }
            | Self::Closed { .. }
            | Self::Registered { .. }
            | Self::TokenIssued { .. }
            | Self::TokenRevoked { .. }
            | Self::Settled { .. }
            | Self::PolicySet { .. }
            | Self::TagMoved(_)
            | Self::Defined(_)
            | Self::Moved(_)
            | Self::StepFailed(_)
            | Self::BreakerReset
            | Self::LimitsSet { .. }
            | Self::FellBack { .. }
            | Self::LockWanted { .. }
            | Self::Pruned { .. } => None,
        }
    }
}
