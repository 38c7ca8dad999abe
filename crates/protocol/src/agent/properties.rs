//! Capability fit, requirement by requirement.

use proptest::prelude::*;

use super::{Capability, Fit, Proficiency, Profile, Requirement};
use crate::id::{AgentId, CapabilityId};

const NAMES: [&str; 4] = ["rust", "sql", "docs", "speed"];

fn capability(n: usize) -> CapabilityId {
    NAMES[n].parse().expect("a name")
}

fn level(thousandths: u16) -> Proficiency {
    Proficiency(thousandths)
}

proptest! {
    #[test]
    fn a_gap_is_exactly_what_is_lacking(
        has in prop::collection::btree_map(0..4_usize, 0..=1_000_u16, 0..4),
        wants in prop::collection::btree_map(0..4_usize, prop::option::of(0..=1_000_u16), 0..4),
    ) {
        let mut profile = Profile::named(AgentId::operator());
        let capabilities =
            has.iter().map(|(n, at)| Capability { id: capability(*n), proficiency: level(*at) });
        profile.capabilities = capabilities.collect();
        let required: Vec<_> = wants
            .iter()
            .map(|(n, least)| Requirement {
                capability_id: capability(*n),
                min_proficiency: least.map(level),
            })
            .collect();
        let met = |n: &usize| match (has.get(n), wants[n]) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(has), Some(least)) => *has >= least,
        };
        let lacks: Vec<_> = wants.keys().filter(|n| !met(n)).map(|n| capability(*n)).collect();
        let expected = match (lacks.len(), wants.len()) {
            (0, _) => Fit::Whole,
            (lacking, wanted) if lacking == wanted => Fit::None,
            _ => Fit::Partial(lacks),
        };
        prop_assert_eq!(profile.fit(&required), expected);
    }
}
