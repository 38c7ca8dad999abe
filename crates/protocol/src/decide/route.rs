//! Who should get work: by what agents can do, how much they hold, and whether they are well.
//!
//! Agents suggest; the coordinator decides. It is ordinary software, so the same world always
//! gives the same answer.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::agent::{Agent, Fit, Profile, Requirement, Risk, Role};
use crate::handoff::{Handoff, Kind, Priority, Terms};
use crate::id::AgentId;
use crate::time::Timestamp;
use crate::world::World;

/// What a receiver must be.
pub(super) struct Wanted<'a> {
    pub(super) required: &'a [Requirement],
    pub(super) risk: Risk,
    pub(super) autonomy: Option<u64>,
    pub(super) priority: Priority,
    /// When it is wanted: an agent that fails too often gets nothing for a while.
    pub(super) now: Timestamp,
    /// Who may be asked, if no more agents may take part.
    pub(super) only: Option<&'a BTreeSet<AgentId>>,
    /// Whether it is a question to somebody above, which is no work that breakers and the number of
    /// agents limit.
    pub(super) question: bool,
}

impl<'a> Wanted<'a> {
    pub(super) fn by(terms: &'a Terms, now: Timestamp) -> Self {
        Self {
            required: &terms.required_capabilities,
            risk: terms.risk_level,
            autonomy: terms.autonomy_budget,
            priority: terms.priority,
            now,
            only: None,
            question: matches!(terms.kind, Kind::Escalation(_)),
        }
    }
}

/// Whether an agent's autonomy is enough for the task.
pub(super) fn trusted(profile: &Profile, autonomy: Option<u64>) -> bool {
    match (profile.autonomy_budget.number, autonomy) {
        (Some(has), Some(needs)) => has >= needs,
        (None, _) | (_, None) => true,
    }
}

/// Whether an agent may take so much risk, and decide so much by itself. People may.
pub(super) fn may(profile: &Profile, wanted: &Wanted<'_>) -> bool {
    let bold = profile.autonomy_budget.max_risk >= wanted.risk;
    profile.role == Role::Human || (bold && trusted(profile, wanted.autonomy))
}

/// The best agent for what is wanted that is not among `except`.
///
/// All capabilities before some, then how well it does them, then whether it has room, then how
/// little it holds, then its name, so that the choice can be foretold. For work that is not to
/// wait, room comes before skill.
pub(super) fn best<'a>(
    world: &'a World,
    wanted: &Wanted<'_>,
    except: &BTreeSet<AgentId>,
    may_wait: bool,
) -> Option<&'a Agent> {
    let able = |agent: &&Agent| {
        let profile = &agent.profile;
        profile.role != Role::Human
            && agent.health.is_good()
            && agent.breaker.admits(wanted.now)
            && wanted.only.is_none_or(|only| only.contains(&profile.id))
            && !except.contains(&profile.id)
            && may(profile, wanted)
            && (wanted.required.is_empty() || profile.fit(wanted.required) != Fit::None)
    };
    let rank = |agent: &&Agent| {
        let profile = &agent.profile;
        let whole = profile.fit(wanted.required) == Fit::Whole;
        let skill: u32 = wanted
            .required
            .iter()
            .filter_map(|needed| profile.proficiency(&needed.capability_id))
            .map(|level| u32::from(level.thousandths()))
            .sum();
        let full = !world.has_room(agent, wanted.priority);
        let load = agent.holds.len();
        (!whole, full && !may_wait, Reverse(skill), full, load, profile.id.clone())
    };
    world.agents.values().filter(able).min_by_key(rank)
}

/// The agent that should be asked instead of the one that has it: one that can do what is asked
/// for, or, if nothing is, what the one that it was meant for can do.
pub(super) fn instead<'a>(
    world: &'a World,
    handoff: &Handoff,
    wanted: &Wanted<'_>,
) -> Option<&'a Agent> {
    let mut except = handoff.tried.clone();
    except.insert(handoff.to.clone());
    except.insert(handoff.terms.from_agent.clone());
    let its_own: Vec<Requirement>;
    let mut required = wanted.required;
    if required.is_empty() {
        let meant = world.agents.get(&handoff.terms.to_agent);
        let capabilities = meant.map(|agent| &agent.profile.capabilities);
        let asked = |c: &crate::agent::Capability| Requirement {
            capability_id: c.id.clone(),
            min_proficiency: None,
        };
        its_own = capabilities.map(|all| all.iter().map(asked).collect()).unwrap_or_default();
        if its_own.is_empty() {
            return None;
        }
        required = &its_own;
    }
    best(world, &Wanted { required, ..*wanted }, &except, false)
}

/// The next stop above `role`: the lowest role that somebody has who may decide this and has room
/// for it, a person at the last.
pub(super) fn above<'a>(
    world: &'a World,
    role: Role,
    wanted: &Wanted<'_>,
    except: &BTreeSet<AgentId>,
) -> Option<&'a Agent> {
    let higher = |agent: &&Agent| {
        let profile = &agent.profile;
        // People find somebody who can; whoever else is asked must be able to do some of it.
        let fit = wanted.required.is_empty() || profile.fit(wanted.required) != Fit::None;
        let free = world.has_room(agent, wanted.priority);
        let joins = || wanted.only.is_none_or(|only| only.contains(&profile.id));
        let admitted = wanted.question || (agent.breaker.admits(wanted.now) && joins());
        let able = agent.health.is_good() && fit && free && admitted;
        let able = profile.role == Role::Human || able;
        profile.role > role && able && may(profile, wanted) && !except.contains(&profile.id)
    };
    // The person who runs the workspace comes after people that were registered by name.
    let rank = |agent: &&Agent| {
        let profile = &agent.profile;
        (profile.role, profile.id.is_operator(), agent.holds.len(), profile.id.clone())
    };
    world.agents.values().filter(higher).min_by_key(rank)
}

#[cfg(test)]
mod properties;
