//! The error monitor: what becomes of a step that failed. It is tried again after a while, or the
//! work ends with everything that a person needs to look into it.

use crate::decide::cancel::Ended;
use crate::decide::news;
use crate::definition::{Chosen, Definition, End, StateName};
use crate::effect::{Effect, News};
use crate::event::{Event, Moved};
use crate::handoff::{Handoff, Terms, Trigger};
use crate::id::{AgentId, CommandId, HandoffId, WorkflowId};
use crate::machine::{ErrorReport, Failure, Machine, Step, fixed};
use crate::text::{PayloadJson, Text};
use crate::time::Timestamp;
use crate::workflow::{Ending, Workflow};
use crate::world::World;

type Outcome = (Vec<Event>, Vec<Effect>);

/// A step that failed.
pub(super) struct Fallen<'a> {
    pub(super) world: &'a World,
    pub(super) id: WorkflowId,
    pub(super) workflow: &'a Workflow,
    pub(super) machine: &'a Machine,
    pub(super) definition: &'a Definition,
    /// What went wrong.
    pub(super) error: ErrorReport,
    /// In which state: that of the step itself, which may not be recorded yet.
    pub(super) state: &'a StateName,
    /// Where trying again begins, if not there.
    pub(super) back_to: Option<&'a StateName>,
    /// Whose step it was.
    pub(super) agent: AgentId,
    /// A handoff whose end is told already.
    pub(super) ended: Option<HandoffId>,
    /// What the rule says that sends it to the monitor, if there is one.
    pub(super) chosen: Option<&'a Chosen>,
    /// The handoff to the monitor.
    pub(super) handoff: HandoffId,
}

impl Fallen<'_> {
    /// What becomes of it.
    pub(super) fn outcome(self, now: Timestamp) -> Outcome {
        let state = self.state;
        let attempt = self.machine.tried(state);
        let chosen = self.chosen.map(|chosen| &chosen.next_state);
        let back_to = chosen.or(self.back_to).unwrap_or(state);
        let ends = self.definition.states.get(back_to).is_some_and(|spec| spec.end.is_some());
        let told = self.error.as_told(self.chosen.and_then(|chosen| chosen.payload.as_ref()));
        let again = told.retryable && !ends;
        let retry = self.definition.retry(state);
        let failure = Failure {
            state: state.clone(),
            agent: self.agent.clone(),
            at: now,
            attempt,
            back_to: if ends { state.clone() } else { back_to.clone() },
            retry_at: retry.next(attempt, now).filter(|_| again),
            error: told,
        };
        let (mut events, mut effects) = self.left_open();
        events.push(Event::StepFailed(Box::new(failure.clone())));
        if self.owner() != AgentId::error_monitor() {
            events.extend(self.handed(&failure));
        }
        if failure.retry_at.is_none() {
            let end = self.chosen.map(|chosen| &chosen.next_state).filter(|_| ends);
            let why = gave_up(&failure, again, retry.times);
            events.extend(self.closed(end, why, failure));
            let starter = &self.workflow.started_by;
            effects.extend(news::tell(self.world, starter, self.id, self.handoff, News::Failed));
        }
        (events, effects)
    }

    fn owner(&self) -> AgentId {
        self.workflow.owning().map_or_else(AgentId::operator, |hold| hold.agent.clone())
    }

    /// What its holder passed on hangs in the air: nobody will take its results.
    fn left_open(&self) -> Outcome {
        let Self { world, id, workflow, .. } = *self;
        let reason = fixed("the step that asked for it failed");
        let (mut events, mut effects) =
            Ended { world, id, workflow, by: self.owner(), reason }.all();
        events.retain(|event| self.ended.is_none() || event.handoff() != self.ended);
        effects.retain(|effect| self.ended.is_none() || effect.about() != self.ended);
        (events, effects)
    }

    /// The handoff to the monitor, which takes it at once.
    fn handed(&self, failure: &Failure) -> Vec<Event> {
        let monitor = AgentId::error_monitor();
        let terms = Box::new(self.terms(failure));
        let released = self.workflow.owning().map(|hold| hold.locks.iter().cloned().collect());
        let (variables, artifacts, report, guarded) = Default::default();
        let begun = Event::Initiated {
            terms,
            variables,
            artifacts,
            report,
            answer_by: None,
            queued: false,
            guarded,
        };
        let accepted = Event::Accepted {
            handoff: self.handoff,
            by: monitor,
            fence: self.workflow.fence.next(),
            return_by: None,
            estimated_completion: None,
            done_by: failure.retry_at,
            traceparent: None,
            slice: Default::default(),
        };
        let completed = Event::Completed {
            handoff: self.handoff,
            result: None,
            variables: Default::default(),
            artifacts: Vec::new(),
            late: false,
            released: released.unwrap_or_default(),
        };
        vec![begun, accepted, completed]
    }

    fn terms(&self, failure: &Failure) -> Terms {
        let made = self.chosen.and_then(|chosen| chosen.payload.clone());
        let payload = PayloadJson::try_from(made.unwrap_or_else(|| failure.error.as_json())).ok();
        let task = "handle_error".parse().expect("a fixed name");
        let step = Step {
            task,
            rule: self.chosen.map(|chosen| chosen.rule.clone()),
            ..Step::of(self.definition, &failure.state, None, payload, failure.attempt)
        };
        let reason = self.chosen.map_or(&failure.error.error_message, |chosen| &chosen.reason);
        let priority = self.chosen.and_then(|chosen| chosen.priority);
        let from = (self.owner(), self.workflow.owner);
        Terms {
            trigger: Trigger::Escalation,
            priority: priority.unwrap_or(self.workflow.priority),
            step: Some(Box::new(step)),
            traceparent: self.workflow.trace_under(self.id, self.workflow.owner),
            ..Terms::plain(self.handoff, from, AgentId::error_monitor(), reason.clone())
        }
    }

    /// The end of work that could not be done.
    fn closed(&self, end: Option<&StateName>, why: Text, failure: Failure) -> Vec<Event> {
        let monitor = AgentId::error_monitor();
        let mut failures = self.machine.failures.clone();
        failures.push(failure);
        let state = end.or_else(|| self.definition.failure());
        let spec = state.and_then(|state| self.definition.states.get(state));
        let moved = state.map(|state| {
            let step = Box::new(Step::of(self.definition, state, None, None, 0));
            let moved = Moved::ending(self.state.clone(), step, monitor.clone());
            Event::Moved(Box::new(Moved { reason: why.clone(), ..moved }))
        });
        let ending = match spec.and_then(|spec| spec.end) {
            Some(End::Cancelled) => Ending::Cancelled { reason: why },
            Some(End::Failed | End::Completed) | None => {
                Ending::Failed { reason: why, state: self.state.clone(), failures }
            }
        };
        let closed = Event::Closed { by: monitor, ending, usage: None, released: Vec::new() };
        moved.into_iter().chain([closed]).collect()
    }
}

/// Why it is not tried again.
fn gave_up(failure: &Failure, again: bool, times: u8) -> Text {
    let Failure { error, state, agent, .. } = failure;
    let ErrorReport { error_type, error_message, .. } = error;
    let why = match again {
        true => format!("tried again {times} times"),
        false => "not to be tried again".to_owned(),
    };
    let words = format!("{} in {state} ({agent}), {why}: {error_message}", error_type.as_str());
    let short: String = words.chars().take(1_000).collect();
    short.parse().unwrap_or_else(|_| fixed("a step failed"))
}

/// Why nobody took a handoff.
pub(in crate::decide) struct Untaken<'a> {
    /// The kind of error.
    pub(in crate::decide) kind: &'static str,
    /// In words.
    pub(in crate::decide) why: &'a Text,
    /// Whether it is tried again.
    pub(in crate::decide) again: bool,
}

/// What becomes of a handoff that nobody took, in work with a definition: the monitor gets it.
/// Nothing for other work, or for a handoff that no rule began.
pub(in crate::decide) fn untaken(
    world: &World,
    (id, workflow): (WorkflowId, &Workflow),
    handoff: &Handoff,
    error: Untaken<'_>,
    now: Timestamp,
) -> Option<Outcome> {
    let step = handoff.terms.step.as_ref()?;
    let machine = workflow.machine.as_deref()?;
    let definition = world.definitions.get(&machine.definition)?;
    let error = ErrorReport::found(error.kind, error.why.as_str(), error.again);
    let key = format!("monitor {}", handoff.terms.id);
    let fallen = Fallen {
        world,
        id,
        workflow,
        machine,
        definition,
        error,
        state: &step.state,
        back_to: None,
        agent: handoff.to.clone(),
        ended: Some(handoff.terms.id),
        chosen: None,
        handoff: CommandId::from_key("coordinator", &key).handoff(),
    };
    Some(fallen.outcome(now))
}
