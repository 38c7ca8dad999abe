//! Commands: everything that can be asked of Baton. There is no other way to change anything.

pub(crate) mod guarding;
mod history;
mod machine;
mod object;
mod pass;
mod refusals;
mod returning;
mod running;
mod writing;

pub use guarding::{Approve, Deny, FallBack, ResetBreaker, SetLimits, Used};
pub use history::{History, Messages};
pub use machine::{FailStep, Follows, MoveTo, RaiseSignal, Stir};
pub use object::{CommandObject, Goto, Next, ObjectError, Send, Sends, Update};
pub use pass::{Pass, PassAudit, PassContext, PassKind, PassValidation, Recipient, ReturnProtocol};
pub use returning::{ContextUpdates, GiveBack, ResultContent, ReturnAudit};
pub use running::{
    Checked, IssueToken, Reassign, Reassigned, ReportHealth, RevokeToken, Settle, Undelivered,
    Wake, WakeHold,
};
pub use writing::{AddArtifact, LockFiles, MarkArtifact, SetVariables, UnlockFiles};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::agent::Profile;
use crate::definition::Definition;
use crate::handoff::{Constraints, Priority};
use crate::id::{AgentId, CommandId, Fence, HandoffId, WorkflowId};
use crate::mask::{Masks, count_masks};
use crate::policy::{Asked, Policy};
use crate::retention::Prune;
use crate::tag::TagMove;
use crate::text::{Body, Text};
use crate::time::{Allowance, Timestamp};
use crate::trace::TraceParent;
use crate::variables::Changes;

/// A command, and who asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The same id is always answered the same.
    pub id: CommandId,
    /// Who asks, from the credential.
    pub actor: Actor,
    /// What is asked.
    pub command: Command,
}

/// Who asks. It comes from the credential, never from the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The person who runs the workspace.
    Operator,
    /// An agent.
    Agent(AgentId),
    /// The person who runs the workspace, on behalf of an agent.
    OperatorAs(AgentId),
    /// Somebody who may see everything and change nothing.
    Viewer,
    /// Baton itself, about what time or an effect brought.
    Coordinator,
}

impl Actor {
    /// The agent whose work this touches.
    pub fn agent(&self) -> AgentId {
        match self {
            Self::Operator | Self::Viewer | Self::Coordinator => AgentId::operator(),
            Self::Agent(agent) | Self::OperatorAs(agent) => agent.clone(),
        }
    }
}

/// Everything that can be asked.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Begin a workflow.
    Start(Start),
    /// Pass work on.
    Pass(Box<Pass>),
    /// Take a handoff.
    Accept(Accept),
    /// Turn a handoff away.
    Reject(Reject),
    /// Ask for time before answering.
    Defer(Defer),
    /// Say how it goes.
    Progress(Progress),
    /// Bring a result back.
    Return(Box<GiveBack>),
    /// Say where the work goes next: one of the above or below, as the asker's hold allows.
    Goto(Box<Goto>),
    /// End the workflow.
    Complete(Complete),
    /// Take a handoff back.
    Cancel(Cancel),
    /// Call a workflow off.
    CancelWorkflow(CancelWorkflow),
    /// Give work from a stuck holder to another. Only a person asks this.
    Reassign(Reassign),
    /// Say that an agent is well, or not.
    ReportHealth(ReportHealth),
    /// Write variables.
    SetVariables(SetVariables),
    /// Make an artifact known.
    AddArtifact(AddArtifact),
    /// Say whether an artifact can be relied on.
    MarkArtifact(MarkArtifact),
    /// Lock files.
    Lock(LockFiles),
    /// Give locks back.
    Unlock(UnlockFiles),
    /// Make an agent known, or change what is known of it.
    Register(Box<Profile>),
    /// Give an agent a credential. Only its digest is part of the command.
    IssueToken(IssueToken),
    /// Take a credential away.
    RevokeToken(RevokeToken),
    /// Look at a handoff whose time has come. Only Baton itself asks this.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Wake(Wake),
    /// Look at a hold whose time has come. Only Baton itself asks this.
    #[cfg_attr(feature = "schema", schemars(skip))]
    WakeHold(WakeHold),
    /// A handoff did not get to its receiver. Only Baton itself asks this.
    Undelivered(Undelivered),
    /// The checks of a return have run. Only Baton itself asks this.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Checked(Box<Checked>),
    /// An effect was carried out. Only Baton itself asks this.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Settle(Settle),
    /// Drop the records of work that is over and past its period.
    Prune(Prune),
    /// Set the rules of the workspace.
    SetPolicy(Box<Policy>),
    /// Let an agent have new work again.
    ResetBreaker(ResetBreaker),
    /// Say yes to a handoff that waits for a person.
    Approve(Approve),
    /// Say no to it.
    Deny(Deny),
    /// Change what a workflow may use.
    SetLimits(SetLimits),
    /// Say that a holder goes on alone.
    FallBack(FallBack),
    /// Tell of a move that was made in a file.
    ReportTag(Box<TagMove>),
    /// Make a definition known.
    Define(Box<Definition>),
    /// Say that the step at hand failed.
    FailStep(Box<FailStep>),
    /// Raise a signal.
    RaiseSignal(Box<RaiseSignal>),
    /// Move work to another state.
    MoveTo(MoveTo),
    /// Look whether work goes on by itself. Only Baton itself asks this.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Stir(Stir),
}

/// Which state a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A workflow that does not exist yet.
    NewWorkflow(WorkflowId),
    /// A workflow.
    Workflow(WorkflowId),
    /// A handoff, and so its workflow.
    Handoff(HandoffId),
    /// An agent.
    Agent(AgentId),
    /// The workspace.
    Workspace,
}

impl Submission {
    /// A command that a caller names with a key of its own.
    ///
    /// What it is about is part of its id, so one key for two workflows names two commands: the
    /// things they make must not be taken for each other.
    pub fn keyed(actor: Actor, key: &str, command: Command) -> Self {
        let caller = actor.agent();
        let id = CommandId::from_key(caller.as_str(), key);
        let id = match command.target(id) {
            Target::NewWorkflow(_) => id,
            Target::Workflow(about) => {
                CommandId::from_key(caller.as_str(), &format!("{about} {key}"))
            }
            Target::Handoff(about) => {
                CommandId::from_key(caller.as_str(), &format!("{about} {key}"))
            }
            Target::Agent(about) => CommandId::from_key(caller.as_str(), &format!("{about} {key}")),
            Target::Workspace => CommandId::from_key(caller.as_str(), &format!("workspace {key}")),
        };
        Self { id, actor, command }
    }

    /// Which state this is about.
    pub fn target(&self) -> Target {
        self.command.target(self.id)
    }
}

impl Command {
    /// A digest of what is asked, to tell one asking from another under the same key.
    ///
    /// Moments that a caller may count from its own now ("in two hours") are left out, and so is
    /// the span it asks from: asking again a second later is still asking the same.
    pub fn digest(&self) -> u64 {
        self.asked().0
    }

    /// The same digest, and what is masked in the command: it is written out once for both.
    ///
    /// Whoever asks may have masked it before it came here, so the masks are counted and not the
    /// masking.
    pub fn asked(&self) -> (u64, Masks) {
        let timeless = match self {
            Self::Start(start) if start.constraints.deadline.is_some() => {
                let constraints = Constraints { deadline: None, ..start.constraints.clone() };
                Some(Self::Start(Start { constraints, ..start.clone() }))
            }
            Self::Pass(pass)
                if pass.context.constraints.deadline.is_some()
                    || pass.context.traceparent.is_some() =>
            {
                let mut pass = pass.clone();
                pass.context.constraints.deadline = None;
                pass.context.traceparent = None;
                Some(Self::Pass(pass))
            }
            Self::Accept(accept)
                if accept.estimated_completion.is_some() || accept.traceparent.is_some() =>
            {
                Some(Self::Accept(Accept::of(accept.handoff)))
            }
            _ => None,
        };
        // Commands are plain data and always serialise.
        let text = serde_json::to_string(timeless.as_ref().unwrap_or(self)).unwrap_or_default();
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let digest = u64::from_be_bytes([
            digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
        ]);
        (digest, count_masks(&text))
    }

    /// Which state this is about, if it is asked under `id`.
    fn target(&self, id: CommandId) -> Target {
        match self {
            Command::Start(_) => Target::NewWorkflow(id.workflow()),
            Command::Pass(pass) => match pass.workflow {
                Some(workflow) => Target::Workflow(workflow),
                None => Target::NewWorkflow(id.workflow()),
            },
            Command::Accept(Accept { handoff, .. })
            | Command::Reject(Reject { handoff, .. })
            | Command::Defer(Defer { handoff, .. })
            | Command::Cancel(Cancel { handoff, .. })
            | Command::Undelivered(Undelivered { handoff, .. })
            | Command::Approve(Approve { handoff, .. })
            | Command::Deny(Deny { handoff, .. })
            | Command::Wake(Wake { handoff }) => Target::Handoff(*handoff),
            Command::Return(give) => Target::Handoff(give.handoff),
            Command::Checked(checked) => Target::Handoff(checked.handoff),
            Command::Goto(goto) => Target::Workflow(goto.workflow),
            Command::FailStep(fail) => Target::Workflow(fail.workflow),
            Command::RaiseSignal(raise) => Target::Workflow(raise.workflow),
            Command::MoveTo(to) => Target::Workflow(to.workflow),
            Command::Stir(stir) => Target::Workflow(stir.workflow),
            Command::Progress(Progress { workflow, .. })
            | Command::Complete(Complete { workflow, .. })
            | Command::CancelWorkflow(CancelWorkflow { workflow, .. })
            | Command::SetVariables(SetVariables { workflow, .. })
            | Command::AddArtifact(AddArtifact { workflow, .. })
            | Command::MarkArtifact(MarkArtifact { workflow, .. })
            | Command::Lock(LockFiles { workflow, .. })
            | Command::WakeHold(WakeHold { workflow, .. })
            | Command::SetLimits(SetLimits { workflow, .. })
            | Command::FallBack(FallBack { workflow, .. })
            | Command::Unlock(UnlockFiles { workflow, .. }) => Target::Workflow(*workflow),
            Command::Reassign(reassign) => match &reassign.what {
                Reassigned::Workflow(id) => Target::Workflow(*id),
                Reassigned::Handoff(id) => Target::Handoff(*id),
            },
            Command::ReportHealth(ReportHealth { agent, .. }) => Target::Agent(agent.clone()),
            Command::Register(profile) => Target::Agent(profile.id.clone()),
            Command::IssueToken(IssueToken { agent, .. })
            | Command::RevokeToken(RevokeToken { agent, .. }) => Target::Agent(agent.clone()),
            Command::ResetBreaker(ResetBreaker { agent }) => Target::Agent(agent.clone()),
            Command::Settle(_)
            | Command::Prune(_)
            | Command::SetPolicy(_)
            | Command::Define(_)
            | Command::ReportTag(_) => Target::Workspace,
        }
    }
}

/// Begins a workflow. Whoever asks holds it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// What it is about.
    pub title: Text,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
    /// What is known at the beginning.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub variables: Changes,
    /// What it may cost.
    #[serde(default)]
    pub constraints: Constraints,
    /// How much work it is; absent means that only the usual limit on handoffs counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Asked>,
    /// Whether agents may pass it on; absent means as the policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_handoffs: Option<bool>,
    /// The definition that it follows; absent means that its holders decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Follows>,
}

/// Takes a handoff.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// Which one.
    #[serde(alias = "handoff_id")]
    pub handoff: HandoffId,
    /// When it will be done, as far as can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_completion: Option<Timestamp>,
    /// The span of whoever takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
}

impl Accept {
    /// Takes a handoff and says no more.
    pub fn of(handoff: HandoffId) -> Self {
        Self { handoff, estimated_completion: None, traceparent: None }
    }
}

/// Turns a handoff away.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    /// Which one.
    #[serde(alias = "handoff_id")]
    pub handoff: HandoffId,
    /// Why.
    pub reason: Text,
}

/// Asks for time before answering.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defer {
    /// Which one.
    #[serde(alias = "handoff_id")]
    pub handoff: HandoffId,
    /// Why.
    pub reason: Text,
    /// For how long; it comes back by itself.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub span: Option<Allowance>,
}

/// Says how it goes, which also renews the holder's locks.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Which work.
    pub workflow: WorkflowId,
    /// The speaker's hold.
    pub fence: Fence,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
    /// In hundredths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<Percent>,
}

/// A share in hundredths, 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Percent(pub(crate) u8);

/// A number that is not a percentage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} is not a percentage; expected 0 to 100")]
pub struct PercentError {
    found: u64,
}

impl TryFrom<u64> for Percent {
    type Error = PercentError;

    fn try_from(found: u64) -> Result<Self, PercentError> {
        match u8::try_from(found) {
            Ok(share) if share <= 100 => Ok(Self(share)),
            Ok(_) | Err(_) => Err(PercentError { found }),
        }
    }
}

impl From<Percent> for u64 {
    fn from(percent: Percent) -> Self {
        Self::from(percent.0)
    }
}

/// Ends the workflow.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// Which one.
    pub workflow: WorkflowId,
    /// The owner's hold. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_body")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::text::BodyJson>"))]
    pub result: Option<Body>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Text>,
    /// What it changed at the last.
    #[serde(default, skip_serializing_if = "ContextUpdates::is_empty")]
    pub context_updates: ContextUpdates,
    /// What its owner used since it was passed to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
}

/// Takes a handoff back.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Which one.
    #[serde(alias = "handoff_id")]
    pub handoff: HandoffId,
    /// Why.
    pub reason: Text,
}

/// Calls a workflow off.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelWorkflow {
    /// Which one.
    pub workflow: WorkflowId,
    /// Why.
    pub reason: Text,
}

/// A body that may be absent.
mod optional_body {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::text::{Body, BodyJson, body_on_the_wire};

    pub(in crate::command) fn serialize<S: Serializer>(
        body: &Option<Body>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match body {
            Some(body) => body_on_the_wire::serialize(body, to),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Body>, D::Error> {
        Ok(Option::<BodyJson>::deserialize(from)?.map(Body::Inline))
    }
}
