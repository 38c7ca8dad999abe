//! Messages: each record of the ledger as a message between agents, for those who listen.
//!
//! A message is a pure function of one record, so history can be told again from any point and
//! says the same as it did live.

use baton_protocol::event::{Event, StreamId};
use baton_protocol::handoff::Priority;
use baton_protocol::id::{AgentId, HandoffId, WorkflowId};
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::Ending;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a message is about.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MessageType {
    /// Work was passed to an agent, or went on to another.
    AgentHandoff,
    /// A workflow began.
    TaskCreated,
    /// An agent took a handoff.
    TaskStarted,
    /// What was asked for came back, or the whole workflow ended as it was meant to.
    TaskCompleted,
    /// A handoff is over because its receiver took the work; nothing comes back from it.
    HandoffCompleted,
    /// A handoff ended some other way.
    TaskFailed,
    /// A workflow was called off.
    TaskCancelled,
    /// A holder said how it goes.
    TaskProgress,
    /// A holder asked somebody above and waits.
    TaskSuspended,
    /// A person took the whole work from its owner.
    TaskReclaimed,
    /// A result is there, and its checks run.
    TaskReturned,
    /// What came back did not pass its checks.
    TaskUnverified,
    /// Variables or artifacts changed.
    ContextUpdate,
    /// A time ran out, or an agent was found unwell.
    Error,
    /// The receiver said no, or did not answer.
    HandoffRejected,
    /// The receiver asked for time.
    HandoffDeferred,
    /// A handoff waits until its receiver has room.
    HandoffQueued,
    /// A handoff was sent again.
    HandoffResent,
    /// A holder was reminded of a late return.
    HandoffReminder,
    /// A broadcast began.
    BroadcastOpened,
    /// What came back decided a broadcast.
    BroadcastDecided,
    /// A person said yes to a handoff.
    HandoffApproved,
    /// Work began that follows a definition, and somebody got its first task.
    TaskAssigned,
    /// Work with a definition went on to its next state.
    StateChanged,
    /// A definition became known.
    WorkflowDefined,
    /// A person changed what the work may use.
    LimitsChanged,
    /// A holder goes on alone.
    FellBack,
    /// A holder waits for files that others have locked.
    FilesWanted,
    /// A person let an agent have new work again.
    BreakerReset,
    /// The rules of the workspace changed.
    PolicyChanged,
    /// A tag in a file moved.
    TagMoved,
    /// Files were locked.
    FilesLocked,
    /// Locks were given back.
    FilesUnlocked,
    /// An agent became known, or what is known of it changed.
    AgentRegistered,
    /// An agent was found well.
    AgentHealthy,
}

impl MessageType {
    /// The record types that may come out as this message; a filter to begin with.
    pub fn record_types(self) -> &'static [&'static str] {
        match self {
            Self::AgentHandoff => &["initiated", "rerouted", "reassigned"],
            Self::TaskCreated => &["started"],
            Self::TaskStarted => &["accepted"],
            Self::TaskCompleted => &["completed", "closed", "moved"],
            Self::TaskFailed => &["failed", "step_failed", "closed"],
            Self::TaskAssigned => &["initiated"],
            Self::StateChanged => &["moved"],
            Self::WorkflowDefined => &["defined"],
            Self::HandoffCompleted => &["completed"],
            Self::TaskCancelled => &["closed"],
            Self::TaskProgress => &["progressed"],
            Self::TaskSuspended => &["escalated"],
            Self::TaskReclaimed => &["reclaimed"],
            Self::TaskReturned => &["returned"],
            Self::TaskUnverified => &["unverified"],
            Self::ContextUpdate => &["variables_set", "artifact_added", "artifact_marked"],
            Self::Error => &["timeout", "undelivered", "overdue", "health_reported"],
            Self::HandoffRejected => &["rejected"],
            Self::HandoffDeferred => &["deferred"],
            Self::HandoffQueued => &["queued"],
            Self::HandoffResent => &["resent"],
            Self::HandoffReminder => &["reminded"],
            Self::BroadcastOpened => &["group_opened"],
            Self::BroadcastDecided => &["aggregated"],
            Self::HandoffApproved => &["approved"],
            Self::LimitsChanged => &["limits_set"],
            Self::FellBack => &["fell_back"],
            Self::FilesWanted => &["lock_wanted"],
            Self::BreakerReset => &["breaker_reset"],
            Self::PolicyChanged => &["policy_set"],
            Self::TagMoved => &["tag_moved"],
            Self::FilesLocked => &["locked"],
            Self::FilesUnlocked => &["unlocked"],
            Self::AgentRegistered => &["registered"],
            Self::AgentHealthy => &["health_reported"],
        }
    }
}

/// One message.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its name, the same whenever it is told.
    pub id: String,
    /// The number of its record; listeners go on from it.
    pub seq: u64,
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: MessageType,
    /// Whose deed it tells of.
    pub source_agent: String,
    /// Whom it concerns first; absent when it concerns whoever listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent: Option<AgentId>,
    /// When it was recorded.
    pub timestamp: Timestamp,
    /// What it says.
    pub payload: Payload,
    /// What it belongs to.
    pub context: MessageContext,
}

impl Message {
    /// Whether it is from this agent, to it, or about a handoff that it passes or has.
    pub fn concerns(&self, agent: &AgentId) -> bool {
        let handoff = self.payload.handoff.as_ref();
        self.source_agent == agent.as_str()
            || self.target_agent.as_ref() == Some(agent)
            || handoff.is_some_and(|one| one.from_agent == *agent || one.to_agent == *agent)
    }
}

/// What a message says.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// The handoff, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<MessageHandoff>,
    /// The event as it was recorded, without conversations, which only the receiver gets.
    pub event: Value,
}

/// A handoff in a message.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageHandoff {
    /// Which one.
    pub id: HandoffId,
    /// Who passes.
    pub from_agent: AgentId,
    /// Who has it.
    pub to_agent: AgentId,
    /// What is to be done.
    pub task: MessageTask,
    /// What it belongs to.
    pub context: MessageContext,
    /// Why.
    pub reason: String,
}

/// The task of a handoff in a message.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageTask {
    /// The subtask in the sender's words, or the workflow's id.
    pub id: String,
    /// How it is passed.
    #[serde(rename = "type")]
    pub kind: String,
    /// What was written with the pass: variables, artifacts and constraints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// How urgent it is. Only the message that begins a handoff says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Where it stands.
    pub status: String,
    /// When it began. Only the message that begins a handoff says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

/// What a message belongs to.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageContext {
    /// The workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<WorkflowId>,
    /// The workflow's trace, as the audit and traces name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Who asked for it.
    pub user_id: String,
}

/// What a message needs of a record, as the audit shows it.
#[derive(Deserialize)]
struct Told {
    seq: u64,
    at: Timestamp,
    stream: StreamId,
    by: String,
    event: Event,
    #[serde(default)]
    audit: Option<Audited>,
}

#[derive(Deserialize)]
struct Audited {
    handoff_id: HandoffId,
    from_agent: AgentId,
    to_agent: AgentId,
    handoff_type: String,
    reason: String,
    context_snapshot: Snapshot,
}

#[derive(Deserialize)]
struct Snapshot {
    task_id: String,
    task_status: String,
}

/// The message that a record of the audit is, if it concerns anybody but Baton itself.
///
/// Credentials, settled effects and what a prune left are not told.
pub fn message(record: &Value) -> Option<Message> {
    let told = Told::deserialize(record).ok()?;
    let kind = kind(&told.event)?;
    let audit = told.audit.as_ref();
    let workflow = match &told.stream {
        StreamId::Workflow(id) => Some(*id),
        StreamId::Agent(_) | StreamId::Workspace => None,
    };
    let context = MessageContext {
        request_id: workflow,
        session_id: workflow.map(|id| id.to_string().replace('-', "")),
        user_id: told.by.clone(),
    };
    let target = target(&told.event, audit);
    let handoff = told.audit.map(|audit| handoff(audit, &told.event, told.at, context.clone()));
    let mut event = record["event"].clone();
    if let Some(terms) = event.get_mut("terms").and_then(Value::as_object_mut) {
        terms.remove("history");
    }
    Some(Message {
        id: format!("msg-{}", told.seq),
        seq: told.seq,
        kind,
        source_agent: begun_by(&told.event).unwrap_or(source(&told.by)).to_owned(),
        target_agent: target,
        timestamp: told.at,
        payload: Payload { handoff, event },
        context,
    })
}

/// The agent whose deed it is, also when a person acted for it.
fn source(by: &str) -> &str {
    by.strip_prefix("operator as ").unwrap_or(by)
}

/// Who passes what a rule passes on: not whoever asked, but who has the work until then.
fn begun_by(event: &Event) -> Option<&str> {
    match event {
        Event::Initiated { terms, .. } if terms.step.is_some() => Some(terms.from_agent.as_str()),
        _ => None,
    }
}

/// What kind of task it is, where a definition says so.
fn task_type(event: &Event) -> Option<String> {
    let Event::Initiated { terms, .. } = event else { return None };
    terms.step.as_ref().map(|step| step.task.to_string())
}

fn kind(event: &Event) -> Option<MessageType> {
    Some(match event {
        Event::Started { .. } => MessageType::TaskCreated,
        Event::Initiated { terms, .. } if terms.step.as_ref().is_some_and(|step| step.first) => {
            MessageType::TaskAssigned
        }
        Event::Initiated { .. } | Event::Rerouted { .. } | Event::Reassigned { .. } => {
            MessageType::AgentHandoff
        }
        Event::Moved(moved) if moved.completes => MessageType::TaskCompleted,
        Event::Moved(_) => MessageType::StateChanged,
        Event::StepFailed(_) => MessageType::TaskFailed,
        Event::Defined(_) => MessageType::WorkflowDefined,
        Event::Accepted { .. } => MessageType::TaskStarted,
        Event::Returned { .. } => MessageType::TaskReturned,
        Event::Unverified { .. } => MessageType::TaskUnverified,
        // A sequential handoff ends when it is taken: the task itself has only just begun.
        Event::Completed { result: None, .. } => MessageType::HandoffCompleted,
        Event::Completed { result: Some(_), .. } => MessageType::TaskCompleted,
        Event::Failed { .. } => MessageType::TaskFailed,
        Event::Closed { ending: Ending::Completed { .. }, .. } => MessageType::TaskCompleted,
        Event::Closed { ending: Ending::Cancelled { .. }, .. } => MessageType::TaskCancelled,
        Event::Closed { ending: Ending::Failed { .. }, .. } => MessageType::TaskFailed,
        Event::Progressed { .. } => MessageType::TaskProgress,
        Event::Escalated { .. } => MessageType::TaskSuspended,
        Event::Reclaimed { .. } => MessageType::TaskReclaimed,
        Event::VariablesSet { .. } | Event::ArtifactAdded { .. } | Event::ArtifactMarked { .. } => {
            MessageType::ContextUpdate
        }
        Event::TimedOut { .. } | Event::Undelivered { .. } | Event::Overdue { .. } => {
            MessageType::Error
        }
        Event::HealthReported { healthy: false, .. } => MessageType::Error,
        Event::HealthReported { healthy: true, .. } => MessageType::AgentHealthy,
        Event::Rejected { .. } => MessageType::HandoffRejected,
        Event::Deferred { .. } => MessageType::HandoffDeferred,
        Event::Queued { .. } => MessageType::HandoffQueued,
        Event::Resent { .. } => MessageType::HandoffResent,
        Event::Reminded { .. } => MessageType::HandoffReminder,
        Event::GroupOpened { .. } => MessageType::BroadcastOpened,
        Event::Aggregated { .. } => MessageType::BroadcastDecided,
        Event::Locked { .. } => MessageType::FilesLocked,
        Event::Unlocked { .. } => MessageType::FilesUnlocked,
        Event::Registered { .. } => MessageType::AgentRegistered,
        Event::Approved { .. } => MessageType::HandoffApproved,
        Event::LimitsSet { .. } => MessageType::LimitsChanged,
        Event::FellBack { .. } => MessageType::FellBack,
        Event::LockWanted { .. } => MessageType::FilesWanted,
        Event::BreakerReset => MessageType::BreakerReset,
        Event::PolicySet { .. } => MessageType::PolicyChanged,
        Event::TagMoved(_) => MessageType::TagMoved,
        Event::TokenIssued { .. }
        | Event::TokenRevoked { .. }
        | Event::Settled { .. }
        | Event::Pruned { .. } => return None,
    })
}

/// Whom it concerns: the receiver of what is passed, the sender of what comes back.
fn target(event: &Event, audit: Option<&Audited>) -> Option<AgentId> {
    let audit = audit?;
    match event {
        Event::Initiated { .. }
        | Event::Rerouted { .. }
        | Event::Reassigned { .. }
        | Event::Queued { .. }
        | Event::Resent { .. }
        | Event::Unverified { .. }
        | Event::Reminded { .. } => Some(audit.to_agent.clone()),
        _ => Some(audit.from_agent.clone()),
    }
}

fn handoff(
    audit: Audited,
    event: &Event,
    at: Timestamp,
    context: MessageContext,
) -> MessageHandoff {
    let (payload, priority, created_at) = match event {
        Event::Initiated { terms, .. } if terms.step.is_some() => {
            let step = terms.step.as_ref();
            let payload = step.and_then(|step| Some(step.payload.as_ref()?.as_value().clone()));
            (payload, Some(terms.priority), Some(at))
        }
        Event::Initiated { terms, variables, artifacts, .. } => {
            let constraints = &terms.constraints;
            let payload = serde_json::json!({
                "variables": variables, "artifacts": artifacts, "constraints": constraints,
            });
            (Some(payload), Some(terms.priority), Some(at))
        }
        _ => (None, None, None),
    };
    let Snapshot { task_id, task_status } = audit.context_snapshot;
    let task = MessageTask {
        id: task_id,
        kind: task_type(event).unwrap_or(audit.handoff_type),
        payload,
        priority,
        status: task_status,
        created_at,
    };
    MessageHandoff {
        id: audit.handoff_id,
        from_agent: audit.from_agent,
        to_agent: audit.to_agent,
        task,
        context,
        reason: audit.reason,
    }
}
