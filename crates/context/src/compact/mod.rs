//! The compact artifact: what one agent leaves to the next instead of all that it was told.
//!
//! It has a place for what the work needs and none for a persona, commands, dependencies, tool
//! settings or greetings, so these cannot travel. As written it is never more than
//! [`COMPACT_TOKENS_MAX`] tokens: each text is limited at the door so that what must not be cut
//! always fits, and the rest is cut in a fixed order (see `fit`).

mod clean;
mod fit;
mod read;
mod written;

use std::fmt;

use baton_protocol::id::AgentId;
use baton_protocol::limits::{COMPACT_BLOCKERS_MAX, COMPACT_DECISIONS_MAX, COMPACT_FILES_MAX};
use baton_protocol::time::Timestamp;
use serde::Serialize;

pub use self::fit::{Compact, Cut, Door, TooLong};
pub use self::read::{ReadArtifact, ReadError};

/// The version of the form that is written.
const VERSION: &str = "1.0";

/// Where the work stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Story {
    /// What the work is called, such as `TOK-4A`.
    pub story_id: String,
    /// Where it is written down.
    pub story_path: String,
    /// How far it is, such as `Ready for Review`.
    pub story_status: String,
    /// What was being worked on last.
    pub current_task: String,
    /// The branch in git.
    pub branch: String,
}

/// What an artifact is made from, of any size. Lists have their oldest entry first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Draft {
    /// Who hands over.
    pub from_agent: AgentId,
    /// Who takes over.
    pub to_agent: AgentId,
    /// Where the work stands.
    pub story_context: Story,
    /// What was decided.
    pub decisions: Vec<String>,
    /// What was created or changed.
    pub files_modified: Vec<String>,
    /// What stands in the way.
    pub blockers: Vec<String>,
    /// What the next agent should do.
    pub next_action: String,
}

impl Draft {
    /// One that says only who hands over to whom.
    pub fn between(from_agent: AgentId, to_agent: AgentId) -> Self {
        Self {
            from_agent,
            to_agent,
            story_context: Story::default(),
            decisions: Vec::new(),
            files_modified: Vec::new(),
            blockers: Vec::new(),
            next_action: String::new(),
        }
    }

    /// The texts that stand by themselves, each with its field.
    fn singles(&mut self) -> [(Field, &mut String); 6] {
        let story = &mut self.story_context;
        [
            (Field::StoryId, &mut story.story_id),
            (Field::StoryPath, &mut story.story_path),
            (Field::StoryStatus, &mut story.story_status),
            (Field::CurrentTask, &mut story.current_task),
            (Field::Branch, &mut story.branch),
            (Field::NextAction, &mut self.next_action),
        ]
    }

    fn lists(&mut self) -> [(Field, &mut Vec<String>); 3] {
        [
            (Field::Decisions, &mut self.decisions),
            (Field::FilesModified, &mut self.files_modified),
            (Field::Blockers, &mut self.blockers),
        ]
    }
}

/// A compact artifact, within all limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    draft: Draft,
    timestamp: Option<Timestamp>,
    consumed: bool,
    source: Option<String>,
}

impl Artifact {
    /// What it says.
    pub fn content(&self) -> &Draft {
        &self.draft
    }

    /// When it was made; a hand-written one need not say.
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.timestamp
    }

    /// Whether the agent that it is for has had it.
    pub fn is_consumed(&self) -> bool {
        self.consumed
    }

    /// The SHA-256 of what it was made from, before anything was cut, in hexadecimal digits.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The same, had by the agent that it is for.
    #[must_use]
    pub fn consumed(self) -> Self {
        Self { consumed: true, ..self }
    }
}

/// A field of an artifact, as it is spelled there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Who hands over.
    FromAgent,
    /// Who takes over.
    ToAgent,
    /// What the work is called.
    StoryId,
    /// Where it is written down.
    StoryPath,
    /// How far it is.
    StoryStatus,
    /// What was being worked on last.
    CurrentTask,
    /// The branch in git.
    Branch,
    /// What was decided.
    Decisions,
    /// What was created or changed.
    FilesModified,
    /// What stands in the way.
    Blockers,
    /// What the next agent should do.
    NextAction,
}

impl Field {
    /// The most tokens that one text of it may be, its quotes and escapes counted.
    ///
    /// In tokens and not in bytes, so that all languages get the same room. What must not be cut
    /// comes to 318 at most; with the form itself (keys, time, hash) the hardest texts we know make
    /// 459 of it. That leaves room for the shortest form of one decision and one file.
    pub const fn tokens_max(self) -> usize {
        match self {
            Self::StoryStatus => 14,
            Self::FromAgent | Self::ToAgent | Self::StoryId => 18,
            Self::Branch => 28,
            Self::Blockers => 26,
            Self::StoryPath | Self::CurrentTask => 44,
            Self::Decisions | Self::FilesModified => 48,
            Self::NextAction => 56,
        }
    }

    /// How many entries a list may have; a single text is one.
    pub const fn entries_max(self) -> usize {
        match self {
            Self::Decisions => COMPACT_DECISIONS_MAX,
            Self::FilesModified => COMPACT_FILES_MAX,
            Self::Blockers => COMPACT_BLOCKERS_MAX,
            Self::FromAgent
            | Self::ToAgent
            | Self::StoryId
            | Self::StoryPath
            | Self::StoryStatus
            | Self::CurrentTask
            | Self::Branch
            | Self::NextAction => 1,
        }
    }

    /// Paths and branches are known by their end, sentences by their beginning.
    const fn keeps_its_end(self) -> bool {
        matches!(self, Self::StoryPath | Self::FilesModified | Self::Branch)
    }

    /// Its name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FromAgent => "from_agent",
            Self::ToAgent => "to_agent",
            Self::StoryId => "story_id",
            Self::StoryPath => "story_path",
            Self::StoryStatus => "story_status",
            Self::CurrentTask => "current_task",
            Self::Branch => "branch",
            Self::Decisions => "decisions",
            Self::FilesModified => "files_modified",
            Self::Blockers => "blockers",
            Self::NextAction => "next_action",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
