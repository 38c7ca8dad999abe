//! Whether what came back is more than what its holder says.

use baton_protocol::handoff::{Detail, Evidence, Handoff, Return, State};
use serde::{Deserialize, Serialize};

/// What is known of a result beyond the word of its holder.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerificationView {
    /// How much.
    pub standing: Verification,
    /// How often what came back did not pass its checks.
    pub failed: u8,
    /// What the checks showed when they last ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// How much is known of a result.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// Its holder says so.
    Reported,
    /// Its checks passed.
    Verified,
    /// Its checks failed.
    Unverified,
}

impl Verification {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Verified => "verified",
            Self::Unverified => "unverified",
        }
    }
}

/// What is known of the result of a handoff, if it has one or had one.
pub(super) fn verification(handoff: &Handoff) -> Option<VerificationView> {
    let failed = handoff.unverified;
    let of = |result: &Return| {
        let evidence = result.evidence.as_deref().cloned();
        let standing = match &evidence {
            None => Verification::Reported,
            Some(evidence) if evidence.verifies() => Verification::Verified,
            Some(_) => Verification::Unverified,
        };
        VerificationView { standing, failed, evidence }
    };
    match &handoff.state {
        State::Returned { result, .. }
        | State::Completed { result: Some(result), .. }
        | State::Failed { detail: Detail::Error { result }, .. } => Some(of(result)),
        State::AwaitingApproval { .. }
        | State::Queued { .. }
        | State::Initiated { .. }
        | State::Deferred { .. }
        | State::Accepted { .. }
        | State::Suspended { .. }
        | State::Completed { result: None, .. }
        | State::Failed { .. } => {
            let evidence = handoff.evidence.as_deref().cloned()?;
            let standing = Verification::Unverified;
            Some(VerificationView { standing, failed, evidence: Some(evidence) })
        }
    }
}
