//! Whatever agents do, in whatever order: no limit is ever passed, and one at most tries.

use baton_protocol::id::{Fence, HandoffId, WorkflowId};
use baton_protocol::policy::Breaker;
use proptest::prelude::*;
use serde_json::json;

use crate::desk::Desk;

const AGENTS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

#[derive(Clone, Debug)]
enum Deed {
    Delegate { by: usize, to: usize, budget: Option<u64>, handoffs: Option<u32> },
    Broadcast { by: usize, any: bool, budget: Option<u64> },
    Accept { which: usize },
    Return { which: usize, tokens: u64, success: bool },
    Cancel { which: usize },
    Later { seconds: i64 },
}

fn deed() -> impl Strategy<Value = Deed> {
    let slices = (prop::option::of(0..700_u64), prop::option::of(0..3_u32));
    prop_oneof![
        4 => (0..8_usize, 0..6_usize, slices).prop_map(|(by, to, (budget, handoffs))| {
            Deed::Delegate { by, to, budget, handoffs }
        }),
        2 => (0..8_usize, any::<bool>(), prop::option::of(0..300_u64)).prop_map(
            |(by, any, budget)| Deed::Broadcast { by, any, budget }
        ),
        4 => (0..12_usize).prop_map(|which| Deed::Accept { which }),
        3 => (0..12_usize, 0..800_u64, any::<bool>()).prop_map(|(which, tokens, success)| {
            Deed::Return { which, tokens, success }
        }),
        1 => (0..12_usize).prop_map(|which| Deed::Cancel { which }),
        1 => (1..120_i64).prop_map(|seconds| Deed::Later { seconds }),
    ]
}

/// What anybody can be asked about now.
fn handoffs(desk: &Desk, work: WorkflowId) -> Vec<(HandoffId, String, Option<Fence>)> {
    let all = desk.world.workflows.get(&work).into_iter().flat_map(|work| work.handoffs.values());
    all.map(|h| (h.terms.id, h.to.to_string(), h.state.fence())).collect()
}

fn does(desk: &mut Desk, work: WorkflowId, deed: &Deed) {
    let holds: Vec<(u64, String)> = desk
        .world
        .workflows
        .get(&work)
        .map(|work| work.holds.iter().map(|(f, hold)| (f.0, hold.agent.to_string())).collect())
        .unwrap_or_default();
    let known = handoffs(desk, work);
    let holder = |n: usize| holds.get(n % holds.len().max(1)).cloned();
    let asked = |n: usize| known.get(n % known.len().max(1)).cloned();
    let back = json!({ "timeout": "30s" });
    // What is refused is refused; the question is what happens otherwise.
    match deed {
        Deed::Delegate { by, to, budget, handoffs } => {
            let Some((fence, agent)) = holder(*by) else { return };
            let slice = json!({ "constraints": { "budget": budget, "handoffs": handoffs } });
            let pass = desk.pass(
                work,
                fence,
                AGENTS[*to],
                json!({
                    "type": "delegation", "return_protocol": back, "context": slice,
                }),
            );
            let _ = desk.asks(&agent, pass);
        }
        Deed::Broadcast { by, any, budget } => {
            let Some((fence, agent)) = holder(*by) else { return };
            let aggregation = if *any { "any" } else { "all" };
            let pass = desk.pass(
                work,
                fence,
                "b",
                json!({
                    "type": "broadcast", "to_agent": null, "to_agents": ["b", "c"],
                    "return_protocol": back, "aggregation": aggregation,
                    "context": { "constraints": { "budget": budget } },
                }),
            );
            let _ = desk.asks(&agent, pass);
        }
        Deed::Accept { which } => {
            let Some((handoff, to, _)) = asked(*which) else { return };
            let _ = desk.asks(&to, json!({ "accept": { "handoff": handoff } }));
        }
        Deed::Return { which, tokens, success } => {
            let Some((handoff, to, Some(fence))) = asked(*which) else { return };
            let status = if *success { "success" } else { "failed" };
            let _ = desk.asks(&to, Desk::returns(handoff, fence.0, status, *tokens));
        }
        Deed::Cancel { which } => {
            let Some((handoff, ..)) = asked(*which) else { return };
            let _ = desk.asks(
                "operator",
                json!({ "cancel": {
                    "handoff": handoff, "reason": "enough",
                }}),
            );
        }
        Deed::Later { seconds } => {
            desk.later(*seconds);
            desk.time_passes();
        }
    }
}

fn no_limit_is_passed(desk: &Desk, work: WorkflowId) -> Result<(), TestCaseError> {
    let Some(work) = desk.world.workflows.get(&work) else { return Ok(()) };
    let root = work.account;
    let slices = |parent: Option<Fence>| {
        // The nearest account above a part is that of the nearest hold above it that is still there
        // and has one, or the whole. Whoever passed it may have returned before it did.
        work.holds.iter().filter(move |(_, hold)| {
            let handoff = hold.handoff.and_then(|id| work.handoffs.get(&id));
            let part =
                |fence: &Fence| work.holds.get(fence).is_some_and(|hold| hold.account.is_some());
            let mut above = handoff.into_iter().flat_map(|handoff| work.above(handoff));
            let above = above.find_map(|above| above.state.fence().filter(part));
            hold.account.is_some() && above == parent
        })
    };
    let mut accounts = vec![(None, root)];
    let parts = work.holds.iter().filter_map(|(f, hold)| Some((Some(*f), hold.account?)));
    accounts.extend(parts);
    for (fence, account) in accounts {
        let below: Vec<_> = slices(fence).filter_map(|(_, hold)| hold.account).collect();
        let tokens: u64 = below.iter().filter_map(|part| part.limits.tokens).sum();
        let hops: u32 = below.iter().filter_map(|part| part.limits.handoffs).sum();
        if let Some(most) = account.limits.tokens {
            prop_assert!(account.spent.tokens + tokens <= most, "{account:?} and {tokens}");
        }
        if let Some(most) = account.limits.handoffs {
            prop_assert!(account.spent.handoffs + hops <= most, "{account:?} and {hops}");
        }
    }
    prop_assert!(work.members.len() <= 5);
    Ok(())
}

fn one_tries(desk: &Desk) -> Result<(), TestCaseError> {
    for agent in desk.world.agents.values() {
        if let Breaker::HalfOpen { probe } = agent.breaker {
            let (_, _, handoff) = desk.world.handoff(probe).expect("the one that tries is live");
            prop_assert!(!handoff.state.is_over());
            prop_assert_eq!(&handoff.to, &agent.profile.id);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_limit_is_ever_passed(deeds in prop::collection::vec(deed(), 1..80)) {
        let mut desk = Desk::with(&AGENTS);
        let work = desk.starts("a", json!({
            "class": "complex", "constraints": { "budget": 2_000 },
        }));
        for deed in &deeds {
            does(&mut desk, work, deed);
            no_limit_is_passed(&desk, work)?;
            one_tries(&desk)?;
        }
        // What a person passes on, and what the coordinator raises, is not what agents begin.
        let counted = desk.world.workflows.get(&work).map(|work| {
            let by_agents = work.handoffs.values().filter(|h| !h.terms.from_agent.is_operator());
            by_agents.filter(|h| h.terms.kind.word() != "escalation").count()
        });
        prop_assert!(counted.unwrap_or(0) <= 5, "{counted:?}");
    }

    #[test]
    fn half_open_admits_exactly_one(
        deeds in prop::collection::vec((0..4_usize, 0..6_u8), 1..60),
    ) {
        let breaker = json!({ "failures": 2, "cool_down": "30s" });
        let policy = json!({ "max_handoffs": 1000, "breaker": breaker });
        let mut desk = Desk::ruled(&["a", "b", "c", "d", "shaky"], policy);
        let works = ["a", "b", "c", "d"].map(|who| (who, desk.starts(who, json!({}))));
        for (n, what) in deeds {
            let (who, work) = works[n];
            let before = desk.world.agents[&"shaky".parse().expect("a name")].breaker;
            let terms = json!({ "type": "delegation", "return_protocol": { "timeout": "1h" } });
            let open = desk.work(work).open().map(|h| (h.terms.id, h.state.fence()));
            let open: Vec<_> = open.collect();
            match (what, open.first()) {
                (0..=2, _) => {
                    let pass = desk.pass(work, 1, "shaky", terms);
                    let passed = desk.asks(who, pass).is_ok();
                    let may = match before {
                        Breaker::Closed { .. } => true,
                        Breaker::Open { until } => until <= desk.now,
                        Breaker::HalfOpen { .. } => false,
                    };
                    prop_assert_eq!(passed, may, "{:?}", before);
                    let now = desk.world.agents[&"shaky".parse().expect("a name")].breaker;
                    if let (true, Breaker::Open { .. }) = (passed, before) {
                        prop_assert_eq!(now, Breaker::HalfOpen { probe: desk.last_handoff() });
                    }
                }
                (3, Some((handoff, None))) => {
                    desk.accepts("shaky", *handoff);
                }
                (4, Some((handoff, Some(fence)))) => {
                    desk.does("shaky", Desk::returns(*handoff, fence.0, "failed", 0));
                }
                (5, Some((handoff, Some(fence)))) => {
                    desk.does("shaky", Desk::returns(*handoff, fence.0, "success", 0));
                }
                _ => desk.later(11),
            }
            one_tries(&desk)?;
        }
    }
}
