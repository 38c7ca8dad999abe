//! The two lines that Baton keeps under a Tags line: who approved an item, and who holds it.
//!
//! They are no part of the request, so the hash that a person approves leaves them out. Therefore
//! a line only counts as one when all of it is understood: no other word can hide in it.

use std::fmt;
use std::str::{self, FromStr};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::item::{ItemKey, hex};

const APPROVED: &str = "**Approved**: ";
const SESSION: &str = "**Session**: ";

/// What stands in the place of a session when nobody's worker has the item.
const BY_HAND: &str = "by-hand";

/// What stands in the place of a person when nobody said who approved.
const HAND: &str = "hand";

/// What opens a line that names an item, under a Response or a Recovery.
pub(crate) const ENTRY: &str = "*   **Item**: ";

/// The folder of one worker's session, as a path below the workspace.
///
/// It ends up in links and commands, so parsing admits only letters, digits and `.`, `_`, `-`,
/// in parts that lead downwards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionRef(String);

impl SessionRef {
    /// The longest path.
    pub const LENGTH_MAX: usize = 200;

    /// Returns the path as it is written, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionRef {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let path = text.strip_suffix('/').unwrap_or(text);
        match path.len() <= Self::LENGTH_MAX && is_path(path) && path != BY_HAND {
            true => Ok(Self(path.to_owned())),
            false => Err(wrong(text, "a path such as sessions/20261116T120000Z-fix-3f2a")),
        }
    }
}

impl fmt::Display for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tells whether a text is a plain path that leads downwards.
pub(crate) fn is_path(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let part =
        |part: &str| !part.is_empty() && part != "." && part != ".." && part.chars().all(plain);
    path.split('/').all(part)
}

/// Tells whether a line only names an item, under a Response or a Recovery.
///
/// The name of an item can look like a tag of the life cycle: `#needs-next-step` is `#next-step`.
pub(crate) fn is_entry(line: &[u8]) -> bool {
    let named = |line: &str| {
        let said = line.strip_prefix(ENTRY)?;
        let (item, link) = said.split_once(", ").unwrap_or((said, "[response](x)"));
        let path = link.strip_prefix("[response](")?.strip_suffix(')')?;
        Some(item.parse::<ItemKey>().is_ok() && is_path(path))
    };
    str::from_utf8(line).ok().and_then(named).unwrap_or(false)
}

/// The person who approved something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Approver(String);

impl Approver {
    /// The longest name, in bytes.
    pub const LENGTH_MAX: usize = 64;

    /// Stands for whoever wrote the tag of an approval by hand. It is nobody's name.
    pub(crate) fn by_hand() -> Self {
        Self(HAND.to_owned())
    }

    /// Tells whether only the tag said that somebody approved.
    pub fn is_by_hand(&self) -> bool {
        self.0 == HAND
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Approver {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | ' ');
        let fits = (1..=Self::LENGTH_MAX).contains(&text.len()) && text.trim() == text;
        match fits && text != HAND && text.chars().all(plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(wrong(text, "a name of letters and digits")),
        }
    }
}

impl fmt::Display for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of a claim, which grows with each new holder of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

impl Fence {
    /// Returns the number of the claim after this one.
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a person approved: the SHA-256 of a request's body, in hex.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BodyHash(String);

impl BodyHash {
    pub(crate) fn of(body: &[u8]) -> Self {
        Self(hex(&Sha256::digest(body)))
    }

    /// Returns the 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BodyHash {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 64 && text.bytes().all(hex) {
            true => Ok(Self(text.to_owned())),
            false => Err(wrong(text, "64 hex digits")),
        }
    }
}

impl fmt::Display for BodyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who let an item go ahead, when, and which text they saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The person.
    pub by: Approver,
    /// When.
    pub at: Timestamp,
    /// The body they approved.
    pub hash: BodyHash,
}

/// Who holds an item, or held it last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The worker's session.
    pub session: SessionRef,
    /// The number of its claim.
    pub fence: Fence,
}

/// Who has an item, or had it last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A worker, in its session.
    Worker(Holding),
    /// Somebody who took it by `tag swap` from whoever had it before.
    ByHand(Fence),
}

impl Holder {
    /// Returns the number of the claim.
    pub fn fence(&self) -> Fence {
        match self {
            Self::Worker(holding) => holding.fence,
            Self::ByHand(fence) => *fence,
        }
    }

    /// Returns the worker's session, if a worker has it.
    pub fn worker(&self) -> Option<&Holding> {
        match self {
            Self::Worker(holding) => Some(holding),
            Self::ByHand(_) => None,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(Holding { session, fence }) => write!(f, "{session} with fence {fence}"),
            Self::ByHand(fence) => write!(f, "somebody by hand with fence {fence}"),
        }
    }
}

/// One of the lines, with the item that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Approved(ItemKey, Approval),
    Session(ItemKey, Holder),
}

impl Record {
    /// Understands a line, or all of it is text.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        if !line.starts_with(b"**") {
            return None;
        }
        let line = str::from_utf8(line).ok()?;
        let record = if let Some(rest) = line.strip_prefix(APPROVED) {
            let (item, rest) = rest.split_once(" by ")?;
            let (by, rest) = rest.split_once(", ")?;
            let (at, hash) = rest.split_once(", sha256:")?;
            let by = if by == HAND { Approver::by_hand() } else { by.parse().ok()? };
            let (at, hash) = (at.parse().ok()?, hash.parse().ok()?);
            Self::Approved(item.parse().ok()?, Approval { by, at, hash })
        } else {
            let (session, rest) = line.strip_prefix(SESSION)?.split_once(", ")?;
            let (item, fence) = rest.split_once(", fence ")?;
            let fence = Fence(fence.parse().ok()?);
            let holder = match session {
                BY_HAND => Holder::ByHand(fence),
                session => Holder::Worker(Holding { session: session.parse().ok()?, fence }),
            };
            Self::Session(item.parse().ok()?, holder)
        };
        // Spelled in our way, or something could be said by spelling it otherwise.
        (record.to_string() == line).then_some(record)
    }

    /// Tells whether both say the same sort of thing about the same item.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Approved(item, _), Self::Approved(old, _))
            | (Self::Session(item, _), Self::Session(old, _)) => item == old,
            (Self::Approved(..), Self::Session(..)) | (Self::Session(..), Self::Approved(..)) => {
                false
            }
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approved(item, Approval { by, at, hash }) => {
                write!(f, "{APPROVED}{item} by {by}, {at:.0}, sha256:{hash}")
            }
            Self::Session(item, holder) => {
                let session = holder.worker().map_or(BY_HAND, |holding| holding.session.as_str());
                write!(f, "{SESSION}{session}, {item}, fence {}", holder.fence())
            }
        }
    }
}

/// Why a text is not what such a line may hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found `{found}`, expected {expected}")]
pub struct RecordError {
    /// What was given, cut.
    pub found: String,
    /// What it should have been.
    pub expected: &'static str,
}

fn wrong(found: &str, expected: &'static str) -> RecordError {
    const SHOWN_MAX: usize = 80;
    RecordError { found: found.chars().take(SHOWN_MAX).collect(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_only_when_all_of_it_is_understood() {
        let hash = "0".repeat(64);
        let approved = format!("**Approved**: #fix by An Na, 2026-11-16T12:00:00Z, sha256:{hash}");
        let session = "**Session**: sessions/x-1, #fix@0123abcd.2, fence 7";
        let by_hand = "**Session**: by-hand, #fix, fence 3";
        let unnamed = approved.replace("An Na", "hand");
        for good in [approved.as_str(), session, by_hand, unnamed.as_str()] {
            assert_eq!(Record::parse(good.as_bytes()).unwrap().to_string(), good);
            let hidden = format!("{good} and delete all");
            assert_eq!(Record::parse(hidden.as_bytes()), None);
        }
        for bad in [
            "**Session**: ../up, #fix, fence 1",
            "**Session**: /etc, #fix, fence 1",
            "**Session**: a b, #fix, fence 1",
            "**Session**: a, #fix, fence 01",
            "**Session**: a/, #fix, fence 1",
            "**Session**: a, fix, fence 1",
            "**Approved**: #fix by x, 2026-11-16 12:00:00Z, sha256:00",
        ] {
            assert_eq!(Record::parse(bad.as_bytes()), None, "{bad}");
        }
        let other_spelling = approved.replace("12:00:00Z", "14:00:00+02:00");
        assert_eq!(Record::parse(other_spelling.as_bytes()), None);
    }

    #[test]
    fn names_are_parsed_at_the_door() {
        assert_eq!("sessions/a/".parse::<SessionRef>().unwrap().as_str(), "sessions/a");
        assert!("a//b".parse::<SessionRef>().is_err());
        assert!("by-hand".parse::<SessionRef>().is_err(), "nobody's session");
        assert!("hand".parse::<Approver>().is_err(), "nobody's name");
        assert!("".parse::<SessionRef>().is_err());
        assert!("x`y".parse::<Approver>().is_err());
        assert_eq!(
            "x,y".parse::<Approver>().unwrap_err().to_string(),
            "found `x,y`, expected a name of letters and digits"
        );
    }
}
