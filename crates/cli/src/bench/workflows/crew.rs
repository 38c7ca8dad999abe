//! Who moves the workflows on: callers that take any of them, and do what is next in it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use baton_engine::Engine;
use baton_engine::view::Answer;
use baton_protocol::agent::Profile;
use baton_protocol::command::{
    Accept, Actor, Command, Complete, ContextUpdates, FailStep, Follows, SetVariables, Start,
};
use baton_protocol::definition::{Definition, StateName};
use baton_protocol::event::Event;
use baton_protocol::id::{AgentId, Fence, HandoffId, WorkflowId};
use baton_protocol::limits::CONCURRENT_TASKS_MAX;
use baton_protocol::text::{Body, BodyJson};
use baton_protocol::variables::Changes;
use baton_protocol::workflow::Ending;
use serde_json::{Value, json};

use super::super::{BenchError, load};
use crate::demo::charter::{self, Part};

/// The state before the end.
const LAST: &str = "sending_proposal";
/// The state in which the spreadsheet fails.
const FAILS_IN: &str = "fetching_client_data";
/// Steps from the start to the last state, at most.
const STEPS_MAX: usize = 16;
/// How long the monitor may take to give back what failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// One workflow, as far as whoever moves it on knows it.
pub(super) struct Work {
    n: usize,
    id: WorkflowId,
    state: StateName,
    fence: Fence,
    /// What waits to be taken, if the work is with nobody.
    handoff: Option<HandoffId>,
    /// Whether the monitor has it.
    fallen: bool,
    pub(super) retried: bool,
    pub(super) steps: usize,
    /// Microseconds of each `complete`.
    pub(super) latencies: Vec<u64>,
}

/// What every caller has at hand.
pub(super) struct Crew {
    pub(super) engine: Engine,
    stage: Arc<Stage>,
    callers: usize,
}

struct Stage {
    engine: Engine,
    definition: Definition,
    /// With a client, and without.
    parts: [Part; 2],
}

fn broken(why: impl std::fmt::Display) -> BenchError {
    BenchError::Baton(why.to_string())
}

/// One in ten names no client.
fn is_nameless(n: usize) -> bool {
    n.is_multiple_of(10)
}

/// For one in ten the spreadsheet fails once.
fn fails_once(n: usize) -> bool {
    n % 10 == 5
}

impl Crew {
    /// Makes agents and definition known.
    pub(super) async fn new(engine: Engine, callers: usize) -> Result<Self, BenchError> {
        let read = baton_rules::read(charter::DEFINITION);
        let definition = read.map_err(|_| broken("the example is broken"))?.definition;
        let mut parts = charter::parts().map_err(broken)?.into_iter();
        let (Some(named), Some(nameless)) = (parts.next(), parts.next()) else {
            return Err(broken("the example has too few requests"));
        };
        for agent in definition.agents.keys() {
            let profile = Profile {
                max_concurrent_tasks: CONCURRENT_TASKS_MAX,
                ..Profile::named(agent.clone())
            };
            let register = Command::Register(Box::new(profile));
            load::ask(&engine, Actor::Operator, register).await?;
        }
        let define = Command::Define(Box::new(definition.clone()));
        load::ask(&engine, Actor::Operator, define).await?;
        let stage = Stage { engine: engine.clone(), definition, parts: [named, nameless] };
        Ok(Self { engine, stage: Arc::new(stage), callers })
    }

    /// Begins workflows, each with the answers that its number means. When this returns, each waits
    /// for its first agent to take it.
    pub(super) async fn begin(&self, which: Vec<usize>) -> Result<Vec<Work>, BenchError> {
        self.each(which, |stage, n| async move { stage.start(n).await }).await
    }

    /// Brings all of them to the last state, one state after the other. What failed is left to the
    /// monitor while the others go on.
    pub(super) async fn bring(&self, works: Vec<Work>) -> Result<Vec<Work>, BenchError> {
        let works = self.as_far_as_can_be(works).await?;
        let (mut fallen, mut arrived): (Vec<Work>, Vec<Work>) =
            works.into_iter().partition(|work| work.fallen);
        self.given_back(&mut fallen).await?;
        arrived.extend(self.as_far_as_can_be(fallen).await?);
        match arrived.iter().find(|work| work.state.as_str() != LAST || work.fallen) {
            None => Ok(arrived),
            Some(Work { id, state, .. }) => Err(broken(format!("{id} got stuck in {state}"))),
        }
    }

    async fn as_far_as_can_be(&self, mut works: Vec<Work>) -> Result<Vec<Work>, BenchError> {
        let stands = |work: &Work| work.fallen || work.state.as_str() == LAST;
        for _ in 0..STEPS_MAX {
            if works.iter().all(stands) {
                break;
            }
            works = self
                .each(works, move |stage, mut work| async move {
                    if !stands(&work) {
                        stage.step(&mut work).await?;
                    }
                    Ok(work)
                })
                .await?;
        }
        Ok(works)
    }

    /// Does the last step of all of them, which must end each.
    pub(super) async fn end(&self, works: Vec<Work>) -> Result<Vec<Work>, BenchError> {
        self.each(works, |stage, mut work| async move {
            let answer = stage.step(&mut work).await?;
            let how = answer.events.iter().find_map(|event| match event {
                Event::Closed { ending, .. } => Some(ending),
                _ => None,
            });
            match how {
                Some(Ending::Completed { .. }) => Ok(work),
                Some(other) => Err(broken(format!("{} ended as {}", work.id, other.word()))),
                None => Err(broken(format!("{} did not end", work.id))),
            }
        })
        .await
    }

    /// Fails if the ledger still knows of a live workflow.
    pub(super) async fn nothing_left(&self) -> Result<(), BenchError> {
        let lines = self.engine.definitions().await.map_err(broken)?;
        match lines.iter().map(|line| line.running).sum() {
            0_usize => Ok(()),
            left => Err(broken(format!("{left} workflows are not over"))),
        }
    }

    /// Waits until the monitor has given back what failed, which it does in the same order.
    async fn given_back(&self, fallen: &mut [Work]) -> Result<(), BenchError> {
        let mut changes = self.engine.changes();
        let until = Instant::now() + PATIENCE;
        for work in fallen {
            while work.fallen {
                // Marked before the look, so that what comes during it is not missed.
                changes.mark_unchanged();
                self.stage.look(work).await?;
                work.fallen = work.handoff.is_none();
                if !work.fallen {
                    break;
                }
                let left = until.saturating_duration_since(Instant::now());
                match tokio::time::timeout(left, changes.changed()).await {
                    Ok(Ok(())) => (),
                    Ok(Err(_)) => return Err(broken("the ledger stopped")),
                    Err(_) => return Err(broken(format!("nobody tried {} again", work.id))),
                }
            }
            work.retried = true;
            work.steps += 1;
        }
        Ok(())
    }

    /// Has the callers do something with each.
    async fn each<T, U, F>(
        &self,
        all: Vec<T>,
        does: impl Fn(Arc<Stage>, T) -> F + Copy + Send + Sync + 'static,
    ) -> Result<Vec<U>, BenchError>
    where
        T: Send + 'static,
        U: Send + 'static,
        F: Future<Output = Result<U, BenchError>> + Send + 'static,
    {
        let count = all.len();
        let left = Arc::new(Mutex::new(all.into_iter()));
        let callers = (0..self.callers.min(count)).map(|_| {
            let (left, stage) = (left.clone(), self.stage.clone());
            tokio::spawn(async move {
                let mut done = Vec::new();
                loop {
                    let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(next) = next else { return Ok::<_, BenchError>(done) };
                    done.push(does(stage.clone(), next).await?);
                }
            })
        });
        let mut done = Vec::with_capacity(count);
        for caller in callers.collect::<Vec<_>>() {
            done.extend(caller.await.map_err(|_| broken("a caller panicked"))??);
        }
        Ok(done)
    }
}

impl Stage {
    fn part(&self, n: usize) -> &Part {
        &self.parts[usize::from(is_nameless(n))]
    }

    async fn start(&self, n: usize) -> Result<Work, BenchError> {
        let start = Start {
            title: self.part(n).title.parse().map_err(broken)?,
            priority: Default::default(),
            variables: Changes::new(),
            constraints: Default::default(),
            class: None,
            enable_handoffs: None,
            definition: Some(Follows { name: self.definition.workflow.clone(), version: None }),
        };
        let answer = load::ask(&self.engine, Actor::Operator, Command::Start(start)).await?;
        let mut work = Work {
            n,
            id: answer.workflow.ok_or_else(|| broken("a start made no workflow"))?,
            state: self.definition.start.clone(),
            fence: Fence::default(),
            handoff: None,
            fallen: false,
            retried: false,
            steps: 1,
            latencies: Vec::new(),
        };
        self.look(&mut work).await?;
        Ok(work)
    }

    /// Finds out where the work is, when that did not come with an answer.
    async fn look(&self, work: &mut Work) -> Result<(), BenchError> {
        let view = self.engine.workflow(Actor::Operator, work.id).await.map_err(broken)?;
        let machine = view.machine.ok_or_else(|| broken("it follows no definition"))?;
        work.state = machine.state;
        let open = view.handoffs.iter().rev().find(|line| line.state == "initiated");
        work.handoff = open.map(|line| line.id);
        Ok(())
    }

    /// Takes the work if it waits to be taken, and does what its state asks for.
    async fn step(&self, work: &mut Work) -> Result<Answer, BenchError> {
        let spec = self.definition.states.get(&work.state);
        let agent = spec.and_then(|spec| spec.agent.clone());
        let agent = agent.ok_or_else(|| broken(format!("nobody works in {}", work.state)))?;
        if let Some(handoff) = work.handoff.take() {
            let accept = Command::Accept(Accept::of(handoff));
            let answer = load::ask(&self.engine, Actor::Agent(agent.clone()), accept).await?;
            work.fence = answer.fence.unwrap_or_default();
        }
        work.steps += 1;
        if spec.is_some_and(|spec| spec.wait.is_some()) {
            return self.quotes(work, agent).await;
        }
        let answers = self.part(work.n).answers.get(work.state.as_str());
        let (Some(first), Some(last)) =
            (answers.and_then(|all| all.first()), answers.and_then(|all| all.last()))
        else {
            return Err(broken(format!("the example has no answer in {}", work.state)));
        };
        if work.state.as_str() == FAILS_IN && fails_once(work.n) && !work.retried {
            return self.fails(work, agent, first).await;
        }
        self.completes(work, agent, last).await
    }

    async fn completes(
        &self,
        work: &mut Work,
        agent: AgentId,
        result: &Value,
    ) -> Result<Answer, BenchError> {
        let complete = Command::Complete(Complete {
            workflow: work.id,
            fence: Some(work.fence),
            result: Some(Body::Inline(BodyJson::try_from(result.clone()).map_err(broken)?)),
            note: None,
            context_updates: ContextUpdates::default(),
            used: None,
        });
        let begun = Instant::now();
        let answer = load::ask(&self.engine, Actor::Agent(agent), complete).await?;
        work.latencies.push(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        for event in &answer.events {
            if let Event::Moved(moved) = event {
                work.state = moved.step.state.clone();
                work.fence = moved.fence.unwrap_or(work.fence);
            }
        }
        work.handoff = answer.handoff;
        Ok(answer)
    }

    async fn fails(
        &self,
        work: &mut Work,
        agent: AgentId,
        error: &Value,
    ) -> Result<Answer, BenchError> {
        let fail = Command::FailStep(Box::new(FailStep {
            workflow: work.id,
            fence: Some(work.fence),
            error: serde_json::from_value(error.clone()).map_err(broken)?,
            context_updates: ContextUpdates::default(),
            used: None,
        }));
        work.fallen = true;
        load::ask(&self.engine, Actor::Agent(agent), fail).await
    }

    /// Operators send their quotes, and the work goes on by itself.
    async fn quotes(&self, work: &mut Work, agent: AgentId) -> Result<Answer, BenchError> {
        let quote = |n: usize| json!({ "quoteId": format!("q-{n}"), "price": 18_000 + 500 * n });
        let quotes: Vec<Value> = (1..=3).map(quote).collect();
        let changes = json!({ "quotes": quotes });
        let write = Command::SetVariables(SetVariables {
            workflow: work.id,
            fence: Some(work.fence),
            changes: serde_json::from_value(changes).map_err(broken)?,
            if_version: None,
        });
        let answer = load::ask(&self.engine, Actor::Agent(agent), write).await?;
        self.look(work).await?;
        Ok(answer)
    }
}
