//! Who may be asked: able, trusted and well enough, above whoever asks, and not again and again.

use baton_protocol::World;
use baton_protocol::agent::{Agent, Health, Profile, Requirement, Role};
use baton_protocol::event::{Event, StreamId};
use baton_protocol::handoff::{Handoff, Kind, Matter, State, Terms};
use baton_protocol::id::AgentId;
use baton_protocol::limits::HEALTH_FAILURES_MAX;
use baton_protocol::workflow::{Ending, Workflow};

use super::states::has_turn;
use super::{Checked, Facts, Told, must};

/// Judges whom a record asks.
pub(super) fn judge(facts: &Facts, world: &World, told: &Told<'_>) -> Checked {
    let StreamId::Workflow(id) = told.record.stream else { return Ok(()) };
    let Some(workflow) = world.workflows.get(&id) else { return Ok(()) };
    match &told.record.event {
        Event::Initiated { terms, queued, .. } => {
            climbs(world, terms, &terms.to_agent)?;
            free_to_pass(workflow, told, terms)?;
            gap(world, told, terms)?;
            // Whoever is turned away in the same breath did not overtake anybody.
            let last = told.part.0 + 1 == told.part.1;
            let mut queue = waiting(world, &terms.to_agent);
            let waits = queue.any(|other| other.terms.priority <= terms.priority);
            must(!last || *queued || !waits, "I11", || {
                format!("{} went to {} past its queue", terms.id, terms.to_agent)
            })
        }
        Event::Rerouted { handoff, to, .. } => {
            let Some(handoff) = workflow.handoffs.get(handoff) else { return Ok(()) };
            rerouted(facts, world, handoff, to)
        }
        Event::TimedOut { handoff, resend_at: Some(until), .. } => {
            let resends = facts.tales.get(handoff).map_or(0, |tale| tale.resends);
            must(resends < 3, "I13", || format!("{handoff} is sent a {resends}. time again"))?;
            let pause = until.as_micros() - told.record.at.as_micros();
            must(pause == 2_000_000 << resends, "I13", || {
                format!("{handoff} pauses {pause} us after {resends} resends")
            })
        }
        Event::Resent { handoff, .. } => {
            let Some(handoff) = workflow.handoffs.get(handoff) else { return Ok(()) };
            in_turn(world, handoff)
        }
        Event::Closed { ending: Ending::Completed { .. }, .. } => {
            let mut open = workflow.open().filter(|open| is_waited_for(workflow, open));
            must(open.next().is_none(), "I28", || "work was completed with a part open".to_owned())
        }
        _ => Ok(()),
    }
}

fn role(world: &World, agent: &AgentId) -> Role {
    world.agents.get(agent).map_or(Role::Worker, |agent| agent.profile.role)
}

/// A question goes to somebody above, at most three levels, and the third is a person.
fn climbs(world: &World, terms: &Terms, to: &AgentId) -> Checked {
    let Kind::Escalation(asked) = &terms.kind else { return Ok(()) };
    let (id, level) = (terms.id, asked.level);
    must((1..=3).contains(&level), "I14", || format!("{id} is at level {level}"))?;
    let above = role(world, to);
    must(level < 3 || above == Role::Human, "I14", || {
        format!("level 3 of {id} is {to}, no person")
    })?;
    must(asked.trail.len() == usize::from(level), "I14", || {
        format!("{id} is at level {level} and says what {} thought", asked.trail.len())
    })?;
    must(asked.trail.iter().all(|step| step.by != *to), "I14", || {
        format!("{id} goes back to {to}, who passed it on")
    })?;
    let below = asked.trail.last().map_or(Role::Worker, |step| step.role);
    let last = below == Role::Human && asked.matter != Matter::Question;
    must(above > below || last, "I14", || format!("{id} goes from {below:?} to {above:?}"))
}

/// A sender that waits for something passes nothing on; only the owner passes the whole.
fn free_to_pass(workflow: &Workflow, told: &Told<'_>, terms: &Terms) -> Checked {
    if told.asker().is_none() {
        return Ok(());
    }
    let same = |open: &&Handoff| open.terms.kind.group() != terms.kind.group();
    for open in workflow
        .open_under(terms.parent)
        .filter(|open| open.terms.kind.group().is_none() || same(open))
    {
        let blocking = open.terms.kind.back().is_some_and(|back| back.blocking);
        let waits =
            open.terms.kind == Kind::Sequential || blocking && stands_in_the_way(workflow, open);
        must(!waits, "I28", || {
            format!("{} was passed while {} was waited for", terms.id, open.terms.id)
        })?;
    }
    if terms.kind != Kind::Sequential {
        return Ok(());
    }
    must(workflow.owner == terms.parent, "I28", || {
        format!("{} passed the whole without owning it", terms.from_agent)
    })?;
    let mut open = workflow.open().filter(|open| is_waited_for(workflow, open));
    must(open.next().is_none(), "I28", || format!("{} was passed with a part open", terms.id))
}

/// Whether the owner waits for it: it, and whatever it was passed under, stands in the way.
fn is_waited_for(workflow: &Workflow, open: &Handoff) -> bool {
    let hold = workflow.holds.get(&open.terms.parent);
    let above = hold.and_then(|hold| workflow.handoffs.get(&hold.handoff?));
    let held = above.filter(|above| !above.state.is_over());
    stands_in_the_way(workflow, open) && held.is_none_or(|above| is_waited_for(workflow, above))
}

/// Whether its sender waits for it: it is open, no mere look, and no copy that nobody needs.
fn stands_in_the_way(workflow: &Workflow, open: &Handoff) -> bool {
    match &open.terms.kind {
        Kind::Sequential | Kind::Delegation(_) => true,
        Kind::Broadcast(copy) => {
            workflow.groups.get(&copy.group).is_none_or(|group| group.outcome.is_none())
        }
        Kind::Escalation(asked) => {
            matches!(asked.matter, Matter::Question | Matter::Takeover)
        }
    }
}

/// What the receiver lacks is recorded with the handoff.
fn gap(world: &World, told: &Told<'_>, terms: &Terms) -> Checked {
    let Some(to) = world.agents.get(&terms.to_agent) else { return Ok(()) };
    let autonomy = trusted(&to.profile, terms) || told.by_operator() || told.asker().is_none();
    must(autonomy || to.profile.role == Role::Human, "I25", || {
        format!("{} is not trusted with {}", terms.to_agent, terms.id)
    })?;
    let lacks: Vec<_> = terms
        .required_capabilities
        .iter()
        .filter(|needed| !able(&to.profile, needed))
        .map(|needed| needed.capability_id.clone())
        .collect();
    let some = lacks.len() < terms.required_capabilities.len();
    let told_of = !some || terms.gap == lacks || matches!(terms.kind, Kind::Escalation(_));
    must(told_of, "I25", || format!("{} lacks {lacks:?}, not {:?}", terms.to_agent, terms.gap))
}

fn able(profile: &Profile, needed: &Requirement) -> bool {
    profile
        .proficiency(&needed.capability_id)
        .is_some_and(|has| needed.min_proficiency.is_none_or(|least| has >= least))
}

fn trusted(profile: &Profile, terms: &Terms) -> bool {
    let has = profile.autonomy_budget.number.unwrap_or(u64::MAX);
    has >= terms.autonomy_budget.unwrap_or(0)
}

/// Whether the rules let this agent have it.
pub(super) fn fits(agent: &Agent, terms: &Terms) -> bool {
    let profile = &agent.profile;
    let required = &terms.required_capabilities;
    let asks_skill = !matches!(terms.kind, Kind::Escalation(_)) && !required.is_empty();
    let skilled = !asks_skill || required.iter().any(|needed| able(profile, needed));
    let bold = profile.autonomy_budget.max_risk >= terms.risk_level;
    profile.role == Role::Human || (skilled && bold && trusted(profile, terms))
}

fn well(health: &Health) -> bool {
    health.unavailable_since.is_none() && health.failures < HEALTH_FAILURES_MAX
}

/// Another is asked at most three times, then a person; never one who had it, nor the sender.
fn rerouted(facts: &Facts, world: &World, handoff: &Handoff, to: &AgentId) -> Checked {
    let id = handoff.terms.id;
    let Some(tale) = facts.tales.get(&id) else { return Ok(()) };
    let person = role(world, to) == Role::Human;
    let last = person && (tale.reroutes == 3 || tale.reassigned);
    must(tale.reroutes < 3 || last, "I12", || {
        format!("{id} goes to {to} after {} reroutes", tale.reroutes)
    })?;
    must(!tale.receivers.contains(to), "I12", || format!("{id} goes back to {to}"))?;
    must(*to != handoff.terms.from_agent, "I12", || format!("{id} goes back to its sender"))?;
    let Some(agent) = world.agents.get(to) else { return Ok(()) };
    must(person || well(&agent.health), "I25", || format!("{id} goes to {to}, who is not well"))?;
    must(fits(agent, &handoff.terms), "I25", || format!("{id} goes to {to}, who does not fit"))?;
    match &handoff.terms.kind {
        Kind::Broadcast(_) => must(false, "I12", || format!("{id} is a copy, for one agent only")),
        Kind::Escalation(_) => must(role(world, to) > role(world, &handoff.to), "I14", || {
            format!("{id} goes from {} to {to}, who is not above", handoff.to)
        }),
        Kind::Sequential | Kind::Delegation(_) => Ok(()),
    }
}

/// Those that wait for room at `agent`.
pub(super) fn waiting<'a>(
    world: &'a World,
    agent: &'a AgentId,
) -> impl Iterator<Item = &'a Handoff> {
    let all = world.workflows.values().flat_map(|workflow| workflow.handoffs.values());
    all.filter(move |handoff| {
        handoff.to == *agent && matches!(handoff.state, State::Queued { until: None, .. })
    })
}

/// Whoever is called from a queue has none before it there but those that have room as well.
fn in_turn(world: &World, called: &Handoff) -> Checked {
    if !matches!(called.state, State::Queued { until: None, .. }) {
        return Ok(());
    }
    let place = |handoff: &Handoff| (handoff.terms.priority, handoff.initiated_at);
    let before = waiting(world, &called.to).filter(|other| place(other) < place(called)).count();
    must(has_turn(world, &called.to, called, before), "I10", || {
        format!("{} was called at {} before {before} others", called.terms.id, called.to)
    })
}
