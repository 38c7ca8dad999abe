//! Context variables: what a workflow knows, who wrote it, and in which version.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::hex::hex;
use crate::id::AgentId;
use crate::limits::NAME_BYTES_MAX;
use crate::mask::{is_secret, mask};
use crate::text::VariableValue;
use crate::time::Timestamp;

/// The name of a variable, such as `task_status` or `db.url`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VariableName(Box<str>);

/// A text that is not a variable's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a variable name; expected a letter or `_`, then letters, digits, `_`, `.` \
     or `-`, at most {NAME_BYTES_MAX} bytes, and nothing that looks like a secret"
)]
pub struct VariableNameError {
    text: String,
}

impl VariableName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VariableName {
    type Err = VariableNameError;

    fn from_str(text: &str) -> Result<Self, VariableNameError> {
        let later = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let first = |c: char| c.is_ascii_alphabetic() || c == '_';
        let fits =
            text.len() <= NAME_BYTES_MAX && text.starts_with(first) && text.chars().all(later);
        if !fits || is_secret(text) {
            return Err(VariableNameError { text: mask(text).chars().take(80).collect() });
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for VariableName {
    type Error = VariableNameError;

    fn try_from(text: String) -> Result<Self, VariableNameError> {
        text.parse()
    }
}

impl From<VariableName> for String {
    fn from(name: VariableName) -> Self {
        name.0.into()
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A variable and where it came from.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// What it says.
    pub value: VariableValue,
    /// The count of writes to the workflow's variables when this one was written.
    pub version: u64,
    /// Who wrote it.
    pub by: AgentId,
    /// When.
    pub at: Timestamp,
}

/// All variables of a workflow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Variables {
    entries: BTreeMap<VariableName, Variable>,
    /// Grows with each write, so a version says when in the workflow's life a write happened.
    clock: u64,
    /// SHA-256 of the canonical JSON, kept because every audit record carries it.
    #[serde(skip)]
    digest: std::sync::OnceLock<String>,
}

impl PartialEq for Variables {
    fn eq(&self, other: &Self) -> bool {
        // The digest follows from the rest, whether or not anybody asked for it yet.
        self.entries == other.entries && self.clock == other.clock
    }
}

impl Variables {
    /// The variable called `name`.
    pub fn find(&self, name: &VariableName) -> Option<&Variable> {
        self.entries.get(name)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&VariableName, &Variable)> {
        self.entries.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many writes there were.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Writes what was decided; all changes of one decision share a version.
    pub fn write(&mut self, changes: &Changes, by: &AgentId, at: Timestamp) {
        if changes.is_empty() {
            return;
        }
        self.clock += 1;
        self.digest = std::sync::OnceLock::new();
        for (name, value) in changes {
            let variable =
                Variable { value: value.clone(), version: self.clock, by: by.clone(), at };
            self.entries.insert(name.clone(), variable);
        }
    }

    /// SHA-256 of the variables as canonical JSON (RFC 8785), as hexadecimal digits.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let plain: BTreeMap<&str, &Value> =
                self.entries.iter().map(|(n, v)| (n.as_str(), v.value.as_value())).collect();
            // Maps of JSON values always serialise; the fallback would only weaken an audit hash.
            let bytes = serde_json_canonicalizer::to_vec(&plain).unwrap_or_default();
            let digest: [u8; 32] = Sha256::digest(&bytes).into();
            hex(&digest)
        })
    }
}

/// New values by name.
pub type Changes = BTreeMap<VariableName, VariableValue>;

/// What writing a variable of this name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Baton sets it; nobody writes it.
    ReadOnly,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A list that writes are appended to, so none is ever lost.
    List,
    /// Anything.
    Custom,
}

/// The words of `task_status`.
pub const TASK_STATUSES: &[&str] = &["pending", "in_progress", "blocked", "complete", "failed"];
/// The words of `task_priority`.
pub const TASK_PRIORITIES: &[&str] = &["critical", "high", "normal", "low"];

impl VariableName {
    /// What writing this variable means.
    pub fn meaning(&self) -> Meaning {
        match self.as_str() {
            "task_id" | "files_in_progress" => Meaning::ReadOnly,
            "task_status" => Meaning::Word(TASK_STATUSES),
            "task_priority" => Meaning::Word(TASK_PRIORITIES),
            "decisions_made" => Meaning::List,
            _ => Meaning::Custom,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_canonical_json_and_follows_each_write() {
        let mut variables = Variables::default();
        let empty: [u8; 32] = Sha256::digest(b"{}").into();
        let hex: String = empty.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(variables.digest(), hex);
        let value = |json| VariableValue::try_from(json).expect("a value");
        let changes = Changes::from([
            ("b".parse().expect("a name"), value(serde_json::json!(1.0))),
            ("a".parse().expect("a name"), value(serde_json::json!("x"))),
        ]);
        variables.write(&changes, &AgentId::operator(), Timestamp::default());
        let canonical: [u8; 32] = Sha256::digest(br#"{"a":"x","b":1}"#).into();
        let hex: String = canonical.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(variables.digest(), hex);
    }
}
