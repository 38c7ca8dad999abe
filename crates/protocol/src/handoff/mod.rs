//! A handoff: what is passed, how, and where it stands.

mod check;
mod kind;
mod priority;
mod returning;
mod state;
mod transfer;

pub use check::{Check, CheckEnd, CheckRun, Evidence};
pub use kind::{
    Aggregation, Assessment, Broadcast, Delegation, Escalation, Kind, Matter, OnTimeout, Trigger,
};
pub use priority::{Priority, PriorityError};
pub use returning::{Content, ContentType, Return, ReturnStatus};
pub use state::{Attempts, Cause, Detail, Due, State};
pub use transfer::{Include, Transfer, TransferMode, Transferred};

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::agent::{Requirement, Risk};
use crate::id::{AgentId, CapabilityId, Fence, HandoffId};
use crate::machine::Step;
use crate::open::OpenKeys;
use crate::policy::Money;
use crate::text::{Body, Text};
use crate::time::Timestamp;
use crate::trace::TraceParent;
use crate::variables::VariableName;

/// One handoff inside a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handoff {
    /// What was asked for, as it was recorded when it began.
    pub terms: Terms,
    /// Who has it now to answer or to do; a reroute changes it, the terms keep the first.
    pub to: AgentId,
    /// When it began.
    pub initiated_at: Timestamp,
    /// How often it was tried, whatever the reason.
    pub attempts: Attempts,
    /// Who had it and did not take it.
    #[serde(default)]
    pub tried: BTreeSet<AgentId>,
    /// Capabilities asked for that whoever has it lacks.
    #[serde(default)]
    pub gap: Vec<CapabilityId>,
    /// The hash of what a person approved, if one had to.
    #[serde(default)]
    pub approved: Option<String>,
    /// It ended while it waited for a person.
    #[serde(default)]
    pub withheld: bool,
    /// How often what came back did not pass its checks.
    #[serde(default)]
    pub unverified: u8,
    /// What the checks showed when it last did not.
    #[serde(default)]
    pub evidence: Option<Box<Evidence>>,
    /// Where it stands.
    pub state: State,
}

impl Handoff {
    /// Whether whoever it is for does not know of it: a person has not let it through.
    pub fn is_withheld(&self) -> bool {
        self.withheld || matches!(self.state, State::AwaitingApproval { .. })
    }
}

/// What a handoff is about. It never changes after it was recorded.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Which handoff.
    pub id: HandoffId,
    /// Who passes.
    pub from_agent: AgentId,
    /// The fence of the sender's hold under which it is passed.
    pub parent: Fence,
    /// Whom it was meant for first.
    pub to_agent: AgentId,
    /// How it is passed.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Why.
    pub reason: Text,
    /// What set it off.
    pub trigger: Trigger,
    /// How urgent it is.
    pub priority: Priority,
    /// The subtask in the sender's words; absent when the whole work moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text>,
    /// The task that a rule made of it, in work with a definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<Step>>,
    /// Whatever else the sender told.
    #[serde(default, skip_serializing_if = "OpenKeys::is_empty")]
    pub custom: OpenKeys,
    /// Messages that travel with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Body>,
    /// What was made of the conversation that the sender gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transferred: Option<Box<Transferred>>,
    /// The variables that a delegate may see; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Vec<VariableName>>,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Constraints::is_empty")]
    pub constraints: Constraints,
    /// What the receiver must be able to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_capabilities: Vec<Requirement>,
    /// How much autonomy the task needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_budget: Option<u64>,
    /// Capabilities asked for that the receiver lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gap: Vec<CapabilityId>,
    /// Why the sender decided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_rationale: Option<Text>,
    /// How much can go wrong.
    pub risk_level: Risk,
    /// What happens when the receiver cannot take it.
    #[serde(default)]
    pub routing: Routing,
    /// What must succeed before its return counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Whether a person passed it, also in an agent's name: nobody approves its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
    /// The span under which it was passed, if a trace was given; the work goes on in that trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
}

impl Terms {
    /// The whole work passed on, with nothing beside; whoever makes more of it says what.
    pub(crate) fn plain(
        id: HandoffId,
        (from_agent, parent): (AgentId, Fence),
        to_agent: AgentId,
        reason: Text,
    ) -> Self {
        let (history, transferred, shared, autonomy_budget) = Default::default();
        let (task, step, decision_rationale, traceparent) = Default::default();
        Self {
            id,
            from_agent,
            parent,
            to_agent,
            kind: Kind::Sequential,
            reason,
            trigger: Trigger::default(),
            priority: Priority::default(),
            task,
            step,
            custom: OpenKeys::default(),
            history,
            transferred,
            shared,
            constraints: Constraints::default(),
            required_capabilities: Vec::new(),
            autonomy_budget,
            gap: Vec::new(),
            decision_rationale,
            risk_level: Risk::default(),
            routing: Routing::default(),
            checks: Vec::new(),
            by_person: false,
            traceparent,
        }
    }
}

/// What a handoff may cost.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraints {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// The latest moment it is of use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Handoffs that agents begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoffs: Option<u32>,
}

impl Constraints {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens when the receiver cannot take a handoff.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// When it says no, or does not answer.
    pub on_rejection: OnRejection,
    /// When it holds as much as it can.
    pub at_capacity: AtCapacity,
}

/// What happens when the receiver says no, or does not answer.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnRejection {
    /// Another that can do it is asked, at most three times, then a person.
    #[default]
    Reroute,
    /// It has failed, and the work stays with its sender.
    Fail,
}

/// What happens when the receiver holds as much as it can.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtCapacity {
    /// It waits until there is room: the most urgent first, then first in first out.
    #[default]
    Queue,
    /// Another that can do it and has room is asked; if there is none, it waits.
    Reroute,
}
