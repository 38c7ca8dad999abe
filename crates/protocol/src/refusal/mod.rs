//! Refusals: the rules say no. Nothing was recorded.
//!
//! Each has a code that clients match on, a sentence that names what stands in the way, and a
//! hint with the next step.

mod code;
mod deadlock;
mod hint;
mod unmoved;
mod words;

pub use code::RefusalKind;
pub use deadlock::{Deadlock, Step};
pub use unmoved::Unmoved;

use crate::id::{AgentId, ArtifactId, CapabilityId, Fence, HandoffId, TokenId, WorkflowId};
use crate::lock::{FilePath, LockMode};
use crate::time::Timestamp;
use crate::variables::VariableName;
use words::{counted, listed, now_held};

/// Why a command was turned away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No such agent.
    #[error("there is no agent {agent}")]
    UnknownAgent {
        /// The name that was given.
        agent: AgentId,
    },
    /// No such workflow.
    #[error("there is no workflow {workflow}")]
    UnknownWorkflow {
        /// The id that was given.
        workflow: WorkflowId,
    },
    /// No such handoff.
    #[error("there is no handoff {handoff}")]
    UnknownHandoff {
        /// The id that was given.
        handoff: HandoffId,
    },
    /// No such artifact.
    #[error("there is no artifact {artifact} in this workflow")]
    UnknownArtifact {
        /// The id that was given.
        artifact: ArtifactId,
    },
    /// No such token.
    #[error("{agent} has no token {token}")]
    UnknownToken {
        /// Whose.
        agent: AgentId,
        /// The id that was given.
        token: TokenId,
    },
    /// Its secret was shown when it was made, and is kept nowhere.
    #[error("token {token} of {agent} was made under this key, and its secret was shown then")]
    TokenShown {
        /// Whose.
        agent: AgentId,
        /// Which one.
        token: TokenId,
    },
    /// The workflow is over.
    #[error("workflow {workflow} is over: {ending}")]
    WorkflowClosed {
        /// Which one.
        workflow: WorkflowId,
        /// How it ended.
        ending: String,
    },
    /// The handoff is over.
    #[error("handoff {handoff} is over: {ending}")]
    HandoffOver {
        /// Which one.
        handoff: HandoffId,
        /// How it ended.
        ending: &'static str,
    },
    /// A person must say yes first.
    #[error("handoff {handoff} waits for a person to approve it")]
    NotApproved {
        /// Which one.
        handoff: HandoffId,
    },
    /// It waits to be sent.
    #[error("handoff {handoff} is queued and not sent yet")]
    NotSent {
        /// Which one.
        handoff: HandoffId,
    },
    /// It is meant for somebody else.
    #[error("handoff {handoff} is for {to}, not for {asker}")]
    ForAnother {
        /// Which one.
        handoff: HandoffId,
        /// Whom it is for.
        to: AgentId,
        /// Who asked.
        asker: AgentId,
    },
    /// Somebody holds it.
    #[error("handoff {handoff} is already accepted by {by}")]
    AlreadyAccepted {
        /// Which one.
        handoff: HandoffId,
        /// Who holds it.
        by: AgentId,
    },
    /// Nobody holds it.
    #[error("handoff {handoff} is not accepted: it is {state}")]
    NotAccepted {
        /// Which one.
        handoff: HandoffId,
        /// Where it stands.
        state: &'static str,
    },
    /// A different result is there already.
    #[error("handoff {handoff} has returned already, with another result")]
    AlreadyReturned {
        /// Which one.
        handoff: HandoffId,
    },
    /// The holder is no longer the holder.
    #[error("fence {given} is no longer in force{}", now_held(.current))]
    StaleFence {
        /// What was shown.
        given: Fence,
        /// Who holds the work now, and with which number.
        current: Option<(AgentId, Fence)>,
    },
    /// A number that nobody ever had.
    #[error("fence {given} was never given in this workflow")]
    UnknownFence {
        /// What was shown.
        given: Fence,
    },
    /// The number is somebody else's.
    #[error("fence {given} is {holder}'s, not {agent}'s")]
    FenceOfAnother {
        /// What was shown.
        given: Fence,
        /// Whose it is.
        holder: AgentId,
        /// Who showed it.
        agent: AgentId,
    },
    /// Agents must show the number of their hold.
    #[error("{agent} did not show the fence of its hold")]
    FenceRequired {
        /// Who asked.
        agent: AgentId,
    },
    /// The asker holds nothing here.
    #[error("{agent} holds no part of workflow {workflow}")]
    NotHolder {
        /// Who asked.
        agent: AgentId,
        /// Of what.
        workflow: WorkflowId,
    },
    /// Only the owner of the whole may do this.
    #[error("{agent} holds a subtask; only {owner} owns the work")]
    NotOwner {
        /// Who asked.
        agent: AgentId,
        /// Who owns it.
        owner: AgentId,
    },
    /// A delegate cannot move the work around its own part.
    #[error("{agent} holds a part of the work, and only {owner}, who owns it, can move the whole")]
    ParentGoto {
        /// Who asked.
        agent: AgentId,
        /// Whose the whole is.
        owner: AgentId,
    },
    /// The sender's own part is not done.
    #[error("{} still open: {}", counted(.open.len(), "handoff is", "handoffs are"), listed(.open))]
    SegmentOpen {
        /// What is open.
        open: Vec<HandoffId>,
    },
    /// The work is on its way to somebody.
    #[error("the work waits for {to} to answer handoff {handoff}")]
    PassPending {
        /// Which handoff.
        handoff: HandoffId,
        /// Who must answer.
        to: AgentId,
    },
    /// The sender said it waits.
    #[error("{agent} waits for handoff {handoff} and said it does nothing else meanwhile")]
    SenderBlocked {
        /// Who waits.
        agent: AgentId,
        /// For what.
        handoff: HandoffId,
    },
    /// A delegation without an end.
    #[error("what must come back must say how long it may take (return_protocol.timeout)")]
    TimeoutRequired,
    /// The type and the return protocol contradict each other.
    #[error("return_protocol.expected is {expected}, but a {kind} handoff {means}")]
    ReturnMismatch {
        /// What was given.
        expected: bool,
        /// The type.
        kind: &'static str,
        /// What the type means.
        means: &'static str,
    },
    /// Nobody was named, and nothing was asked for.
    #[error("nobody is named to get it")]
    ReceiverRequired,
    /// One receiver where several belong, or the other way round.
    #[error("a broadcast names its receivers in to_agents, any other handoff one in to_agent")]
    ReceiverMismatch,
    /// Nobody can do it.
    #[error("no agent that is well can do it well enough and may take the risk")]
    NobodyFits,
    /// Named twice.
    #[error("{agent} is named twice")]
    TwiceNamed {
        /// Who.
        agent: AgentId,
    },
    /// The agent may not decide so much by itself.
    #[error("{agent} has an autonomy budget of {has}, and the task needs {needs}")]
    AutonomyTooSmall {
        /// Who.
        agent: AgentId,
        /// How much it has.
        has: u64,
        /// How much is needed.
        needs: u64,
    },
    /// A question without a reason.
    #[error("an escalation must say why (audit.decision_rationale)")]
    RationaleRequired,
    /// A question about nothing.
    #[error("an escalation is about work that somebody holds")]
    NothingToEscalate,
    /// Above the last stop.
    #[error("a question climbs at most {most} levels, and this one has")]
    TooHigh {
        /// How many.
        most: u8,
    },
    /// Nobody to ask.
    #[error("nobody stands above in the escalation chain")]
    NobodyAbove,
    /// Somebody to ask who cannot decide.
    #[error("{agent} does not stand above in the escalation chain")]
    NotAbove {
        /// Who.
        agent: AgentId,
    },
    /// The holder waits for a decision.
    #[error("{agent} waits for the decision on handoff {handoff}")]
    Suspended {
        /// Who.
        agent: AgentId,
        /// On what.
        handoff: HandoffId,
    },
    /// What the holder returned is being checked.
    #[error("handoff {handoff} has returned, and its checks run")]
    BeingChecked {
        /// Which one.
        handoff: HandoffId,
    },
    /// A conversation that cannot travel.
    #[error("{why}")]
    BadHistory {
        /// What is wrong with it.
        why: String,
    },
    /// Checks on something that never comes back.
    #[error("checks run when work comes back, and this handoff does not come back")]
    ChecksNeedReturn,
    /// A command that an agent may not have run.
    #[error("{agent} may not have `{check}` run as a check")]
    CheckNotAllowed {
        /// Who asked.
        agent: AgentId,
        /// The command.
        check: String,
    },
    /// Passing to oneself.
    #[error("{agent} cannot pass work to itself")]
    SelfPass {
        /// Who.
        agent: AgentId,
    },
    /// A deadline that has passed already.
    #[error("the deadline {deadline} has passed already")]
    DeadlinePassed {
        /// When it was.
        deadline: crate::time::Timestamp,
    },
    /// The agent holds as much as it can.
    #[error("{agent} is at capacity: it holds {load} of {most}")]
    AtCapacity {
        /// Who.
        agent: AgentId,
        /// How much it holds.
        load: usize,
        /// How much it can.
        most: u32,
    },
    /// Somebody else wrote in between.
    #[error("variable {name} was changed by {by}: it is at version {found}")]
    StaleVariable {
        /// Which one.
        name: VariableName,
        /// Its version.
        found: u64,
        /// Who wrote it.
        by: AgentId,
    },
    /// The agent may not write this.
    #[error("{agent} may not write variable {name}")]
    OutOfScope {
        /// Who.
        agent: AgentId,
        /// What.
        name: VariableName,
    },
    /// Nobody may write this.
    #[error("variable {name} is kept by Baton and cannot be written")]
    ReadOnlyVariable {
        /// What.
        name: VariableName,
    },
    /// The value does not fit the variable.
    #[error("variable {name} does not take this value; expected {expected}")]
    BadVariable {
        /// What.
        name: VariableName,
        /// What would fit.
        expected: String,
    },
    /// Over a limit.
    #[error("too many {what}: at most {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many may be.
        most: usize,
    },
    /// Somebody has the file.
    #[error("{path} is locked ({mode}) by {holder}")]
    FileLocked {
        /// Which file.
        path: FilePath,
        /// Who has it.
        holder: AgentId,
        /// How.
        mode: LockMode,
    },
    /// The asker does not have the file.
    #[error("{path} is not locked under fence {fence}")]
    NotLocked {
        /// Which file.
        path: FilePath,
        /// Whose lock was meant.
        fence: Fence,
    },
    /// A person must ask for this.
    #[error("only the operator may {what}, and {agent} is an agent")]
    OperatorOnly {
        /// To do what.
        what: &'static str,
        /// Who asked.
        agent: AgentId,
    },
    /// Neither the sender nor the operator.
    #[error("{agent} may not cancel this: only {owner} or the operator may")]
    NotYours {
        /// Who asked.
        agent: AgentId,
        /// Who may.
        owner: AgentId,
    },
    /// The credential is for looking only.
    #[error("this token may look at everything and change nothing")]
    ViewOnly,
    /// Looking is the operator's to give.
    #[error("a token that only looks belongs to the operator, not to an agent")]
    ViewOfAgent,
    /// Only Baton itself asks this.
    #[error("only the coordinator itself may ask this")]
    CoordinatorOnly,
    /// A name that means something else.
    #[error("the name {agent} is reserved: Baton itself goes by it, or the person who runs it")]
    ReservedName {
        /// Which name.
        agent: AgentId,
    },
    /// The same key, and something else is asked.
    #[error("this key was used before, to ask for something else")]
    KeyReused,
    /// Two rules of one name.
    #[error("two approval rules are called {rule}")]
    RuleTwice {
        /// Which name.
        rule: CapabilityId,
    },
    /// A rule that is none.
    #[error("approval rule {rule} cannot be used: {why}")]
    BadRule {
        /// Which one.
        rule: CapabilityId,
        /// What is wrong.
        why: String,
    },
    /// A limit on money that nothing counts against.
    #[error("a limit on cost needs prices, and the policy has none")]
    NoPrices,
    /// Agents do not pass this work on.
    #[error("handoffs are switched off: each agent does its own work")]
    HandoffsDisabled,
    /// As many handoffs as there may be.
    #[error(
        "the agents of this work may begin {most} handoffs; {used} are used, {asked} more asked"
    )]
    HandoffLimitExceeded {
        /// How many may be.
        most: u32,
        /// How many were begun, or are set aside for parts of the work.
        used: u32,
        /// How many this would be.
        asked: u32,
    },
    /// As much as the work may use.
    #[error("this {of} may use {most} {what}; {used} are used or set aside, {asked} more asked")]
    EconomicLimitExceeded {
        /// Of what kind the work is.
        of: &'static str,
        /// Of what.
        what: &'static str,
        /// How much it may use.
        most: String,
        /// How much it has used, or set aside for its parts.
        used: String,
        /// How much more this would be.
        asked: String,
    },
    /// The agent failed too often of late.
    #[error("{agent} failed too often of late: its circuit breaker is {state}")]
    CircuitBreakerOpen {
        /// Who.
        agent: AgentId,
        /// Whether one handoff tries.
        state: &'static str,
        /// When one may try, if none does.
        until: Option<Timestamp>,
    },
    /// It would go round in circles.
    #[error("{0}")]
    DeadlockDetected(Deadlock),
    /// What is to be approved is no longer what was looked at.
    #[error("what handoff {handoff} would pass has changed since it was looked at")]
    ApprovalVoid {
        /// Which one.
        handoff: HandoffId,
    },
    /// Nobody approves what it asked for itself.
    #[error("{who} asked for this or passed the work to who did, so another person must approve")]
    OwnLineage {
        /// Who.
        who: AgentId,
    },
    /// It does not wait for a person.
    #[error("handoff {handoff} does not wait for approval: it is {state}")]
    NothingToApprove {
        /// Which one.
        handoff: HandoffId,
        /// Where it stands.
        state: &'static str,
    },
    /// The work does not move: what it follows says no.
    #[error(transparent)]
    Unmoved(#[from] Unmoved),
    /// A digest that is none.
    #[error("the token digest is not 64 hexadecimal digits")]
    BadDigest,
}
