//! What a scenario says: results that agents would give, and what is expected to follow.

use std::collections::BTreeMap;

use baton_protocol::definition::{SignalName, StateName};
use baton_protocol::text::{Text, VariableValue};
use baton_protocol::time::Allowance;
use baton_protocol::variables::VariableName;
use serde::Deserialize;
use serde_json::Value;

/// A file of scenarios.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The definition's file, as seen from the script's folder.
    #[serde(default)]
    pub workflow: Option<String>,
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
}

/// One way that work can go.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it tells.
    pub name: String,
    /// Variables at the beginning.
    #[serde(default)]
    pub with: BTreeMap<VariableName, VariableValue>,
    /// What happens, and what follows.
    pub steps: Vec<Act>,
    /// All handoffs in their order, as `from->to`; absent means that nobody looks.
    #[serde(default)]
    pub handoffs: Option<Vec<String>>,
}

/// Something that happens, or is expected.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Look where the work is.
    Expect(Box<Expect>),
    /// Whoever has the work is done.
    Complete(Value),
    /// Whoever has the work failed.
    Fail(Value),
    /// A signal comes.
    Signal(Signal),
    /// Variables are written.
    Set(BTreeMap<VariableName, VariableValue>),
    /// Time passes.
    Wait(Allowance),
    /// The receiver takes it, and works on.
    Accept(bool),
    /// The receiver says no.
    Reject(Text),
    /// The receiver does not answer; time must pass for anything to follow.
    Ignore(bool),
    /// A person moves the work.
    Move(StateName),
}

/// A signal: its name, or with what it brings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Signal {
    /// Its name alone.
    Name(SignalName),
    /// With what it brings.
    Full {
        /// Its name.
        name: SignalName,
        /// What rules see as `result`.
        #[serde(default)]
        payload: Option<Value>,
    },
}

/// What is expected. What is absent is not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The state.
    pub state: Option<StateName>,
    /// Who has the work, or is asked to take it.
    pub agent: Option<String>,
    /// Who passed it last.
    pub from: Option<String>,
    /// To whom.
    pub to: Option<String>,
    /// The rule that chose.
    pub rule: Option<String>,
    /// A part of the reason.
    pub reason: Option<String>,
    /// How urgent the last handoff is.
    pub priority: Option<String>,
    /// A part of the payload.
    pub payload: Option<Value>,
    /// How the work ended.
    pub ended: Option<String>,
    /// Whether it waits for something.
    pub waiting: Option<bool>,
    /// A part of what stood in the way of the step before.
    pub error: Option<String>,
}

/// Whether `found` has all that `part` has: objects may have more, everything else is the same.
pub(super) fn has(found: &Value, part: &Value) -> bool {
    match (found, part) {
        (Value::Object(found), Value::Object(part)) => {
            part.iter().all(|(key, part)| found.get(key).is_some_and(|found| has(found, part)))
        }
        (Value::Array(found), Value::Array(part)) => {
            found.len() == part.len() && found.iter().zip(part).all(|(one, other)| has(one, other))
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}
