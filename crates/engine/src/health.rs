//! Asking agents how they are: the command that an agent's registration names, now and then.

use std::time::Duration;

use baton_protocol::command::{Actor, Command, ReportHealth, Submission};
use baton_protocol::id::{AgentId, CommandId};
use baton_protocol::limits::{HEALTH_EVERY, HEALTH_WITHIN};
use baton_protocol::reach::Argv;
use baton_protocol::time::{Allowance, Timestamp};
use baton_store::{LedgerError, Scope};

use crate::engine::{Engine, SubmitError};
use crate::process;

/// Agents that are asked at once.
const CHECKS_MAX: usize = 16;

impl Engine {
    /// Asks every agent that names a health check how it is. Returns how many there were.
    pub async fn check_health(&self) -> Result<usize, LedgerError> {
        let checks: Vec<(AgentId, Argv)> = self
            .look(Scope::Agents, |world| {
                let profiles = world.agents.values().map(|agent| &agent.profile);
                let check = profiles.filter_map(|profile| {
                    Some((profile.id.clone(), profile.health_check.clone()?))
                });
                check.collect()
            })
            .await?;
        let count = checks.len();
        let now = self.clock.now();
        let limit = duration(HEALTH_WITHIN);
        for few in checks.chunks(CHECKS_MAX) {
            let mut running = tokio::task::JoinSet::new();
            for (agent, argv) in few.iter().cloned() {
                running.spawn(async move {
                    let found = process::run(&argv, &agent, &[], limit).await;
                    (agent, found)
                });
            }
            while let Some(done) = running.join_next().await {
                let Ok((agent, found)) = done else { continue };
                let (healthy, note) = match found {
                    Ok(status) if status.success() => (true, None),
                    Ok(status) => (false, Some(status.to_string())),
                    Err(why) => (false, Some(why)),
                };
                match self.submit(report(agent, healthy, note, now)).await {
                    Ok(_) | Err(SubmitError::Refused(_)) => (),
                    Err(SubmitError::Failed(failure)) => return Err(failure),
                }
            }
        }
        Ok(count)
    }

    /// Asks them every minute until the ledger stops.
    pub async fn run_health_checks(&self) {
        let mut changes = self.changes();
        loop {
            // The pause comes first: starting often is not asking often. An error in it means that
            // nothing is recorded any more.
            let stopped = async { while changes.changed().await.is_ok() {} };
            if tokio::time::timeout(duration(HEALTH_EVERY), stopped).await.is_ok() {
                return;
            }
            if let Err(failure) = self.check_health().await {
                tracing::warn!(%failure, "could not ask agents how they are");
            }
        }
    }
}

fn duration(span: Allowance) -> Duration {
    Duration::from_micros(span.as_micros().unsigned_abs())
}

fn report(agent: AgentId, healthy: bool, note: Option<String>, now: Timestamp) -> Submission {
    let id = CommandId::from_key("coordinator", &format!("health {agent} {now}"));
    let note = note.and_then(|note| note.parse().ok());
    let command = Command::ReportHealth(ReportHealth { agent, healthy, note });
    Submission { id, actor: Actor::Coordinator, command }
}
