//! Economic classes: how much work of a kind may use in all.

use serde::{Deserialize, Serialize};

use super::Money;

/// How much work it is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// One agent does it.
    Simple,
    /// A few agents do it.
    Medium,
    /// A group of agents does it.
    Complex,
}

impl Class {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Medium => "medium",
            Self::Complex => "complex",
        }
    }
}

/// The class that somebody asks for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// One agent does it.
    Simple,
    /// A few agents do it.
    Medium,
    /// A group of agents does it.
    Complex,
    /// Whatever it looks like.
    Auto,
}

/// What work of a class may use in all.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Handoffs that agents begin.
    pub max_handoffs: u32,
    /// Tokens.
    pub max_tokens: u64,
    /// Agents that take part.
    pub max_agents: u32,
    /// Money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
}

/// What work of each class may use.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Classes {
    /// One agent does it.
    pub simple: Effort,
    /// A few agents do it.
    pub medium: Effort,
    /// A group of agents does it.
    pub complex: Effort,
}

impl Default for Classes {
    fn default() -> Self {
        let effort = |max_handoffs, max_tokens, max_agents| Effort {
            max_handoffs,
            max_tokens,
            max_agents,
            max_cost: None,
        };
        Self {
            simple: effort(0, 10_000, 1),
            medium: effort(2, 25_000, 3),
            complex: effort(5, 150_000, 5),
        }
    }
}

impl Classes {
    /// What work of this class may use.
    pub fn of(&self, class: Class) -> Effort {
        match class {
            Class::Simple => self.simple,
            Class::Medium => self.medium,
            Class::Complex => self.complex,
        }
    }
}

/// Words that tell of work in several parts.
const PARTS: [&str; 10] =
    ["and", "then", "after", "also", "plus", "und", "dann", "across", "several", "each"];
/// Words that tell of much work.
const HEAVY: [&str; 14] = [
    "migrate",
    "migration",
    "refactor",
    "rewrite",
    "redesign",
    "architecture",
    "integrate",
    "integration",
    "security",
    "audit",
    "pipeline",
    "system",
    "research",
    "benchmark",
];

/// The class that a request looks like, and the points that made it so.
///
/// One point for each beginning 25 words after the first 25, for each word that tells of several
/// parts (three at most), and for each piece of context that comes along (two at most); two points
/// for each word that tells of much work (six at most). Up to 1 point is simple, up to 4 medium,
/// more complex. The same request always gives the same class.
pub fn classify(request: &str, pieces: usize) -> (Class, u32) {
    let words: Vec<String> = request
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let among = |known: &[&str], most: usize| {
        words.iter().filter(|word| known.contains(&word.as_str())).take(most).count()
    };
    let long = words.len().saturating_sub(25).div_ceil(25);
    let points = long + among(&PARTS, 3) + 2 * among(&HEAVY, 3) + pieces.min(2);
    let class = match points {
        0..=1 => Class::Simple,
        2..=4 => Class::Medium,
        5.. => Class::Complex,
    };
    (class, u32::try_from(points).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_classified_by_what_it_says() {
        let class = |request| classify(request, 0).0;
        assert_eq!(class("Fix the typo in the README"), Class::Simple);
        assert_eq!(class("Refactor the parser"), Class::Medium);
        assert_eq!(class("Add a login page and then write its tests"), Class::Medium);
        let much = "Research caching patterns, redesign the storage system and migrate each user";
        assert_eq!(class(much), Class::Complex);
        assert_eq!(classify("Fix the typo", 2).0, Class::Medium);
        assert_eq!(classify(&"word ".repeat(200), 0), (Class::Complex, 7));
    }
}
