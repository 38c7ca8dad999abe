//! The names of tags: parsed once, at the door, so that no later code needs to doubt them.
//!
//! Only names. Where a tag stands in a file is `document.rs`, which moves it may make is
//! `lifecycle.rs`.

use std::fmt;
use std::str::FromStr;

/// How many tags one swap may name as `#a,#b`.
pub const ALTERNATIVES_MAX: usize = 16;

/// A tag as it stands in a file, such as `#needs-review` or `#P1`.
///
/// It ends up in shell lines, window names and dispatch tables, so parsing admits only what is
/// safe in all of them. Two tags are the same when their whole names are: `#needs-review` has
/// nothing to do with `#needs-review-later`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

impl Tag {
    /// The longest tag, with its `#`.
    pub const LENGTH_MAX: usize = 64;

    /// Returns the tag as it is written, with its `#`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns where the work stands and of what kind it is, for tags of the five families.
    ///
    /// `#needs-` alone names no work, so it belongs to no family.
    pub fn stage(&self) -> Option<(Stage, &str)> {
        let (family, kind) = self.0[1..].split_once('-')?;
        let stage = Stage::ALL.into_iter().find(|stage| stage.family() == family)?;
        (!kind.is_empty()).then_some((stage, kind))
    }

    /// Returns what the tag says about urgency or size, for `#P0` to `#P2` and `#S`, `#M`, `#L`.
    pub fn weight(&self) -> Option<Weight> {
        Weight::ALL.into_iter().find(|weight| weight.as_str() == self.0)
    }
}

impl FromStr for Tag {
    type Err = TagError;

    fn from_str(text: &str) -> Result<Self, TagError> {
        if Weight::ALL.iter().any(|weight| weight.as_str() == text) {
            return Ok(Self(text.to_owned()));
        }
        check(text, plain)?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a piece of work stands; the first word of its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Waits for a person to look at it. Daemons never see it.
    Needs,
    /// Approved for the daemon to give to a worker.
    Delegated,
    /// Approved for the next skill of the same session. Daemons never see it.
    Next,
    /// Held by exactly one worker.
    Claimed,
    /// Over.
    Done,
}

impl Stage {
    /// Every stage, in the order in which work passes them.
    pub const ALL: [Self; 5] =
        [Self::Needs, Self::Delegated, Self::Next, Self::Claimed, Self::Done];

    /// Returns the word that opens the tags of this stage.
    pub fn family(self) -> &'static str {
        match self {
            Self::Needs => "needs",
            Self::Delegated => "delegated",
            Self::Next => "next",
            Self::Claimed => "claimed",
            Self::Done => "done",
        }
    }

    /// Names the work of `kind` at this stage: `Stage::Done.of("fix")` is `#done-fix`.
    pub fn of(self, kind: &str) -> Result<Tag, TagError> {
        format!("#{}-{kind}", self.family()).parse()
    }
}

/// What a tag says about how to schedule the work beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weight {
    /// Decides the order.
    Priority(Priority),
    /// Is shown to people and never scheduled on.
    Effort(Effort),
}

impl Weight {
    const ALL: [Self; 6] = [
        Self::Priority(Priority::P0),
        Self::Priority(Priority::P1),
        Self::Priority(Priority::P2),
        Self::Effort(Effort::Small),
        Self::Effort(Effort::Medium),
        Self::Effort(Effort::Large),
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Priority(Priority::P0) => "#P0",
            Self::Priority(Priority::P1) => "#P1",
            Self::Priority(Priority::P2) => "#P2",
            Self::Effort(Effort::Small) => "#S",
            Self::Effort(Effort::Medium) => "#M",
            Self::Effort(Effort::Large) => "#L",
        }
    }
}

/// How urgent the work is. The more urgent sorts first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Critical: before everything else.
    P0,
    /// Important: soon.
    P1,
    /// Normal, and what work without a priority tag has.
    #[default]
    P2,
}

/// How large the work is thought to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effort {
    /// Less than half an hour.
    Small,
    /// Up to two hours.
    Medium,
    /// More than two hours.
    Large,
}

/// Which tags are meant: one (`#needs-fix`), or all that fit a glob (`#delegated-*`).
///
/// A `*` stands for any characters, also none. Without one, only the very same tag fits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TagPattern(String);

impl TagPattern {
    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether `tag` is meant.
    pub fn matches(&self, tag: &Tag) -> bool {
        let mut pieces = self.0.split('*');
        let first = pieces.next().unwrap_or_default();
        let Some(mut rest) = tag.as_str().strip_prefix(first) else {
            return false;
        };
        let Some(last) = pieces.next_back() else {
            return rest.is_empty();
        };
        // Taking each inner piece where it first occurs leaves the most room for the others.
        for piece in pieces {
            let Some(at) = rest.find(piece) else {
                return false;
            };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last)
    }

    /// Returns what every match begins with, so that most files need no parsing at all.
    pub fn prefix(&self) -> &str {
        self.0.split('*').next().unwrap_or_default()
    }
}

impl FromStr for TagPattern {
    type Err = TagError;

    fn from_str(text: &str) -> Result<Self, TagError> {
        if text.parse::<Tag>().is_err() {
            check(text, |c| plain(c) || c == '*')?;
        }
        Ok(Self(text.to_owned()))
    }
}

impl From<Tag> for TagPattern {
    fn from(tag: Tag) -> Self {
        Self(tag.0)
    }
}

impl fmt::Display for TagPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads the old tags of a swap, written as `#a` or `#a,#b`.
pub fn alternatives(text: &str) -> Result<Vec<Tag>, TagError> {
    let found = text.split(',').count();
    if found > ALTERNATIVES_MAX {
        return Err(TagError::Alternatives { found });
    }
    text.split(',').map(|part| part.trim().parse()).collect()
}

/// Why a text is not a tag or a pattern of tags.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagError {
    /// The `#` is missing.
    #[error("found `{found}`, expected a tag that begins with #")]
    Hash {
        /// What was given, cut to the length of a tag.
        found: String,
    },

    /// A tag begins with a letter.
    #[error("found `{found}`, expected a small letter after the #")]
    Start {
        /// What was given, cut to the length of a tag.
        found: String,
    },

    /// A character that no tag has.
    #[error("found `{bad}`, expected only a-z, 0-9 and - in a tag (or #P0 #P1 #P2 #S #M #L)")]
    Character {
        /// The first such character.
        bad: char,
    },

    /// Too long.
    #[error("found {found} characters, expected a tag of at most {}", Tag::LENGTH_MAX)]
    Length {
        /// How long it is.
        found: usize,
    },

    /// Too many alternatives.
    #[error("found {found} tags, expected at most {ALTERNATIVES_MAX} alternatives")]
    Alternatives {
        /// How many were given.
        found: usize,
    },
}

fn plain(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

fn check(text: &str, fits: impl Fn(char) -> bool) -> Result<(), TagError> {
    let found = || text.chars().take(Tag::LENGTH_MAX).collect();
    let Some(name) = text.strip_prefix('#') else {
        return Err(TagError::Hash { found: found() });
    };
    if let Some(bad) = name.chars().find(|&c| !fits(c)) {
        return Err(TagError::Character { bad });
    }
    if text.len() > Tag::LENGTH_MAX {
        return Err(TagError::Length { found: text.len() });
    }
    if !name.starts_with(|c: char| c.is_ascii_lowercase() || c == '*') {
        return Err(TagError::Start { found: found() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> Tag {
        text.parse().unwrap()
    }

    #[test]
    fn a_tag_is_parsed_once_and_says_what_was_wrong() {
        for good in ["#a", "#needs-review", "#x2-y", "#P0", "#S", "#M", "#L"] {
            assert_eq!(tag(good).to_string(), good);
        }
        let complaint = |text: &str| text.parse::<Tag>().unwrap_err().to_string();
        assert_eq!(complaint("needs-fix"), "found `needs-fix`, expected a tag that begins with #");
        assert_eq!(complaint("#2fa"), "found `#2fa`, expected a small letter after the #");
        assert_eq!(complaint("#"), "found `#`, expected a small letter after the #");
        assert!(complaint("#P3").starts_with("found `P`, expected only a-z"));
        assert!(complaint("#a b").starts_with("found ` `, expected only a-z"));
        assert!(complaint("#a-*").starts_with("found `*`, expected only a-z"));
        assert_eq!(
            complaint(&format!("#{}", "a".repeat(64))),
            "found 65 characters, expected a tag of at most 64"
        );
    }

    #[test]
    fn the_five_families_have_a_stage_and_a_kind() {
        for stage in Stage::ALL {
            let tag = stage.of("deep-research").unwrap();
            assert_eq!(tag.stage(), Some((stage, "deep-research")));
        }
        for outside in ["#needs-", "#needs", "#active-alert", "#P1", "#needsx-fix"] {
            assert_eq!(tag(outside).stage(), None, "{outside}");
        }
    }

    #[test]
    fn weights_order_work_and_normal_is_the_default() {
        assert_eq!(tag("#P1").weight(), Some(Weight::Priority(Priority::P1)));
        assert_eq!(tag("#L").weight(), Some(Weight::Effort(Effort::Large)));
        assert_eq!(tag("#p1").weight(), None);
        assert!(Priority::P0 < Priority::P1 && Priority::P1 < Priority::default());
    }

    #[test]
    fn a_pattern_means_exactly_its_tag_unless_it_has_a_star() {
        let fits = |pattern: &str, name: &str| {
            let pattern: TagPattern = pattern.parse().unwrap();
            pattern.matches(&tag(name))
        };
        assert!(fits("#needs-review", "#needs-review"));
        assert!(!fits("#needs-review", "#needs-review-later"));
        assert!(!fits("#needs-review", "#needs"));
        assert!(fits("#delegated-*", "#delegated-fix"));
        assert!(!fits("#delegated-*", "#needs-fix"));
        assert!(fits("#*-fix", "#claimed-fix"));
        assert!(!fits("#*-fix", "#claimed-fixes"));
        assert!(fits("#a*b*b", "#abb") && !fits("#a*b*b", "#ab"));
        assert!(fits("#*", "#P0") && fits("#P0", "#P0"));
        assert_eq!("#delegated-*".parse::<TagPattern>().unwrap().prefix(), "#delegated-");
        assert!("delegated-*".parse::<TagPattern>().is_err());
    }

    #[test]
    fn a_swap_may_name_alternatives() {
        assert_eq!(alternatives("#a, #b").unwrap(), [tag("#a"), tag("#b")]);
        assert!(alternatives("#a,").is_err());
        assert_eq!(
            alternatives(&vec!["#a"; 17].join(",")),
            Err(TagError::Alternatives { found: 17 })
        );
    }
}
