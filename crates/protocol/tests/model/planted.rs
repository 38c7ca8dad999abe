//! The walk against rules that are wrong on purpose: it must find out, by the law that is meant.

use std::sync::PoisonError;

use baton_protocol::handoff::OnTimeout;
use baton_protocol::planted::{Bug, plant};

use crate::{RULES, Size, shortest};

/// What is planted, and the law that it breaks first.
const PLANTED: [(Bug, &str); 5] = [
    (Bug::NoFenceCheck, "a fence serves nobody but its holder"),
    (Bug::TimeoutAfterAccept, "no record breaks what was recorded before"),
    (Bug::TimerFiresEarly, "what is over stays over, and no time comes early"),
    (Bug::EscalationOneTooHigh, "a question climbs three levels, and the last is a person"),
    (Bug::SuspendedMayWrite, "whoever waits for a decision changes nothing"),
];

/// Takes the bug out again, also when the test fails.
struct Planted;

impl Drop for Planted {
    fn drop(&mut self) {
        plant(None);
    }
}

#[test]
fn rules_that_are_wrong_are_found_out() {
    let _alone = RULES.write().unwrap_or_else(PoisonError::into_inner);
    let _planted = Planted;
    for (bug, law) in PLANTED {
        plant(Some(bug));
        let size = Size {
            policy: Some(OnTimeout::Fail),
            handoffs_max: 2,
            crashes_max: 0,
            reassigns_max: 0,
            disturbed: true,
        };
        let (broken, way) = shortest(size).unwrap_or_else(|| panic!("{bug:?} was not found"));
        println!("{bug:?}: {broken}\n{way}\n");
        assert_eq!(broken, law, "{bug:?}\n{way}");
    }
}
