//! Why a work item was left where it is.

use crate::edit::EditError;
use crate::item::ItemKey;
use crate::name::{Tag, TagError};
use crate::record::{Approver, Holding};

/// Why a move was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The file has no such item (any more).
    #[error("there is no item {item}")]
    Missing {
        /// The item that was looked for.
        item: ItemKey,
    },

    /// Somebody was faster, or it is not the time for this move.
    #[error("{item} stands at {found}, expected {expected}")]
    Elsewhere {
        /// The item.
        item: ItemKey,
        /// Where it stands.
        found: Tag,
        /// Where it should stand.
        expected: &'static str,
    },

    /// Another worker holds the item, or did since.
    #[error("{item} is held by {}, not by {}", holder(.found), holder(.expected))]
    Stale {
        /// The item.
        item: ItemKey,
        /// What the file says.
        found: Option<Holding>,
        /// What the caller took for granted.
        expected: Option<Holding>,
    },

    /// The request is not the one that was approved.
    #[error("{item} has changed since {by} approved it")]
    Unlike {
        /// The item.
        item: ItemKey,
        /// Who approved it.
        by: Approver,
    },

    /// The approval has not been voided by any change.
    #[error("the approval of {item} stands")]
    Stands {
        /// The item.
        item: ItemKey,
    },

    /// An approval must be on record here, and is not.
    #[error("no approval of {item} is recorded")]
    Unrecorded {
        /// The item.
        item: ItemKey,
    },

    /// Nothing can be written behind an open code block.
    #[error("the code block on line {line} is never closed; close it first")]
    OpenFence {
        /// Where it begins.
        line: usize,
    },

    /// The path of the response cannot stand in a link.
    #[error("found `{found}`, expected a plain path below the workspace for the response")]
    Link {
        /// What was given, cut.
        found: String,
    },

    /// The tag after the move would be too long.
    #[error(transparent)]
    Tag(#[from] TagError),

    /// The tag could not be changed by itself.
    #[error(transparent)]
    Edit(#[from] EditError),

    /// The move would have changed what the rest of the text means.
    #[error("moving {item} would change the meaning of the text around it")]
    Entangled {
        /// The item that stays.
        item: ItemKey,
    },
}

impl RequestError {
    /// Returns the name that clients match on. It never changes once released; the sentence may.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::Elsewhere { .. } => "elsewhere",
            Self::Stale { .. } => "stale",
            Self::Unlike { .. } => "changed",
            Self::Stands { .. } => "stands",
            Self::Unrecorded { .. } => "unrecorded",
            Self::OpenFence { .. } => "open-fence",
            Self::Link { .. } => "link",
            Self::Tag(_) => "tag",
            Self::Edit(_) | Self::Entangled { .. } => "entangled",
        }
    }
}

fn holder(holding: &Option<Holding>) -> String {
    match holding {
        Some(Holding { session, fence }) => format!("{session} with fence {fence}"),
        None => "nobody".to_owned(),
    }
}
