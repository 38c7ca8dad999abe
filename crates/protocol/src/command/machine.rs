//! What is asked of work with a definition.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::command::{ContextUpdates, Used};
use crate::definition::{DefinitionName, SignalName, StateName};
use crate::id::{Fence, WorkflowId};
use crate::machine::ErrorReport;
use crate::text::{PayloadJson, Text};

/// Which definition new work follows.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follows {
    /// What it is called.
    pub name: DefinitionName,
    /// Which edition; absent means the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<NonZeroU32>,
}

/// Says that the step at hand failed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailStep {
    /// Of which work.
    pub workflow: WorkflowId,
    /// The holder's number. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// What went wrong.
    pub error: ErrorReport,
    /// What it changed all the same.
    #[serde(default, skip_serializing_if = "ContextUpdates::is_empty")]
    pub context_updates: ContextUpdates,
    /// What its holder used since it was passed to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
}

/// Raises a signal.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RaiseSignal {
    /// In which work.
    pub workflow: WorkflowId,
    /// The holder's number. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Which signal.
    pub signal: SignalName,
    /// What it brings; rules see it as `result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadJson>,
}

/// Looks whether work goes on by itself. Only Baton itself asks this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stir {
    /// Which work.
    pub workflow: WorkflowId,
    /// How many moves went before that followed from each other.
    pub depth: usize,
}

/// Moves work to another state. Only a person asks this: agents report results, and rules decide.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveTo {
    /// Which work.
    pub workflow: WorkflowId,
    /// To which state.
    pub state: StateName,
    /// Why.
    pub reason: Text,
}
