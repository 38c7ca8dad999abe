//! Where work goes, whoever says so.

use crate::command::MoveTo;
use crate::definition::{Chosen, RuleId, StateName};
use crate::handoff::Priority;
use crate::id::AgentId;
use crate::text::{PayloadJson, Text};
use crate::variables::Changes;

/// Where work goes.
pub(super) struct Choice {
    pub(super) rule: Option<RuleId>,
    pub(super) to: Option<AgentId>,
    pub(super) next: StateName,
    pub(super) reason: Text,
    pub(super) priority: Option<Priority>,
    pub(super) payload: Option<PayloadJson>,
    pub(super) set: Changes,
    /// Whether the payload is the one that the step had before.
    pub(super) keeps: bool,
}

impl Choice {
    /// Somewhere, with the task as it was.
    pub(super) fn plain(next: &StateName, reason: Text) -> Self {
        let (rule, to, priority, payload) = Default::default();
        Self {
            rule,
            to,
            next: next.clone(),
            reason,
            priority,
            payload,
            set: Changes::new(),
            keeps: true,
        }
    }

    /// Where a person moves it.
    pub(super) fn of_person(to: &MoveTo) -> Self {
        Self::plain(&to.state, to.reason.clone())
    }

    /// Where a rule leads.
    pub(super) fn of_rule(chosen: &Chosen) -> Self {
        // What is too large was found broken before.
        let payload = chosen.payload.clone().and_then(|value| PayloadJson::try_from(value).ok());
        Self {
            rule: Some(chosen.rule.clone()),
            to: chosen.to.clone(),
            priority: chosen.priority,
            payload,
            set: chosen.set.clone(),
            keeps: false,
            ..Self::plain(&chosen.next_state, chosen.reason.clone())
        }
    }
}
