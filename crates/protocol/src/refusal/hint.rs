//! The next step for whoever was refused. The match is exhaustive: no refusal ships without one.

use super::{Deadlock, Refusal};

impl Refusal {
    /// Returns the next step for whoever was refused.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownAgent { .. }
            | Self::UnknownWorkflow { .. }
            | Self::UnknownHandoff { .. }
            | Self::UnknownArtifact { .. }
            | Self::UnknownToken { .. }
            | Self::TokenShown { .. } => self.where_to_look(),
            Self::WorkflowClosed { .. }
            | Self::HandoffOver { .. }
            | Self::AlreadyReturned { .. } => self.what_came_of_it(),
            Self::NotApproved { .. }
            | Self::NotSent { .. }
            | Self::AlreadyAccepted { .. }
            | Self::NotAccepted { .. }
            | Self::SegmentOpen { .. }
            | Self::PassPending { .. }
            | Self::SenderBlocked { .. }
            | Self::Suspended { .. }
            | Self::BeingChecked { .. }
            | Self::AtCapacity { .. } => self.what_comes_first(),
            Self::StaleFence { .. }
            | Self::FenceRequired { .. }
            | Self::UnknownFence { .. }
            | Self::FenceOfAnother { .. }
            | Self::ForAnother { .. }
            | Self::NotHolder { .. } => self.which_fence().into(),
            Self::NotOwner { .. } | Self::ParentGoto { .. } => self.whose_it_is().into(),
            Self::TimeoutRequired | Self::ChecksNeedReturn => self.how_it_comes_back().into(),
            Self::ReturnMismatch { .. } => self.how_it_comes_back().into(),
            Self::ReceiverRequired
            | Self::ReceiverMismatch
            | Self::NobodyFits
            | Self::TwiceNamed { .. }
            | Self::AutonomyTooSmall { .. }
            | Self::RationaleRequired
            | Self::NothingToEscalate
            | Self::TooHigh { .. }
            | Self::NobodyAbove
            | Self::SelfPass { .. }
            | Self::NotAbove { .. } => self.whom_to_ask().into(),
            Self::StaleVariable { .. }
            | Self::OutOfScope { .. }
            | Self::ReadOnlyVariable { .. }
            | Self::BadVariable { .. }
            | Self::FileLocked { .. }
            | Self::NotLocked { .. } => self.what_to_write(),
            Self::OperatorOnly { .. } | Self::NotYours { .. } | Self::ViewOnly => self.may().into(),
            Self::ViewOfAgent | Self::CoordinatorOnly => self.may().into(),
            Self::ReservedName { .. }
            | Self::KeyReused
            | Self::BadDigest
            | Self::BadHistory { .. }
            | Self::TooMany { .. }
            | Self::DeadlinePassed { .. } => self.what_to_take().into(),
            Self::RuleTwice { .. }
            | Self::BadRule { .. }
            | Self::NoPrices
            | Self::HandoffsDisabled
            | Self::HandoffLimitExceeded { .. }
            | Self::EconomicLimitExceeded { .. }
            | Self::CircuitBreakerOpen { .. }
            | Self::DeadlockDetected(_)
            | Self::ApprovalVoid { .. }
            | Self::CheckNotAllowed { .. }
            | Self::OwnLineage { .. }
            | Self::NothingToApprove { .. } => self.way_out(),
            Self::Unmoved(unmoved) => unmoved.hint(),
        }
    }

    /// Where to see how it ended.
    fn what_came_of_it(&self) -> String {
        let show = |id: String| format!("`baton show {id}` tells what came of it");
        match self {
            Self::HandoffOver { handoff, .. } | Self::AlreadyReturned { handoff } => {
                show(handoff.short())
            }
            Self::WorkflowClosed { workflow, .. } => show(workflow.short()),
            _ => show("ID".to_owned()),
        }
    }

    /// What makes work come back, or not.
    fn how_it_comes_back(&self) -> &'static str {
        match self {
            Self::TimeoutRequired => "add --timeout, such as --timeout 30m",
            Self::ChecksNeedReturn => "delegate it, with --timeout, or leave the checks out",
            _ => "a delegation comes back; a sequential handoff passes the work for good",
        }
    }

    /// What to take instead.
    fn what_to_take(&self) -> &'static str {
        match self {
            Self::ReservedName { .. } => "choose another name for the agent",
            Self::DeadlinePassed { .. } => "give a moment that lies ahead, in UTC",
            Self::TooMany { .. } => "docs/limits.md lists every limit",
            Self::BadHistory { .. } => "docs/context.md tells which messages travel, and how",
            Self::KeyReused => "take another key; asking again means asking the same",
            _ => "let `baton token create` make the token",
        }
    }

    /// What must happen before it is asked again.
    fn what_comes_first(&self) -> String {
        match self {
            Self::NotApproved { handoff } => {
                format!("a person can run `baton approve {}`", handoff.short())
            }
            Self::NotAccepted { handoff, .. } => {
                format!("`baton accept {}` first", handoff.short())
            }
            Self::PassPending { handoff, .. } => {
                format!("`baton wait {0}`, or `baton cancel {0}` to take it back", handoff.short())
            }
            Self::NotSent { handoff }
            | Self::AlreadyAccepted { handoff, .. }
            | Self::SenderBlocked { handoff, .. }
            | Self::BeingChecked { handoff }
            | Self::Suspended { handoff, .. } => {
                format!("`baton wait {}` tells how it goes on", handoff.short())
            }
            Self::AtCapacity { agent, .. } => {
                format!("finish something first; `baton inbox --agent {agent}` shows what it holds")
            }
            _ => "wait for them (`baton wait ID`) or take them back (`baton cancel ID`)".into(),
        }
    }

    /// The way out for whoever a guardrail stopped.
    fn way_out(&self) -> String {
        match self {
            Self::RuleTwice { .. } => "give each rule a name of its own".into(),
            Self::BadRule { .. } => "docs/guardrails.md lists what a rule can say".into(),
            Self::NoPrices => "add [prices] to the policy, or leave the limit out".into(),
            Self::HandoffsDisabled => {
                "do the work yourself, or let a person start it with --enable-handoffs".into()
            }
            Self::HandoffLimitExceeded { .. } | Self::EconomicLimitExceeded { .. } => {
                "finish with what is there, return it as failed, or let a person raise what the \
                 whole work may use with `baton limits`"
                    .into()
            }
            Self::CircuitBreakerOpen { agent, until, .. } => {
                let when = until.map(|at| format!("wait until {at}, ")).unwrap_or_default();
                format!("{when}choose another, or a person runs `baton breaker reset {agent}`")
            }
            Self::DeadlockDetected(Deadlock::Repeated { .. } | Deadlock::PingPong { .. }) => {
                "change something first: a variable, an artifact, or who gets it".into()
            }
            Self::DeadlockDetected(Deadlock::Cycle { .. }) => {
                "do not wait for it: drop --blocking, unlock a file, or ask somebody else".into()
            }
            Self::CheckNotAllowed { .. } => {
                "an operator adds it to `checks` of the policy, or passes the work".into()
            }
            Self::ApprovalVoid { handoff } => {
                let id = handoff.short();
                format!("look again: `baton approvals {id}` shows it as it is, with its hash")
            }
            Self::OwnLineage { .. } => {
                "an agent must pass it on; who works alone sets approve_own = true in the policy"
                    .into()
            }
            Self::NothingToApprove { .. } => "`baton approvals` lists what waits".into(),
            _ => "`baton policy` shows the rules".into(),
        }
    }

    /// Who may do what the asker may not.
    fn may(&self) -> &'static str {
        match self {
            Self::OperatorOnly { .. } => "a person must run this, without BATON_TOKEN and --as",
            Self::NotYours { .. } => "ask whoever passed it, or the operator",
            Self::ViewOnly => "ask the operator for an agent's token",
            Self::ViewOfAgent => "`baton token create --viewer` makes one",
            _ => "leave it to the coordinator",
        }
    }

    /// Where whoever named something that is not there finds what is.
    fn where_to_look(&self) -> String {
        match self {
            Self::UnknownAgent { agent } => {
                format!("`baton agent list` shows who there is; `baton agent add {agent}` adds it")
            }
            Self::UnknownWorkflow { .. } | Self::UnknownHandoff { .. } => {
                "`baton list` shows what there is; any unique beginning of an id will do".into()
            }
            Self::UnknownArtifact { .. } => "`baton artifact list WORKFLOW` shows them".into(),
            Self::TokenShown { token, .. } => {
                let token = token.short();
                format!("if nobody has the secret, revoke {token} and ask under a new key")
            }
            Self::UnknownToken { agent, .. } => format!("`baton token list --agent {agent}`"),
            _ => "`baton list` shows what there is".into(),
        }
    }

    /// What whoever holds a part only can do.
    fn whose_it_is(&self) -> &'static str {
        match self {
            Self::ParentGoto { .. } => {
                "go to END and tell the owner what should come next, or leave out `graph` to \
                 delegate a part of yours"
            }
            _ => "return the subtask, or delegate a part of it",
        }
    }

    /// Where whoever showed no fence, or the wrong one, finds its own.
    fn which_fence(&self) -> &'static str {
        match self {
            Self::ForAnother { .. } => "`baton inbox` shows what is for you",
            Self::StaleFence { .. } => {
                "stop working on it: the work went on without you; `baton inbox` shows yours"
            }
            Self::FenceRequired { .. } => {
                "give the number that `baton accept` printed: --fence N, or BATON_FENCE"
            }
            Self::UnknownFence { .. } | Self::FenceOfAnother { .. } | Self::NotHolder { .. } => {
                "`baton inbox` shows what you hold, and under which fence"
            }
            _ => "`baton inbox` shows what you hold",
        }
    }

    /// How whoever could not write a variable or lock a file comes to do it.
    fn what_to_write(&self) -> String {
        match self {
            Self::StaleVariable { found, .. } => {
                format!("read it (`baton vars`), then write again with --if-version {found}")
            }
            Self::OutOfScope { .. } => "`baton agent show` lists its write_scopes".into(),
            Self::ReadOnlyVariable { .. } => "choose another name".into(),
            Self::BadVariable { .. } => "`baton vars --help` lists the names with a meaning".into(),
            Self::FileLocked { holder, .. } => {
                format!("ask {holder} to unlock it; `baton lock --list` shows until when it has it")
            }
            Self::NotLocked { .. } => "`baton lock --list` shows who has what".into(),
            _ => "`baton vars` and `baton lock --list` show what there is".into(),
        }
    }

    /// The next step for whoever asked the wrong one, or nobody.
    fn whom_to_ask(&self) -> &'static str {
        match self {
            Self::SelfPass { .. } => "name another agent; `baton agent list` shows them",
            Self::ReceiverRequired => {
                "name an agent (--to), or for one receiver what it must do (--requires)"
            }
            Self::ReceiverMismatch => "use to_agents for a broadcast, and to_agent for the rest",
            Self::NobodyFits => "`baton agent list` shows who can do what, and who is well",
            Self::TwiceNamed { .. } => "name each recipient once, or give each a task of its own",
            Self::AutonomyTooSmall { .. } => "choose an agent with more, or keep the task",
            Self::RationaleRequired => "add --rationale: what you cannot decide, and why",
            Self::NothingToEscalate => "name the workflow, and the fence of your hold",
            Self::TooHigh { .. } => "decide it, or reject it: a person is the last stop",
            Self::NobodyAbove => "register a reviewer, an architect or a person",
            Self::NotAbove { .. } => "leave out --to: the coordinator knows who is next",
            _ => "`baton agent list` shows who there is",
        }
    }
}
