//! The whole at a glance: counts, condition, and checks of the ledger.

use std::path::PathBuf;

use baton_protocol::World;
use baton_protocol::command::Actor;
use baton_protocol::event::Event;
use baton_protocol::id::WorkflowId;
use baton_store::{Record, Scope};

use crate::engine::Engine;
use crate::query::{QueryError, misplaced, unreadable};
use crate::view::{Sight, Stats, Status, may_see};

impl Stats {
    /// Counts `n` records of a type, passed from one agent to another if it is about a handoff.
    fn count(&mut self, kind: &str, from: Option<String>, to: Option<String>, n: u64) {
        match kind {
            "started" => self.total_workflows += n,
            "initiated" => {
                self.total_handoffs += n;
                let agents = &mut self.handoffs_by_agent;
                agents.entry(from.unwrap_or_default()).or_default().sent += n;
                agents.entry(to.unwrap_or_default()).or_default().received += n;
            }
            _ => (),
        }
        *self.records_by_type.entry(kind.to_owned()).or_default() += n;
        *self.records.get_or_insert_default() += n;
    }
}

impl Engine {
    /// Counts over all of history.
    async fn whole_stats(&self) -> Result<Stats, QueryError> {
        let (pending_handoffs, open_workflows) = self
            .look(Scope::Everything, |world| {
                let pending: usize = world.workflows.values().map(|w| w.open().count()).sum();
                (pending as u64, world.workflows.len() as u64)
            })
            .await?;
        let records = Some(0);
        let mut stats = Stats { pending_handoffs, open_workflows, records, ..Stats::default() };
        for tally in self.ledger.counts().await? {
            stats.count(&tally.kind, tally.from, tally.to, tally.count);
        }
        Ok(stats)
    }

    /// Counts as `viewer` may know them: all of history for those who see everything, and for an
    /// agent the live work that it sees, as in its lists.
    ///
    /// An agent's history is not counted: the ledger counts by sender and receiver, and so would
    /// tell whom something is for before a person has let it through.
    pub async fn stats(&self, viewer: Actor) -> Result<Stats, QueryError> {
        match viewer {
            Actor::Operator | Actor::OperatorAs(_) | Actor::Viewer | Actor::Coordinator => {
                self.whole_stats().await
            }
            Actor::Agent(_) => {
                Ok(self.look(Scope::Everything, move |world| seen(world, &viewer)).await?)
            }
        }
    }

    /// Counts over one workflow.
    pub async fn workflow_stats(&self, viewer: Actor, id: WorkflowId) -> Result<Stats, QueryError> {
        let line = self.workflow(viewer.clone(), id).await?.line;
        let hidden = self.hidden(viewer, id).await?.handoffs;
        let mut stats = Stats {
            pending_handoffs: line.open_handoffs as u64,
            open_workflows: u64::from(line.status == "open"),
            ..Stats::default()
        };
        for line in self.records_of(id).await? {
            let event = Record::read(&line).map_err(unreadable)?.event;
            let (from, to) = match &event {
                Event::Initiated { terms, .. } if hidden.contains(&terms.id.to_string()) => {
                    continue;
                }
                // Whoever begins work passes nothing on.
                Event::Initiated { terms, .. } if terms.step.as_ref().is_some_and(|s| s.first) => {
                    stats.count("assigned", None, None, 1);
                    continue;
                }
                Event::Initiated { terms, .. } => {
                    (Some(terms.from_agent.to_string()), Some(terms.to_agent.to_string()))
                }
                _ => (None, None),
            };
            stats.count(event.word(), from, to, 1);
        }
        Ok(stats)
    }

    /// How the coordinator is.
    pub async fn status(&self) -> Result<Status, QueryError> {
        let condition = self.ledger.condition();
        let (open_workflows, agents, outbox) = self
            .look(Scope::Everything, |world| {
                let count = |n: usize| n as u64;
                (count(world.workflows.len()), count(world.agents.len()), count(world.outbox.len()))
            })
            .await?;
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            url: None,
            started_at: self.started_at,
            records: condition.records,
            indexed: condition.indexed,
            open_workflows,
            agents,
            outbox,
            cut_at_start: condition.cut,
            signed: condition.signed,
            unsigned: condition.unsigned,
        })
    }

    /// Copies the ledger into an empty folder while work goes on. Returns how many files and bytes.
    pub async fn backup(&self, to: PathBuf) -> Result<(u64, u64), QueryError> {
        self.ledger.backup(to).await.map_err(misplaced)
    }
}

/// Counts the live work that `viewer` may see.
fn seen(world: &World, viewer: &Actor) -> Stats {
    let mut stats = Stats::default();
    for workflow in world.workflows.values().filter(|workflow| may_see(viewer, workflow)) {
        stats.open_workflows += 1;
        stats.total_workflows += 1;
        let sight = Sight::of(viewer, workflow);
        for handoff in workflow.handoffs.values().filter(|handoff| sight.sees(handoff)) {
            stats.pending_handoffs += u64::from(!handoff.state.is_over());
            // Whoever begins work passes nothing on.
            if handoff.terms.step.as_ref().is_some_and(|step| step.first) {
                continue;
            }
            stats.total_handoffs += 1;
            let agents = &mut stats.handoffs_by_agent;
            agents.entry(handoff.terms.from_agent.to_string()).or_default().sent += 1;
            agents.entry(handoff.terms.to_agent.to_string()).or_default().received += 1;
        }
    }
    stats
}
