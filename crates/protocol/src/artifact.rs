//! Artifacts: what work produces, by reference.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, ArtifactId};
use crate::limits::PATH_BYTES_MAX;
use crate::mask::mask;
use crate::text::Text;
use crate::time::Timestamp;

/// A file, a document or another product of a workflow.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Which one.
    pub id: ArtifactId,
    /// What it is and where.
    #[serde(flatten)]
    pub produced: Produced,
    /// Who made it.
    pub created_by: AgentId,
    /// When it was made known.
    pub created_at: Timestamp,
}

/// An artifact as its maker describes it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Produced {
    /// What it is.
    #[serde(rename = "type", default)]
    pub kind: ArtifactKind,
    /// Where it is.
    pub path: Location,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// Whether it can be relied on.
    #[serde(default)]
    pub status: ArtifactStatus,
}

/// What an artifact is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// Any file.
    #[default]
    File,
    /// Source text.
    Code,
    /// Prose.
    Document,
    /// What tests said.
    TestResult,
    /// What a reviewer said.
    ReviewComment,
}

/// Whether an artifact can be relied on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactStatus {
    /// It may change.
    #[default]
    Draft,
    /// It will not change.
    Final,
    /// Another has taken its place.
    Superseded,
}

/// A path or a URI, on one line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Location(Box<str>);

/// A text that is not a location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}; expected a path or URI of 1 to {PATH_BYTES_MAX} bytes on one line")]
pub struct LocationError {
    why: &'static str,
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        let why = match text {
            "" => "an empty location",
            _ if text.len() > PATH_BYTES_MAX => "a location that is too long",
            _ if text.chars().any(char::is_control) => "a location with a control character",
            _ => return Ok(Self(mask(text).into())),
        };
        Err(LocationError { why })
    }
}

impl TryFrom<String> for Location {
    type Error = LocationError;

    fn try_from(text: String) -> Result<Self, LocationError> {
        text.parse()
    }
}

impl From<Location> for String {
    fn from(location: Location) -> Self {
        location.0.into()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
