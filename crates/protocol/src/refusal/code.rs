//! The name and the kind of each refusal, for programs.

use super::{Refusal, Unmoved};

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

/// Gives each refusal its code and its kind, once.
macro_rules! named {
    (
        {$($refusal:ident => $code:literal, $kind:ident;)*}
        Unmoved {$($unmoved:ident => $of:literal, $like:ident;)*}
    ) => {
        impl Refusal {
            /// Every code there is, with its kind.
            pub const CODES: &'static [(&'static str, RefusalKind)] =
                &[$(($code, RefusalKind::$kind),)* $(($of, RefusalKind::$like),)*];

            /// Returns the name clients match on. It never changes once released; the sentence
            /// may.
            pub fn code(&self) -> &'static str {
                match self {
                    $(Self::$refusal { .. } => $code,)*
                    $(Self::Unmoved(Unmoved::$unmoved { .. }) => $of,)*
                }
            }

            /// Returns what kind of answer this is.
            pub fn kind(&self) -> RefusalKind {
                match self {
                    $(Self::$refusal { .. } => RefusalKind::$kind,)*
                    $(Self::Unmoved(Unmoved::$unmoved { .. }) => RefusalKind::$like,)*
                }
            }
        }
    };
}

named! {
{
    UnknownAgent => "unknown-agent", NotFound;
    UnknownWorkflow => "unknown-workflow", NotFound;
    UnknownHandoff => "unknown-handoff", NotFound;
    UnknownArtifact => "unknown-artifact", NotFound;
    UnknownToken => "unknown-token", NotFound;
    TokenShown => "token-shown", Conflict;
    WorkflowClosed => "workflow-closed", Conflict;
    HandoffOver => "handoff-over", Conflict;
    NotApproved => "not-approved", Conflict;
    NotSent => "not-sent", Conflict;
    ForAnother => "for-another", Forbidden;
    AlreadyAccepted => "already-accepted", Conflict;
    NotAccepted => "not-accepted", Conflict;
    AlreadyReturned => "already-returned", Conflict;
    StaleFence => "stale-fence", Conflict;
    UnknownFence => "unknown-fence", Conflict;
    FenceOfAnother => "fence-of-another", Forbidden;
    FenceRequired => "fence-required", Invalid;
    NotHolder => "not-holder", Conflict;
    NotOwner => "not-owner", Conflict;
    ParentGoto => "parent-goto", Conflict;
    SegmentOpen => "segment-open", Conflict;
    PassPending => "pass-pending", Conflict;
    SenderBlocked => "sender-blocked", Conflict;
    TimeoutRequired => "timeout-required", Invalid;
    ReturnMismatch => "return-mismatch", Invalid;
    ReceiverRequired => "receiver-required", Invalid;
    ReceiverMismatch => "receiver-mismatch", Invalid;
    NobodyFits => "nobody-fits", Conflict;
    TwiceNamed => "twice-named", Invalid;
    AutonomyTooSmall => "autonomy-too-small", Conflict;
    RationaleRequired => "rationale-required", Invalid;
    NothingToEscalate => "nothing-to-escalate", Invalid;
    TooHigh => "escalation-too-high", Conflict;
    NobodyAbove => "nobody-above", Conflict;
    NotAbove => "not-above", Invalid;
    Suspended => "suspended", Conflict;
    BadHistory => "bad-history", Invalid;
    BeingChecked => "being-checked", Conflict;
    ChecksNeedReturn => "checks-need-return", Invalid;
    CheckNotAllowed => "check-not-allowed", Forbidden;
    SelfPass => "self-pass", Invalid;
    DeadlinePassed => "deadline-passed", Invalid;
    AtCapacity => "at-capacity", Conflict;
    StaleVariable => "stale-variable", Conflict;
    OutOfScope => "out-of-scope", Forbidden;
    ReadOnlyVariable => "read-only-variable", Invalid;
    BadVariable => "bad-variable", Invalid;
    TooMany => "too-many", Invalid;
    FileLocked => "file-locked", Conflict;
    NotLocked => "not-locked", Conflict;
    OperatorOnly => "operator-only", Forbidden;
    NotYours => "not-yours", Forbidden;
    ViewOnly => "view-only", Forbidden;
    ViewOfAgent => "view-of-agent", Invalid;
    CoordinatorOnly => "coordinator-only", Forbidden;
    ReservedName => "reserved-name", Invalid;
    KeyReused => "key-reused", Conflict;
    RuleTwice => "rule-twice", Invalid;
    BadRule => "bad-rule", Invalid;
    NoPrices => "no-prices", Invalid;
    HandoffsDisabled => "handoffs-disabled", Conflict;
    HandoffLimitExceeded => "handoff-limit-exceeded", Conflict;
    EconomicLimitExceeded => "economic-limit-exceeded", Conflict;
    CircuitBreakerOpen => "circuit-breaker-open", Conflict;
    DeadlockDetected => "deadlock-detected", Conflict;
    ApprovalVoid => "approval-void", Conflict;
    OwnLineage => "own-lineage", Forbidden;
    NothingToApprove => "nothing-to-approve", Conflict;
    BadDigest => "bad-digest", Invalid;
}
Unmoved {
    UnknownDefinition => "unknown-definition", NotFound;
    WithoutDefinition => "without-definition", Conflict;
    VersionTaken => "version-taken", Conflict;
    BadDefinition => "bad-definition", Invalid;
    NoRuleHolds => "no-rule-holds", Conflict;
    RuleBroken => "rule-broken", Conflict;
    UndeclaredTransition => "undeclared-transition", Conflict;
    UnheardSignal => "unheard-signal", Invalid;
    StillWaiting => "still-waiting", Conflict;
    RulesDecide => "rules-decide", Conflict;
}
}
