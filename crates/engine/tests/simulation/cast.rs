//! The cast of a run: who is registered, what they can do, and how they behave.

use baton_protocol::id::AgentId;
use serde_json::{Value, json};

use crate::chance::Chance;

/// How an agent behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Temper {
    /// Does what is asked, soon.
    Diligent,
    /// Does it late, mostly after the time is up.
    Slow,
    /// Forgets that it ever accepted, and comes back later with what it remembers.
    Crashing,
    /// Shows fences that are wrong, old or another's, and answers for others.
    Lying,
    /// Asks everything twice, sometimes with other content under the same key.
    Doubling,
    /// Turns away or puts off most of what it gets.
    Picky,
}

/// One agent of the cast.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    pub(crate) id: AgentId,
    pub(crate) temper: Temper,
    /// It does nothing before this step.
    pub(crate) down_until: u32,
}

/// What agents of the cast can do.
pub(crate) const SKILLS: [&str; 3] = ["rust", "sql", "docs"];
/// The files that they lock.
pub(crate) const FILES: [&str; 3] = ["src/a.rs", "src/b.rs", "docs/c.md"];
/// The variables that they write.
pub(crate) const NAMES: [&str; 4] = ["plan", "port", "decisions_made", "task_status"];

/// The operator, who takes part like anybody.
pub(crate) fn operator() -> Player {
    Player { id: AgentId::operator(), temper: Temper::Diligent, down_until: 0 }
}

/// Draws the cast: at least two workers, and those who stand above them now and then.
pub(crate) fn draw(chance: &mut Chance) -> Vec<(Player, Value)> {
    let mut roles = vec!["worker"; usize::try_from(chance.between(2, 4)).unwrap_or(2)];
    for (role, percent, most) in [("reviewer", 80, 2), ("architect", 70, 1), ("human", 60, 2)] {
        for _ in 0..most {
            if chance.percent(percent) {
                roles.push(role);
            }
        }
    }
    let number = |(n, role): (usize, &'static str)| (format!("{role}-{n}"), role);
    let named: Vec<_> = roles.into_iter().enumerate().map(number).collect();
    named
        .into_iter()
        .map(|(name, role)| (player(chance, &name), profile(chance, &name, role)))
        .collect()
}

fn player(chance: &mut Chance, name: &str) -> Player {
    let temper = chance.weighed(&[
        (40, Temper::Diligent),
        (15, Temper::Slow),
        (15, Temper::Crashing),
        (12, Temper::Lying),
        (10, Temper::Doubling),
        (8, Temper::Picky),
    ]);
    Player { id: name.parse().expect("a sound name"), temper, down_until: 0 }
}

/// What an agent of this name and role says of itself, this time.
pub(crate) fn profile(chance: &mut Chance, name: &str, role: &str) -> Value {
    let mut skills = Vec::new();
    for skill in SKILLS {
        if chance.percent(60) {
            let proficiency = chance.weighed(&[(1, 0.2), (1, 0.5), (1, 0.9), (1, 1.0)]);
            skills.push(json!({ "id": skill, "proficiency": proficiency }));
        }
    }
    let max_risk = chance.weighed(&[(1, "low"), (3, "medium"), (2, "high")]);
    let mut profile = json!({
        "id": name, "role": role, "capabilities": skills,
        "max_concurrent_tasks": chance.between(1, 3),
        "autonomy_budget": { "max_risk": max_risk },
    });
    if chance.percent(25) {
        profile["autonomy_budget"]["number"] = json!(chance.between(1, 10));
    }
    if chance.percent(30) {
        profile["max_execution_time"] = json!(chance.weighed(&[(1, "20s"), (1, "90s")]));
    }
    if chance.percent(40) {
        profile["answer_within"] = json!(chance.weighed(&[(1, "5s"), (1, "30s")]));
    }
    if chance.percent(20) {
        profile["reach"] = json!("tmux");
    }
    if chance.percent(25) {
        profile["notify"] = json!(["true"]);
    }
    if chance.percent(15) {
        profile["write_scopes"] = json!(["plan", "decisions_made"]);
    }
    profile
}
