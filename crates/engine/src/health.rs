//! Asking agents how they are: the command or the address that an agent's registration names, now
//! and then.

use std::time::Duration;

use baton_protocol::agent::HealthCheck;
use baton_protocol::command::{Actor, Command, ReportHealth, Submission};
use baton_protocol::id::{AgentId, CommandId};
use baton_protocol::limits::{HEALTH_EVERY, HEALTH_WITHIN};
use baton_protocol::time::Timestamp;
use baton_store::{LedgerError, Scope};
use reqwest::Method;
use tokio::time::Instant;

use crate::engine::{Engine, SubmitError};
use crate::process;
use crate::run::web::{self, Answered, Asked, Unanswered};

/// How often it is looked who was not heard of.
const HEARTBEATS_LOOK: Duration = Duration::from_secs(5);
/// Agents that are asked at once.
const CHECKS_MAX: usize = 64;

impl Engine {
    /// Asks every agent that names a health check how it is. Returns how many there were.
    pub async fn check_health(&self) -> Result<usize, LedgerError> {
        let checks: Vec<(AgentId, HealthCheck)> = self
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
        let mut waiting = checks.into_iter();
        let mut running = tokio::task::JoinSet::new();
        loop {
            for (agent, check) in waiting.by_ref().take(CHECKS_MAX - running.len()) {
                let engine = self.clone();
                running.spawn(async move {
                    let found = engine.ask_how(&agent, &check).await;
                    (agent, found)
                });
            }
            let Some(done) = running.join_next().await else { return Ok(count) };
            let Ok((agent, found)) = done else { continue };
            let (healthy, note) = (found.is_ok(), found.err());
            match self.submit(report(agent, healthy, note, now)).await {
                Ok(_) | Err(SubmitError::Refused(_)) => (),
                Err(SubmitError::Failed(failure)) => return Err(failure),
            }
        }
    }

    /// Asks them every minute until the ledger stops.
    pub async fn run_health_checks(&self) {
        tokio::join!(
            self.every(HEALTH_EVERY.as_duration(), || self.check_health()),
            self.every(HEARTBEATS_LOOK, || self.check_heartbeats()),
        );
    }

    /// Asks one agent how it is. An error says what was wrong.
    async fn ask_how(&self, agent: &AgentId, check: &HealthCheck) -> Result<(), String> {
        let limit = HEALTH_WITHIN.as_duration();
        match check {
            HealthCheck::Command(argv) => {
                let place = (self.workspace(), limit);
                match process::run(argv, None, agent, &[], place).await? {
                    status if status.success() => Ok(()),
                    status => Err(status.to_string()),
                }
            }
            HealthCheck::Http { http } => {
                let (method, url) = (Method::GET, http.to_string());
                let asked = Asked { method, url, headers: Default::default(), body: Vec::new() };
                match web::ask(&asked, &self.allow(), limit).await {
                    Ok(Answered { status, .. }) if status.is_success() => Ok(()),
                    Ok(Answered { status, .. }) => Err(status.to_string()),
                    Err(Unanswered::Forbidden(why) | Unanswered::Failed(why)) => Err(why),
                }
            }
        }
    }

    /// Does something again and again until the ledger stops, at the same pace however long it
    /// takes.
    async fn every<F: Future<Output = Result<usize, LedgerError>>>(
        &self,
        pause: Duration,
        check: impl Fn() -> F,
    ) {
        let mut next = Instant::now();
        loop {
            // The pause comes first: starting often is not asking often.
            next = (next + pause).max(Instant::now());
            if tokio::time::timeout_at(next, self.stopped()).await.is_ok() {
                return;
            }
            if let Err(failure) = check().await {
                tracing::warn!(%failure, "could not ask agents how they are");
            }
        }
    }
}

fn report(agent: AgentId, healthy: bool, note: Option<String>, now: Timestamp) -> Submission {
    let id = CommandId::from_key("coordinator", &format!("health {agent} {now}"));
    let note = note.and_then(|note| note.parse().ok());
    let command = Command::ReportHealth(ReportHealth { agent, healthy, note });
    Submission { id, actor: Actor::Coordinator, command }
}
