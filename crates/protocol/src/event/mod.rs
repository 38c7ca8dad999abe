//! Events: what was decided, in the past tense. The ledger is a list of them.

mod about;
mod decision;
mod guarded;
mod moved;
mod stream;

pub use decision::Decision;
pub use guarded::{Approval, Guarded};
pub use moved::Moved;
pub use stream::{StreamError, StreamId};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::account::Limits;
use crate::agent::{Health, Profile, Token};
use crate::artifact::{Artifact, ArtifactStatus};
use crate::course::Report;
use crate::definition::Definition;
use crate::effect::EffectId;
use crate::handoff::{
    Aggregation, Cause, Constraints, Detail, Due, Evidence, Priority, Return, Terms, Trigger,
};
use crate::id::{
    AgentId, ArtifactId, CapabilityId, Fence, GroupId, HandoffId, TokenId, WorkflowId,
};
use crate::lock::{FilePath, LockMode};
use crate::machine::{Failure, Following};
use crate::policy::{Breaker, Policy, Usage};
use crate::tag::TagMove;
use crate::text::Text;
use crate::time::Timestamp;
use crate::trace::TraceParent;
use crate::variables::Changes;
use crate::workflow::Ending;

/// What happened.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Event {
    /// A workflow began.
    Started {
        /// What it is about.
        title: Text,
        /// Who began it, and holds it with fence 1.
        by: AgentId,
        /// How urgent it is.
        priority: Priority,
        /// What it may cost.
        #[serde(default)]
        constraints: Constraints,
        /// What is known at the beginning.
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        variables: Changes,
        /// When the time of whoever began it is up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done_by: Option<Timestamp>,
        /// What it may use in all.
        #[serde(default, skip_serializing_if = "Limits::is_empty")]
        limits: Limits,
        /// Whether agents do not pass it on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        independent: bool,
        /// The definition that it follows, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<Following>,
    },
    /// A handoff began.
    Initiated {
        /// What it is about.
        terms: Box<Terms>,
        /// Variables written with it.
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        variables: Changes,
        /// Artifacts made known with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<Artifact>,
        /// What its sender reported about the whole work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Box<Report>>,
        /// When the receiver counts as unavailable, or nobody waits for its room any longer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_by: Option<Timestamp>,
        /// Whether it waits until its receiver has room.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        queued: bool,
        /// What guards it.
        #[serde(default, skip_serializing_if = "Guarded::is_empty")]
        guarded: Guarded,
    },
    /// A broadcast began; its copies follow.
    GroupOpened {
        /// Which one.
        #[serde(rename = "broadcast_group_id")]
        group: GroupId,
        /// When it has succeeded.
        aggregation: Aggregation,
        /// The copies that must return something.
        expected: Vec<HandoffId>,
    },
    /// What came back so far decides a broadcast.
    Aggregated {
        /// Which one.
        #[serde(rename = "broadcast_group_id")]
        group: GroupId,
        /// Whether it has succeeded.
        success: bool,
        /// Copies that did.
        successes: usize,
        /// Copies that did not.
        failures: usize,
    },
    /// It waits until its receiver has room.
    Queued {
        /// Which one.
        handoff: HandoffId,
        /// Whose room.
        by: AgentId,
        /// When nobody waits for it any longer, if ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        give_up: Option<Timestamp>,
    },
    /// It goes to another agent.
    Rerouted {
        /// Which one.
        handoff: HandoffId,
        /// Who had it.
        from: AgentId,
        /// Who has it now.
        to: AgentId,
        /// Why.
        reason: Text,
        /// What the coordinator raised by itself, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trigger: Option<Trigger>,
        /// Capabilities asked for that it lacks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gap: Vec<CapabilityId>,
        /// When the receiver counts as unavailable, if ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_by: Option<Timestamp>,
        /// The rule by which it waits for a person, who was not asked about this receiver.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<Approval>,
    },
    /// A person gave it to another agent; whoever held it holds it no longer.
    Reassigned {
        /// Which one.
        handoff: HandoffId,
        /// Who has it now.
        to: AgentId,
        /// Why.
        reason: Text,
        /// Capabilities asked for that it lacks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gap: Vec<CapabilityId>,
        /// When the receiver counts as unavailable, if ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_by: Option<Timestamp>,
        /// Files whose locks ended with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        released: Vec<FilePath>,
    },
    /// A person took the whole work from its owner.
    Reclaimed {
        /// Who owns it now.
        by: AgentId,
        /// The number of the new holding.
        fence: Fence,
        /// Why.
        reason: Text,
        /// Files whose locks ended with the old one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        released: Vec<FilePath>,
    },
    /// A holder asked somebody above and waits.
    Escalated {
        /// Its hold.
        fence: Fence,
        /// The handoff that brought it; absent for whoever began the workflow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handoff: Option<HandoffId>,
        /// The handoff that carries the question.
        escalation: HandoffId,
    },
    /// A hold is over its time; somebody above was asked.
    Overdue {
        /// Which one.
        fence: Fence,
    },
    /// An agent took it.
    Accepted {
        /// Which one.
        handoff: HandoffId,
        /// Who.
        by: AgentId,
        /// The number of this holding.
        fence: Fence,
        /// When the return is due.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        return_by: Option<Timestamp>,
        /// When the holder says it will be done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        estimated_completion: Option<Timestamp>,
        /// When the time of a holder that need not return is up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done_by: Option<Timestamp>,
        /// The span of whoever took it, if it gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<TraceParent>,
        /// What it may use: its slice of what the sender may.
        #[serde(default, skip_serializing_if = "Limits::is_empty")]
        slice: Limits,
    },
    /// An attempt ended without an acceptance.
    Rejected {
        /// Which one.
        handoff: HandoffId,
        /// Who said no, or did not answer.
        by: AgentId,
        /// Why.
        reason: Text,
        /// What stood in the way; absent when the receiver itself said no.
        #[serde(default, skip_serializing_if = "Cause::is_answer")]
        cause: Cause,
    },
    /// The receiver asked for time.
    Deferred {
        /// Which one.
        handoff: HandoffId,
        /// Who.
        by: AgentId,
        /// Why.
        reason: Text,
        /// When it comes back.
        until: Timestamp,
    },
    /// It did not get to its receiver.
    Undelivered {
        /// Which one.
        handoff: HandoffId,
        /// To whom.
        by: AgentId,
        /// What stood in the way.
        reason: Text,
        /// When it is sent again.
        resend_at: Timestamp,
    },
    /// A deferred or queued handoff was sent (again).
    Resent {
        /// Which one.
        handoff: HandoffId,
        /// When the receiver counts as unavailable, if ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_by: Option<Timestamp>,
    },
    /// The holder was reminded of a late return.
    Reminded {
        /// Which one.
        handoff: HandoffId,
        /// What comes next.
        due: Due,
    },
    /// The attempt ended because nothing came back; the holding is over.
    #[serde(rename = "timeout")]
    TimedOut {
        /// Which one.
        handoff: HandoffId,
        /// The holding that ended.
        fence: Fence,
        /// When it is sent again, if it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resend_at: Option<Timestamp>,
        /// Files whose locks ended with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        released: Vec<FilePath>,
    },
    /// A result is there, and its checks begin.
    Returned {
        /// Which one.
        handoff: HandoffId,
        /// What came back.
        result: Box<Return>,
    },
    /// What came back did not pass its checks; its holder goes on.
    Unverified {
        /// Which one.
        handoff: HandoffId,
        /// What they showed.
        evidence: Box<Evidence>,
    },
    /// The handoff ended as it was meant to.
    Completed {
        /// Which one.
        handoff: HandoffId,
        /// What came back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<Return>>,
        /// The variables among it as they are now, lists with what was there before.
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        variables: Changes,
        /// The artifacts among it, with their ids.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<Artifact>,
        /// Whether its broadcast was decided before; then it changes nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        late: bool,
        /// Files whose locks ended with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        released: Vec<FilePath>,
    },
    /// The handoff ended some other way.
    Failed {
        /// Which one.
        handoff: HandoffId,
        /// Which way.
        detail: Detail,
        /// Files whose locks ended with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        released: Vec<FilePath>,
    },
    /// A holder said how it goes.
    Progressed {
        /// Under which hold.
        fence: Fence,
        /// In words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Text>,
        /// In hundredths.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        percent: Option<u8>,
        /// Until when its locks now last.
        locks_until: Timestamp,
    },
    /// Variables were written.
    VariablesSet {
        /// Under which hold.
        fence: Fence,
        /// Who wrote.
        by: AgentId,
        /// What.
        changes: Changes,
    },
    /// An artifact became known.
    ArtifactAdded {
        /// What it is.
        artifact: Artifact,
    },
    /// An artifact's status changed.
    ArtifactMarked {
        /// Which one.
        artifact: ArtifactId,
        /// Whether it can be relied on.
        status: ArtifactStatus,
    },
    /// Files were locked, or their locks renewed.
    Locked {
        /// Under which hold.
        fence: Fence,
        /// Who.
        by: AgentId,
        /// Which files.
        paths: Vec<FilePath>,
        /// Whether others may share them.
        mode: LockMode,
        /// Until when.
        until: Timestamp,
    },
    /// Locks were given back.
    Unlocked {
        /// Under which hold.
        fence: Fence,
        /// Which files.
        paths: Vec<FilePath>,
    },
    /// The workflow ended.
    Closed {
        /// Who ended it.
        by: AgentId,
        /// How.
        ending: Ending,
        /// What its owner used at the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Files whose locks ended with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        released: Vec<FilePath>,
    },
    /// An agent became known, or what is known of it changed.
    Registered {
        /// What it says of itself.
        profile: Box<Profile>,
    },
    /// An agent got a credential.
    TokenIssued {
        /// Its digest and terms.
        token: Token,
    },
    /// A credential was taken away.
    TokenRevoked {
        /// Which one.
        token: TokenId,
    },
    /// An agent was found well, or not.
    HealthReported {
        /// Whether it is.
        healthy: bool,
        /// What was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Text>,
    },
    /// An effect was carried out.
    Settled {
        /// Which one.
        effect: EffectId,
        /// How it went.
        note: Text,
    },
    /// The rules of the workspace changed.
    PolicySet {
        /// What they are now.
        policy: Box<Policy>,
    },
    /// A tag in a file moved.
    TagMoved(Box<TagMove>),
    /// A definition became known.
    Defined(Box<Definition>),
    /// Work with a definition went on to its next state.
    Moved(Box<Moved>),
    /// A step failed; the error monitor says what becomes of it.
    StepFailed(Box<Failure>),
    /// A person let an agent have new work again.
    BreakerReset,
    /// A person said yes to a handoff.
    Approved {
        /// Which one.
        handoff: HandoffId,
        /// The hash of what was approved.
        hash: String,
        /// When its receiver counts as unavailable, or nobody waits for its room any longer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_by: Option<Timestamp>,
        /// Whether it waits until its receiver has room.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        queued: bool,
        /// The rule that asks no more, and until when.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standing: Option<(CapabilityId, Timestamp)>,
    },
    /// A person changed what the work may use.
    LimitsSet {
        /// What it may use now.
        limits: Limits,
    },
    /// A holder goes on alone; agents pass the work on no more.
    FellBack {
        /// Under which hold.
        fence: Fence,
        /// Who.
        by: AgentId,
        /// Why.
        reason: Text,
    },
    /// A holder waits for locks that others have.
    LockWanted {
        /// Under which hold.
        fence: Fence,
        /// Which files.
        paths: Vec<FilePath>,
        /// Whether others may have them, too.
        #[serde(default, skip_serializing_if = "LockMode::is_exclusive")]
        mode: LockMode,
        /// Until when that counts, unless it asks again.
        until: Timestamp,
    },
    /// Records of work that is over were dropped. In the workspace's stream it names the work; in
    /// the work's own stream it stands in the place of a record that was dropped.
    Pruned {
        /// Whose records.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        workflows: Vec<WorkflowId>,
        /// How the agents were that were not just well, because the records that told of it may be
        /// among those that go.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        health: BTreeMap<AgentId, Health>,
        /// The circuit breakers that were not just closed, for the same reason.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        breakers: BTreeMap<AgentId, Breaker>,
    },
}
