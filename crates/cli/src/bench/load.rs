//! The load: callers that pass, accept, return and complete as fast as they are answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_engine::view::Answer;
use baton_engine::{Engine, QueryError, SubmitError};
use baton_protocol::agent::Profile;
use baton_protocol::command::{
    Accept, Actor, Command, Complete, ContextUpdates, GiveBack, Pass, PassAudit, PassContext,
    PassKind, PassValidation, ResultContent, ReturnAudit, ReturnProtocol,
};
use baton_protocol::handoff::{Aggregation, ContentType, ReturnStatus, Routing};
use baton_protocol::id::{AgentId, Fence, HandoffId, WorkflowId};
use baton_protocol::text::{Body, BodyJson, Text};
use baton_protocol::time::Allowance;

use super::BenchError;

fn failed(error: &SubmitError) -> BenchError {
    BenchError::Baton(baton_engine::causes(error))
}

pub(super) fn agent(role: &str, n: usize) -> AgentId {
    format!("{role}-{n}").parse().expect("a role and a number make a name")
}

pub(super) async fn ask(
    engine: &Engine,
    actor: Actor,
    command: Command,
) -> Result<Answer, BenchError> {
    engine.submit_new(actor, command).await.map_err(|error| failed(&error))
}

pub(super) fn profile(agent: &AgentId) -> Box<Profile> {
    Box::new(Profile::named(agent.clone()))
}

/// Makes a sender and a worker for each caller.
pub(super) async fn register(engine: &Engine, callers: usize) -> Result<(), BenchError> {
    for n in 0..callers {
        for role in ["sender", "worker"] {
            let register = Command::Register(profile(&agent(role, n)));
            ask(engine, Actor::Operator, register).await?;
        }
    }
    Ok(())
}

/// What one slice came to.
#[derive(Default)]
pub(super) struct Slice {
    pub(super) cycles: u64,
    /// Microseconds of each command.
    pub(super) latencies: Vec<u64>,
}

/// Runs all callers for about `span`.
pub(super) async fn slice(
    engine: &Arc<Engine>,
    callers: usize,
    span: Duration,
) -> Result<Slice, BenchError> {
    let until = Instant::now() + span;
    run(engine, callers, move |_| Instant::now() < until).await
}

/// Writes at least `records` records, and waits until they are indexed.
pub(super) async fn preload(
    engine: &Arc<Engine>,
    records: u64,
    callers: usize,
) -> Result<(), BenchError> {
    const RECORDS_PER_CYCLE: u64 = 5;
    register(engine, callers).await?;
    let each = records / RECORDS_PER_CYCLE / callers as u64 + 1;
    run(engine, callers, move |done| done < each).await?;
    caught_up(engine).await
}

async fn run(
    engine: &Arc<Engine>,
    callers: usize,
    go_on: impl Fn(u64) -> bool + Clone + Send + 'static,
) -> Result<Slice, BenchError> {
    let work = (0..callers).map(|n| {
        let (engine, go_on) = (engine.clone(), go_on.clone());
        tokio::spawn(async move { caller(&engine, n, go_on).await })
    });
    let mut all = Slice::default();
    for task in work.collect::<Vec<_>>() {
        let ended = |_| BenchError::Baton("a caller panicked".to_owned());
        let slice = task.await.map_err(ended)??;
        all.cycles += slice.cycles;
        all.latencies.extend(slice.latencies);
    }
    Ok(all)
}

async fn caller(
    engine: &Engine,
    n: usize,
    go_on: impl Fn(u64) -> bool,
) -> Result<Slice, BenchError> {
    let (sender, worker) = (agent("sender", n), agent("worker", n));
    let mut slice = Slice::default();
    while go_on(slice.cycles) {
        cycle(engine, &sender, &worker, &mut slice).await?;
        slice.cycles += 1;
    }
    Ok(slice)
}

/// One life cycle: four commands, five records.
async fn cycle(
    engine: &Engine,
    sender: &AgentId,
    worker: &AgentId,
    slice: &mut Slice,
) -> Result<(), BenchError> {
    let mut timed = async |agent: &AgentId, command: Command| {
        let start = Instant::now();
        let answer = ask(engine, Actor::Agent(agent.clone()), command).await?;
        slice.latencies.push(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
        Ok::<Answer, BenchError>(answer)
    };
    let passed = timed(sender, pass(worker)).await?;
    let (Some(handoff), Some(workflow)) = (passed.handoff, passed.workflow) else {
        return Err(BenchError::Baton("a pass made no handoff".to_owned()));
    };
    let accepted = timed(worker, accept(handoff)).await?;
    let fence = accepted.fence.unwrap_or_default();
    timed(worker, give_back(handoff, fence)).await?;
    timed(sender, complete(workflow, Fence::default().next())).await?;
    Ok(())
}

fn text(words: &str) -> Text {
    words.parse().expect("a fixed text within its limits")
}

pub(super) fn pass(worker: &AgentId) -> Command {
    let hour = Some(Allowance::from_secs(3600));
    Command::Pass(Box::new(Pass {
        workflow: None,
        fence: None,
        to_agent: Some(worker.clone()),
        to_agents: Vec::new(),
        aggregation: Aggregation::default(),
        peers_visible: false,
        kind: PassKind::Delegation,
        reason: text("measure how fast work is passed"),
        trigger: None,
        priority: None,
        context: PassContext::default(),
        validation: PassValidation::default(),
        return_protocol: ReturnProtocol { timeout: hour, ..ReturnProtocol::default() },
        audit: PassAudit::default(),
        routing: Routing::default(),
        matched: Default::default(),
        step: None,
    }))
}

pub(super) fn accept(handoff: HandoffId) -> Command {
    Command::Accept(Accept::of(handoff))
}

pub(super) fn complete(workflow: WorkflowId, fence: Fence) -> Command {
    Command::Complete(Complete {
        workflow,
        fence: Some(fence),
        result: None,
        note: None,
        context_updates: ContextUpdates::default(),
        used: None,
    })
}

pub(super) fn give_back(handoff: HandoffId, fence: Fence) -> Command {
    let body = BodyJson::try_from(serde_json::json!("done")).expect("a short text");
    Command::Return(Box::new(GiveBack {
        handoff,
        fence,
        status: ReturnStatus::Success,
        result: Some(ResultContent { content_type: ContentType::Text, body: Body::Inline(body) }),
        context_updates: ContextUpdates::default(),
        audit: ReturnAudit { tokens_consumed: Some(1_200), ..ReturnAudit::default() },
    }))
}

/// Waits until questions about history see everything.
pub(super) async fn caught_up(engine: &Engine) -> Result<(), BenchError> {
    // Any question to the index waits for it; this one is cheap.
    match engine.find(Actor::Operator, "0").await {
        Err(QueryError::Failed(failure)) => Err(BenchError::Baton(baton_engine::causes(&failure))),
        Ok(_) | Err(_) => Ok(()),
    }
}
