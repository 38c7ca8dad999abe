//! Work with a definition: what brings it on, and what follows from it.
//!
//! [`stirred`] tells whether a command moves such work and by which signal; the engine asks the
//! rules; [`advance`] decides with what they came to. [`rests`] tells of work that goes on by
//! itself: it has just begun, or what it waits for may be there.

mod advance;
mod choice;
mod define;
mod falling;
mod going;
mod monitor;
mod record;

pub use advance::{Judged, advance};
pub(super) use define::decide as define;
pub(super) use monitor::{Untaken, untaken};

use serde_json::Value;

use crate::command::{Actor, Command, Complete, FailStep, MoveTo, RaiseSignal, Submission};
use crate::decide::holder;
use crate::definition::{Definition, SignalName, StateName};
use crate::handoff::Kind;
use crate::id::{AgentId, Fence, WorkflowId};
use crate::machine::{ErrorReport, Failure, Machine};
use crate::refusal::{Refusal, Unmoved};
use crate::text::{Body, PayloadJson};
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// Work with a definition that something may move.
#[derive(Clone, Debug)]
pub struct Stirred<'a> {
    /// Which work.
    pub id: WorkflowId,
    /// The work itself.
    pub workflow: &'a Workflow,
    /// Where it stands.
    pub machine: &'a Machine,
    /// What it follows.
    pub definition: &'a Definition,
    /// Whose rules are asked.
    pub from: AgentId,
    /// The signal that brings them up.
    pub signal: SignalName,
    /// What it rests on.
    pub said: Said<'a>,
}

/// What a move rests on.
#[derive(Clone, Debug)]
pub enum Said<'a> {
    /// The agent is done.
    Done(&'a Complete),
    /// The agent failed.
    Failed(&'a FailStep),
    /// Time is up.
    TimeUp(ErrorReport),
    /// A signal came.
    Signal(Option<&'a PayloadJson>),
    /// What it waits for may be there.
    Waited,
    /// It is time to try again.
    Retry(&'a Failure),
    /// The work has just begun.
    Begins,
    /// A person moves it.
    Person(&'a MoveTo),
}

impl Stirred<'_> {
    /// What rules see as `result`. What was too large for a record is `given`.
    pub fn result(&self, given: Option<&Value>) -> Value {
        match &self.said {
            Said::Done(Complete { result: Some(Body::Inline(json)), .. }) => {
                json.as_value().clone()
            }
            Said::Done(_) => given.cloned().unwrap_or_default(),
            Said::Failed(fail) => fail.error.as_json(),
            Said::TimeUp(error) => error.as_json(),
            Said::Signal(payload) => {
                payload.map(|json| json.as_value().clone()).unwrap_or_default()
            }
            Said::Retry(failure) => failure.error.as_json(),
            Said::Waited | Said::Begins | Said::Person(_) => Value::Null,
        }
    }

    /// How often the step was tried again so far.
    pub fn attempt(&self) -> u8 {
        match &self.said {
            // It is counted already that it is tried again now.
            Said::Retry(failure) => failure.attempt,
            _ => self.machine.tried(&self.machine.state),
        }
    }

    /// Whether its agent is done with the step at hand.
    fn is_done(&self) -> bool {
        matches!(self.said, Said::Done(_))
    }

    /// Whether rules are to be asked.
    pub fn asks(&self) -> bool {
        !matches!(self.said, Said::Begins | Said::Person(_))
    }

    /// The condition that must hold before any rule is asked, if there is one.
    pub fn until(&self) -> Option<&str> {
        let wait = self.definition.states.get(&self.machine.state)?.wait.as_ref()?;
        let waits = matches!(self.said, Said::Waited | Said::Signal(_));
        wait.until
            .as_ref()
            .filter(|_| waits && wait.signal == self.signal)
            .map(|text| text.as_str())
    }

    /// Whoever holds the whole work.
    fn owner(&self) -> AgentId {
        self.workflow.owning().map_or_else(AgentId::operator, |hold| hold.agent.clone())
    }
}

/// Whether a command moves work with a definition, and by which signal.
pub fn stirred<'a>(
    world: &'a World,
    ask: &'a Submission,
    now: Timestamp,
) -> Result<Option<Stirred<'a>>, Refusal> {
    match &ask.command {
        Command::Complete(done) => match of(world, done.workflow) {
            Some(work) => {
                ready(&work, ask, done.fence)?;
                let signal = work.definition.complete(&work.machine.state);
                Ok(Some(Stirred { signal, said: Said::Done(done), ..work }))
            }
            None => Ok(None),
        },
        Command::FailStep(fail) => {
            let work = defined(world, fail.workflow)?;
            holds(&work, ask, fail.fence)?;
            let signal = work.definition.failed(&work.machine.state);
            Ok(Some(Stirred { signal, said: Said::Failed(fail), ..work }))
        }
        Command::RaiseSignal(raise) => raised(world, ask, raise).map(Some),
        Command::MoveTo(to) => {
            holder::operator_only(ask, "move work to another state")?;
            let work = defined(world, to.workflow)?;
            Ok(Some(Stirred { said: Said::Person(to), ..work }))
        }
        Command::Stir(stir) => {
            holder::coordinator_only(ask)?;
            Ok(rests(world, stir.workflow))
        }
        Command::WakeHold(wake) => {
            holder::coordinator_only(ask)?;
            Ok(of(world, wake.workflow).and_then(|work| time_up(work, wake.fence, now)))
        }
        _ => Ok(None),
    }
}

/// Work that goes on by itself: it has just begun, or what it waits for may be there.
pub fn rests(world: &World, id: WorkflowId) -> Option<Stirred<'_>> {
    let work = of(world, id)?;
    if passed(work.workflow).is_some() {
        return None;
    }
    let spec = work.definition.states.get(&work.machine.state)?;
    match &spec.wait {
        None if !work.machine.begun && work.owner() != AgentId::error_monitor() => {
            Some(Stirred { said: Said::Begins, ..work })
        }
        Some(wait) if wait.until.is_some() => {
            Some(Stirred { signal: wait.signal.clone(), said: Said::Waited, ..work })
        }
        Some(_) | None => None,
    }
}

/// The work `id`, if it follows a definition.
fn of(world: &World, id: WorkflowId) -> Option<Stirred<'_>> {
    let workflow = world.workflows.get(&id)?;
    let machine = workflow.machine.as_deref()?;
    let definition = world.definitions.get(&machine.definition)?;
    let spec = definition.states.get(&machine.state);
    let from = spec.and_then(|spec| spec.agent.clone()).unwrap_or_else(AgentId::operator);
    let signal = definition.complete(&machine.state);
    Some(Stirred { id, workflow, machine, definition, from, signal, said: Said::Begins })
}

/// The same, or why there is none.
fn defined(world: &World, id: WorkflowId) -> Result<Stirred<'_>, Refusal> {
    world.workflow(id)?;
    of(world, id).ok_or_else(|| Unmoved::WithoutDefinition { workflow: id }.into())
}

/// The handoff for good that nobody has taken yet.
fn passed(workflow: &Workflow) -> Option<&crate::handoff::Handoff> {
    workflow.open().find(|handoff| handoff.terms.kind == Kind::Sequential)
}

/// Refuses whoever does not hold the whole work.
fn holds(work: &Stirred<'_>, ask: &Submission, fence: Option<Fence>) -> Result<Fence, Refusal> {
    let workflow = work.workflow;
    let (fence, hold) = holder::hold(work.id, workflow, ask, fence)?;
    if hold.agent == AgentId::error_monitor() {
        // It has no words of its own: time and rules speak for it.
        let (definition, state) = (work.machine.definition.clone(), work.machine.state.clone());
        return Err(Unmoved::RulesDecide { definition, state }.into());
    }
    if let (true, Some(owning)) = (fence != workflow.owner, workflow.owning()) {
        let owner = owning.agent.clone();
        return Err(Refusal::NotOwner { agent: hold.agent.clone(), owner });
    }
    taken(work)?;
    Ok(fence)
}

/// Refuses to move work that is passed on and not taken yet.
fn taken(work: &Stirred<'_>) -> Result<(), Refusal> {
    match passed(work.workflow) {
        Some(out) => Err(Refusal::PassPending { handoff: out.terms.id, to: out.to.clone() }),
        None => Ok(()),
    }
}

/// The same, and whoever has parts of it still out.
fn ready(work: &Stirred<'_>, ask: &Submission, fence: Option<Fence>) -> Result<(), Refusal> {
    holds(work, ask, fence)?;
    let blocking = work.workflow.open().filter(|handoff| work.workflow.blocks_owner(handoff));
    let open: Vec<_> = blocking.map(|handoff| handoff.terms.id).collect();
    if open.is_empty() { Ok(()) } else { Err(Refusal::SegmentOpen { open }) }
}

fn raised<'a>(
    world: &'a World,
    ask: &'a Submission,
    raise: &'a RaiseSignal,
) -> Result<Stirred<'a>, Refusal> {
    let work = defined(world, raise.workflow)?;
    let known = heard(&work);
    if !known.contains(&raise.signal) {
        let (definition, state) = (work.machine.definition.clone(), work.machine.state.clone());
        let signal = raise.signal.clone();
        return Err(Unmoved::UnheardSignal { definition, state, signal, known }.into());
    }
    match (&ask.actor, raise.fence) {
        // A person brings news from outside, whoever holds the work.
        (Actor::Operator, None) => taken(&work)?,
        (
            Actor::Operator
            | Actor::Agent(_)
            | Actor::OperatorAs(_)
            | Actor::Viewer
            | Actor::Coordinator,
            fence,
        ) => drop(holds(&work, ask, fence)?),
    }
    let said = Said::Signal(raise.payload.as_ref());
    Ok(Stirred { signal: raise.signal.clone(), said, ..work })
}

/// The signals from outside that mean something in this state.
fn heard(work: &Stirred<'_>) -> Vec<SignalName> {
    let (definition, state) = (work.definition, &work.machine.state);
    let waits = definition.states.get(state).and_then(|spec| spec.wait.as_ref());
    let mut known: Vec<SignalName> = waits.map(|wait| wait.signal.clone()).into_iter().collect();
    for signal in definition.signals.keys().filter(|signal| !definition.awaits(signal)) {
        let brings = definition.candidates(state, &work.from, signal).next().is_some();
        if brings && !known.contains(signal) {
            known.push(signal.clone());
        }
    }
    known
}

/// What it means that the time of a hold is up; nothing, if it is not.
fn time_up(work: Stirred<'_>, fence: Fence, now: Timestamp) -> Option<Stirred<'_>> {
    let hold = work.workflow.holds.get(&fence).filter(|_| fence == work.workflow.owner)?;
    let due = hold.due.filter(|at| *at <= now && hold.suspended.is_none())?;
    if hold.agent == AgentId::error_monitor() {
        let failure = work.machine.failure()?;
        let (from, signal) = (AgentId::error_monitor(), SignalName::error_retry());
        return Some(Stirred { from, signal, said: Said::Retry(failure), ..work });
    }
    if !work.machine.begun {
        return Some(Stirred { said: Said::Begins, ..work });
    }
    let state: &StateName = &work.machine.state;
    let message = format!("{state} took longer than it may: its time was up at {due}");
    let error = ErrorReport::found("timeout", &message, false);
    let signal = work.definition.timeout(state);
    Some(Stirred { signal, said: Said::TimeUp(error), ..work })
}
