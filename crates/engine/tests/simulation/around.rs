//! What goes on around the agents: a person who steps in, time that passes, news that is carried.

use std::collections::BTreeMap;

use baton_protocol::Timer;
use baton_protocol::command::{Actor, Command, Settle, Wake, WakeHold};
use baton_protocol::effect::EffectId;
use baton_protocol::handoff::State;
use baton_protocol::time::{Allowance, Timestamp};
use baton_store::Scope;
use serde_json::json;

use crate::cast;
use crate::invariants::must;
use crate::moves::{self, actor};
use crate::stage::{Halt, Stage, Went};

/// A second, in microseconds.
const SECOND: i64 = 1_000_000;

/// Loans that run: until when.
#[derive(Default)]
pub(crate) struct Loans(BTreeMap<EffectId, Timestamp>);

/// The person who runs the workspace steps in.
pub(crate) async fn person(stage: &mut Stage) -> Went<()> {
    let handoffs = stage.own.handoffs.clone();
    let mut workflows: Vec<_> = stage.world.workflows.keys().copied().collect();
    workflows.sort_unstable();
    let names: Vec<_> = stage.own.players.iter().map(|player| player.id.clone()).collect();
    let chance = &mut stage.own.chance;
    let agent = chance.pick(&names).expect("there are players").clone();
    let recent: Vec<_> = handoffs.iter().rev().take(8).copied().collect();
    let (handoff, workflow) = (chance.pick(&recent).copied(), chance.pick(&workflows).copied());
    let reason = "a person steps in";
    let command = match chance.weighed(&[(3, 0), (3, 1), (1, 2), (1, 3), (3, 4), (3, 5)]) {
        0 => json!({ "cancel": { "handoff": handoff, "reason": reason } }),
        1 => json!({ "reassign": { "what": { "handoff": handoff }, "to_agent": agent,
            "reason": reason } }),
        2 => json!({ "reassign": { "what": { "workflow": workflow }, "to_agent": agent,
            "reason": reason } }),
        3 => json!({ "cancel_workflow": { "workflow": workflow, "reason": reason } }),
        4 => {
            let healthy = chance.percent(60);
            json!({ "report_health": { "agent": agent, "healthy": healthy } })
        }
        _ if agent.is_operator() => return Ok(()),
        _ => {
            // The same agent, with other abilities and limits than before.
            let role = agent.as_str().split('-').next().unwrap_or("worker").to_owned();
            json!({ "register": cast::profile(chance, agent.as_str(), &role) })
        }
    };
    let named = command.to_string();
    if named.contains(":null") {
        return Ok(());
    }
    let who = match stage.own.chance.percent(90) {
        true => Actor::Operator,
        // An agent that takes itself for the person.
        false => actor(&agent),
    };
    stage.ask(who, command).await?;
    Ok(())
}

/// Time passes, or is set back; then somebody looks at the timers, or does not.
pub(crate) async fn time(stage: &mut Stage) -> Went<()> {
    let chance = &mut stage.own.chance;
    let (least, most) = chance.weighed(&[
        (45, (0, 3)),
        (30, (3, 15)),
        (12, (15, 90)),
        (2, (600, 1_300)),
        (6, (0, 0)),
    ]);
    let skewed = chance.percent(8);
    let micros = i64::try_from(chance.below(1_000_000)).unwrap_or(0);
    let span = i64::try_from(chance.between(least, most)).unwrap_or(0) * SECOND + micros;
    let back = i64::try_from(chance.between(1, 40)).unwrap_or(1) * SECOND;
    stage.own.clock.shift(if skewed { micros - back } else { span });
    wake_noticed(stage).await?;
    match stage.own.chance.weighed(&[(60, 0), (22, 1), (10, 2), (8, 3)]) {
        0 => stage.run_timers().await,
        // Somebody looks now and acts later, when others have answered.
        1 => notice(stage).await,
        // Somebody looks at what is not due at all.
        2 => {
            let recent: Vec<_> = stage.own.handoffs.iter().rev().take(6).copied().collect();
            let picked = stage.own.chance.pick(&recent).copied();
            if let Some(handoff) = picked {
                stage.command(Actor::Coordinator, Command::Wake(Wake { handoff })).await?;
            }
            let given = stage.own.given.clone();
            if let Some(hold) = stage.own.chance.pick(&given) {
                let (workflow, fence) = (hold.workflow, hold.fence);
                let wake = Command::WakeHold(WakeHold { workflow, fence });
                stage.command(Actor::Coordinator, wake).await?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

async fn notice(stage: &mut Stage) -> Went<()> {
    let (now, (tell, told)) = (stage.now(), std::sync::mpsc::channel());
    let look = Box::new(move |world: &baton_protocol::World| {
        let _ = tell.send(world.due(now).collect::<Vec<_>>());
    });
    stage.ledger.look(Scope::Everything, look).await.map_err(|_| Halt::Down)?;
    stage.own.noticed = told.recv().unwrap_or_default();
    Ok(())
}

async fn wake_noticed(stage: &mut Stage) -> Went<()> {
    for timer in std::mem::take(&mut stage.own.noticed) {
        let command = match timer {
            Timer::Handoff(handoff) => Command::Wake(Wake { handoff }),
            Timer::Hold(workflow, fence) => Command::WakeHold(WakeHold { workflow, fence }),
        };
        stage.command(Actor::Coordinator, command).await?;
    }
    Ok(())
}

/// News is lent, carried out or lost on the way, and settled.
pub(crate) async fn news(stage: &mut Stage, loans: &mut Loans) -> Went<()> {
    let now = stage.now();
    let until = Allowance::from_secs(60).after(now);
    let lent = stage.ledger.lend(now, until, 3).await.map_err(|_| Halt::Down)?;
    for loan in lent {
        let known = loans.0.get(&loan.id).copied();
        let free = known.is_none_or(|until| until <= now);
        must(free, "I31", || format!("effect {} was lent twice", loan.id))?;
        loans.0.insert(loan.id, until);
        if stage.own.chance.percent(70) {
            let note = "told".parse().expect("a text");
            let settle = Command::Settle(Settle { effect: loan.id, note });
            stage.command(Actor::Coordinator, settle).await?;
        }
    }
    Ok(())
}

impl Loans {
    /// A restart forgets who had what.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

/// Everybody does what is asked of them, and time passes, until all work has ended.
pub(crate) async fn finish(stage: &mut Stage) -> Went<()> {
    const ROUNDS_MAX: usize = 300;
    for _ in 0..ROUNDS_MAX {
        stage.run_timers().await?;
        if stage.world.workflows.is_empty() {
            return Ok(());
        }
        if everybody_works(stage).await? {
            continue;
        }
        let next = stage.engine.next_wake().await.map_err(|_| Halt::Down)?;
        let Some(next) = next else {
            // Agents that are full wait for each other; a sender takes back what nobody can begin.
            match give_up(stage).await? {
                true => continue,
                false => break,
            }
        };
        let wait = next.as_micros() - stage.now().as_micros();
        stage.own.clock.shift(wait.max(0) + 1);
    }
    Ok(must(false, "I33", || stuck(stage))?)
}

/// Each agent accepts what waits for it and ends what it holds. Says whether anything moved.
async fn everybody_works(stage: &mut Stage) -> Went<bool> {
    let before = stage.last_seq();
    let names: Vec<_> = stage.own.players.iter().map(|player| player.id.clone()).collect();
    for name in names {
        for handoff in moves::inbox(stage, &name) {
            stage.ask(actor(&name), json!({ "accept": { "handoff": handoff } })).await?;
        }
        for held in moves::holds(stage, &name) {
            if held.suspended {
                continue;
            }
            let (workflow, fence) = (held.workflow, held.fence);
            let command = match held.handoff {
                Some(handoff) => json!({ "return": { "handoff": handoff, "fence": fence,
                    "status": "success" } }),
                None => json!({ "complete": { "workflow": workflow, "fence": fence } }),
            };
            stage.ask(actor(&name), command).await?;
        }
    }
    Ok(stage.last_seq() > before)
}

/// The sender of something that waits for room takes it back. Says whether there was any.
async fn give_up(stage: &mut Stage) -> Went<bool> {
    let all = stage.world.workflows.values();
    let blocking = all.flat_map(|workflow| workflow.open().filter(|open| workflow.blocks(open)));
    let queued = blocking.filter(|open| matches!(open.state, State::Queued { until: None, .. }));
    let first = queued.map(|open| (open.terms.id, open.terms.from_agent.clone())).min();
    let Some((handoff, sender)) = first else { return Ok(false) };
    *stage.own.counts.entry("given-up").or_default() += 1;
    let command = json!({ "cancel": { "handoff": handoff, "reason": "nobody has room" } });
    Ok(stage.ask(actor(&sender), command).await?.is_some())
}

fn stuck(stage: &Stage) -> String {
    let mut told = String::new();
    for (id, workflow) in &stage.world.workflows {
        let owner = workflow.owning().map(|hold| hold.agent.to_string());
        told.push_str(&format!("{id} of {owner:?}\n"));
        for open in workflow.open() {
            let terms = &open.terms;
            let kind = terms.kind.word();
            told.push_str(&format!(
                "  {} {kind} {} under {} to {}: {:?}\n",
                terms.id, terms.from_agent, terms.parent, open.to, open.state
            ));
        }
    }
    for (id, agent) in &stage.world.agents {
        let most = agent.profile.max_concurrent_tasks;
        told.push_str(&format!("  {id} holds {} of {most}\n", agent.holds.len()));
    }
    told
}
