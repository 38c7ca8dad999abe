//! Agents that say by themselves that they are there. When each was last heard of is kept in
//! memory: a coordinator that starts, or wakes with its machine, gives everybody time to be heard
//! again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use baton_protocol::agent::Agent;
use baton_protocol::command::{Actor, Command, ReportHealth, Submission};
use baton_protocol::id::{AgentId, CommandId};
use baton_protocol::limits::HEARTBEATS_MISSED_MAX;
use baton_protocol::time::{Allowance, Timestamp};
use baton_store::{LedgerError, Scope};

use crate::engine::{Engine, SubmitError};

/// If nobody looked for longer than this, the machine slept or its clock was set.
const LOOKED_WITHIN: Allowance = Allowance::from_secs(30);

/// When each agent was last heard of.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Times>);

#[derive(Default)]
struct Times {
    heard: HashMap<AgentId, Timestamp>,
    /// When it was last looked who is silent.
    looked: Option<Timestamp>,
    /// Since when it is listened without a pause, if not since the start.
    anew: Option<Timestamp>,
}

impl Seen {
    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note that an agent was heard of.
    pub(crate) fn note(&self, agent: &AgentId, now: Timestamp) {
        let mut times = self.times();
        match times.heard.get_mut(agent) {
            Some(heard) => *heard = now,
            None => drop(times.heard.insert(agent.clone(), now)),
        }
    }

    /// Takes note that somebody looks. Returns since when all could be heard, if not since the
    /// start: while the machine slept nobody could, and times before a clock was set say nothing.
    fn look(&self, now: Timestamp) -> Option<Timestamp> {
        let mut times = self.times();
        let looked = times.looked.replace(now).unwrap_or(now);
        let gap = now.as_micros().saturating_sub(looked.as_micros());
        if !(0..=LOOKED_WITHIN.as_micros()).contains(&gap) {
            times.heard.clear();
            times.anew = Some(now);
        }
        times.anew
    }

    fn heard(&self, agent: &AgentId) -> Option<Timestamp> {
        self.times().heard.get(agent).copied()
    }
}

impl Engine {
    /// An agent says that it is there. Nothing is recorded unless that is news.
    pub async fn heartbeat(&self, actor: Actor, agent: AgentId) -> Result<(), SubmitError> {
        let now = self.clock.now();
        // Who speaks is part of it: another must not be answered as the agent itself was.
        let id = CommandId::from_key(actor.agent().as_str(), &format!("heartbeat {agent} {now}"));
        let report = ReportHealth { agent: agent.clone(), healthy: true, note: None };
        let command = Command::ReportHealth(report);
        self.submit(Submission { id, actor, command }).await?;
        self.seen.note(&agent, now);
        Ok(())
    }

    /// Looks who was not heard of for too long. Returns how many there are.
    pub async fn check_heartbeats(&self) -> Result<usize, LedgerError> {
        let now = self.clock.now();
        let listening = self.seen.look(now).unwrap_or(self.started_at);
        let promised: Vec<(AgentId, Allowance, Timestamp)> = self
            .look(Scope::Agents, |world| {
                let promise = |agent: &Agent| {
                    let profile = &agent.profile;
                    Some((profile.id.clone(), profile.heartbeat_every?, agent.registered_at))
                };
                world.agents.values().filter_map(promise).collect()
            })
            .await?;
        let mut silent = 0;
        for (agent, every, registered) in promised {
            let heard = self.seen.heard(&agent).unwrap_or(listening);
            let since = heard.max(registered).max(listening).min(now);
            let missed = now.as_micros().saturating_sub(since.as_micros()) / every.as_micros();
            let missed = missed.clamp(0, i64::from(HEARTBEATS_MISSED_MAX));
            silent += usize::from(missed > 0);
            for n in 1..=missed {
                match self.submit(silence(&agent, since, n, every)).await {
                    Ok(_) | Err(SubmitError::Refused(_)) => (),
                    Err(SubmitError::Failed(failure)) => return Err(failure),
                }
            }
        }
        Ok(silent)
    }
}

/// The report that an agent missed its heartbeat. However often somebody looks, it is made once.
fn silence(agent: &AgentId, since: Timestamp, n: i64, every: Allowance) -> Submission {
    let id = CommandId::from_key("coordinator", &format!("silence {agent} {since} {n}"));
    let note = format!("no heartbeat, which it promised every {every}").parse().ok();
    let report = ReportHealth { agent: agent.clone(), healthy: false, note };
    Submission { id, actor: Actor::Coordinator, command: Command::ReportHealth(report) }
}
