//! A definition: how work of one kind travels. States, who is responsible in each, what may follow
//! what, and the rules that choose.
//!
//! This is the form that is recorded. Expressions are texts here; `baton-rules` reads, checks and
//! judges them, and what they came to is recorded with the move that they led to.

mod name;
mod verdict;

pub use name::{DefinitionId, DefinitionName, NameError, RuleId, SignalName, StateName};
pub use verdict::{Chosen, Tried, Verdict};

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{AgentId, CapabilityId};
use crate::limits::{ANSWER_WITHIN, RESEND_BACKOFF, RESENDS_MAX};
use crate::text::Text;
use crate::time::{Allowance, Timestamp};
use crate::variables::VariableName;

/// How work of one kind travels.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// What it is called.
    pub workflow: DefinitionName,
    /// Which edition of it this is. Work that runs keeps the one it began with.
    pub version: NonZeroU32,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// Who takes part.
    pub agents: BTreeMap<AgentId, Part>,
    /// The state that work begins in.
    pub start: StateName,
    /// The states.
    pub states: BTreeMap<StateName, StateSpec>,
    /// Which states may follow which.
    pub transitions: BTreeMap<StateName, Vec<StateName>>,
    /// Signals that come from outside, and what they mean.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signals: BTreeMap<SignalName, Text>,
    /// What follows from what, the first that holds counts.
    pub rules: Vec<RuleSpec>,
    /// How often a step that failed is tried again.
    #[serde(default, skip_serializing_if = "Retry::is_usual")]
    pub retry: Retry,
    /// How long an agent has to take a handoff before it goes to the error monitor, unless the
    /// agent's own registration says otherwise. People are exempt.
    #[serde(default = "usual_answer", skip_serializing_if = "is_usual_answer")]
    pub accept_within: Allowance,
    /// Handoffs that its rules may begin; absent means as the policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_handoffs: Option<u32>,
    /// JSON Schemas that payloads refer to as `#/schemas/NAME`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub schemas: BTreeMap<String, Value>,
}

fn usual_answer() -> Allowance {
    ANSWER_WITHIN
}

fn is_usual_answer(span: &Allowance) -> bool {
    *span == ANSWER_WITHIN
}

/// An agent that takes part.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What it does here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// What it must be able to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<CapabilityId>,
}

/// One state.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateSpec {
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// Who is responsible; the start and the ends may have nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What kind of task it is for that agent; absent means the state's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<StateName>,
    /// That work ends here, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// How long work may stay in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Allowance>,
    /// That nobody works here: it waits for something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitSpec>,
    /// The signals that it raises, where they are not called after it.
    #[serde(default, skip_serializing_if = "Raises::is_usual")]
    pub raises: Raises,
    /// How often it is tried again, if not as the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

/// How work ends.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// As it was meant to.
    Completed,
    /// It could not be done.
    Failed,
    /// It was called off.
    Cancelled,
}

/// What a state waits for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitSpec {
    /// The condition, in CEL. It is looked at when a variable changes and when the signal comes.
    /// Absent means that the signal is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Text>,
    /// The signal that it waits for, and that is raised once the condition holds.
    pub signal: SignalName,
}

/// The signals that a state raises, where they are not `STATE_COMPLETE` and so on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raises {
    /// When its agent is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<SignalName>,
    /// When its agent reports that it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<SignalName>,
    /// When its time is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<SignalName>,
}

/// What follows from what.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// What it is called.
    pub id: RuleId,
    /// Whose result it is about.
    pub from: AgentId,
    /// Who goes on; absent where nobody else does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    /// In which states it counts; none means in all of that agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateName>,
    /// The signals that bring it up.
    pub trigger: OneOrMore<SignalName>,
    /// The condition, in CEL over `result`, `context`, `task` and `attempt`; absent always holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Text>,
    /// Why, for people: a text in which `{{ … }}` holds an expression.
    pub reason: Text,
    /// How urgent the handoff is: a priority's name, or an expression that comes to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Text>,
    /// What travels with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadSpec>,
    /// Variables that are written with it, each an expression.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<VariableName, Text>,
    /// The state that follows. For a handoff to the error monitor: where trying again begins, or
    /// an end if it is not tried again.
    pub next_state: StateName,
}

/// What travels with a handoff.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadSpec {
    /// What it must look like, in JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// How it is made: each key an expression. A key that ends in `?` is left out where there is
    /// nothing to put there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub map: BTreeMap<String, Text>,
}

/// How often a step that failed is tried again, and after how long.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// How often at most.
    pub times: u8,
    /// After how long the first time; each time after that twice as long.
    pub after: Allowance,
}

impl Default for Retry {
    fn default() -> Self {
        Self { times: RESENDS_MAX, after: RESEND_BACKOFF }
    }
}

impl Retry {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// When a step that was tried again `before` times is tried once more, if it is.
    pub fn next(&self, before: u8, now: Timestamp) -> Option<Timestamp> {
        (before < self.times).then(|| self.after.doubled(before).after(now))
    }
}

impl Raises {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// One of something, or a list of them.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore<T> {
    /// One.
    One(T),
    /// Several.
    More(Vec<T>),
}

impl<T> OneOrMore<T> {
    /// All of them.
    pub fn all(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(more) => more,
        }
    }
}

impl Definition {
    /// Its name and version.
    pub fn id(&self) -> DefinitionId {
        DefinitionId { name: self.workflow.clone(), version: self.version }
    }

    /// The signal that a state raises when its agent is done.
    pub fn complete(&self, state: &StateName) -> SignalName {
        let own = self.states.get(state).and_then(|spec| spec.raises.complete.clone());
        own.unwrap_or_else(|| state.raises("COMPLETE"))
    }

    /// The signal that a state raises when its agent failed.
    pub fn failed(&self, state: &StateName) -> SignalName {
        let own = self.states.get(state).and_then(|spec| spec.raises.failed.clone());
        own.unwrap_or_else(|| state.raises("FAILED"))
    }

    /// The signal that a state raises when its time is up.
    pub fn timeout(&self, state: &StateName) -> SignalName {
        let own = self.states.get(state).and_then(|spec| spec.raises.timeout.clone());
        own.unwrap_or_else(|| state.raises("TIMEOUT"))
    }

    /// The states that may follow.
    pub fn after(&self, state: &StateName) -> &[StateName] {
        self.transitions.get(state).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a state may follow another. Trying a step again is no transition.
    pub fn allows(&self, from: &StateName, to: &StateName) -> bool {
        from == to || self.after(from).contains(to)
    }

    /// The state in which work ends that could not be done, if there is one.
    pub fn failure(&self) -> Option<&StateName> {
        let ends = |(_, spec): &(&StateName, &StateSpec)| spec.end == Some(End::Failed);
        self.states.iter().find(ends).map(|(name, _)| name)
    }

    /// The first state that somebody is responsible for: the start, or what the start goes on to
    /// by itself.
    pub fn first(&self) -> Option<&StateName> {
        let owned =
            |state: &&StateName| self.states.get(*state).is_some_and(|spec| spec.agent.is_some());
        Some(&self.start).filter(owned).or_else(|| self.after(&self.start).iter().find(owned))
    }

    /// Whether some state waits for a signal; then it is heard in such states alone.
    pub fn awaits(&self, signal: &SignalName) -> bool {
        let waits =
            |spec: &StateSpec| spec.wait.as_ref().is_some_and(|wait| wait.signal == *signal);
        self.states.values().any(waits)
    }

    /// How often a step is tried again.
    pub fn retry(&self, state: &StateName) -> Retry {
        self.states.get(state).and_then(|spec| spec.retry).unwrap_or(self.retry)
    }

    /// The rules that a signal brings up in a state, in their order; `from` is whoever is asked
    /// what comes next: the state's agent, or the error monitor.
    pub fn candidates<'a>(
        &'a self,
        state: &'a StateName,
        from: &'a AgentId,
        signal: &'a SignalName,
    ) -> impl Iterator<Item = (usize, &'a RuleSpec)> {
        self.rules.iter().enumerate().filter(move |(_, rule)| {
            let here = rule.states.is_empty() || rule.states.contains(state);
            rule.from == *from && here && rule.trigger.all().contains(signal)
        })
    }
}
