//! The names in a definition: parsed once at the door, told apart by their types.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::NAME_BYTES_MAX;

/// Why a text is not a name of this kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what}; expected {expected}, at most {NAME_BYTES_MAX} bytes")]
pub struct NameError {
    text: String,
    what: &'static str,
    expected: &'static str,
}

macro_rules! definition_name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $expected:literal, $first:expr, $later:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Box<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                let (first, later): (fn(char) -> bool, fn(char) -> bool) = ($first, $later);
                let fits = text.len() <= NAME_BYTES_MAX
                    && text.starts_with(first)
                    && text.chars().all(later);
                if fits {
                    return Ok(Self(text.into()));
                }
                let text = crate::mask::mask(text).chars().take(NAME_BYTES_MAX).collect();
                Err(NameError { text, what: $what, expected: $expected })
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

definition_name! {
    /// What a definition is called, such as `charter`.
    DefinitionName, "workflow's name", "a-z, 0-9 and `-`, starting with a letter",
    |c| c.is_ascii_lowercase(),
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

definition_name! {
    /// A state, such as `awaiting_quotes`.
    StateName, "state's name", "a-z, 0-9 and `_`, starting with a letter",
    |c| c.is_ascii_lowercase(),
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}

definition_name! {
    /// A signal, such as `QUOTES_RECEIVED`.
    SignalName, "signal's name", "A-Z, 0-9 and `_`, starting with a letter",
    |c| c.is_ascii_uppercase(),
    |c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

definition_name! {
    /// A rule, such as `3.1`.
    RuleId, "rule's id", "letters, digits, `.`, `_` and `-`, starting with a letter or digit",
    |c| c.is_ascii_alphanumeric(),
    |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

impl StateName {
    /// The signal that it raises, called after it.
    pub(super) fn raises(&self, what: &str) -> SignalName {
        SignalName(format!("{}_{what}", self.0.to_ascii_uppercase()).into())
    }
}

impl SignalName {
    /// That a step which failed is to be tried again: what the error monitor's rules wait for.
    pub fn error_retry() -> Self {
        Self("ERROR_RETRY".into())
    }
}

/// One version of a definition: `charter@2`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DefinitionId {
    /// What it is called.
    pub name: DefinitionName,
    /// Which edition.
    pub version: NonZeroU32,
}

impl FromStr for DefinitionId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let parted = text
            .rsplit_once('@')
            .and_then(|(name, version)| Some((name.parse().ok()?, version.parse().ok()?)));
        let Some((name, version)) = parted else {
            let text = crate::mask::mask(text).chars().take(NAME_BYTES_MAX).collect();
            let expected = "a name, `@` and a number, as in `charter@2`";
            return Err(NameError { text, what: "version of a workflow", expected });
        };
        Ok(Self { name, version })
    }
}

impl TryFrom<String> for DefinitionId {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<DefinitionId> for String {
    fn from(id: DefinitionId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for DefinitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}
