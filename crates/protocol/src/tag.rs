//! Moves of tags in files, as the ledger tells of them.
//!
//! The files are the truth about tagged work; the ledger only hears what was done, so that one
//! story can be told of everything.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::NAME_BYTES_MAX;
use crate::lock::FilePath;
use crate::text::Text;
use crate::time::Timestamp;

/// A tag, such as `#delegated-fix` or `#P1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TagName(Box<str>);

/// A text that is no tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no tag; expected # and small letters, digits and dashes, such as #needs-fix")]
pub struct TagNameError {
    text: String,
}

/// The tags that are no words.
const WEIGHTS: [&str; 6] = ["P0", "P1", "P2", "S", "M", "L"];

impl FromStr for TagName {
    type Err = TagNameError;

    fn from_str(text: &str) -> Result<Self, TagNameError> {
        let name = text.strip_prefix('#').filter(|_| text.len() <= NAME_BYTES_MAX);
        let is_word = |name: &str| {
            let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
            name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(plain)
        };
        match name {
            Some(name) if is_word(name) || WEIGHTS.contains(&name) => Ok(Self(text.into())),
            Some(_) | None => Err(TagNameError { text: text.chars().take(80).collect() }),
        }
    }
}

impl TagName {
    /// The tag as text, with its `#`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it says that a person let the work go ahead.
    pub fn is_approval(&self) -> bool {
        self.0.starts_with("#delegated-") || self.0.starts_with("#next-")
    }
}

impl TryFrom<String> for TagName {
    type Error = TagNameError;

    fn try_from(text: String) -> Result<Self, TagNameError> {
        text.parse()
    }
}

impl From<TagName> for String {
    fn from(tag: TagName) -> Self {
        tag.0.into()
    }
}

impl fmt::Display for TagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Who made a move, as whoever tells of it says. Who tells is known by the credential.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TagMover {
    /// A person.
    Person,
    /// An agent that does the work.
    Worker,
    /// The dispatch daemon, about work whose holder died.
    Daemon,
}

/// A move that was made in a file.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagMove {
    /// The file.
    pub file: FilePath,
    /// Which piece of work in it: the kind, and for one inside the text a mark of its line.
    pub item: Text,
    /// What was there; absent if the tag was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<TagName>,
    /// What is there now; absent if the tag was taken away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<TagName>,
    /// Who made it.
    pub mover: TagMover,
    /// When.
    pub moved_at: Timestamp,
    /// The number of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// The folder of the session that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<FilePath>,
    /// The SHA-256 of the request that a person approved, as hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Text>,
    /// Why, if somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words_or_weights() {
        for tag in ["#a", "#needs-fix", "#delegated-x2", "#P0", "#S"] {
            assert_eq!(tag.parse::<TagName>().expect(tag).to_string(), tag);
        }
        for no in ["", "#", "needs-fix", "#Needs", "#P3", "#a_b", "#a b", "#-a", "#é"] {
            no.parse::<TagName>().expect_err(no);
        }
        assert!("#next-fix".parse::<TagName>().expect("a tag").is_approval());
        assert!(!"#needs-fix".parse::<TagName>().expect("a tag").is_approval());
    }
}
