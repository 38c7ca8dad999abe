//! How urgent work is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How urgent work is. Lower numbers go first; inside a level, first in first out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Priority {
    /// Before everything: 1.
    Critical,
    /// Soon: 2.
    High,
    /// In turn: 5.
    #[default]
    Normal,
    /// When there is time: 10.
    Low,
}

impl Priority {
    /// The number that decides the order of a queue.
    pub fn rank(self) -> u8 {
        match self {
            Self::Critical => 1,
            Self::High => 2,
            Self::Normal => 5,
            Self::Low => 10,
        }
    }
}

/// A text that is not a priority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a priority; expected critical (urgent, P0), high (P1), normal (P2) or low"
)]
pub struct PriorityError {
    text: String,
}

impl FromStr for Priority {
    type Err = PriorityError;

    fn from_str(text: &str) -> Result<Self, PriorityError> {
        match text {
            "critical" | "urgent" | "P0" => Ok(Self::Critical),
            "high" | "P1" => Ok(Self::High),
            "normal" | "P2" => Ok(Self::Normal),
            "low" => Ok(Self::Low),
            _ => Err(PriorityError { text: text.chars().take(80).collect() }),
        }
    }
}

impl TryFrom<String> for Priority {
    type Error = PriorityError;

    fn try_from(text: String) -> Result<Self, PriorityError> {
        text.parse()
    }
}

impl From<Priority> for String {
    fn from(priority: Priority) -> Self {
        priority.to_string()
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        })
    }
}
