//! Dropping the records of work that is over and past its period.

use std::collections::BTreeSet;

use crate::agent::Health;
use crate::command::Submission;
use crate::decide::holder;
use crate::effect::Effect;
use crate::event::{Decision, Event, StreamId};
use crate::id::WorkflowId;
use crate::limits::PRUNED_WORKFLOWS_MAX;
use crate::policy::Breaker;
use crate::refusal::Refusal;
use crate::retention::Prune;
use crate::time::Timestamp;
use crate::world::World;

/// Decides whose records go: work that is over, past its period, and of which nothing is left to
/// be carried out. The rest of a large number waits for the next asking.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    prune: &Prune,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "prune the ledger")?;
    let unfinished: BTreeSet<WorkflowId> = world.outbox.values().map(Effect::workflow).collect();
    let due = prune.past.iter().filter(|past| {
        let id = past.workflow;
        prune.retention.kept_until(past) <= now
            && !world.workflows.contains_key(&id)
            && !unfinished.contains(&id)
    });
    let workflows: Vec<_> = due.map(|past| past.workflow).take(PRUNED_WORKFLOWS_MAX).collect();
    let none = workflows.is_empty();
    let ill = world.agents.iter().filter(|(_, agent)| agent.health != Health::default());
    let health = ill.map(|(id, agent)| (id.clone(), agent.health)).collect();
    let broken = world.agents.iter().filter(|(_, agent)| agent.breaker != Breaker::default());
    let breakers = broken.map(|(id, agent)| (id.clone(), agent.breaker)).collect();
    let pruned = Event::Pruned { workflows, health, breakers };
    let events = if none { Vec::new() } else { vec![pruned] };
    Ok(Decision { stream: StreamId::Workspace, events, effects: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Actor, Command};
    use crate::id::{AgentId, CommandId, HandoffId};
    use crate::retention::{Past, Retention};

    const DAY: i64 = 86_400_000_000;

    fn id(n: u8) -> WorkflowId {
        WorkflowId::from_bytes([n; 16])
    }

    fn past(n: u8, day: i64, completed: bool, escalated: bool) -> Past {
        let closed_at = Timestamp::from_micros(day * DAY);
        Past { workflow: id(n), closed_at, completed, escalated }
    }

    fn pruned(world: &World, past: Vec<Past>, day: i64, actor: Actor) -> Result<Vec<u8>, Refusal> {
        let prune = Prune { retention: Retention::default(), past };
        let command = Command::Prune(prune.clone());
        let ask = Submission { id: CommandId::from_bytes([9; 16]), actor, command };
        let decision = decide(world, &ask, &prune, Timestamp::from_micros(day * DAY))?;
        Ok(match decision.events.as_slice() {
            [] => Vec::new(),
            [Event::Pruned { workflows, .. }] => {
                workflows.iter().map(|id| id.as_bytes()[0]).collect()
            }
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn work_goes_once_its_period_is_over_and_not_a_day_before() {
        let all =
            || vec![past(1, 0, false, false), past(2, 0, true, false), past(3, 0, true, true)];
        let world = World::default();
        let on = |day| pruned(&world, all(), day, Actor::Operator).unwrap();
        assert_eq!(on(29), [0_u8; 0]);
        assert_eq!(on(30), [1]);
        assert_eq!(on(89), [1]);
        assert_eq!(on(90), [1, 2]);
        assert_eq!(on(179), [1, 2]);
        assert_eq!(on(180), [1, 2, 3]);
    }

    #[test]
    fn only_a_person_prunes_and_nothing_unfinished_goes() {
        let agent = Actor::Agent("builder".parse().unwrap());
        let refused = pruned(&World::default(), Vec::new(), 0, agent).unwrap_err();
        assert_eq!(refused.code(), "operator-only");
        let mut world = World::default();
        let notify = Effect::Notify {
            agent: "builder".parse::<AgentId>().unwrap(),
            argv: serde_json::from_str(r#"["true"]"#).unwrap(),
            workflow: id(1),
            handoff: HandoffId::from_bytes([5; 16]),
            news: crate::effect::News::Arrived,
        };
        world.keep_effects(4, &[notify]);
        let two = vec![past(1, 0, false, false), past(2, 0, false, false)];
        assert_eq!(pruned(&world, two, 99, Actor::Operator).unwrap(), [2]);
    }

    #[test]
    fn how_agents_are_outlives_the_records_that_told_of_it() {
        let mut world = World::default();
        let ill = Health { failures: 2, ..Health::default() };
        world.agents.get_mut(&AgentId::operator()).expect("there is one").health = ill;
        let prune = Prune { past: vec![past(1, 0, true, false)], ..Prune::default() };
        let (id, actor) = (CommandId::from_bytes([9; 16]), Actor::Operator);
        let ask = Submission { id, actor, command: Command::Prune(prune.clone()) };
        let now = Timestamp::from_micros(99 * DAY);
        let decision = decide(&world, &ask, &prune, now).expect("it is due");
        // A replay that no longer saw why.
        let mut replayed = World::default();
        crate::evolve(&mut replayed, &decision.stream, &decision.events[0], now);
        assert_eq!(replayed.agents[&AgentId::operator()].health, ill);
    }

    #[test]
    fn one_record_names_a_bounded_number() {
        let many: Vec<_> = (0..PRUNED_WORKFLOWS_MAX + 7)
            .map(|n| Past {
                workflow: WorkflowId::from_bytes((n as u128).to_be_bytes()),
                ..past(1, 0, true, false)
            })
            .collect();
        let found = pruned(&World::default(), many, 400, Actor::Operator).unwrap();
        assert_eq!(found.len(), PRUNED_WORKFLOWS_MAX);
    }
}
