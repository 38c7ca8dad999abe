//! A queue against a list that is sorted anew each time.

use proptest::prelude::*;

use super::Queues;
use crate::handoff::{Handoff, Priority, State, Terms};
use crate::id::{AgentId, CommandId, Fence, HandoffId};
use crate::time::Timestamp;

const LEVELS: [Priority; 4] = [Priority::Critical, Priority::High, Priority::Normal, Priority::Low];

/// A handoff that waits for room.
fn waiting(n: usize, (level, at): (usize, i64)) -> Handoff {
    let agent = AgentId::operator();
    let id = CommandId::from_key("queue", &n.to_string()).handoff();
    let reason = "work".parse().expect("a text");
    let terms = Terms {
        priority: LEVELS[level],
        ..Terms::plain(id, (agent.clone(), Fence(1)), agent.clone(), reason)
    };
    Handoff {
        terms,
        to: agent,
        initiated_at: Timestamp::from_micros(at),
        attempts: Default::default(),
        tried: Default::default(),
        gap: Vec::new(),
        approved: None,
        withheld: false,
        unverified: 0,
        evidence: None,
        state: State::Queued { until: None, give_up: None },
    }
}

proptest! {
    #[test]
    fn the_most_urgent_is_called_first_then_the_oldest(
        all in prop::collection::vec((0..4_usize, 0..5_i64), 1..12),
        called in prop::collection::vec(any::<bool>(), 12),
        gone in prop::collection::vec(any::<bool>(), 12),
        room in 0..14_usize,
    ) {
        let mut queues = Queues::default();
        let (mut expected, mut kept) = (Vec::new(), Vec::new());
        for (n, drawn) in all.iter().enumerate() {
            let mut handoff = waiting(n, *drawn);
            queues.enter(&handoff);
            if gone[n] {
                queues.leave(&handoff);
            } else if called[n] {
                queues.leave(&handoff);
                handoff.state = State::Initiated { answer_by: None, called: true };
                queues.enter(&handoff);
                kept.push(LEVELS[drawn.0].rank());
            } else {
                expected.push((LEVELS[drawn.0].rank(), drawn.1, handoff.terms.id));
            }
        }
        expected.sort_unstable();
        let queue = queues.of(&AgentId::operator());
        let next: Vec<_> = queue.map(|queue| queue.next(room).collect()).unwrap_or_default();
        // Room is kept for those that were called, but not from the more urgent.
        let has_turn = |(before, (rank, ..)): &(usize, (u8, i64, HandoffId))| {
            before + kept.iter().filter(|called| *called <= rank).count() < room
        };
        let turns = expected.into_iter().enumerate().take_while(has_turn);
        let expected: Vec<_> = turns.map(|(_, (_, _, id))| id).collect();
        prop_assert_eq!(next, expected);
    }
}
