//! What a decision made of a handoff, in a form that two decisions can be compared in.

use std::fmt;

use baton_protocol::event::{Approval, Event};
use baton_protocol::id::{AgentId, CapabilityId, HandoffId};
use baton_protocol::refusal::Refusal;
use baton_protocol::text::Text;

/// A handoff that a decision began, and what it made of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Begun {
    pub(super) handoff: HandoffId,
    pub(super) from: AgentId,
    pub(super) to: AgentId,
    pub(super) verdict: Verdict,
}

/// What a decision made of a handoff.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    /// It began.
    Initiated,
    /// It went to another at once.
    Rerouted(AgentId),
    /// Whoever it was for could not take it, and nobody else was asked.
    Failed,
    /// It waits for a person.
    Waits(CapabilityId, Text),
    /// It was not allowed.
    Refused(Box<Refusal>),
}

impl PartialEq for Verdict {
    /// Refusals are the same if their codes are: their sentences count what was used.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Initiated, Self::Initiated) | (Self::Failed, Self::Failed) => true,
            (Self::Rerouted(one), Self::Rerouted(two)) => one == two,
            (Self::Waits(one, _), Self::Waits(two, _)) => one == two,
            (Self::Refused(one), Self::Refused(two)) => one.code() == two.code(),
            (
                Self::Initiated
                | Self::Rerouted(_)
                | Self::Failed
                | Self::Waits(..)
                | Self::Refused(_),
                _,
            ) => false,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initiated => f.write_str("initiated"),
            Self::Rerouted(to) => write!(f, "rerouted to {to}"),
            Self::Failed => f.write_str("failed"),
            Self::Waits(rule, _) => write!(f, "awaiting approval by {rule}"),
            Self::Refused(refusal) => write!(f, "refused {}", refusal.code()),
        }
    }
}

impl Verdict {
    /// The code of the refusal, if it is one.
    pub(super) fn code(&self) -> Option<&'static str> {
        match self {
            Self::Refused(refusal) => Some(refusal.code()),
            Self::Initiated | Self::Rerouted(_) | Self::Failed | Self::Waits(..) => None,
        }
    }

    /// Why, in words, if there are any.
    pub(super) fn why(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => Some(refusal.to_string()),
            Self::Waits(_, why) => Some(why.to_string()),
            Self::Initiated | Self::Rerouted(_) | Self::Failed => None,
        }
    }
}

/// What these events of one decision made of each handoff that they began.
pub(super) fn verdicts<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<Begun> {
    let mut all: Vec<Begun> = Vec::new();
    for event in events {
        if let Event::Initiated { terms, guarded, .. } = event {
            let verdict = match &guarded.approval {
                Some(Approval::Waits { matched, .. }) => {
                    Verdict::Waits(matched.rule.clone(), matched.why.clone())
                }
                Some(Approval::Standing { .. }) | None => Verdict::Initiated,
            };
            let (from, to) = (terms.from_agent.clone(), terms.to_agent.clone());
            all.push(Begun { handoff: terms.id, from, to, verdict });
            continue;
        }
        let known = event.handoff();
        let Some(begun) = all.iter_mut().find(|begun| Some(begun.handoff) == known) else {
            continue;
        };
        match event {
            Event::Rerouted { to, .. } => begun.verdict = Verdict::Rerouted(to.clone()),
            Event::Failed { .. } => begun.verdict = Verdict::Failed,
            _ => (),
        }
    }
    all
}
