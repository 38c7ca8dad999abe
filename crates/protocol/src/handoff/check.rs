//! Acceptance checks: commands that show whether what came back is what was asked for.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::limits::{CHECK_WITHIN, CHECK_WITHIN_MAX};
use crate::reach::Argv;
use crate::text::Text;
use crate::time::Allowance;

/// A command that must succeed before a return counts.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The program and its arguments. It is started in the workspace, without a shell.
    pub run: Argv,
    /// How long it may take.
    #[serde(default = "usual", deserialize_with = "limited")]
    pub timeout: Allowance,
}

fn usual() -> Allowance {
    CHECK_WITHIN
}

fn limited<'de, D: Deserializer<'de>>(from: D) -> Result<Allowance, D::Error> {
    let found = Allowance::deserialize(from)?;
    match found <= CHECK_WITHIN_MAX {
        true => Ok(found),
        false => Err(D::Error::custom(format!("{found}; expected at most {CHECK_WITHIN_MAX}"))),
    }
}

/// What the checks of a return came to.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Each of them, in their order.
    pub checks: Vec<CheckRun>,
    /// The commit that the workspace was at, if it is a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Text>,
    /// Whether there were changes that no commit has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncommitted: bool,
    /// What else stood in the way of the result, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Text>,
}

impl Evidence {
    /// Whether every check passed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|run| run.ended == CheckEnd::Exited { code: 0 })
    }

    /// Whether the result may count: the checks passed, and nothing else stands in its way.
    pub fn verifies(&self) -> bool {
        self.passed() && self.refused.is_none()
    }
}

/// How one check went.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    /// The program and its arguments.
    pub run: Argv,
    /// How it ended.
    #[serde(flatten)]
    pub ended: CheckEnd,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The end of what it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<Text>,
}

/// How a check ended.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ended")]
pub enum CheckEnd {
    /// By itself.
    Exited {
        /// Zero means that it passed.
        code: i32,
    },
    /// By a signal that was not ours.
    Signalled {
        /// Its number.
        signal: i32,
    },
    /// Its time was up, and it was ended.
    TimedOut,
    /// It could not be started.
    NotStarted {
        /// What stood in the way.
        why: Text,
    },
}
