//! Which refusals each command can meet, so that whoever describes a command says it all.
//!
//! `decide` checks itself against this table wherever debug assertions are on, which is in every
//! story, model and simulation.

use super::Command;

type Codes = &'static [&'static str];

const WORKFLOW: Codes = &["unknown-workflow", "workflow-closed"];
const HANDOFF: Codes = &["unknown-handoff", "workflow-closed"];
const AGENT: Codes = &["unknown-agent"];
/// Acting under a hold.
const HOLD: Codes = &[
    "being-checked",
    "fence-of-another",
    "fence-required",
    "not-holder",
    "stale-fence",
    "suspended",
    "unknown-agent",
    "unknown-fence",
];
/// Writing variables.
const VARIABLES: Codes =
    &["bad-variable", "out-of-scope", "read-only-variable", "stale-variable", "too-many"];
/// Answering a handoff.
const ANSWER: Codes = &[
    "already-accepted",
    "for-another",
    "handoff-over",
    "not-approved",
    "not-sent",
    "unknown-agent",
];
const OPERATOR: Codes = &["operator-only", "coordinator-only"];
const COORDINATOR: Codes = &["coordinator-only"];
/// Passing work on.
const PASS: Codes = &[
    "autonomy-too-small",
    "bad-history",
    "check-not-allowed",
    "checks-need-return",
    "deadline-passed",
    "escalation-too-high",
    "nobody-above",
    "nobody-fits",
    "not-above",
    "not-owner",
    "nothing-to-escalate",
    "pass-pending",
    "rationale-required",
    "receiver-mismatch",
    "receiver-required",
    "return-mismatch",
    "segment-open",
    "self-pass",
    "sender-blocked",
    "timeout-required",
    "too-many",
    "twice-named",
];
const COMPLETE: Codes = &["economic-limit-exceeded", "not-owner", "pass-pending", "segment-open"];
const RETURN: Codes = &["already-returned", "for-another", "handoff-over", "not-accepted"];
/// What keeps work from going astray.
const GUARDS: Codes = &[
    "circuit-breaker-open",
    "deadlock-detected",
    "economic-limit-exceeded",
    "handoff-limit-exceeded",
    "handoffs-disabled",
    "no-prices",
    "operator-only",
];
const START: Codes = &["deadline-passed", "no-prices", "operator-only"];
/// Being moved by the rules of a definition.
const MOVES: Codes = &[
    "no-rule-holds",
    "rule-broken",
    "rules-decide",
    "still-waiting",
    "undeclared-transition",
    "unknown-definition",
    "unheard-signal",
    "without-definition",
];
const APPROVAL: Codes = &["nothing-to-approve", "own-lineage"];
const REASSIGN: Codes = &[
    "economic-limit-exceeded",
    "handoff-over",
    "not-above",
    "not-approved",
    "self-pass",
    "too-many",
    "twice-named",
];

impl Command {
    /// Its name, as it is written on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Pass(_) => "pass",
            Self::Accept(_) => "accept",
            Self::Reject(_) => "reject",
            Self::Defer(_) => "defer",
            Self::Progress(_) => "progress",
            Self::Return(_) => "return",
            Self::Goto(_) => "goto",
            Self::Complete(_) => "complete",
            Self::Cancel(_) => "cancel",
            Self::CancelWorkflow(_) => "cancel_workflow",
            Self::Reassign(_) => "reassign",
            Self::ReportHealth(_) => "report_health",
            Self::SetVariables(_) => "set_variables",
            Self::AddArtifact(_) => "add_artifact",
            Self::MarkArtifact(_) => "mark_artifact",
            Self::Lock(_) => "lock",
            Self::Unlock(_) => "unlock",
            Self::Register(_) => "register",
            Self::IssueToken(_) => "issue_token",
            Self::RevokeToken(_) => "revoke_token",
            Self::Wake(_) => "wake",
            Self::WakeHold(_) => "wake_hold",
            Self::Undelivered(_) => "undelivered",
            Self::Checked(_) => "checked",
            Self::Settle(_) => "settle",
            Self::Prune(_) => "prune",
            Self::SetPolicy(_) => "set_policy",
            Self::ResetBreaker(_) => "reset_breaker",
            Self::Approve(_) => "approve",
            Self::Deny(_) => "deny",
            Self::SetLimits(_) => "set_limits",
            Self::FallBack(_) => "fall_back",
            Self::ReportTag(_) => "report_tag",
            Self::Define(_) => "define",
            Self::FailStep(_) => "fail_step",
            Self::RaiseSignal(_) => "raise_signal",
            Self::MoveTo(_) => "move_to",
            Self::Stir(_) => "stir",
        }
    }

    /// The codes of the refusals that the rules can meet a command of this name with, in groups;
    /// nothing for a name that no command has. Groups may name a code twice.
    pub fn refusals(name: &str) -> &'static [Codes] {
        match name {
            "start" => &[AGENT, VARIABLES, START, &["unknown-definition"]],
            "pass" => {
                &[WORKFLOW, HOLD, VARIABLES, PASS, GUARDS, &["reserved-name", "rules-decide"]]
            }
            "accept" => {
                &[HANDOFF, ANSWER, &["approval-void", "at-capacity", "economic-limit-exceeded"]]
            }
            "reject" | "defer" => &[HANDOFF, ANSWER],
            "progress" => &[WORKFLOW, HOLD],
            "return" => {
                &[HANDOFF, HOLD, VARIABLES, RETURN, &["economic-limit-exceeded", "segment-open"]]
            }
            "complete" => &[WORKFLOW, HOLD, VARIABLES, COMPLETE, MOVES, PASS, GUARDS],
            "fail_step" => &[WORKFLOW, HOLD, VARIABLES, COMPLETE, MOVES, PASS, GUARDS],
            "raise_signal" => &[WORKFLOW, HOLD, COMPLETE, MOVES, PASS, GUARDS],
            "move_to" => &[WORKFLOW, OPERATOR, MOVES, PASS, GUARDS, HOLD],
            "define" => &[OPERATOR, &["bad-definition", "too-many", "version-taken"]],
            // It becomes a pass, a return or a completion.
            "goto" => &[
                WORKFLOW,
                HANDOFF,
                HOLD,
                VARIABLES,
                PASS,
                GUARDS,
                RETURN,
                MOVES,
                &["parent-goto", "reserved-name", "rules-decide"],
            ],
            "cancel" => &[HANDOFF, &["handoff-over", "not-yours", "operator-only", "rules-decide"]],
            "cancel_workflow" => &[WORKFLOW, &["not-yours"]],
            "reassign" => &[WORKFLOW, HANDOFF, AGENT, OPERATOR, REASSIGN],
            "report_health" => &[AGENT, &["operator-only"]],
            "set_variables" => &[WORKFLOW, HOLD, VARIABLES],
            "add_artifact" => &[WORKFLOW, HOLD, &["too-many"]],
            "mark_artifact" => &[WORKFLOW, HOLD, &["unknown-artifact"]],
            "lock" => &[WORKFLOW, HOLD, &["deadlock-detected", "file-locked", "too-many"]],
            "unlock" => &[WORKFLOW, HOLD, &["not-locked", "too-many"]],
            "register" => &[OPERATOR, &["reserved-name", "too-many"]],
            "issue_token" => {
                &[AGENT, OPERATOR, &["bad-digest", "reserved-name", "too-many", "view-of-agent"]]
            }
            "revoke_token" => &[AGENT, OPERATOR, &["unknown-token"]],
            "wake" | "undelivered" | "checked" => &[HANDOFF, COORDINATOR],
            "wake_hold" | "stir" => &[WORKFLOW, COORDINATOR],
            "settle" => &[COORDINATOR],
            "prune" | "report_tag" => &[OPERATOR],
            "set_policy" => &[OPERATOR, &["bad-rule", "rule-twice", "too-many"]],
            "reset_breaker" => &[OPERATOR, AGENT],
            "approve" => &[OPERATOR, HANDOFF, APPROVAL, &["approval-void", "circuit-breaker-open"]],
            "deny" => &[OPERATOR, HANDOFF, APPROVAL],
            "set_limits" => &[OPERATOR, WORKFLOW, &["no-prices", "too-many"]],
            "fall_back" => &[WORKFLOW, HOLD],
            _ => &[],
        }
    }
}
