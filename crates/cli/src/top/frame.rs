//! What is watched: read from the coordinator like any other view, and put in the order in which
//! somebody who watches wants it.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use baton_engine::view::{AgentView, HandoffLine, Stats, Status, WorkflowLine};
use baton_protocol::time::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::client::{Query, Reply};
use crate::failure::Failure;
use crate::session::Session;
use crate::show::time;

/// Rows of each list that are read.
const ROWS_MAX: u32 = 500;
/// Over how long rates are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// Everything at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) now: Timestamp,
    pub(crate) status: Status,
    pub(crate) stats: Stats,
    pub(crate) agents: Vec<AgentRow>,
    pub(crate) handoffs: Vec<HandoffLine>,
    pub(crate) workflows: Vec<WorkflowLine>,
}

/// An agent, and what waits for it.
#[derive(Clone, Debug)]
pub(crate) struct AgentRow {
    pub(crate) view: AgentView,
    /// Handoffs that it has to answer, or that wait for its room.
    pub(crate) queue: usize,
    /// What it holds, by title.
    pub(crate) holds: Vec<String>,
}

/// Whether a handoff waits for its receiver.
pub(crate) fn waits(handoff: &HandoffLine) -> bool {
    matches!(handoff.state.as_str(), "queued" | "initiated" | "deferred")
}

/// The answers that a frame is made of.
struct Answers {
    status: Reply,
    stats: Reply,
    agents: Reply,
    handoffs: Reply,
    workflows: Reply,
}

impl Answers {
    fn ask(session: &Session) -> Result<Self, Failure> {
        let list = |path: &str| session.client.read(Query::new(path).with("limit", Some(ROWS_MAX)));
        Ok(Self {
            status: session.client.read("/v1/status")?,
            stats: session.client.read("/v1/stats")?,
            agents: session.client.read("/v1/agents")?,
            handoffs: list("/v1/handoffs")?,
            workflows: list("/v1/workflows")?,
        })
    }
}

/// All of it for a program, as the coordinator said it.
pub(crate) fn as_json(session: &Session) -> Result<Value, Failure> {
    let answers = Answers::ask(session)?;
    let raw = |reply: &Reply| reply.read::<Box<RawValue>>();
    Ok(json!({
        "status": raw(&answers.status)?,
        "stats": raw(&answers.stats)?,
        "agents": raw(&answers.agents)?,
        "handoffs": raw(&answers.handoffs)?,
        "workflows": raw(&answers.workflows)?,
    }))
}

impl Frame {
    /// Asks for everything.
    pub(crate) fn read(session: &Session) -> Result<Self, Failure> {
        let answers = Answers::ask(session)?;
        Ok(Self::new(
            time::now(),
            (answers.status.read()?, answers.stats.read()?),
            answers.agents.read()?,
            answers.handoffs.read()?,
            answers.workflows.read()?,
        ))
    }

    /// Puts everything in order: first what needs somebody.
    pub(crate) fn new(
        now: Timestamp,
        (status, stats): (Status, Stats),
        agents: Vec<AgentView>,
        mut handoffs: Vec<HandoffLine>,
        workflows: Vec<WorkflowLine>,
    ) -> Self {
        let later = Timestamp::from_micros(i64::MAX);
        handoffs.sort_by_key(|one| (one.wake_at.unwrap_or(later), one.initiated_at, one.id));
        let mut agents: Vec<_> = agents
            .into_iter()
            .map(|view| AgentRow {
                queue: of(&handoffs, &view).filter(|one| waits(one)).count(),
                holds: held(&handoffs, &workflows, &view),
                view,
            })
            .collect();
        agents.sort_by_key(|row| {
            let well = row.view.status == "healthy";
            let busy = row.view.load > 0 || row.queue > 0;
            (well, Reverse(busy), row.view.profile.id.clone())
        });
        Self { now, status, stats, agents, handoffs, workflows }
    }
}

fn of<'a>(
    handoffs: &'a [HandoffLine],
    agent: &'a AgentView,
) -> impl Iterator<Item = &'a HandoffLine> {
    handoffs.iter().filter(|one| one.to_agent == agent.profile.id)
}

fn held(handoffs: &[HandoffLine], workflows: &[WorkflowLine], agent: &AgentView) -> Vec<String> {
    let id = Some(&agent.profile.id);
    let taken = of(handoffs, agent).filter(|one| one.fence.is_some()).map(|one| one.title.clone());
    let owned = workflows.iter().filter(|one| one.owner.as_ref() == id);
    let mut titles: Vec<_> = taken.chain(owned.map(|one| one.title.clone())).collect();
    titles.dedup();
    titles
}

/// How fast things go, from what was seen lately.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    seen: VecDeque<(Instant, u64, u64)>,
}

/// Records in a second and handoffs in a minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    pub(crate) records: f64,
    pub(crate) handoffs: f64,
}

impl Rates {
    /// Takes note of what there was by then, and tells the rates if enough was seen.
    pub(crate) fn note(&mut self, at: Instant, records: u64, handoffs: u64) -> Option<Rate> {
        while self.seen.front().is_some_and(|(then, ..)| at - *then > WINDOW) {
            self.seen.pop_front();
        }
        self.seen.push_back((at, records, handoffs));
        let (then, records_then, handoffs_then) = *self.seen.front()?;
        let seconds = (at - then).as_secs_f64();
        (seconds > 0.0).then(|| Rate {
            records: records.saturating_sub(records_then) as f64 / seconds,
            handoffs: handoffs.saturating_sub(handoffs_then) as f64 / seconds * 60.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_over_the_last_minute() {
        let start = Instant::now();
        let mut rates = Rates::default();
        assert_eq!(rates.note(start, 100, 10), None);
        let rate = rates.note(start + Duration::from_secs(10), 150, 12);
        assert_eq!(rate, Some(Rate { records: 5.0, handoffs: 12.0 }));
        let rate = rates.note(start + Duration::from_secs(70), 150, 12);
        assert_eq!(rate, Some(Rate { records: 0.0, handoffs: 0.0 }));
    }
}
