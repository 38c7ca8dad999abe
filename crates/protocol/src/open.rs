//! Keys that nobody foresaw: kept as they are, but few, small and masked.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{LABEL_BYTES_MAX, OPEN_BYTES_MAX, OPEN_KEYS_MAX};
use crate::mask::mask;
use crate::text::{Text, VariableValue};

/// A short name on one line: a phase, a step, a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(Box<str>);

/// A text that is not a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}; expected 1 to {LABEL_BYTES_MAX} bytes of printable text on one line")]
pub struct LabelError {
    why: &'static str,
}

impl Label {
    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same as a text of its own.
    pub(crate) fn text(&self) -> Option<Text> {
        self.0.parse().ok()
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let why = match text {
            _ if text.trim().is_empty() => "an empty name",
            _ if text.len() > LABEL_BYTES_MAX => "a name that is too long",
            _ if text.chars().any(char::is_control) => "a name with a control character",
            _ => return Ok(Self(mask(text).into())),
        };
        Err(LabelError { why })
    }
}

impl TryFrom<String> for Label {
    type Error = LabelError;

    fn try_from(text: String) -> Result<Self, LabelError> {
        text.parse()
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0.into()
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// JSON under keys that nobody foresaw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<Label, VariableValue>")]
pub struct OpenKeys(BTreeMap<Label, VariableValue>);

/// Why a key is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// There are too many.
    #[error("more than {OPEN_KEYS_MAX} keys of its own; expected at most {OPEN_KEYS_MAX}")]
    TooMany,
    /// They are too large.
    #[error("keys of its own of {found} bytes; expected at most {OPEN_BYTES_MAX} in all")]
    TooLong {
        /// How large they are.
        found: usize,
    },
}

impl OpenKeys {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&Label, &VariableValue)> {
        self.0.iter()
    }

    /// The words under this key, if it has words.
    pub fn words(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(label, _)| label.as_str() == key)?;
        found.1.as_value().as_str()
    }

    /// Keeps one more; the last word on a key stands.
    pub fn insert(&mut self, key: Label, value: VariableValue) -> Result<(), OpenError> {
        let value = value.named(key.as_str());
        self.0.insert(key, value);
        self.fits()
    }

    /// These with `others` over them.
    pub fn merged(&self, others: &Self) -> Result<Self, OpenError> {
        let mut all = self.clone();
        all.0.extend(others.0.iter().map(|(key, value)| (key.clone(), value.clone())));
        all.fits()?;
        Ok(all)
    }

    fn fits(&self) -> Result<(), OpenError> {
        if self.0.len() > OPEN_KEYS_MAX {
            return Err(OpenError::TooMany);
        }
        let found = self.0.iter().map(|(key, value)| key.as_str().len() + value.weight()).sum();
        match found > OPEN_BYTES_MAX {
            true => Err(OpenError::TooLong { found }),
            false => Ok(()),
        }
    }
}

impl TryFrom<BTreeMap<Label, VariableValue>> for OpenKeys {
    type Error = OpenError;

    fn try_from(keys: BTreeMap<Label, VariableValue>) -> Result<Self, OpenError> {
        let named = keys.into_iter().map(|(key, value)| {
            let value = value.named(key.as_str());
            (key, value)
        });
        let keys = Self(named.collect());
        keys.fits()?;
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_few_small_and_masked() {
        let of = |json| serde_json::from_value::<OpenKeys>(json).map_err(|e| e.to_string());
        let key = format!("AKIA{}", "Z".repeat(16));
        let kept = of(json!({ "next_task": key, "retry": true })).expect("keys");
        assert_eq!(kept.words("next_task"), Some("[masked aws-key]"));
        assert_eq!(kept.words("retry"), None);
        let many: serde_json::Map<_, _> =
            (0..=OPEN_KEYS_MAX).map(|n| (format!("k{n}"), json!(n))).collect();
        assert!(of(many.into()).is_err());
        let long = "x".repeat(OPEN_BYTES_MAX / 2);
        assert!(of(json!({ "a": long, "b": long })).is_err());
        assert!(of(json!({ "a\nb": 1 })).is_err());
        assert!(of(json!({ "": 1 })).is_err());
    }
}
