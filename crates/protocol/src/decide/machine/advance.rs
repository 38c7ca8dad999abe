//! What a move comes to: the next state, and who goes on there.

use std::collections::BTreeMap;

use super::choice::Choice;
use super::monitor::Fallen;
use super::{Said, Stirred};
use crate::agent::Requirement;
use crate::artifact::Artifact;
use crate::command::{
    Actor, Command, ContextUpdates, Pass, PassKind, PassValidation, Submission, Used,
};
use crate::decide::cancel::Ended;
use crate::decide::guard::limits;
use crate::decide::{arrival, artifact, course, news, pass, variables};
use crate::definition::{Chosen, End, StateName, StateSpec, Verdict};
use crate::effect::Effect;
use crate::event::{Decision, Event, Moved, StreamId};
use crate::handoff::Trigger;
use crate::id::AgentId;
use crate::limits::MOVES_AT_ONCE_MAX;
use crate::machine::{ErrorReport, Step, fixed};
use crate::policy::{Matched, Usage};
use crate::refusal::{Refusal, Unmoved};
use crate::text::{Body, Text};
use crate::time::Timestamp;
use crate::variables::Changes;
use crate::workflow::Ending;
use crate::world::World;

/// What was judged before a move is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What the definition's rules came to.
    pub verdict: Verdict,
    /// The policy's rules by which the handoff waits for a person.
    pub matched: BTreeMap<AgentId, Matched>,
}

/// Decides what becomes of work with a definition.
pub fn advance(
    world: &World,
    ask: &Submission,
    work: &Stirred<'_>,
    judged: &Judged,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let go = Go { world, ask, work, matched: &judged.matched, now };
    let definition = || work.machine.definition.clone();
    let state = || work.machine.state.clone();
    match (&work.said, &judged.verdict) {
        (Said::Begins, _) => go.again(&go.first()?),
        (Said::Person(to), _) => go.to(&Choice::of_person(to)),
        (Said::Waited, _) if depth(ask) >= MOVES_AT_ONCE_MAX => {
            let words = format!("{MOVES_AT_ONCE_MAX} moves followed from each other at once");
            go.fails(ErrorReport::found("endless_moves", &words, false), None)
        }
        (_, Verdict::Chosen(chosen)) if chosen.to == Some(AgentId::error_monitor()) => {
            go.fails(go.error(&chosen.reason), Some(chosen))
        }
        (Said::Retry(_), Verdict::Chosen(chosen)) => go.again(&Choice::of_rule(chosen)),
        (Said::Waited | Said::TimeUp(_), Verdict::Chosen(chosen)) => {
            go.again(&Choice::of_rule(chosen))
        }
        (_, Verdict::Chosen(chosen)) => go.to(&Choice::of_rule(chosen)),
        (Said::Retry(failure), Verdict::None { .. }) => {
            let words = format!("try {} again: {}", failure.state, failure.error.error_message);
            let short: String = words.chars().take(1_000).collect();
            let reason = short.parse().unwrap_or_else(|_| fixed("try again"));
            go.again(&Choice::plain(go.back_to(&failure.back_to), reason))
        }
        (Said::Failed(_) | Said::TimeUp(_), Verdict::None { .. }) => {
            go.fails(go.error(&fixed("a step failed")), None)
        }
        // Nobody is there who could correct it.
        (Said::Retry(_) | Said::Failed(_) | Said::TimeUp(_), Verdict::Broken { rule, why }) => {
            let error = go.error(&fixed("a step failed"));
            let words = format!("rule {rule}: {why} (after {})", error.error_message);
            go.fails(ErrorReport::found("rule_broken", &words, false), None)
        }
        (Said::Waited, Verdict::Broken { rule, why }) => {
            let words = format!("rule {rule}: {why}");
            go.fails(ErrorReport::found("rule_broken", &words, false), None)
        }
        (Said::Waited, Verdict::None { .. }) => {
            let words = format!("no rule holds for {} in {}", work.signal, work.machine.state);
            go.fails(ErrorReport::found("no_rule_holds", &words, false), None)
        }
        (Said::Done(_) | Said::Signal(_), Verdict::Broken { rule, why }) => {
            let (rule, why) = (rule.clone(), why.to_string());
            Err(Unmoved::RuleBroken { definition: definition(), rule, why }.into())
        }
        (Said::Done(_) | Said::Signal(_), Verdict::None { tried }) => {
            let (signal, tried) = (work.signal.clone(), tried.clone());
            let (definition, state) = (definition(), state());
            Err(Unmoved::NoRuleHolds { definition, state, signal, tried }.into())
        }
    }
}

/// How many moves went before that followed from each other.
fn depth(ask: &Submission) -> usize {
    match &ask.command {
        Command::Stir(stir) => stir.depth,
        _ => 0,
    }
}

struct Go<'a> {
    world: &'a World,
    ask: &'a Submission,
    work: &'a Stirred<'a>,
    matched: &'a BTreeMap<AgentId, Matched>,
    now: Timestamp,
}

impl Go<'_> {
    /// Where work begins: the first state that somebody is responsible for.
    fn first(&self) -> Result<Choice, Refusal> {
        let definition = self.work.definition;
        let Some(first) = definition.first() else {
            let why = format!("no state after {} has an agent", definition.start);
            let definition = self.work.machine.definition.clone();
            return Err(Unmoved::BadDefinition { definition, why }.into());
        };
        Ok(Choice::plain(first, self.work.workflow.title.clone()))
    }

    /// Where trying again begins: nobody would do anything in a state that nobody is responsible
    /// for.
    fn back_to<'s>(&'s self, state: &'s StateName) -> &'s StateName {
        let definition = self.work.definition;
        let owned = definition.states.get(state).is_some_and(|spec| spec.agent.is_some());
        if owned { state } else { definition.first().unwrap_or(state) }
    }

    /// What went wrong, in the agent's words or in ours.
    fn error(&self, reason: &Text) -> ErrorReport {
        match &self.work.said {
            Said::Failed(fail) => fail.error.clone(),
            Said::TimeUp(error) => error.clone(),
            Said::Retry(failure) => failure.error.clone(),
            Said::Done(_) | Said::Signal(_) | Said::Waited | Said::Begins | Said::Person(_) => {
                ErrorReport::found("error", reason.as_str(), false)
            }
        }
    }

    /// The step failed: the monitor has it.
    fn fails(&self, error: ErrorReport, chosen: Option<&Chosen>) -> Result<Decision, Refusal> {
        let Stirred { id, workflow, machine, definition, .. } = *self.work;
        let (agent, back_to) = match &self.work.said {
            Said::Retry(failure) => (failure.agent.clone(), Some(&failure.back_to)),
            _ => (self.work.from.clone(), None),
        };
        let (handoff, state, ended) = (self.ask.id.handoff(), &machine.state, None);
        let world = self.world;
        // What it wrote and used counts, whatever became of it.
        let (written, usage) = match &self.work.said {
            Said::Failed(fail) => self.written(&fail.context_updates, fail.used.as_ref())?,
            _ => Default::default(),
        };
        let mut events = Vec::new();
        if !written.0.is_empty() {
            let (fence, by) = (workflow.owner, self.work.owner());
            events.push(Event::VariablesSet { fence, by, changes: written.0 });
        }
        events.extend(written.1.into_iter().map(|artifact| Event::ArtifactAdded { artifact }));
        let fallen = Fallen {
            world,
            id,
            workflow,
            machine,
            definition,
            error,
            state,
            back_to,
            agent,
            ended,
            chosen,
            handoff,
        };
        let (more, effects) = fallen.outcome(self.now);
        events.extend(more);
        charged(&mut events, usage);
        Ok(Decision { stream: StreamId::Workflow(id), events, effects })
    }

    /// It goes on without anybody to ask. Should nobody be allowed to take it, that is a failure.
    fn again(&self, choice: &Choice) -> Result<Decision, Refusal> {
        self.to(choice).or_else(|refusal| {
            let error = match &self.work.said {
                // It is still that error which is to be got over.
                Said::Retry(failure) => failure.error.clone(),
                _ => ErrorReport::found("handoff_refused", &refusal.to_string(), true),
            };
            self.fails(error, None)
        })
    }

    fn to(&self, choice: &Choice) -> Result<Decision, Refusal> {
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

    /// Whose deed it is.
    fn mover(&self) -> AgentId {
        match &self.work.said {
            Said::Person(_) => self.ask.actor.agent(),
            _ => self.work.owner(),
        }
    }

    /// Whether whatever its holder passed on is not asked for any more once the work goes on.
    /// Whoever is done has seen to that itself.
    fn ends_what_is_open(&self) -> bool {
        match &self.work.said {
            Said::Person(_) | Said::TimeUp(_) | Said::Waited | Said::Signal(_) => true,
            Said::Done(_) | Said::Failed(_) | Said::Retry(_) | Said::Begins => false,
        }
    }

    /// The next step cannot begin now: the monitor tries it.
    fn later(&self, state: &StateName, agent: AgentId, why: &Refusal) -> (Vec<Event>, Vec<Effect>) {
        let Stirred { id, workflow, machine, definition, .. } = *self.work;
        let fallen = Fallen {
            world: self.world,
            id,
            workflow,
            machine,
            definition,
            error: ErrorReport::found("handoff_refused", &why.to_string(), true),
            state,
            back_to: None,
            agent,
            ended: None,
            chosen: None,
            handoff: self.ask.id.handoff(),
        };
        fallen.outcome(self.now)
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

    /// The move itself.
    fn moved(&self, choice: &Choice) -> Result<Moved, Refusal> {
        let Stirred { workflow, machine, definition, .. } = *self.work;
        let payload = match choice.keeps {
            true => machine.step.payload.clone().filter(|_| machine.state == choice.next),
            false => choice.payload.clone(),
        };
        let tried = match &self.work.said {
            Said::Retry(failure) => failure.attempt.saturating_add(1),
            _ => machine.tried(&choice.next),
        };
        let first = matches!(self.work.said, Said::Begins);
        let mut step = Step::of(definition, &choice.next, choice.rule.clone(), payload, tried);
        step.first = first;
        let ((mut written, artifacts), usage) = match &self.work.said {
            Said::Done(done) => self.written(&done.context_updates, done.used.as_ref())?,
            _ => Default::default(),
        };
        // The definition writes where it likes: it is the operator's own.
        written.extend(choice.set.clone());
        let result: Option<Body> = match &self.work.said {
            Said::Done(done) => done.result.clone(),
            _ => None,
        };
        let report = match &self.work.said {
            Said::Done(done) => done.context_updates.report.clone(),
            _ => None,
        };
        course::fits(Some(workflow), &report)?;
        let asked = self.work.asks().then(|| self.work.signal.clone());
        let by = self.mover();
        Ok(Moved {
            signal: asked,
            reason: choice.reason.clone(),
            result,
            variables: written,
            artifacts,
            report,
            usage,
            completes: matches!(self.work.said, Said::Done(_)),
            ..Moved::ending(machine.state.clone(), Box::new(step), by)
        })
    }

    /// What the holder wrote, made and used.
    #[allow(clippy::type_complexity, reason = "taken apart at once by both callers")]
    fn written(
        &self,
        updates: &ContextUpdates,
        used: Option<&Used>,
    ) -> Result<((Changes, Vec<Artifact>), Option<Usage>), Refusal> {
        let workflow = self.work.workflow;
        let Some(hold) = workflow.owning() else { return Ok(Default::default()) };
        let profile = &self.world.agent(&hold.agent)?.profile;
        let changed = &updates.variables_changed;
        let changes = variables::changes(workflow, hold, profile, changed, None, self.now)?;
        let made = &updates.artifacts_produced;
        let made = artifact::named(Some(workflow), self.ask, made, &hold.agent, self.now)?;
        let usage = limits::usage(&self.world.policy, used, updates.report.as_deref());
        // Whoever failed has used it all the same.
        if let (Some(usage), true) = (&usage, self.work.is_done()) {
            limits::fits(workflow, workflow.payer(workflow.owner), usage.tokens, usage.cost)?;
        }
        Ok(((changes, made), usage))
    }
}

/// Charges what a holder used to the handoff by which its step ends.
fn charged(events: &mut [Event], usage: Option<Usage>) {
    for event in events {
        if let Event::Initiated { guarded, .. } = event {
            guarded.usage = usage;
            return;
        }
    }
}
