//! What the rules of a definition came to. The engine finds it before anything is decided, and it
//! is recorded, so nobody who reads the records has to judge again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RuleId, StateName};
use crate::handoff::Priority;
use crate::id::AgentId;
use crate::text::Text;
use crate::variables::Changes;

/// What the rules came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A rule holds.
    Chosen(Box<Chosen>),
    /// None does.
    None {
        /// The rules that were looked at, and what each saw.
        tried: Vec<Tried>,
    },
    /// It cannot be told, or what the rule makes does not fit.
    Broken {
        /// Which rule.
        rule: RuleId,
        /// Why.
        why: Text,
    },
}

/// What the rule that holds makes of the moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Which rule.
    pub rule: RuleId,
    /// Who goes on, if the rule says so.
    pub to: Option<AgentId>,
    /// The state that follows.
    pub next_state: StateName,
    /// Why.
    pub reason: Text,
    /// How urgent it is; absent means as the work.
    pub priority: Option<Priority>,
    /// What travels with it; it fits the rule's schema.
    pub payload: Option<Value>,
    /// Variables that are written with it.
    pub set: Changes,
}

/// A rule that was looked at and did not hold.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Which rule.
    pub rule: RuleId,
    /// Its condition.
    pub when: Text,
    /// What it looked at, as it was: `result.quotes = 2`.
    pub saw: Text,
}
