//! What a workspace adds: shapes of its own, names whose values are secret, and what is none.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::names::words;

/// Bytes of the name that a mask shows.
pub(super) const RULE_NAME_BYTES_MAX: usize = 40;
/// Rules of each kind.
const RULES_MAX: usize = 100;
const PREFIX_BYTES_MIN: usize = 3;
const PREFIX_BYTES_MAX: usize = 40;
const LENGTH_MIN_MIN: usize = 4;
const LENGTH_MIN_MAX: usize = 200;
/// What is asked for behind a prefix when a rule does not say.
const LENGTH_MIN: usize = 16;
const WORD_BYTES_MIN: usize = 3;
const WORD_BYTES_MAX: usize = 40;
const ALLOWED_BYTES_MIN: usize = 4;
const ALLOWED_BYTES_MAX: usize = 200;

/// What is masked beside the shapes and names that are built in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "File")]
pub struct Rules {
    pub(super) secrets: Vec<SecretRule>,
    /// Each as its words.
    pub(super) names: Vec<Vec<String>>,
    allow: BTreeSet<String>,
}

impl Rules {
    /// Whether somebody said that this is no secret.
    pub(super) fn allows(&self, text: &str) -> bool {
        self.allow.contains(text)
    }

    /// Whether nothing is added.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A shape of secret: what it begins with, how it is called, and how much follows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawSecret")]
pub(super) struct SecretRule {
    pub(super) name: String,
    pub(super) prefix: String,
    pub(super) length_min: usize,
}

/// Why a rule is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// A field does not say what it should.
    #[error("{field} {found}; expected {expected}")]
    Field {
        /// Which.
        field: &'static str,
        /// What it says.
        found: String,
        /// What it may say.
        expected: String,
    },
    /// There are too many.
    #[error("{found} of `{field}`; expected at most {RULES_MAX}")]
    TooMany {
        /// Of what.
        field: &'static str,
        /// How many.
        found: usize,
    },
}

/// Rules were set before, and hold until the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rules for secrets are set once, before anything is read")]
pub struct RulesSet;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    secret: Vec<SecretRule>,
    #[serde(default)]
    name: Vec<NameRule>,
    #[serde(default)]
    allow: Vec<Allowed>,
}

impl TryFrom<File> for Rules {
    type Error = RulesError;

    fn try_from(file: File) -> Result<Self, RulesError> {
        let few = |field, found: usize| match found <= RULES_MAX {
            true => Ok(()),
            false => Err(RulesError::TooMany { field, found }),
        };
        few("secret", file.secret.len())?;
        few("name", file.name.len())?;
        few("allow", file.allow.len())?;
        Ok(Self {
            secrets: file.secret,
            names: file.name.into_iter().map(|NameRule(words)| words).collect(),
            allow: file.allow.into_iter().map(|Allowed(text)| text).collect(),
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSecret {
    name: String,
    prefix: String,
    length_min: Option<usize>,
}

impl TryFrom<RawSecret> for SecretRule {
    type Error = RulesError;

    fn try_from(raw: RawSecret) -> Result<Self, RulesError> {
        let RawSecret { name, prefix, length_min } = raw;
        let of_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !within(&name, 1, RULE_NAME_BYTES_MAX) || !name.bytes().all(of_name) {
            let expected = format!("1 to {RULE_NAME_BYTES_MAX} of a-z, 0-9 and -");
            return Err(wrong("name", &name, expected));
        }
        let of_prefix = |b: u8| b.is_ascii_graphic() && b != b'[' && b != b']';
        let fits = within(&prefix, PREFIX_BYTES_MIN, PREFIX_BYTES_MAX);
        if !fits || !prefix.bytes().all(of_prefix) {
            let few = format!("{PREFIX_BYTES_MIN} to {PREFIX_BYTES_MAX}");
            let expected = few + " printable ASCII characters without spaces and brackets";
            return Err(wrong("prefix", &prefix, expected));
        }
        let length_min = length_min.unwrap_or(LENGTH_MIN);
        if !(LENGTH_MIN_MIN..=LENGTH_MIN_MAX).contains(&length_min) {
            let expected = format!("{LENGTH_MIN_MIN} to {LENGTH_MIN_MAX}");
            let found = length_min.to_string();
            return Err(RulesError::Field { field: "length_min", found, expected });
        }
        Ok(Self { name, prefix, length_min })
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "RawName")]
struct NameRule(Vec<String>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawName {
    word: String,
}

impl TryFrom<RawName> for NameRule {
    type Error = RulesError;

    fn try_from(raw: RawName) -> Result<Self, RulesError> {
        let of_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let words = words(&raw.word);
        let fits = within(&raw.word, WORD_BYTES_MIN, WORD_BYTES_MAX) && !words.is_empty();
        if !fits || !raw.word.bytes().all(of_word) {
            let few = format!("{WORD_BYTES_MIN} to {WORD_BYTES_MAX}");
            return Err(wrong("word", &raw.word, few + " letters, digits, _ and -"));
        }
        Ok(Self(words))
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Allowed(String);

impl TryFrom<String> for Allowed {
    type Error = RulesError;

    fn try_from(text: String) -> Result<Self, RulesError> {
        if !within(&text, ALLOWED_BYTES_MIN, ALLOWED_BYTES_MAX) {
            let expected = format!("a text of {ALLOWED_BYTES_MIN} to {ALLOWED_BYTES_MAX} bytes");
            return Err(wrong("allow", &text, expected));
        }
        Ok(Self(text))
    }
}

fn within(text: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&text.len())
}

fn wrong(field: &'static str, text: &str, expected: String) -> RulesError {
    let found = format!("`{}`", text.chars().take(WORD_BYTES_MAX).collect::<String>());
    RulesError::Field { field, found, expected }
}
