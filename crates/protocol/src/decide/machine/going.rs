//! Where a move leads: to an end, or to whoever goes on in the next state.

use super::advance::Go;
use super::choice::Choice;
use super::{Said, Stirred};
use crate::agent::Requirement;
use crate::command::{Actor, Command, Pass, PassKind, PassValidation, Submission};
use crate::decide::cancel::Ended;
use crate::decide::{arrival, news, pass};
use crate::definition::{End, StateName, StateSpec};
use crate::event::{Decision, Event, Moved, StreamId};
use crate::handoff::Trigger;
use crate::id::AgentId;
use crate::machine::{ErrorReport, Step, fixed};
use crate::refusal::{Refusal, Unmoved};
use crate::workflow::Ending;

impl Go<'_> {
    /// It goes on without anybody to ask. Should nobody be allowed to take it, that is a failure.
    pub(super) fn again(&self, choice: &Choice) -> Result<Decision, Refusal> {
        self.to(choice).or_else(|refusal| {
            let error = match &self.work.said {
                // It is still that error which is to be got over.
                Said::Retry(failure) => failure.error.clone(),
                _ => ErrorReport::found("handoff_refused", &refusal.to_string(), true),
            };
            self.fails(error, None)
        })
    }

    pub(super) fn to(&self, choice: &Choice) -> Result<Decision, Refusal> {
        let Stirred { machine, definition, .. } = *self.work;
        let Some(spec) = definition.states.get(&choice.next) else {
            return Err(self.undeclared(&choice.next));
        };
        let begins = matches!(self.work.said, Said::Begins) && machine.state == definition.start;
        if !begins && !definition.allows(&machine.state, &choice.next) && !self.retries(choice) {
            return Err(self.undeclared(&choice.next));
        }
        match spec.end {
            Some(end) => self.ends(choice, end),
            None => self.goes_on(choice, spec),
        }
    }

    /// Whether a step is tried again where its rule said that this begins.
    fn retries(&self, choice: &Choice) -> bool {
        matches!(&self.work.said, Said::Retry(failure) if failure.back_to == choice.next)
    }

    fn undeclared(&self, to: &StateName) -> Refusal {
        let from = self.work.machine.state.clone();
        let allowed = self.work.definition.after(&from).to_vec();
        Unmoved::UndeclaredTransition { from, to: to.clone(), allowed }.into()
    }

    fn ends(&self, choice: &Choice, end: End) -> Result<Decision, Refusal> {
        let Stirred { id, workflow, machine, .. } = *self.work;
        let by = self.mover();
        let reason = fixed("the work is over");
        let ended = Ended { world: self.world, id, workflow, by: by.clone(), reason };
        let (mut events, effects) = ended.all();
        let moved = self.moved(choice)?;
        let (result, usage) = (moved.result.clone(), moved.usage.clone());
        events.push(Event::Moved(Box::new(Moved {
            result: None,
            usage: None,
            completes: false,
            ..moved
        })));
        let reason = choice.reason.clone();
        let ending = match end {
            End::Completed => {
                let (variables, artifacts, report) = Default::default();
                Ending::Completed { result, note: Some(reason), variables, artifacts, report }
            }
            End::Cancelled => Ending::Cancelled { reason },
            End::Failed => {
                let (state, failures) = (machine.state.clone(), machine.failures.clone());
                Ending::Failed { reason, state, failures }
            }
        };
        let released = workflow.owning().map(|hold| hold.locks.iter().cloned().collect());
        let released = released.unwrap_or_default();
        events.push(Event::Closed { by, ending, usage, released });
        Ok(Decision { stream: StreamId::Workflow(id), events, effects })
    }

    fn goes_on(&self, choice: &Choice, spec: &StateSpec) -> Result<Decision, Refusal> {
        let Stirred { id, workflow, .. } = *self.work;
        let owner = self.work.owner();
        let to = choice.to.as_ref().or(spec.agent.as_ref()).unwrap_or(&owner).clone();
        let mut moved = self.moved(choice)?;
        let mut events = Vec::new();
        let mut effects = Vec::new();
        if self.ends_what_is_open() {
            // Whatever was under way is not asked for any more.
            let reason = moved.reason.clone();
            let ended = Ended { world: self.world, id, workflow, by: owner.clone(), reason };
            (events, effects) = ended.all();
        }
        if to == owner {
            let fence = workflow.fence.next();
            moved.fence = Some(fence);
            moved.waits = moved.step.waits;
            let profile = &self.world.agent(&owner)?.profile;
            let own = arrival::time_up(profile, workflow.constraints.deadline, self.now);
            let span = moved.step.timeout.map(|span| span.after(self.now));
            moved.until = arrival::earliest(span, own.filter(|_| !moved.waits));
            let hold = workflow.owning();
            moved.released = hold.map(|h| h.locks.iter().cloned().collect()).unwrap_or_default();
            let handoff = hold.and_then(|hold| hold.handoff);
            if let (false, Some(handoff)) = (moved.waits, handoff) {
                effects.extend(news::runs(profile, id, handoff, fence));
            }
            events.push(Event::Moved(Box::new(moved)));
            return Ok(Decision { stream: StreamId::Workflow(id), events, effects });
        }
        let (more, brought) = match self.passed(choice, to.clone(), &owner, &moved.step) {
            Ok(passed) => (passed.events, passed.effects),
            // It passes by itself, and what is done is done: the next step is what waits.
            Err(refusal @ Refusal::CircuitBreakerOpen { .. }) if self.work.is_done() => {
                self.later(&choice.next, to, &refusal)
            }
            Err(refusal) => return Err(refusal),
        };
        events.push(Event::Moved(Box::new(moved)));
        events.extend(more);
        effects.extend(brought);
        Ok(Decision { stream: StreamId::Workflow(id), events, effects })
    }

    /// Whether whatever its holder passed on is not asked for any more once the work goes on.
    /// Whoever is done has seen to that itself.
    fn ends_what_is_open(&self) -> bool {
        match &self.work.said {
            Said::Person(_) | Said::TimeUp(_) | Said::Waited | Said::Signal(_) => true,
            Said::Done(_) | Said::Failed(_) | Said::Retry(_) | Said::Begins => false,
        }
    }

    /// The handoff to whoever goes on, decided like any other.
    fn passed(
        &self,
        choice: &Choice,
        to: AgentId,
        owner: &AgentId,
        step: &Step,
    ) -> Result<Decision, Refusal> {
        let part = self.work.definition.agents.get(&to);
        let needs = part.map(|part| part.capabilities.clone()).unwrap_or_default();
        let require = |capability_id| Requirement { capability_id, min_proficiency: None };
        let trigger = match &self.work.said {
            Said::Retry(_) | Said::TimeUp(_) => Trigger::Timeout,
            Said::Begins | Said::Person(_) | Said::Signal(_) => Trigger::ExplicitRequest,
            Said::Done(_) | Said::Failed(_) | Said::Waited => Trigger::TaskCompletion,
        };
        let pass = Pass {
            workflow: Some(self.work.id),
            fence: Some(self.work.workflow.owner),
            to_agent: Some(to),
            kind: PassKind::Sequential,
            reason: choice.reason.clone(),
            trigger: Some(trigger),
            priority: choice.priority,
            validation: PassValidation {
                required_capabilities: needs.into_iter().map(require).collect(),
                autonomy_budget: None,
            },
            matched: self.matched.clone(),
            step: Some(Box::new(step.clone())),
            ..Pass::plain(choice.reason.clone())
        };
        let actor = match (&self.work.said, owner.is_operator()) {
            (_, true) => Actor::Operator,
            (Said::Person(_), false) => Actor::OperatorAs(owner.clone()),
            (_, false) => Actor::Agent(owner.clone()),
        };
        let command = Command::Pass(Box::new(pass.clone()));
        let ask = Submission { id: self.ask.id, actor, command };
        pass::decide(self.world, &ask, &pass, self.now)
    }
}
