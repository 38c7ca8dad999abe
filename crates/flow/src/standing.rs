//! Where a handoff stands, as far as a picture tells it: by a word, a sign, a line and a colour, so
//! that each of them alone is enough.

use serde::{Deserialize, Serialize};

/// What a handoff has come to.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Over, as it was meant to end.
    Completed,
    /// Somebody has it in hand.
    Held,
    /// Its holder asked somebody above and waits.
    Suspended,
    /// It waits to be sent or answered.
    Waiting,
    /// It waits for a person to say yes.
    Approval,
    /// It was turned away.
    Rejected,
    /// It failed, or nobody was there in time.
    Failed,
    /// Somebody above took it over.
    PassedOn,
    /// It was taken back.
    Cancelled,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// It is over and went well.
    Plain,
    /// It goes on now.
    Heavy,
    /// It waits.
    Dotted,
    /// It is over and did not go well.
    Dashed,
}

/// A family of colours; each drawing has its own shades of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hue {
    Green,
    Blue,
    Violet,
    Amber,
    Red,
    Grey,
}

impl Hue {
    /// All of them, for style sheets.
    pub(crate) const ALL: [Self; 6] =
        [Self::Green, Self::Blue, Self::Violet, Self::Amber, Self::Red, Self::Grey];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Violet => "violet",
            Self::Amber => "amber",
            Self::Red => "red",
            Self::Grey => "grey",
        }
    }

    /// A shade that can be read on white and on light grey.
    pub(crate) fn on_light(self) -> &'static str {
        match self {
            Self::Green => "#1a7f4b",
            Self::Blue => "#1f5fd0",
            Self::Violet => "#7a3fc4",
            Self::Amber => "#96600a",
            Self::Red => "#c0313b",
            Self::Grey => "#64707f",
        }
    }

    /// A shade that can be read on near black.
    pub(crate) fn on_dark(self) -> &'static str {
        match self {
            Self::Green => "#52c58a",
            Self::Blue => "#7aa7ff",
            Self::Violet => "#bd93f5",
            Self::Amber => "#e3b04b",
            Self::Red => "#f0858c",
            Self::Grey => "#97a3b3",
        }
    }
}

impl Standing {
    /// All of them, in the order of a legend.
    pub(crate) const ALL: [Self; 9] = [
        Self::Completed,
        Self::Held,
        Self::Suspended,
        Self::Waiting,
        Self::Approval,
        Self::Rejected,
        Self::Failed,
        Self::PassedOn,
        Self::Cancelled,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Held => "in hand",
            Self::Suspended => "suspended",
            Self::Waiting => "waiting",
            Self::Approval => "needs approval",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
            Self::PassedOn => "taken over",
            Self::Cancelled => "cancelled",
        }
    }

    /// A sign for it, one column wide.
    pub fn sign(self) -> char {
        match self {
            Self::Completed => '✓',
            Self::Held => '●',
            Self::Suspended => '‖',
            Self::Waiting => '○',
            Self::Approval => '?',
            Self::Rejected => '✗',
            Self::Failed => '!',
            Self::PassedOn => '↑',
            Self::Cancelled => '∅',
        }
    }

    pub(crate) fn stroke(self) -> Stroke {
        match self {
            Self::Completed => Stroke::Plain,
            Self::Held | Self::Suspended => Stroke::Heavy,
            Self::Waiting | Self::Approval => Stroke::Dotted,
            Self::Rejected | Self::Failed | Self::PassedOn | Self::Cancelled => Stroke::Dashed,
        }
    }

    pub(crate) fn hue(self) -> Hue {
        match self {
            Self::Completed => Hue::Green,
            Self::Held => Hue::Blue,
            Self::Suspended | Self::PassedOn => Hue::Violet,
            Self::Waiting | Self::Approval => Hue::Amber,
            Self::Rejected | Self::Failed => Hue::Red,
            Self::Cancelled => Hue::Grey,
        }
    }
}
