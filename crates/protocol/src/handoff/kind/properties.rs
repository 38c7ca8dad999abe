//! Aggregation against what it means: a broadcast is decided when whatever is still out could not
//! change what it comes to.

use proptest::prelude::*;

use super::Aggregation;

/// What a broadcast comes to once all are back.
fn meaning(aggregation: Aggregation, all: &[bool]) -> bool {
    let successes = all.iter().filter(|success| **success).count();
    match aggregation {
        Aggregation::All => all.iter().all(|success| *success),
        Aggregation::Any => all.iter().any(|success| *success),
        Aggregation::Majority => successes * 2 > all.len(),
    }
}

/// What all ways in which the rest could come back agree on, if they do.
fn foretold(aggregation: Aggregation, known: &[bool], open: u32) -> Option<bool> {
    let mut outcomes = (0..1_u32 << open).map(|rest| {
        let rest = (0..open).map(|n| rest >> n & 1 == 1);
        let all: Vec<bool> = known.iter().copied().chain(rest).collect();
        meaning(aggregation, &all)
    });
    let first = outcomes.next()?;
    outcomes.all(|outcome| outcome == first).then_some(first)
}

proptest! {
    #[test]
    fn a_broadcast_is_decided_exactly_when_the_rest_cannot_change_it(
        known in prop::collection::vec(any::<bool>(), 0..7),
        open in 0_u32..7,
        aggregation in prop::sample::select(vec![
            Aggregation::All,
            Aggregation::Any,
            Aggregation::Majority,
        ]),
    ) {
        let expected = known.len() + open as usize;
        prop_assume!(expected > 0);
        let successes = known.iter().filter(|success| **success).count();
        let decided = aggregation.decided(expected, successes, known.len() - successes);
        prop_assert_eq!(decided, foretold(aggregation, &known, open));
    }
}
