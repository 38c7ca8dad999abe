//! A move of work with a definition, and what it rests on.

use serde::{Deserialize, Serialize};

use crate::artifact::Artifact;
use crate::course::Report;
use crate::definition::{SignalName, StateName};
use crate::id::{AgentId, Fence};
use crate::lock::FilePath;
use crate::machine::Step;
use crate::policy::Usage;
use crate::text::{Body, Text};
use crate::time::Timestamp;
use crate::variables::Changes;

/// Work with a definition went on to its next state. What chose it is recorded with it: whoever
/// reads the records never judges again.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// Where it was.
    pub from: StateName,
    /// The task of the state where it is, with the rule that chose it.
    pub step: Box<Step>,
    /// The signal that brought it up; absent where a person moved it, or the work begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalName>,
    /// Whose step ended with it.
    pub by: AgentId,
    /// Why.
    pub reason: Text,
    /// Whether its agent was done with the step before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completes: bool,
    /// What came of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Body>,
    /// Variables that were written with it.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub variables: Changes,
    /// Artifacts that were made known with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What its holder reported about the whole work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
    /// What its holder used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The number under which the same holder goes on, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Whether nobody works meanwhile: it waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// When the time of that holder, or of the waiting, is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Files whose locks ended with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<FilePath>,
}

impl Moved {
    /// A move after which nobody goes on: the least that there is to say of one.
    pub(crate) fn ending(from: StateName, step: Box<Step>, by: AgentId) -> Self {
        let (signal, result, report, usage, fence, until) = Default::default();
        Self {
            from,
            step,
            signal,
            by,
            completes: false,
            reason: crate::machine::fixed("it goes on"),
            result,
            variables: Changes::new(),
            artifacts: Vec::new(),
            report,
            usage,
            fence,
            waits: false,
            until,
            released: Vec::new(),
        }
    }
}
