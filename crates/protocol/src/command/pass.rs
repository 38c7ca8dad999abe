//! Passing work on, in the shape that the handoff specification gives it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::History;
use crate::agent::{Requirement, Risk};
use crate::artifact::Produced;
use crate::command::Used;
use crate::course::Report;
use crate::handoff::{Aggregation, Check, Constraints, OnTimeout, Priority, Routing, Trigger};
use crate::id::{AgentId, Fence, WorkflowId};
use crate::machine::Step;
use crate::open::OpenKeys;
use crate::policy::Matched;
use crate::text::Text;
use crate::time::Allowance;
use crate::trace::TraceParent;
use crate::variables::{Changes, VariableName};

/// Passes work on. Without a workflow it begins one.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pass {
    /// Which work; absent begins new work under the reason's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowId>,
    /// The sender's hold. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// To whom; absent means whoever can do it best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<AgentId>,
    /// To whom all, for a broadcast.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to_agents: Vec<Recipient>,
    /// When a broadcast has succeeded.
    #[serde(default)]
    pub aggregation: Aggregation,
    /// Whether the recipients of a broadcast are told of each other.
    #[serde(default)]
    pub peers_visible: bool,
    /// How.
    #[serde(rename = "type", default)]
    pub kind: PassKind,
    /// Why.
    pub reason: Text,
    /// What set it off.
    #[serde(default)]
    pub trigger: Option<Trigger>,
    /// How urgent it is; absent means as the workflow.
    #[serde(default)]
    pub priority: Option<Priority>,
    /// What travels with it.
    #[serde(default)]
    pub context: PassContext,
    /// What the receiver must be.
    #[serde(default)]
    pub validation: PassValidation,
    /// How it comes back.
    #[serde(default)]
    pub return_protocol: ReturnProtocol,
    /// What the audit should know.
    #[serde(default)]
    pub audit: PassAudit,
    /// What happens when the receiver cannot take it.
    #[serde(default)]
    pub routing: Routing,
    /// The rules that hold for a receiver, by which it waits for a person. The engine finds them
    /// before anything is decided; nobody can send them.
    #[serde(skip)]
    pub matched: BTreeMap<AgentId, Matched>,
    /// The task that a rule of a definition made of it; nobody can send one.
    #[serde(skip)]
    pub step: Option<Box<Step>>,
}

impl Pass {
    /// A pass that says no more than why.
    pub(crate) fn plain(reason: Text) -> Self {
        Self {
            workflow: None,
            fence: None,
            to_agent: None,
            to_agents: Vec::new(),
            aggregation: Aggregation::default(),
            peers_visible: false,
            kind: PassKind::default(),
            reason,
            trigger: None,
            priority: None,
            context: PassContext::default(),
            validation: PassValidation::default(),
            return_protocol: ReturnProtocol::default(),
            audit: PassAudit::default(),
            routing: Routing::default(),
            matched: BTreeMap::new(),
            step: None,
        }
    }
}

/// One recipient of a broadcast.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "RecipientForm")]
pub struct Recipient {
    /// Who.
    pub agent: AgentId,
    /// Whether it must return something.
    pub return_expected: bool,
    /// What it does, if not the same as all. One agent may be named several times, each with a
    /// task of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Text>,
    /// Whatever else it should know; it stands over what all are told.
    #[serde(skip_serializing_if = "OpenKeys::is_empty")]
    pub custom: OpenKeys,
}

impl Recipient {
    /// An agent that does the same as all.
    pub fn of(agent: AgentId, return_expected: bool) -> Self {
        Self { agent, return_expected, task: None, custom: OpenKeys::default() }
    }
}

/// A recipient as people write it: a bare name must return something.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "an agent's name, or {agent, return_expected, task, custom} and nothing else"
)]
enum RecipientForm {
    Name(AgentId),
    Full {
        agent: AgentId,
        #[serde(default = "expected")]
        return_expected: bool,
        #[serde(default)]
        task: Option<Text>,
        #[serde(default)]
        custom: OpenKeys,
    },
}

fn expected() -> bool {
    true
}

impl From<RecipientForm> for Recipient {
    fn from(form: RecipientForm) -> Self {
        match form {
            RecipientForm::Name(agent) => Self::of(agent, true),
            RecipientForm::Full { agent, return_expected, task, custom } => {
                Self { agent, return_expected, task, custom }
            }
        }
    }
}

/// How work is passed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PassKind {
    /// For good.
    #[default]
    Sequential,
    /// To have it back.
    Delegation,
    /// To several at once, each with a copy of its own.
    Broadcast,
    /// To somebody above, for a decision.
    Escalation,
}

/// What travels with a handoff.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassContext {
    /// The subtask in the sender's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Text>,
    /// Messages, as a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_history: Option<History>,
    /// Variables to write with the pass.
    #[serde(skip_serializing_if = "Changes::is_empty")]
    pub context_variables: Changes,
    /// Variables that a delegate sees beside those written here; a sequential pass moves all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub share: Vec<VariableName>,
    /// Artifacts to make known with the pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Produced>,
    /// What it may cost.
    pub constraints: Constraints,
    /// Whatever else the receiver should know.
    #[serde(skip_serializing_if = "OpenKeys::is_empty")]
    pub custom: OpenKeys,
    /// How far the whole work is, and what it has cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
    /// The sender's span, for those who follow the work across systems. Over HTTP the header of
    /// that name says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
}

/// What the receiver must be.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassValidation {
    /// What it must be able to do.
    pub required_capabilities: Vec<Requirement>,
    /// How much autonomy the task needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy_budget: Option<u64>,
}

/// How work comes back.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReturnProtocol {
    /// Whether it does; absent means as the type says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<bool>,
    /// Until when, counted from acceptance. A delegation must have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Allowance>,
    /// What happens then.
    pub on_timeout: OnTimeout,
    /// Whether the sender does nothing else meanwhile.
    pub blocking: bool,
    /// What must succeed before what comes back counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// What the audit should know of a pass.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassAudit {
    /// Why the sender decided so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_rationale: Option<Text>,
    /// How much can go wrong.
    pub risk_level: Risk,
    /// What the sender used since the work was passed to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
}
