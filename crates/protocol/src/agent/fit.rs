//! How what an agent can do compares with what a handoff asks for.

use super::{Profile, Requirement, Role};
use crate::id::CapabilityId;

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
