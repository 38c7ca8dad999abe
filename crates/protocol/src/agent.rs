//! Agents: who can take work, what they can do, and how they are reached.

mod capability;
mod check;
mod fit;

pub use capability::{Capability, Proficiency, ProficiencyError, Requirement};
pub use check::HealthCheck;
pub use fit::Fit;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, CapabilityId, Fence, TokenId, WorkflowId};
use crate::limits::{ANSWER_WITHIN, CONCURRENT_TASKS_MAX, HEALTH_FAILURES_MAX};
use crate::policy::Breaker;
use crate::reach::{Argv, Reach};
use crate::text::Text;
use crate::time::{Allowance, Timestamp};

/// What an agent says of itself, as files, the API and `baton agent add` all give it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name it answers to.
    pub id: AgentId,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// Its place in the escalation chain.
    #[serde(default)]
    pub role: Role,
    /// What it can do, and how well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// How much it may decide by itself.
    #[serde(default)]
    pub autonomy_budget: Autonomy,
    /// How much it can hold at once; at least 1.
    #[serde(default = "default_concurrency", deserialize_with = "at_least_one")]
    pub max_concurrent_tasks: u32,
    /// How long one task may take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_execution_time: Option<Allowance>,
    /// Which variables it may write: names, or beginnings that end in `*`.
    #[serde(default = "everything", skip_serializing_if = "is_everything")]
    pub write_scopes: Vec<WriteScope>,
    /// How work gets to it.
    #[serde(default)]
    pub reach: Reach,
    /// How long it has to answer a handoff; see [`Profile::answer_within`] for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within: Option<Allowance>,
    /// A command, as words, that Baton runs to tell it of news.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Argv>,
    /// What succeeds while the agent is well. Baton tries it every minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check: Option<HealthCheck>,
    /// How often it says that it is there. One that misses three in a row is not well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_every: Option<Allowance>,
}

fn default_concurrency() -> u32 {
    8
}

/// An agent that can hold nothing would wait for its first task for ever.
fn at_least_one<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        0 => Err(serde::de::Error::custom("0 tasks at once; expected 1 or more")),
        tasks => Ok(tasks),
    }
}

fn everything() -> Vec<WriteScope> {
    vec![WriteScope("*".into())]
}

fn is_everything(scopes: &[WriteScope]) -> bool {
    matches!(scopes, [all] if &*all.0 == "*")
}

impl Profile {
    /// A worker that is known by its name alone.
    pub fn named(id: AgentId) -> Self {
        Self {
            id,
            name: None,
            description: None,
            role: Role::Worker,
            capabilities: Vec::new(),
            autonomy_budget: Autonomy::default(),
            max_concurrent_tasks: default_concurrency(),
            max_execution_time: None,
            write_scopes: everything(),
            reach: Reach::Pull,
            answer_within: None,
            notify: None,
            health_check: None,
            heartbeat_every: None,
        }
    }

    /// The person who runs the workspace.
    pub fn operator() -> Self {
        Self {
            role: Role::Human,
            max_concurrent_tasks: CONCURRENT_TASKS_MAX,
            autonomy_budget: Autonomy { number: None, max_risk: Risk::High },
            ..Self::named(AgentId::operator())
        }
    }

    /// The agent inside Baton that takes what failed in work with a definition.
    pub(crate) fn error_monitor() -> Self {
        Self {
            description: "Takes what failed in workflows with a definition.".parse().ok(),
            max_concurrent_tasks: u32::MAX,
            ..Self::named(AgentId::error_monitor())
        }
    }

    /// How long this agent has to answer, if there is a limit.
    ///
    /// People are exempt. An agent that pulls its work may have no session open, so it waits
    /// without limit unless its registration sets one.
    pub fn answer_within(&self) -> Option<Allowance> {
        match (&self.role, &self.reach) {
            (Role::Human, _) => None,
            (_, Reach::Pull) => self.answer_within,
            (_, Reach::Command { .. } | Reach::Http { .. } | Reach::A2a { .. } | Reach::Tmux) => {
                Some(self.answer_within.unwrap_or(ANSWER_WITHIN))
            }
        }
    }

    /// Whether this agent may write the variable `name`.
    pub fn may_write(&self, name: &str) -> bool {
        self.write_scopes.iter().any(|scope| scope.covers(name))
    }

    /// How well this agent does `capability`, if it does it at all.
    pub fn proficiency(&self, capability: &CapabilityId) -> Option<Proficiency> {
        self.capabilities.iter().find(|c| c.id == *capability).map(|c| c.proficiency)
    }
}

/// Where an agent stands in the chain that hard questions climb.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Does the work.
    #[default]
    Worker,
    /// Judges the work.
    Reviewer,
    /// Decides how the work is done.
    Architect,
    /// A person: the last stop.
    Human,
}

/// How much an agent may decide by itself.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Autonomy {
    /// The budget as a number; absent means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The highest risk it may take.
    #[serde(default)]
    pub max_risk: Risk,
}

/// How much can go wrong.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Little.
    Low,
    /// Some; what is assumed when nobody says.
    #[default]
    Medium,
    /// Much.
    High,
}

/// Which variables may be written: one name, or all that begin like it when it ends in `*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WriteScope(Box<str>);

impl WriteScope {
    fn covers(&self, name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => &*self.0 == name,
        }
    }
}

/// A text that is not a write scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a write scope; expected a variable name, `*`, or a beginning and `*`")]
pub struct ScopeError {
    text: String,
}

impl FromStr for WriteScope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        let stem = text.strip_suffix('*').unwrap_or(text);
        let fits = stem.is_empty() && text == "*"
            || stem.parse::<crate::variables::VariableName>().is_ok();
        if !fits {
            return Err(ScopeError { text: text.chars().take(80).collect() });
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for WriteScope {
    type Error = ScopeError;

    fn try_from(text: String) -> Result<Self, ScopeError> {
        text.parse()
    }
}

impl From<WriteScope> for String {
    fn from(scope: WriteScope) -> Self {
        scope.0.into()
    }
}

impl fmt::Display for WriteScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An agent as the ledger knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// What it says of itself.
    pub profile: Profile,
    /// Since when.
    pub registered_at: Timestamp,
    /// The work it holds now; its load is their number.
    pub holds: BTreeSet<(WorkflowId, Fence)>,
    /// Its credentials.
    pub tokens: Vec<Token>,
    /// Whether it can be counted on.
    #[serde(default)]
    pub health: Health,
    /// Whether it gets new work.
    #[serde(default)]
    pub breaker: Breaker,
}

/// Whether an agent can be counted on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Checks in a row that failed.
    pub failures: u8,
    /// Since when it did not answer a handoff; it counts again as soon as it does anything.
    pub unavailable_since: Option<Timestamp>,
}

impl Health {
    /// Whether new work should go to it.
    pub fn is_good(&self) -> bool {
        self.unavailable_since.is_none() && self.failures < HEALTH_FAILURES_MAX
    }
}

impl Agent {
    /// An agent that holds nothing yet.
    pub fn new(profile: Profile, registered_at: Timestamp) -> Self {
        let (holds, tokens, health) = (BTreeSet::new(), Vec::new(), Health::default());
        let breaker = Breaker::default();
        Self { profile, registered_at, holds, tokens, health, breaker }
    }

    /// How much more it can hold than it does.
    pub fn room(&self) -> usize {
        let most = usize::try_from(self.profile.max_concurrent_tasks).unwrap_or(usize::MAX);
        most.saturating_sub(self.holds.len())
    }
}

/// A credential of an agent. The secret itself is never stored.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Which one.
    pub id: TokenId,
    /// SHA-256 of the secret, as hexadecimal digits.
    pub digest: String,
    /// What it is good for.
    #[serde(default, skip_serializing_if = "Grant::is_act")]
    pub grant: Grant,
    /// Since when.
    pub issued_at: Timestamp,
    /// Until when, if it ends.
    pub expires_at: Option<Timestamp>,
}

/// What a credential is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Grant {
    /// To act as the one whose it is.
    #[default]
    Act,
    /// To see what the operator sees, and change nothing. Only the operator's can be such.
    View,
}

impl Grant {
    pub(crate) fn is_act(&self) -> bool {
        matches!(self, Self::Act)
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(json: serde_json::Value) -> Profile {
        serde_json::from_value(json).expect("a profile")
    }

    #[test]
    fn too_little_proficiency_counts_as_a_lack() {
        let agent = profile(serde_json::json!({
            "id": "builder", "capabilities": ["rust", {"id": "sql", "proficiency": 0.4}]
        }));
        let asks = |json| serde_json::from_value::<Vec<Requirement>>(json).expect("requirements");
        assert_eq!(agent.fit(&asks(serde_json::json!(["rust", "sql"]))), Fit::Whole);
        let sql = serde_json::json!([{"capability_id": "sql", "min_proficiency": 0.5}]);
        assert_eq!(agent.fit(&asks(sql)), Fit::None);
        let both = serde_json::json!(["rust", {"capability_id": "sql", "min_proficiency": 0.5}]);
        let gap = vec!["sql".parse().expect("a name")];
        assert_eq!(agent.fit(&asks(both)), Fit::Partial(gap));
        assert_eq!(agent.fit(&[]), Fit::Whole);
    }

    #[test]
    fn a_write_scope_is_a_name_or_a_beginning() {
        let agent =
            profile(serde_json::json!({"id": "a", "write_scopes": ["task_status", "db.*"]}));
        assert!(agent.may_write("task_status") && agent.may_write("db.url"));
        assert!(!agent.may_write("task_statuses") && !agent.may_write("other"));
        assert!(
            serde_json::from_value::<Profile>(
                serde_json::json!({"id": "a", "write_scopes": ["a b"]})
            )
            .is_err()
        );
    }

    #[test]
    fn only_agents_that_baton_reaches_have_thirty_seconds_by_default() {
        let pull = profile(serde_json::json!({"id": "a"}));
        assert_eq!(pull.answer_within(), None);
        let http = profile(serde_json::json!({"id": "a", "reach": {"http": {"url": "http://x"}}}));
        assert_eq!(http.answer_within(), Some(ANSWER_WITHIN));
        let person =
            profile(serde_json::json!({"id": "a", "role": "human", "answer_within": "5s"}));
        assert_eq!(person.answer_within(), None);
    }
}
