//! Whom routing chooses, against everybody else it could have chosen.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Wanted, above, best};
use crate::agent::{Agent, Capability, Fit, Profile, Requirement, Risk, Role};
use crate::handoff::Priority;
use crate::id::{AgentId, CommandId, Fence};
use crate::time::Timestamp;
use crate::world::World;

const ROLES: [Role; 4] = [Role::Worker, Role::Reviewer, Role::Architect, Role::Human];
const RISKS: [Risk; 3] = [Risk::Low, Risk::Medium, Risk::High];
const SKILLS: [&str; 3] = ["rust", "sql", "docs"];

/// Everything about an agent that routing looks at.
#[derive(Clone, Debug)]
struct Drawn {
    role: usize,
    skills: Vec<Option<u16>>,
    risk: usize,
    autonomy: Option<u64>,
    most: u32,
    load: usize,
    failures: u8,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let skills = prop::collection::vec(prop::option::of(0..=10_u16), 3);
    let autonomy = prop::option::of(0..5_u64);
    (0..4_usize, skills, 0..3_usize, autonomy, 1..4_u32, 0..4_usize, 0..5_u8).prop_map(
        |(role, skills, risk, autonomy, most, load, failures)| Drawn {
            role,
            skills,
            risk,
            autonomy,
            most,
            load,
            failures,
        },
    )
}

fn agent(n: usize, drawn: &Drawn) -> Agent {
    let name = format!("agent-{n}").parse().expect("a name");
    let mut profile = Profile::named(name);
    profile.role = ROLES[drawn.role];
    let skills = SKILLS.iter().zip(&drawn.skills);
    let skill = |(name, level): (&&str, &Option<u16>)| {
        let level = f64::from((*level)?) / 10.0;
        let proficiency = level.try_into().expect("0.0 to 1.0");
        Some(Capability { id: name.parse().expect("a name"), proficiency })
    };
    profile.capabilities = skills.filter_map(skill).collect();
    profile.autonomy_budget.max_risk = RISKS[drawn.risk];
    profile.autonomy_budget.number = drawn.autonomy;
    profile.max_concurrent_tasks = drawn.most;
    let mut agent = Agent::new(profile, Timestamp::default());
    for held in 0..drawn.load {
        let workflow = CommandId::from_key("held", &format!("{n} {held}")).workflow();
        agent.holds.insert((workflow, Fence(1)));
    }
    agent.health.failures = drawn.failures;
    agent
}

fn world(all: &[Drawn]) -> World {
    let mut world = World::default();
    for (n, drawn) in all.iter().enumerate() {
        let agent = agent(n, drawn);
        world.agents.insert(agent.profile.id.clone(), agent);
    }
    world
}

fn requirements(wants: &BTreeSet<usize>) -> Vec<Requirement> {
    let asks = |n: &usize| Requirement {
        capability_id: SKILLS[*n].parse().expect("a name"),
        min_proficiency: None,
    };
    wants.iter().map(asks).collect()
}

fn dares(agent: &Agent, wanted: &Wanted<'_>) -> bool {
    let budget = agent.profile.autonomy_budget;
    budget.max_risk >= wanted.risk
        && budget.number.unwrap_or(u64::MAX) >= wanted.autonomy.unwrap_or(0)
}

/// Whether routing may choose it at all.
fn eligible(agent: &Agent, wanted: &Wanted<'_>, except: &BTreeSet<AgentId>) -> bool {
    let profile = &agent.profile;
    let able = wanted.required.is_empty() || profile.fit(wanted.required) != Fit::None;
    let well = agent.health.failures < 3;
    profile.role != Role::Human
        && well
        && able
        && dares(agent, wanted)
        && !except.contains(&profile.id)
}

/// Whether `one` is plainly better for it than `other`: no worse in anything, better in something.
fn beats(one: &Agent, other: &Agent, wanted: &Wanted<'_>) -> bool {
    let whole = |agent: &Agent| agent.profile.fit(wanted.required) == Fit::Whole;
    let skill = |agent: &Agent| {
        let levels = wanted.required.iter().map(|r| agent.profile.proficiency(&r.capability_id));
        levels.map(|level| level.map_or(0, |level| level.thousandths())).sum::<u16>()
    };
    let worth = |agent: &Agent| {
        (whole(agent), skill(agent), agent.room() > 0, std::cmp::Reverse(agent.holds.len()))
    };
    let (a, b) = (worth(one), worth(other));
    a.0 >= b.0 && a.1 >= b.1 && a.2 >= b.2 && a.3 >= b.3 && a != b
}

proptest! {
    #[test]
    fn the_chosen_one_is_never_worse_than_another(
        all in prop::collection::vec(drawn(), 0..7),
        wants in prop::collection::btree_set(0..3_usize, 0..3),
        risk in 0..3_usize,
        autonomy in prop::option::of(0..5_u64),
        not in prop::collection::btree_set(0..7_usize, 0..3),
        may_wait in any::<bool>(),
    ) {
        let (world, required) = (world(&all), requirements(&wants));
        let priority = Priority::Normal;
        let (now, only) = Default::default();
        let (required, risk, question) = (&required[..], RISKS[risk], false);
        let wanted = Wanted { required, risk, autonomy, priority, now, only, question };
        let except: BTreeSet<AgentId> =
            not.iter().map(|n| format!("agent-{n}").parse().expect("a name")).collect();
        let could: Vec<_> =
            world.agents.values().filter(|a| eligible(a, &wanted, &except)).collect();
        let Some(chosen) = best(&world, &wanted, &except, may_wait) else {
            prop_assert!(could.is_empty(), "{:?} could", could[0].profile.id);
            return Ok(());
        };
        prop_assert!(eligible(chosen, &wanted, &except));
        for other in &could {
            prop_assert!(!beats(other, chosen, &wanted), "{} is better", other.profile.id);
            let waits = chosen.room() == 0 && other.room() > 0 && !may_wait;
            let whole = |agent: &Agent| agent.profile.fit(required) == Fit::Whole;
            prop_assert!(!waits || whole(chosen) && !whole(other), "it waits");
        }
    }

    #[test]
    fn the_next_stop_is_the_lowest_above_that_may_decide_and_a_person_at_the_last(
        all in prop::collection::vec(drawn(), 0..7),
        wants in prop::collection::btree_set(0..3_usize, 0..2),
        role in 0..4_usize,
        risk in 0..3_usize,
    ) {
        let (world, required) = (world(&all), requirements(&wants));
        let priority = Priority::Normal;
        let (autonomy, now, only) = Default::default();
        let (required, risk, question) = (&required[..], RISKS[risk], false);
        let wanted = Wanted { required, risk, autonomy, priority, now, only, question };
        let could = |agent: &&Agent| {
            let person = agent.profile.role == Role::Human;
            let able = required.is_empty() || agent.profile.fit(required) != Fit::None;
            let well = agent.health.failures < 3 && agent.room() > 0;
            agent.profile.role > ROLES[role] && (person || able && well && dares(agent, &wanted))
        };
        let lowest = world.agents.values().filter(could).map(|agent| agent.profile.role).min();
        let chosen = above(&world, ROLES[role], &wanted, &BTreeSet::new());
        prop_assert_eq!(chosen.map(|agent| agent.profile.role), lowest);
        prop_assert!(chosen.is_none_or(|agent| could(&agent)));
        prop_assert!(chosen.is_some() || ROLES[role] == Role::Human, "nobody is there");
    }
}
