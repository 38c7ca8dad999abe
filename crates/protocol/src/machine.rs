//! Where work with a definition stands: its state, the task at hand, and what has failed so far.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::definition::{Definition, DefinitionId, End, RuleId, StateName};
use crate::id::AgentId;
use crate::limits::{ERROR_TYPE_BYTES_MAX, FAILURES_KEPT_MAX, MOVES_KEPT_MAX};
use crate::open::{Label, OpenKeys};
use crate::text::{PayloadJson, Text};
use crate::time::{Allowance, Timestamp};

/// Where work with a definition stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The version that it began with, and keeps.
    pub definition: DefinitionId,
    /// The state it is in.
    pub state: StateName,
    /// Since when.
    pub since: Timestamp,
    /// The task of this state.
    pub step: Step,
    /// Whether it ever moved; until then it is with whoever asked for it.
    #[serde(default)]
    pub begun: bool,
    /// How often each state was tried again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tries: BTreeMap<StateName, u8>,
    /// What failed, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// The states it was in before, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<StateName>,
}

/// What new work follows, and where it begins.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Following {
    /// The version that is in force for it.
    pub definition: DefinitionId,
    /// Its first state.
    pub state: StateName,
}

/// The task of a state, as it travels to the agent that is responsible.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Which state.
    pub state: StateName,
    /// What kind of task.
    pub task: StateName,
    /// The rule that chose it; absent where the work begins, or is tried again as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
    /// What it is about, in the shape that the rule's schema gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadJson>,
    /// How often it was tried again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u8,
    /// How long whoever is responsible may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Allowance>,
    /// How long that agent has to take it, unless its registration says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_within: Option<Allowance>,
    /// Whether nobody works meanwhile: it waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Whether the work begins with it: then nobody passed it on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// What an agent says went wrong.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// What kind of error it is, such as `external_service_error`.
    #[serde(rename = "errorType", alias = "error_type")]
    pub error_type: Label,
    /// In words.
    #[serde(rename = "errorMessage", alias = "error_message")]
    pub error_message: Text,
    /// Which service failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Label>,
    /// Whether it may go well the next time; it may not if nobody says so.
    #[serde(default)]
    pub retryable: bool,
    /// Whatever else is known.
    #[serde(flatten)]
    pub more: OpenKeys,
}

impl ErrorReport {
    /// An error that Baton itself found.
    pub(crate) fn found(kind: &str, message: &str, retryable: bool) -> Self {
        let short: String = kind.chars().take(ERROR_TYPE_BYTES_MAX).collect();
        let words: String = message.chars().take(1_000).collect();
        Self {
            error_type: short.parse().expect("a fixed name within its limits"),
            error_message: words.parse().unwrap_or_else(|_| fixed("an error without words")),
            service: None,
            retryable,
            more: OpenKeys::default(),
        }
    }

    /// What rules see as `result`.
    pub fn as_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The same with what a rule made of it: what the payload says of the error counts.
    pub(crate) fn as_told(&self, payload: Option<&Value>) -> Self {
        let mut told = self.clone();
        let Some(payload) = payload else { return told };
        let text = |name: &str| payload.get(name).and_then(Value::as_str);
        told.error_type = text("errorType").and_then(|t| t.parse().ok()).unwrap_or(told.error_type);
        told.error_message =
            text("errorMessage").and_then(|t| t.parse().ok()).unwrap_or(told.error_message);
        told.service = text("service").and_then(|t| t.parse().ok()).or(told.service);
        told.retryable =
            payload.get("retryable").and_then(Value::as_bool).unwrap_or(told.retryable);
        told
    }
}

/// A step that failed, with all that a person needs to look into it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong.
    pub error: ErrorReport,
    /// In which state.
    pub state: StateName,
    /// Whose step it was.
    pub agent: AgentId,
    /// When.
    pub at: Timestamp,
    /// How often it had been tried again by then.
    pub attempt: u8,
    /// Where trying again begins.
    pub back_to: StateName,
    /// When it is tried again; absent means that it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

impl Machine {
    /// A machine at its beginning.
    pub(crate) fn begun(follows: &Following, at: Timestamp) -> Self {
        let state = follows.state.clone();
        let step = Step::nothing(&state);
        Self {
            definition: follows.definition.clone(),
            state,
            since: at,
            step,
            begun: false,
            tries: BTreeMap::new(),
            failures: Vec::new(),
            path: Vec::new(),
        }
    }

    /// How often a state was tried again.
    pub fn tried(&self, state: &StateName) -> u8 {
        self.tries.get(state).copied().unwrap_or(0)
    }

    /// What failed last.
    pub fn failure(&self) -> Option<&Failure> {
        self.failures.last()
    }

    pub(crate) fn moved(&mut self, step: Step, completes: bool, at: Timestamp) {
        let before = std::mem::replace(&mut self.state, step.state.clone());
        self.begun = true;
        if completes {
            // The next time it comes by, it has all its tries again.
            self.tries.remove(&before);
        }
        if before != self.state {
            self.path.push(before);
            let old = self.path.len().saturating_sub(MOVES_KEPT_MAX);
            self.path.drain(..old);
        }
        self.since = at;
        self.step = step;
    }

    pub(crate) fn failed(&mut self, failure: Failure) {
        if failure.retry_at.is_some() {
            let tries = self.tries.entry(failure.state.clone()).or_default();
            *tries = tries.saturating_add(1);
        }
        self.failures.push(failure);
        let old = self.failures.len().saturating_sub(FAILURES_KEPT_MAX);
        self.failures.drain(..old);
    }

    /// The states that lie ahead on the shortest way to the end that is meant, that end included.
    pub fn ahead(&self, definition: &Definition) -> Vec<StateName> {
        let mut from: BTreeMap<&StateName, &StateName> = BTreeMap::new();
        let mut look: Vec<&StateName> = vec![&self.state];
        while !look.is_empty() {
            let mut next = Vec::new();
            for state in look {
                let ends = definition.states.get(state).and_then(|spec| spec.end);
                if ends == Some(End::Completed) {
                    return way(&from, state, &self.state);
                }
                for after in definition.after(state) {
                    if *after != self.state && !from.contains_key(after) {
                        from.insert(after, state);
                        next.push(after);
                    }
                }
            }
            look = next;
        }
        Vec::new()
    }
}

fn way(
    from: &BTreeMap<&StateName, &StateName>,
    end: &StateName,
    begin: &StateName,
) -> Vec<StateName> {
    let back = std::iter::successors(Some(end), |state| from.get(*state).copied());
    let mut way: Vec<StateName> = back.take_while(|state| *state != begin).cloned().collect();
    way.reverse();
    way
}

impl Step {
    /// A state in which there is nothing to do yet.
    fn nothing(state: &StateName) -> Self {
        let (rule, payload, timeout, accept_within) = Default::default();
        Self {
            state: state.clone(),
            task: state.clone(),
            rule,
            payload,
            attempt: 0,
            timeout,
            accept_within,
            waits: false,
            first: false,
        }
    }

    /// The task of a state.
    pub(crate) fn of(
        definition: &Definition,
        state: &StateName,
        rule: Option<RuleId>,
        payload: Option<PayloadJson>,
        attempt: u8,
    ) -> Self {
        let spec = definition.states.get(state);
        let own = spec.and_then(|spec| spec.task.clone());
        Self {
            task: own.unwrap_or_else(|| state.clone()),
            rule,
            payload,
            attempt,
            timeout: spec.and_then(|spec| spec.timeout),
            accept_within: spec.and(Some(definition.accept_within)),
            waits: spec.is_some_and(|spec| spec.wait.is_some()),
            ..Self::nothing(state)
        }
    }
}

pub(crate) fn fixed(words: &'static str) -> Text {
    words.parse().expect("a fixed text within its limits")
}
