//! Streams: the lists that the ledger consists of.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, WorkflowId};

/// Where an event is recorded. Each stream is hash-chained by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamId {
    /// One workflow.
    Workflow(WorkflowId),
    /// One agent.
    Agent(AgentId),
    /// What belongs to neither.
    Workspace,
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workflow(id) => write!(f, "workflow/{id}"),
            Self::Agent(id) => write!(f, "agent/{id}"),
            Self::Workspace => f.write_str("workspace"),
        }
    }
}

/// A text that names no stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a stream")]
pub struct StreamError {
    text: String,
}

impl std::str::FromStr for StreamId {
    type Err = StreamError;

    fn from_str(text: &str) -> Result<Self, StreamError> {
        let stream = match text.split_once('/') {
            Some(("workflow", id)) => id.parse().ok().map(Self::Workflow),
            Some(("agent", id)) => id.parse().ok().map(Self::Agent),
            Some(_) => None,
            None => (text == "workspace").then_some(Self::Workspace),
        };
        stream.ok_or_else(|| StreamError { text: text.chars().take(100).collect() })
    }
}

impl Serialize for StreamId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StreamId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
