//! What an agent can do, and what a handoff asks for.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::CapabilityId;

/// One thing an agent can do.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CapabilityForm")]
pub struct Capability {
    /// Which one.
    pub id: CapabilityId,
    /// How well.
    pub proficiency: Proficiency,
}

/// A capability as people write it: a bare name means full proficiency.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a capability name, or {id, proficiency 0.0 to 1.0} and nothing else"
)]
enum CapabilityForm {
    Name(CapabilityId),
    Full {
        #[serde(alias = "capability_id")]
        id: CapabilityId,
        #[serde(default)]
        proficiency: Proficiency,
    },
}

impl From<CapabilityForm> for Capability {
    fn from(form: CapabilityForm) -> Self {
        match form {
            CapabilityForm::Name(id) => Self { id, proficiency: Proficiency::default() },
            CapabilityForm::Full { id, proficiency } => Self { id, proficiency },
        }
    }
}

/// How well an agent does something, 0.0 to 1.0, kept in thousandths so that it compares exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Proficiency(pub(super) u16);

impl Proficiency {
    /// The level in thousandths, which compare and add exactly.
    pub fn thousandths(self) -> u16 {
        self.0
    }
}

impl Default for Proficiency {
    fn default() -> Self {
        Self(1_000)
    }
}

/// A number that is not a proficiency.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{found} is not a proficiency; expected 0.0 to 1.0")]
pub struct ProficiencyError {
    found: f64,
}

impl TryFrom<f64> for Proficiency {
    type Error = ProficiencyError;

    fn try_from(found: f64) -> Result<Self, ProficiencyError> {
        if !(0.0..=1.0).contains(&found) {
            return Err(ProficiencyError { found });
        }
        // In range by the check above, so the rounding cannot overflow.
        Ok(Self((found * 1_000.0).round() as u16))
    }
}

impl From<Proficiency> for f64 {
    fn from(proficiency: Proficiency) -> Self {
        Self::from(proficiency.0) / 1_000.0
    }
}

impl fmt::Display for Proficiency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f64::from(*self).fmt(f)
    }
}

/// A capability that a handoff asks for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RequirementForm")]
pub struct Requirement {
    /// Which one.
    pub capability_id: CapabilityId,
    /// How well at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_proficiency: Option<Proficiency>,
}

/// A requirement as people write it: a bare name, or with a proficiency.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a capability name, or {capability_id, min_proficiency 0.0 to 1.0} and nothing else"
)]
enum RequirementForm {
    Name(CapabilityId),
    Full {
        capability_id: CapabilityId,
        #[serde(default)]
        min_proficiency: Option<Proficiency>,
    },
}

impl From<RequirementForm> for Requirement {
    fn from(form: RequirementForm) -> Self {
        match form {
            RequirementForm::Name(id) => Self { capability_id: id, min_proficiency: None },
            RequirementForm::Full { capability_id, min_proficiency } => {
                Self { capability_id, min_proficiency }
            }
        }
    }
}
