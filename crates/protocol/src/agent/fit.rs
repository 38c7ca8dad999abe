//! What a handoff asks for, and how an agent compares with it.

use serde::{Deserialize, Serialize};

use super::{Proficiency, Profile, Role};
use crate::id::CapabilityId;

/// A capability that a handoff asks for.
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

/// How an agent's capabilities compare with what a handoff asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It has all of them.
    Whole,
    /// It lacks these, and has others.
    Partial(Vec<CapabilityId>),
    /// It has none of them.
    None,
}

impl Profile {
    /// What is asked for and this agent lacks. People find somebody who can.
    pub fn gap(&self, required: &[Requirement]) -> Vec<CapabilityId> {
        match (self.role, self.fit(required)) {
            (Role::Human, _) | (_, Fit::Whole) => Vec::new(),
            (_, Fit::Partial(gap)) => gap,
            (_, Fit::None) => required.iter().map(|r| r.capability_id.clone()).collect(),
        }
    }

    /// Compares what is asked for with what this agent can do. Too little proficiency is a lack.
    pub fn fit(&self, required: &[Requirement]) -> Fit {
        let lacks = |requirement: &&Requirement| {
            let has = self.proficiency(&requirement.capability_id);
            has.is_none() || has < requirement.min_proficiency
        };
        let gap: Vec<_> = required.iter().filter(lacks).map(|r| r.capability_id.clone()).collect();
        match gap.len() {
            0 => Fit::Whole,
            n if n == required.len() => Fit::None,
            _ => Fit::Partial(gap),
        }
    }
}
