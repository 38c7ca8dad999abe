//! Names and numbers that identify things, each parsed once at the door.
//!
//! Ids of new things are derived from the id of the command that makes them, so a decision
//! draws no randomness and a repeated command speaks of the same things.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::limits::NAME_BYTES_MAX;

/// Why a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// A character that is not safe in URLs, file names and tmux window names.
    #[error("`{text}` holds {bad:?}; expected only a-z, 0-9 and `-`, starting with a letter")]
    Character {
        /// What was given.
        text: String,
        /// The first character that is not allowed.
        bad: char,
    },
    /// Empty or too long.
    #[error("a name of {found} bytes; expected 1 to {NAME_BYTES_MAX}")]
    Length {
        /// How long it was.
        found: usize,
    },
    /// Not a UUID.
    #[error("`{text}` is not a UUID; expected a form like 8c5d0f62-3f5e-4b0e-9c2a-0d9c41a7f4b1")]
    NotUuid {
        /// What was given.
        text: String,
    },
}

/// Checks a name that may become part of a URL, a file name or a window name.
fn check_name(text: &str) -> Result<(), IdError> {
    if !(1..=NAME_BYTES_MAX).contains(&text.len()) {
        return Err(IdError::Length { found: text.len() });
    }
    let safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let first = text.chars().next().filter(|c| !c.is_ascii_lowercase());
    if let Some(bad) = first.or_else(|| text.chars().find(|&c| !safe(c))) {
        return Err(IdError::Character { text: text.to_owned(), bad });
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Box<str>);

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.0)
            }
        }

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                check_name(text)?;
                Ok(Self(text.into()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
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

name! {
    /// The name an agent answers to, such as `reviewer` or `builder-2`.
    ///
    /// It ends up in tmux window names, URLs and file names, so parsing admits only what is safe
    /// in all three, and no later code needs to escape it.
    AgentId
}

name! {
    /// Something an agent can do, such as `rust` or `security-review`.
    CapabilityId
}

impl AgentId {
    /// The person who runs the workspace, who can hold work like any other agent.
    pub fn operator() -> Self {
        Self("operator".into())
    }

    /// The agent inside Baton that takes what failed in work with a definition.
    pub fn error_monitor() -> Self {
        Self("error-monitor".into())
    }

    /// Whether this is the person who runs the workspace.
    pub fn is_operator(&self) -> bool {
        &*self.0 == "operator"
    }

    /// Whether records and commands of that person, or of Baton itself, go by this name.
    pub(crate) fn is_reserved(&self) -> bool {
        matches!(&*self.0, "operator" | "coordinator" | "error-monitor")
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl $name {
            /// The sixteen bytes of the id.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// Reads an id back from its sixteen bytes, as an index stores it.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The first eight characters, which are enough for people to tell ids apart.
            pub fn short(&self) -> String {
                let mut text = self.to_string();
                text.truncate(8);
                text
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Uuid::try_parse(text)
                    .map(Self)
                    .map_err(|_| IdError::NotUuid { text: text.chars().take(80).collect() })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }
    };
}

uuid_id! {
    /// One piece of work and all its handoffs.
    WorkflowId
}
uuid_id! {
    /// One handoff.
    HandoffId
}
uuid_id! {
    /// One broadcast: all copies that one command sent.
    GroupId
}
uuid_id! {
    /// One artifact of a workflow.
    ArtifactId
}
uuid_id! {
    /// One credential of an agent.
    TokenId
}
uuid_id! {
    /// One asking, however often it is sent. The same id is always answered the same.
    CommandId
}

impl CommandId {
    /// The id of a command that a caller names with a key of its own.
    ///
    /// The caller is part of it, so that two agents with the same key do not meet.
    pub fn from_key(caller: &str, key: &str) -> Self {
        Self(derive(&[b"key", caller.as_bytes(), &[0], key.as_bytes()]))
    }

    /// The workflow that this command starts.
    pub fn workflow(&self) -> WorkflowId {
        WorkflowId(derive(&[b"workflow", self.as_bytes()]))
    }

    /// The handoff that this command initiates.
    pub fn handoff(&self) -> HandoffId {
        HandoffId(derive(&[b"handoff", self.as_bytes()]))
    }

    /// The `n`-th copy that this command sends.
    pub fn copy(&self, n: usize) -> HandoffId {
        HandoffId(derive(&[b"copy", self.as_bytes(), &n.to_be_bytes()]))
    }

    /// The broadcast that this command sends.
    pub fn group(&self) -> GroupId {
        GroupId(derive(&[b"group", self.as_bytes()]))
    }

    /// The `n`-th artifact that this command adds.
    pub fn artifact(&self, n: usize) -> ArtifactId {
        ArtifactId(derive(&[b"artifact", self.as_bytes(), &n.to_be_bytes()]))
    }

    /// The token that this command issues.
    pub fn token(&self) -> TokenId {
        TokenId(derive(&[b"token", self.as_bytes()]))
    }
}

/// A UUID in the form of version 4, drawn from a hash of `parts` instead of a source of chance.
fn derive(parts: &[&[u8]]) -> Uuid {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

/// A number that grows with each new holder of a workflow's work.
///
/// Whoever acts as a holder shows it; a number that is no longer in force is refused, so an agent
/// presumed dead can never overwrite its successor.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl Fence {
    /// The number of the next holder.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_safe_wherever_it_ends_up() {
        for good in ["a", "builder-2", "security-review"] {
            assert_eq!(good.parse::<AgentId>().map(String::from), Ok(good.to_owned()));
        }
        for bad in ["", "Builder", "2b", "-x", "a b", "a/b", "a#(x)", "ü", "a;b", "a.b"] {
            assert!(bad.parse::<AgentId>().is_err(), "{bad:?} was taken");
        }
        assert!("x".repeat(NAME_BYTES_MAX).parse::<AgentId>().is_ok());
        assert!("x".repeat(NAME_BYTES_MAX + 1).parse::<AgentId>().is_err());
    }

    #[test]
    fn derived_ids_are_version_four_and_repeatable() {
        let command = CommandId::from_key("builder", "k1");
        assert_eq!(command, CommandId::from_key("builder", "k1"));
        assert_ne!(command, CommandId::from_key("rival", "k1"));
        let handoff = command.handoff();
        assert_eq!(handoff.0.get_version_num(), 4);
        assert_ne!(handoff.as_bytes(), command.workflow().as_bytes());
    }
}
