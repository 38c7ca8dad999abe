//! Work with a definition: its rules are judged on the states that decide it, at the same moment,
//! and what they came to is recorded with the move.

mod facts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use baton_protocol::command::{Actor, Command, Stir, Submission};
use baton_protocol::definition::{Definition, DefinitionId, RuleId, Verdict};
use baton_protocol::event::{Decision, Event, StreamId};
use baton_protocol::id::{AgentId, CommandId, WorkflowId};
use baton_protocol::policy::Matched;
use baton_protocol::refusal::{Refusal, Unmoved};
use baton_protocol::time::Timestamp;
use baton_protocol::{Judged, Said, Stirred, World, advance, rests};
use baton_rules::{Compiled, ExprError, Problem, Severity};
use baton_store::{LedgerError, Scope};
use serde_json::Value;

use crate::engine::{Engine, SubmitError};
use crate::meter::{Histogram, Reading};
use facts::WorkFacts;

/// Definitions whose rules were read, as long as somebody follows them.
const KEPT_MAX: usize = 64;

/// Bounds of what it takes to judge a step, in nanoseconds.
const JUDGING_NANOS: &[u64] = &[
    2_000, 5_000, 7_500, 10_000, 12_500, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000, 50_000,
    75_000, 100_000, 250_000, 1_000_000, 10_000_000,
];

/// The rules of definitions, read once.
pub(crate) struct Machines {
    known: Mutex<HashMap<DefinitionId, Arc<Compiled>>>,
    /// How long it took to judge each step, in nanoseconds.
    took: Histogram,
}

impl Default for Machines {
    fn default() -> Self {
        Self { known: Mutex::default(), took: Histogram::new(JUDGING_NANOS) }
    }
}

impl Machines {
    /// The rules of a definition. It was checked when it became known, so they can be read.
    fn of(&self, definition: &Definition) -> Result<Arc<Compiled>, Refusal> {
        let id = definition.id();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = known.get(&id) {
            return Ok(compiled.clone());
        }
        let compiled = Compiled::of(definition).map_err(|problems| {
            let why = problems.first().map(|problem| problem.message.clone());
            Unmoved::BadDefinition { definition: id.clone(), why: why.unwrap_or_default() }
        })?;
        if known.len() >= KEPT_MAX
            && let Some(other) = known.keys().next().cloned()
        {
            known.remove(&other);
        }
        let compiled = Arc::new(compiled);
        known.insert(id, compiled.clone());
        Ok(compiled)
    }

    /// What the rules say; nothing while the work still waits.
    fn asked(&self, work: &Stirred<'_>, given: Option<&Value>) -> Result<Option<Verdict>, Refusal> {
        let compiled = match self.of(work.definition) {
            Ok(compiled) => compiled,
            Err(why) => return Ok(Some(broken(&why.to_string()))),
        };
        // The first step reads the rules, which is no part of judging it.
        let begun = Instant::now();
        let facts = WorkFacts::of(work, given);
        match waited(&compiled, work, &facts)? {
            Ok(true) => (),
            Ok(false) => return Ok(None),
            Err(why) => return Ok(Some(broken(&why))),
        }
        let (state, from, signal) = (&work.machine.state, &work.from, &work.signal);
        let verdict = compiled.judge(work.definition, state, from, signal, &facts);
        self.took.observe(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
        Ok(Some(fitting(verdict)))
    }

    /// Decides what becomes of work that something stirred. `given` is a result that was too large
    /// for a record; `approval` tells which rules of the policy a decision meets.
    pub(crate) fn advanced(
        &self,
        (world, now): (&World, Timestamp),
        ask: &Submission,
        work: &Stirred<'_>,
        given: Option<&Value>,
        approval: impl Fn(&Decision) -> BTreeMap<AgentId, Matched>,
    ) -> Result<Decision, Refusal> {
        let verdict = match work.asks() {
            true => match self.asked(work, given)? {
                Some(verdict) => verdict,
                None => return Ok(nothing(work.id)),
            },
            false => Verdict::None { tried: Vec::new() },
        };
        let mut judged = Judged { verdict, matched: BTreeMap::new() };
        let decision = advance(world, ask, work, &judged, now)?;
        judged.matched = approval(&decision);
        match judged.matched.is_empty() {
            true => Ok(decision),
            false => advance(world, ask, work, &judged, now),
        }
    }

    /// How long it took to judge each step so far, in nanoseconds.
    pub(crate) fn took(&self) -> Reading {
        self.took.read()
    }
}

/// Whether what the state waits for is there, if it waits; or why nobody can tell.
fn waited(
    compiled: &Compiled,
    work: &Stirred<'_>,
    facts: &WorkFacts<'_>,
) -> Result<Result<bool, String>, Refusal> {
    let Some(until) = work.until() else { return Ok(Ok(true)) };
    let state = &work.machine.state;
    let saw = match compiled.waits(state, facts) {
        Ok(true) => return Ok(Ok(true)),
        Ok(false) => compiled.waits_saw(state, facts),
        // A variable that it looks at may not be there yet.
        Err(ExprError::Missing { path }) => format!("{path} is missing"),
        Err(error) => return Ok(Err(format!("what {state} waits for: {error}"))),
    };
    match &work.said {
        Said::Signal(_) => {
            let (state, until) = (state.clone(), until.to_owned());
            Err(Unmoved::StillWaiting { state, until, saw }.into())
        }
        Said::Done(_)
        | Said::Failed(_)
        | Said::TimeUp(_)
        | Said::Waited
        | Said::Retry(_)
        | Said::Begins
        | Said::Person(_) => Ok(Ok(false)),
    }
}

/// What nobody can judge.
fn broken(why: &str) -> Verdict {
    let short: String = why.chars().take(1_000).collect();
    let why = short.parse().unwrap_or_else(|_| "it cannot be judged".parse().expect("a text"));
    Verdict::Broken { rule: "definition".parse().expect("a rule's name"), why }
}

/// A verdict whose payload can be recorded.
fn fitting(verdict: Verdict) -> Verdict {
    let too_large = |rule: &RuleId, payload: &Value| {
        let fits = baton_protocol::text::PayloadJson::try_from(payload.clone());
        let why = fits.err()?.to_string();
        let why = format!("its payload cannot travel: {why}").parse().ok()?;
        Some(Verdict::Broken { rule: rule.clone(), why })
    };
    match &verdict {
        Verdict::Chosen(chosen) => {
            let payload = chosen.payload.as_ref();
            payload.and_then(|payload| too_large(&chosen.rule, payload)).unwrap_or(verdict)
        }
        Verdict::None { .. } | Verdict::Broken { .. } => verdict,
    }
}

fn nothing(id: WorkflowId) -> Decision {
    Decision { stream: StreamId::Workflow(id), events: Vec::new(), effects: Vec::new() }
}

/// Refuses a definition that does not hold together.
pub(crate) async fn check_definition(definition: Definition) -> Result<(), Refusal> {
    let id = definition.id();
    // It may take a while, and nobody else should wait for it.
    let looked = tokio::task::spawn_blocking(move || baton_rules::check_definition(&definition));
    let problems = looked.await.unwrap_or_default();
    match problems.into_iter().find(|problem| problem.severity == Severity::Error) {
        None => Ok(()),
        Some(Problem { path, message, .. }) => {
            let why = if path.is_empty() { message } else { format!("{path}: {message}") };
            Err(Unmoved::BadDefinition { definition: id, why }.into())
        }
    }
}

/// Whether what was decided may let work go on by itself.
pub(crate) fn may_stir(world: &World, decision: &Decision) -> bool {
    let StreamId::Workflow(id) = decision.stream else { return false };
    let begins = |event: &Event| matches!(event, Event::Started { follows: Some(_), .. });
    let waits = |event: &Event| matches!(event, Event::Moved(moved) if moved.waits);
    let accepts = |event: &Event| match event {
        Event::VariablesSet { .. } | Event::Accepted { .. } => true,
        Event::Completed { variables, .. } | Event::Initiated { variables, .. } => {
            !variables.is_empty()
        }
        _ => false,
    };
    if decision.events.iter().any(|event| begins(event) || waits(event)) {
        return true;
    }
    let machine = world.workflows.get(&id).and_then(|work| work.machine.as_ref());
    machine.is_some_and(|machine| machine.step.waits) && decision.events.iter().any(accepts)
}

/// Work that may go on by itself, until somebody has looked at it. Whoever asked for what stirred
/// it looks; should its caller go away first, the timers do.
#[derive(Default)]
pub(crate) struct Stirring(Mutex<BTreeSet<WorkflowId>>);

impl Stirring {
    fn known(&self) -> MutexGuard<'_, BTreeSet<WorkflowId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, id: WorkflowId) {
        self.known().insert(id);
    }

    fn done(&self, id: WorkflowId) {
        self.known().remove(&id);
    }

    fn left(&self) -> Vec<WorkflowId> {
        self.known().iter().copied().collect()
    }
}

impl Engine {
    /// How long it took to judge each step of work with a definition, in nanoseconds, since this
    /// engine was opened: what the rules look at is gathered, and they are tried until one holds.
    pub fn judging(&self) -> Reading {
        self.judge.machines.took()
    }

    /// Lets work go on that does so by itself.
    pub(crate) async fn stir(
        &self,
        workflow: WorkflowId,
        after: u64,
        depth: usize,
    ) -> Result<(), LedgerError> {
        let id = CommandId::from_key("coordinator", &format!("stir {workflow} {after}"));
        let command = Command::Stir(Stir { workflow, depth });
        self.stirring.done(workflow);
        match Box::pin(self.submit(Submission { id, actor: Actor::Coordinator, command })).await {
            Ok(_) | Err(SubmitError::Refused(_)) => Ok(()),
            Err(SubmitError::Failed(failure)) => Err(failure),
        }
    }

    /// Looks at everything that waits: what it waits for may have come just before a crash.
    pub(crate) async fn stir_all(&self) -> Result<(), LedgerError> {
        let waiting: Vec<WorkflowId> = self
            .look(Scope::Everything, |world| {
                let ids = world.workflows.keys();
                ids.filter(|id| rests(world, **id).is_some()).copied().collect()
            })
            .await?;
        let now = self.clock.now().as_micros().unsigned_abs();
        for workflow in waiting {
            self.stir(workflow, now, 0).await?;
        }
        Ok(())
    }

    /// Looks at work whose mover went away before it could.
    pub(crate) async fn stir_left(&self) -> Result<(), LedgerError> {
        let now = self.clock.now().as_micros().unsigned_abs();
        for workflow in self.stirring.left() {
            self.stir(workflow, now, 0).await?;
        }
        Ok(())
    }
}
