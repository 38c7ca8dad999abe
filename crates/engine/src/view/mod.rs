//! Views: what can be read. Made from committed state only; nothing here changes anything.

mod build;
mod checks;
mod flow;
mod guards;
mod kinds;
mod machine;
mod messages;
mod past;
mod proof;
mod sight;
mod what_if;
mod whole;

pub(crate) use build::{
    Bodies, agent_view, handoff_line, handoff_view, inbox, lock_views, workflow_line, workflow_view,
};
pub use checks::{Verification, VerificationView};
pub(crate) use flow::{Tale, flow};
pub(crate) use guards::waits_for_a_person;
pub use guards::{AccountView, ApprovalView};
pub(crate) use kinds::status;
pub use machine::{MachineView, WaitView};
pub use messages::{
    Message, MessageContext, MessageHandoff, MessageTask, MessageType, Payload, message,
};
pub(crate) use past::Ended;
pub use past::Replay;
pub use proof::{Exported, Prunable, PrunableLine, Signed, Verified};
pub(crate) use sight::{Hidden, Sight, may_see};
pub use what_if::{WhatIf, WhatIfRow};
pub use whole::{AgentStats, Found, Stats, Status};

use std::collections::BTreeMap;

use baton_protocol::agent::{Grant, Health, Profile, Requirement, Risk};
use baton_protocol::artifact::Artifact;
use baton_protocol::course::{Metrics, WorkflowState};
use baton_protocol::event::Event;
use baton_protocol::handoff::{
    Aggregation, Assessment, Check, Constraints, Matter, OnTimeout, Priority, Routing, Transferred,
    Trigger,
};
use baton_protocol::id::{AgentId, CapabilityId, Fence, GroupId, HandoffId, TokenId, WorkflowId};
use baton_protocol::lock::{FilePath, LockMode};
use baton_protocol::machine::Step;
use baton_protocol::open::OpenKeys;
use baton_protocol::policy::Breaker;
use baton_protocol::text::Text;
use baton_protocol::time::{Allowance, Timestamp};
use baton_protocol::trace::TraceParent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::compact::CompactView;

/// What a command came to. It is made from what was recorded, so the same command asked again
/// gets the same answer.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The number of the last record, if anything had to be recorded.
    pub seq: Option<u64>,
    /// The workflow it is about.
    pub workflow: Option<WorkflowId>,
    /// The handoff it is about.
    pub handoff: Option<HandoffId>,
    /// The number of the hold it gave.
    pub fence: Option<Fence>,
    /// What was recorded, in order.
    pub events: Vec<Event>,
}

impl Answer {
    /// Whether an event of this type was recorded.
    pub fn has(&self, kind: &str) -> bool {
        self.event(kind).is_some()
    }

    /// The first event of this type.
    pub fn event(&self, kind: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.word() == kind)
    }
}

/// An agent as others see it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentView {
    /// What it says of itself.
    pub profile: Profile,
    /// Since when.
    pub registered_at: Timestamp,
    /// How much it holds.
    pub load: usize,
    /// Whether new work goes to it: `healthy`, `unavailable` or `unhealthy`.
    pub status: String,
    /// What that rests on.
    pub health: Health,
    /// Whether it gets new work, by how it did of late.
    #[serde(default)]
    pub breaker: Breaker,
    /// Its credentials, without anything secret.
    pub tokens: Vec<TokenView>,
}

/// A credential, without anything secret.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenView {
    /// Which one.
    pub id: TokenId,
    /// What it is good for.
    #[serde(default)]
    pub grant: Grant,
    /// Since when.
    pub issued_at: Timestamp,
    /// Until when, if it ends.
    pub expires_at: Option<Timestamp>,
}

/// A handoff in one line.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandoffLine {
    /// Which one.
    pub id: HandoffId,
    /// Of which work.
    pub workflow: WorkflowId,
    /// What that work is about.
    pub title: String,
    /// Who passes.
    pub from_agent: AgentId,
    /// Who has it.
    pub to_agent: AgentId,
    /// How it is passed.
    #[serde(rename = "type")]
    pub kind: String,
    /// How urgent it is.
    pub priority: Priority,
    /// Why.
    pub reason: String,
    /// The subtask in the sender's words, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Where it stands.
    pub state: String,
    /// How it ended, if some other way than completed.
    pub detail: Option<String>,
    /// When it began.
    pub initiated_at: Timestamp,
    /// The number of the hold, while one is in force.
    pub fence: Option<Fence>,
    /// When the coordinator looks at it again.
    pub wake_at: Option<Timestamp>,
    /// How often it was sent again.
    pub resends: u8,
    /// How often it went to another agent.
    pub reroutes: u8,
    /// The broadcast that it is a copy of.
    #[serde(rename = "broadcast_group_id")]
    pub group: Option<GroupId>,
}

/// A whole handoff: the record in the shape that the specification gives it, and where it stands.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandoffView {
    /// In one line.
    #[serde(flatten)]
    pub line: HandoffLine,
    /// When it began.
    pub timestamp: Timestamp,
    /// What set it off.
    pub trigger: Trigger,
    /// The task that a rule made of it, in work with a definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// What travels with it.
    pub context: ContextView,
    /// What the receiver must be.
    pub validation: ValidationView,
    /// How it comes back.
    pub return_protocol: ReturnView,
    /// What the audit should know.
    pub audit: AuditView,
    /// What happens when the receiver cannot take it.
    pub routing: Routing,
    /// The handoff's own span, in the form of W3C Trace Context.
    pub traceparent: TraceParent,
    /// Who had it and did not take it.
    pub tried: Vec<AgentId>,
    /// What it is a part of, if it went to several.
    pub broadcast: Option<BroadcastView>,
    /// What is asked, if it is a question to somebody above.
    pub escalation: Option<EscalationView>,
    /// Capabilities asked for that the receiver lacks.
    pub capability_gap: Vec<CapabilityId>,
    /// When the holder says it will be done.
    pub estimated_completion: Option<Timestamp>,
    /// The state with its facts.
    pub standing: Value,
    /// What came back.
    pub result: Option<Value>,
    /// Whether that is more than what its holder says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationView>,
    /// Whether a person must say yes, if one ever had to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalView>,
}

/// What travels with a handoff.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextView {
    /// The subtask's words, or the workflow's id.
    pub task_id: String,
    /// Messages.
    pub conversation_history: Option<Value>,
    /// What was made of the conversation that the sender gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transferred: Option<Transferred>,
    /// Variables that the receiver may see.
    pub context_variables: Value,
    /// Artifacts.
    pub artifacts: Vec<Artifact>,
    /// What it may cost.
    pub constraints: Constraints,
    /// Whatever else the sender told.
    #[serde(default, skip_serializing_if = "OpenKeys::is_empty")]
    pub custom: OpenKeys,
}

/// What the receiver must be.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationView {
    /// What it must be able to do.
    pub required_capabilities: Vec<Requirement>,
    /// How much autonomy the task needs.
    pub autonomy_budget: Option<u64>,
}

/// How a handoff comes back.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReturnView {
    /// Whether it does.
    pub expected: bool,
    /// Until when, counted from acceptance.
    pub timeout: Option<Allowance>,
    /// What happens then.
    pub on_timeout: Option<OnTimeout>,
    /// What must succeed before it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// A broadcast as a whole.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BroadcastView {
    /// Which one.
    #[serde(rename = "broadcast_group_id")]
    pub group: GroupId,
    /// When it has succeeded.
    pub aggregation: Aggregation,
    /// How many copies must return something.
    pub expected: usize,
    /// Copies that succeeded.
    pub successes: usize,
    /// Copies that failed.
    pub failures: usize,
    /// `success` or `failed`, once that is decided.
    pub outcome: Option<String>,
    /// Who else has a copy, if the sender lets them know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<AgentId>,
}

/// A question to somebody above.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EscalationView {
    /// How far up it is, 1 to 3.
    pub level: u8,
    /// What it is about.
    pub matter: Matter,
    /// What each level below thought of it.
    pub trail: Vec<Assessment>,
}

/// What the audit should know.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditView {
    /// Why the sender decided so.
    pub decision_rationale: Option<Text>,
    /// How much can go wrong.
    pub risk_level: Risk,
}

/// A workflow in one line.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowLine {
    /// Which one.
    pub id: WorkflowId,
    /// What it is about.
    pub title: String,
    /// `open`, `completed` or `cancelled`.
    pub status: String,
    /// Who owns it now; absent once it is over.
    pub owner: Option<AgentId>,
    /// When it began.
    pub started_at: Timestamp,
    /// Handoffs that are not over.
    pub open_handoffs: usize,
}

/// A whole workflow.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowView {
    /// In one line.
    #[serde(flatten)]
    pub line: WorkflowLine,
    /// How urgent it is.
    pub priority: Priority,
    /// Who began it.
    pub started_by: AgentId,
    /// What it may cost.
    pub constraints: Constraints,
    /// How it ended, once it is over.
    pub ending: Option<Value>,
    /// The variables in the specification's shape: the named ones, and `custom`.
    pub context_variables: Value,
    /// The version of each variable, for writes that must not overwrite.
    pub variable_versions: BTreeMap<String, u64>,
    /// What it has produced.
    pub artifacts: Vec<Artifact>,
    /// Everything that is held now.
    pub holds: Vec<HoldView>,
    /// Its handoffs, in the order they began.
    pub handoffs: Vec<HandoffLine>,
    /// Its broadcasts.
    pub broadcasts: Vec<BroadcastView>,
    /// Tokens that holders reported.
    pub tokens_consumed: u64,
    /// What it may use, and what it has used.
    #[serde(default)]
    pub account: AccountView,
    /// Where it stands in its definition, if it follows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineView>,
    /// How far it is, as its holders reported.
    #[serde(default)]
    pub workflow_state: WorkflowState,
    /// What it has cost, as its holders reported.
    #[serde(default)]
    pub metrics: Metrics,
}

/// A workflow as it was at a moment.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    /// The workflow, in the shape in which it is shown now.
    #[serde(flatten)]
    pub workflow: WorkflowView,
    /// The moment.
    pub at: Timestamp,
    /// The number of its last record by then.
    pub seq: u64,
    /// When that one was recorded.
    pub recorded_at: Timestamp,
}

/// What an agent has in hand.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HoldView {
    /// Who.
    pub agent: AgentId,
    /// Of which work.
    pub workflow: WorkflowId,
    /// What that work is about.
    pub title: String,
    /// The number.
    pub fence: Fence,
    /// The handoff that brought it.
    pub handoff: Option<HandoffId>,
    /// Since when.
    pub since: Timestamp,
    /// Whether it owns the whole work.
    pub owner: bool,
    /// When its return is due, or its time is up.
    pub due: Option<Timestamp>,
    /// The handoff that carries its question, if it asked somebody above and waits.
    pub waits_for: Option<HandoffId>,
    /// Whether what was returned under it is being checked, or did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationView>,
    /// The latest words on how it goes.
    pub progress: Option<String>,
    /// Files it has locked.
    pub locks: Vec<FilePath>,
}

/// What concerns an agent.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inbox {
    /// Whose.
    pub agent: AgentId,
    /// Handoffs that wait for its answer, the most urgent first.
    pub waiting: Vec<HandoffLine>,
    /// Handoffs that wait until it has room, in the order in which they will come.
    pub queued: Vec<HandoffLine>,
    /// What it holds.
    pub holding: Vec<HoldView>,
    /// What it passed on that is not over.
    pub passed: Vec<HandoffLine>,
    /// What came back or failed, in work it still holds.
    pub results: Vec<HandoffLine>,
}

/// Everything an agent gets when it takes a handoff.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Package {
    /// The number that it shows from now on.
    pub fence: Option<Fence>,
    /// The span that the receiver's own spans hang from, in the form of W3C Trace Context.
    pub traceparent: TraceParent,
    /// The handoff, with what may be seen of its context.
    pub handoff: HandoffView,
    /// What its holder passed on that is over, the oldest first, with what came back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<Returned>,
}

/// What came back of something that a holder passed on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Returned {
    /// In one line.
    #[serde(flatten)]
    pub line: HandoffLine,
    /// What came back.
    pub result: Option<Value>,
}

/// A lock on a file.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockView {
    /// Which file.
    pub path: FilePath,
    /// Who has it.
    pub by: AgentId,
    /// Whether others may too.
    pub mode: LockMode,
    /// Under which work; whoever has no part in that is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowId>,
    /// Under which hold; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// When it lapses.
    pub until: Timestamp,
}
