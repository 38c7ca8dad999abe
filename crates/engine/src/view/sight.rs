//! Who sees what. The operator sees everything; an agent sees the work it has or had a part in, and
//! of a broadcast only its own copy with what hangs from it, unless the sender lets the recipients
//! know of each other. What a person has not let through, whoever it is for does not see.

use std::collections::BTreeSet;

use baton_protocol::command::Actor;
use baton_protocol::handoff::{Handoff, Kind};
use baton_protocol::id::{AgentId, HandoffId};
use baton_protocol::workflow::Workflow;
use serde_json::Value;

/// Whether `viewer` may see this workflow.
pub(crate) fn may_see(viewer: &Actor, workflow: &Workflow) -> bool {
    match viewer {
        Actor::Operator | Actor::OperatorAs(_) | Actor::Viewer | Actor::Coordinator => true,
        Actor::Agent(agent) => workflow.readers.contains(agent),
    }
}

/// What one viewer sees of a workflow that it may see.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    /// Nobody in particular sees everything.
    viewer: Option<&'a AgentId>,
    workflow: &'a Workflow,
    /// What is kept from it besides.
    besides: Option<&'a Hidden>,
}

impl<'a> Sight<'a> {
    pub(crate) fn of(viewer: &'a Actor, workflow: &'a Workflow) -> Self {
        let viewer = match viewer {
            Actor::Operator | Actor::OperatorAs(_) | Actor::Viewer | Actor::Coordinator => None,
            Actor::Agent(agent) => Some(agent),
        };
        Self { viewer, workflow, besides: None }
    }

    /// The same without what is hidden at another time: somebody who got a copy of a broadcast
    /// later may not look back to before it had one.
    pub(crate) fn without(self, hidden: &'a Hidden) -> Self {
        Self { besides: Some(hidden), ..self }
    }

    /// What the receiver of a handoff sees, whoever looks: the package is made for it.
    pub(super) fn of_receiver(handoff: &'a Handoff, workflow: &'a Workflow) -> Self {
        Self { viewer: Some(&handoff.to), workflow, besides: None }
    }

    pub(super) fn workflow(&self) -> &'a Workflow {
        self.workflow
    }

    /// Whether it sees this handoff.
    pub(crate) fn sees(&self, handoff: &Handoff) -> bool {
        if self.besides.is_some_and(|hidden| hidden.has(handoff.terms.id)) {
            return false;
        }
        let Some(viewer) = self.viewer else { return true };
        // What waits for a person, or was denied, has not reached its receiver.
        if handoff.is_withheld() && handoff.to == *viewer && handoff.terms.from_agent != *viewer {
            return false;
        }
        if self.workflow.groups.is_empty() {
            return true;
        }
        let above = self.workflow.above(handoff);
        let mut copies = std::iter::once(handoff).chain(above).filter(|one| is_secret(one));
        copies.all(|copy| self.may_know(viewer, copy))
    }

    /// Whether what this agent wrote is kept from it.
    pub(crate) fn hides(&self, author: &AgentId) -> bool {
        if self.besides.is_some_and(|hidden| hidden.authors.contains(author.as_str())) {
            return true;
        }
        let copies = self.workflow.handoffs.values().filter(|one| is_secret(one));
        let mut unseen = copies.filter(|copy| !self.sees(copy));
        self.viewer != Some(author) && unseen.any(|copy| had(author, copy))
    }

    /// All that is kept from it.
    pub(crate) fn hidden(&self) -> Hidden {
        let unseen = self.workflow.handoffs.values().filter(|handoff| !self.sees(handoff));
        let handoffs = unseen.map(|handoff| handoff.terms.id.to_string()).collect();
        let all = self.workflow.handoffs.values().map(|handoff| &handoff.to);
        let authors = all.filter(|agent| self.hides(agent)).map(ToString::to_string).collect();
        Hidden { handoffs, authors }
    }

    /// A copy is kept only from those who have a part in another one of the same broadcast.
    fn may_know(&self, viewer: &AgentId, copy: &Handoff) -> bool {
        let group = copy.terms.kind.group();
        let all = self.workflow.handoffs.values();
        let mut others =
            all.filter(|one| one.terms.kind.group() == group && one.terms.id != copy.terms.id);
        copy.terms.from_agent == *viewer
            || self.has_part(viewer, copy)
            || !others.any(|other| self.has_part(viewer, other))
    }

    fn has_part(&self, viewer: &AgentId, copy: &Handoff) -> bool {
        let under = |below: &Handoff| {
            self.workflow.above(below).any(|above| above.terms.id == copy.terms.id)
        };
        let mut mine = self.workflow.handoffs.values().filter(|one| had(viewer, one));
        had(viewer, copy) || mine.any(under)
    }
}

/// What is kept from somebody: handoffs, and what some agents wrote.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    pub(crate) handoffs: BTreeSet<String>,
    authors: BTreeSet<String>,
}

impl Hidden {
    fn has(&self, handoff: HandoffId) -> bool {
        !self.handoffs.is_empty() && self.handoffs.contains(&handoff.to_string())
    }

    /// Whether a record is kept from it.
    pub(crate) fn covers(&self, record: &Value) -> bool {
        if self.handoffs.is_empty() {
            return false;
        }
        let by = record["by"].as_str().unwrap_or_default();
        let by = by.strip_prefix("operator as ").unwrap_or(by);
        // A broadcast as a whole names all its copies.
        let whole = matches!(record["event"]["type"].as_str(), Some("group_opened" | "aggregated"));
        match record["audit"]["handoff_id"].as_str() {
            Some(handoff) => self.handoffs.contains(handoff),
            None => whole || self.authors.contains(by),
        }
    }
}

/// Whether an agent has a handoff, or had it before another.
fn had(agent: &AgentId, handoff: &Handoff) -> bool {
    handoff.to == *agent || handoff.tried.contains(agent)
}

/// Whether it is a copy of a broadcast whose recipients do not know of each other.
fn is_secret(handoff: &Handoff) -> bool {
    match &handoff.terms.kind {
        Kind::Broadcast(copy) => copy.peers.is_empty(),
        Kind::Sequential | Kind::Delegation(_) | Kind::Escalation(_) => false,
    }
}
