//! The name and the kind of each refusal, for programs.

use super::Refusal;

/// What kind of answer a refusal is, for exit codes and HTTP statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The thing is not there.
    NotFound,
    /// The asker may not.
    Forbidden,
    /// What was asked makes no sense whatever the state.
    Invalid,
    /// The state stands in the way.
    Conflict,
}

impl Refusal {
    /// Returns the name clients match on. It never changes once released; the sentence may.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownAgent { .. } => "unknown-agent",
            Self::UnknownWorkflow { .. } => "unknown-workflow",
            Self::UnknownHandoff { .. } => "unknown-handoff",
            Self::UnknownArtifact { .. } => "unknown-artifact",
            Self::UnknownToken { .. } => "unknown-token",
            Self::WorkflowClosed { .. } => "workflow-closed",
            Self::HandoffOver { .. } => "handoff-over",
            Self::NotApproved { .. } => "not-approved",
            Self::NotSent { .. } => "not-sent",
            Self::ForAnother { .. } => "for-another",
            Self::AlreadyAccepted { .. } => "already-accepted",
            Self::NotAccepted { .. } => "not-accepted",
            Self::AlreadyReturned { .. } => "already-returned",
            Self::StaleFence { .. } => "stale-fence",
            Self::UnknownFence { .. } => "unknown-fence",
            Self::FenceOfAnother { .. } => "fence-of-another",
            Self::FenceRequired { .. } => "fence-required",
            Self::NotHolder { .. } => "not-holder",
            Self::NotOwner { .. } => "not-owner",
            Self::SegmentOpen { .. } => "segment-open",
            Self::PassPending { .. } => "pass-pending",
            Self::SenderBlocked { .. } => "sender-blocked",
            Self::TimeoutRequired => "timeout-required",
            Self::ReturnMismatch { .. } => "return-mismatch",
            Self::ReceiverRequired => "receiver-required",
            Self::ReceiverMismatch => "receiver-mismatch",
            Self::NobodyFits => "nobody-fits",
            Self::TwiceNamed { .. } => "twice-named",
            Self::AutonomyTooSmall { .. } => "autonomy-too-small",
            Self::RationaleRequired => "rationale-required",
            Self::NothingToEscalate => "nothing-to-escalate",
            Self::TooHigh { .. } => "escalation-too-high",
            Self::NobodyAbove => "nobody-above",
            Self::NotAbove { .. } => "not-above",
            Self::Suspended { .. } => "suspended",
            Self::SelfPass { .. } => "self-pass",
            Self::DeadlinePassed { .. } => "deadline-passed",
            Self::AtCapacity { .. } => "at-capacity",
            Self::StaleVariable { .. } => "stale-variable",
            Self::OutOfScope { .. } => "out-of-scope",
            Self::ReadOnlyVariable { .. } => "read-only-variable",
            Self::BadVariable { .. } => "bad-variable",
            Self::TooMany { .. } => "too-many",
            Self::FileLocked { .. } => "file-locked",
            Self::NotLocked { .. } => "not-locked",
            Self::OperatorOnly { .. } => "operator-only",
            Self::NotYours { .. } => "not-yours",
            Self::ViewOnly => "view-only",
            Self::ViewOfAgent => "view-of-agent",
            Self::CoordinatorOnly => "coordinator-only",
            Self::ReservedName { .. } => "reserved-name",
            Self::KeyReused => "key-reused",
            Self::BadDigest => "bad-digest",
        }
    }

    /// Returns what kind of answer this is.
    pub fn kind(&self) -> RefusalKind {
        match self {
            Self::UnknownAgent { .. }
            | Self::UnknownWorkflow { .. }
            | Self::UnknownHandoff { .. }
            | Self::UnknownArtifact { .. }
            | Self::UnknownToken { .. } => RefusalKind::NotFound,
            Self::OperatorOnly { .. }
            | Self::NotYours { .. }
            | Self::ViewOnly
            | Self::CoordinatorOnly
            | Self::ForAnother { .. }
            | Self::FenceOfAnother { .. }
            | Self::OutOfScope { .. } => RefusalKind::Forbidden,
            Self::TimeoutRequired
            | Self::ReturnMismatch { .. }
            | Self::ReceiverRequired
            | Self::ReceiverMismatch
            | Self::TwiceNamed { .. }
            | Self::RationaleRequired
            | Self::NothingToEscalate
            | Self::NotAbove { .. }
            | Self::SelfPass { .. }
            | Self::DeadlinePassed { .. }
            | Self::ReadOnlyVariable { .. }
            | Self::BadVariable { .. }
            | Self::TooMany { .. }
            | Self::ReservedName { .. }
            | Self::ViewOfAgent
            | Self::BadDigest
            | Self::FenceRequired { .. } => RefusalKind::Invalid,
            Self::WorkflowClosed { .. }
            | Self::HandoffOver { .. }
            | Self::NotApproved { .. }
            | Self::NotSent { .. }
            | Self::AlreadyAccepted { .. }
            | Self::NotAccepted { .. }
            | Self::AlreadyReturned { .. }
            | Self::StaleFence { .. }
            | Self::UnknownFence { .. }
            | Self::NotHolder { .. }
            | Self::NotOwner { .. }
            | Self::SegmentOpen { .. }
            | Self::PassPending { .. }
            | Self::SenderBlocked { .. }
            | Self::NobodyFits
            | Self::AutonomyTooSmall { .. }
            | Self::TooHigh { .. }
            | Self::NobodyAbove
            | Self::Suspended { .. }
            | Self::AtCapacity { .. }
            | Self::StaleVariable { .. }
            | Self::FileLocked { .. }
            | Self::KeyReused
            | Self::NotLocked { .. } => RefusalKind::Conflict,
        }
    }
}
