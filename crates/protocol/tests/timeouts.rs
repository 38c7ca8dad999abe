//! Timeouts by every policy, however late somebody looks: a reminder, then the policy; at most
//! three resends after 2, 4 and 8 seconds; nothing before its time.

use baton_protocol::command::{Actor, Command, Submission};
use baton_protocol::event::Event;
use baton_protocol::handoff::{Detail, Due, State};
use baton_protocol::id::{CommandId, HandoffId};
use baton_protocol::time::{Allowance, Timestamp};
use baton_protocol::{World, decide, evolve};
use proptest::prelude::*;
use serde_json::{Value, json};

struct Desk {
    world: World,
    asked: u64,
    now: i64,
}

impl Desk {
    fn ask(&mut self, actor: Actor, command: Value) -> Vec<Event> {
        self.asked += 1;
        let id = CommandId::from_key("desk", &self.asked.to_string());
        let command: Command = serde_json::from_value(command).expect("a command");
        let now = Timestamp::from_micros(self.now);
        let submission = Submission { id, actor, command };
        let decision = decide(&self.world, &submission, now).expect("it may be");
        for event in &decision.events {
            evolve(&mut self.world, &decision.stream, event, now);
        }
        decision.events
    }

    fn agent(&mut self, name: &str, command: Value) -> Vec<Event> {
        self.ask(Actor::Agent(name.parse().expect("a name")), command)
    }

    /// Looks one microsecond before it is due, when nothing happens, and then `late` seconds after.
    fn wake(&mut self, handoff: HandoffId, late: i64) -> Vec<Event> {
        let wake = json!({ "wake": { "handoff": handoff } });
        let state = &self.world.handoff(handoff).expect("it is there").2.state;
        let due = state.wake_at().expect("something is due").as_micros();
        self.now = due - 1;
        let early = self.ask(Actor::Coordinator, wake.clone());
        assert_eq!(early, [], "nothing fires early");
        self.now = due + late * 1_000_000;
        self.ask(Actor::Coordinator, wake)
    }
}

fn begun(policy: &str, timeout: i64) -> (Desk, HandoffId) {
    let mut desk = Desk { world: World::default(), asked: 0, now: 1_000_000 };
    for name in ["planner", "builder"] {
        desk.ask(Actor::Operator, json!({ "register": { "id": name } }));
    }
    let back = json!({ "timeout": format!("{timeout}s"), "on_timeout": policy });
    let pass = json!({ "pass": { "to_agent": "builder", "type": "delegation", "reason": "work",
        "return_protocol": back } });
    let events = desk.agent("planner", pass);
    let handoff = events.iter().find_map(Event::handoff).expect("a handoff");
    (desk, handoff)
}

proptest! {
    #[test]
    fn a_late_holder_is_reminded_and_then_the_policy_acts(
        policy in prop::sample::select(vec!["retry", "escalate", "fail"]),
        timeout in 1..100_i64,
        late in prop::collection::vec(0..50_i64, 12),
    ) {
        let (mut desk, handoff) = begun(policy, timeout);
        let mut late = late.into_iter().cycle();
        let mut wait = || late.next().unwrap_or(0);
        for attempt in 0..=3_u32 {
            desk.agent("builder", json!({ "accept": { "handoff": handoff } }));
            let events = desk.wake(handoff, wait());
            let grace = Allowance::from_secs(timeout.min(10));
            let due = Due::Timeout(grace.after(Timestamp::from_micros(desk.now)));
            prop_assert_eq!(events, vec![Event::Reminded { handoff, due }]);
            let events = desk.wake(handoff, wait());
            let Some(Event::TimedOut { resend_at, .. }) = events.first() else {
                return Err(TestCaseError::fail(format!("{events:?}")));
            };
            let again = policy == "retry" && attempt < 3;
            let pause = Allowance::from_secs(2 << attempt);
            let expected = again.then(|| pause.after(Timestamp::from_micros(desk.now)));
            prop_assert_eq!(*resend_at, expected);
            if again {
                let sent = desk.wake(handoff, wait());
                prop_assert!(matches!(sent[..], [Event::Resent { .. }]), "{:?}", sent);
                continue;
            }
            let over = &desk.world.handoff(handoff).expect("it is there").2.state;
            let State::Failed { detail, .. } = over else {
                return Err(TestCaseError::fail(format!("{over:?}")));
            };
            let passed_on = matches!(detail, Detail::PassedOn { .. });
            prop_assert_eq!(passed_on, policy == "escalate");
            prop_assert!(passed_on || *detail == Detail::TimedOut);
            // Either way a person hears of it: it is the only one above here.
            let raised = events.iter().any(|event| {
                matches!(event, Event::Initiated { terms, .. } if terms.to_agent.is_operator())
            });
            prop_assert!(raised, "{:?}", events);
            return Ok(());
        }
    }

    #[test]
    fn a_pause_doubles_up_to_the_longest_span(seconds in 1..100_i64, times in any::<u8>()) {
        let span = Allowance::from_secs(seconds).doubled(times).as_micros();
        let exact = (i128::from(seconds) * 1_000_000) << times.min(20);
        let most = i128::from(Allowance::from_secs(30 * 24 * 3_600).as_micros());
        prop_assert_eq!(i128::from(span), exact.min(most));
    }
}
