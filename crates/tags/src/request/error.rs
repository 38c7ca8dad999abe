//! Why a work item was left where it is.

use crate::edit::EditError;
use crate::item::ItemKey;
use crate::name::{Tag, TagError};
use crate::record::{Approver, Holder, Holding};

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
    #[error("{item} is held by {}, not by {}", shown(.found), worker(.expected))]
    Stale {
        /// The item.
        item: ItemKey,
        /// What the file says.
        found: Option<Holder>,
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
            Self::Missing { .. } => "missing-item",
            Self::Elsewhere { .. } => "elsewhere",
            Self::Stale { .. } => "stale",
            Self::Unlike { .. } => "changed-since-approval",
            Self::Stands { .. } => "approval-stands",
            Self::Unrecorded { .. } => "unrecorded",
            Self::OpenFence { .. } => "open-fence",
            Self::Link { .. } => "bad-link",
            Self::Tag(_) => "bad-tag",
            Self::Edit(error) => error.code(),
            Self::Entangled { .. } => "entangled",
        }
    }
}

fn shown(holder: &Option<Holder>) -> String {
    holder.as_ref().map_or("nobody".to_owned(), Holder::to_string)
}

fn worker(holding: &Option<Holding>) -> String {
    shown(&holding.clone().map(Holder::Worker))
}
