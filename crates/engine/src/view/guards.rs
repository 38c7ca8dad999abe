//! What guards work, as people see it: who must approve, what may be used, who gets no more.

use baton_protocol::account::{Limits, Spent};
use baton_protocol::content_hash;
use baton_protocol::handoff::{Handoff, State};
use baton_protocol::id::{AgentId, CapabilityId};
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::Workflow;
use serde::{Deserialize, Serialize};

use super::sight::Sight;

/// Whether a person must say yes before a handoff goes on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalView {
    /// Whether it waits for that now.
    pub waits: bool,
    /// The rule that asks for it; absent once it was approved.
    pub rule: Option<CapabilityId>,
    /// What the rule says.
    pub why: Option<String>,
    /// Until when a person has time, if there is a limit.
    pub until: Option<Timestamp>,
    /// The hash of all that would be passed, as it is now: who approves names it.
    pub hash: String,
    /// The hash of what was approved, if it was.
    pub approved: Option<String>,
}

/// What work may use, and what it has used.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AccountView {
    /// What it may use.
    pub limits: Limits,
    /// What it has used.
    pub spent: Spent,
    /// What is set aside for parts that are under way.
    #[serde(default)]
    pub set_aside: Spent,
    /// The agents that take part.
    pub agents: Vec<AgentId>,
    /// Whether agents do not pass it on.
    pub independent: bool,
}

/// Whether a person must say yes, if one ever had to.
pub(super) fn approval(workflow: &Workflow, handoff: &Handoff) -> Option<ApprovalView> {
    let asked = match &handoff.state {
        State::AwaitingApproval { matched, until } => Some((matched, *until)),
        _ => None,
    };
    if asked.is_none() && handoff.approved.is_none() {
        return None;
    }
    let hash = content_hash(workflow, handoff);
    Some(ApprovalView {
        waits: waits_for_a_person(workflow, handoff),
        rule: asked.map(|(matched, _)| matched.rule.clone()),
        why: asked.map(|(matched, _)| matched.why.to_string()),
        until: asked.and_then(|(_, until)| until),
        hash,
        approved: handoff.approved.clone(),
    })
}

/// Whether a handoff waits for a person: it was never approved, or something else was.
pub(crate) fn waits_for_a_person(workflow: &Workflow, handoff: &Handoff) -> bool {
    let void = || handoff.approved.as_ref().is_some_and(|h| *h != content_hash(workflow, handoff));
    match &handoff.state {
        State::AwaitingApproval { .. } => true,
        State::Queued { .. } | State::Initiated { .. } | State::Deferred { .. } => void(),
        State::Accepted { .. }
        | State::Suspended { .. }
        | State::Returned { .. }
        | State::Completed { .. }
        | State::Failed { .. } => false,
    }
}

/// What a workflow may use, and what it has used. Whoever has a copy of a broadcast in secret is
/// not named to those it is kept from.
pub(super) fn account(sight: Sight<'_>) -> AccountView {
    let workflow = sight.workflow();
    let seen = workflow.members.iter().filter(|member| !sight.hides(member));
    AccountView {
        limits: workflow.account.limits,
        spent: workflow.account.spent,
        set_aside: workflow.set_aside(),
        agents: seen.cloned().collect(),
        independent: workflow.independent,
    }
}
