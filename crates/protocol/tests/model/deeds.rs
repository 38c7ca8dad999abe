//! What can be done in the small world, and what comes of it.

use baton_protocol::Timer;
use baton_protocol::command::{
    Accept, Actor, Cancel, CancelWorkflow, Command, Complete, Reassign, Reassigned, Reject, Wake,
    WakeHold,
};
use baton_protocol::event::Event;
use baton_protocol::handoff::{Detail, Kind, OnTimeout, State};
use baton_protocol::id::{AgentId, Fence, HandoffId};
use baton_protocol::text::Text;
use stateright::{Model, Property};

use crate::scene::{Scene, Told, actor, agent, handoff, workflow_id};
use crate::{Small, laws};

/// Something that somebody does. Handoffs go by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deed {
    /// The planner delegates, or passes on for good.
    Begins(Option<OnTimeout>, Fence),
    Accepts(AgentId, usize),
    /// It is recorded, and the coordinator crashes before the answer is out.
    AcceptsUnheard(AgentId, usize),
    /// Whoever has not heard asks again, and is answered as it was recorded.
    AsksAgain(Told),
    Rejects(AgentId, usize),
    Returns(Told, bool),
    Escalates(Told),
    Completes(Told),
    /// The operator takes a handoff back, or gives it to another, or calls all of it off.
    Cancels(usize),
    Reassigns(usize, AgentId),
    CallsOff,
    /// Nobody does anything until something is due.
    Waits,
    /// The coordinator records what is due.
    Records(Timer),
}

fn words() -> Text {
    "no need".parse().expect("a short text")
}

/// What the coordinator asks when a time has come.
pub(crate) fn wake(timer: Timer) -> Command {
    match timer {
        Timer::Handoff(handoff) => Command::Wake(Wake { handoff }),
        Timer::Hold(workflow, fence) => Command::WakeHold(WakeHold { workflow, fence }),
    }
}

/// Taking a handoff.
pub(crate) fn accept(n: usize) -> Command {
    Command::Accept(Accept::of(handoff(n)))
}

/// Turning it away.
pub(crate) fn reject(n: usize) -> Command {
    Command::Reject(Reject { handoff: handoff(n), reason: words() })
}

/// Taking it back.
pub(crate) fn cancel(n: usize) -> Command {
    Command::Cancel(Cancel { handoff: handoff(n), reason: words() })
}

/// Giving it to another.
pub(crate) fn reassign(n: usize, to_agent: AgentId) -> Command {
    Command::Reassign(Reassign { what: Reassigned::Handoff(handoff(n)), to_agent, reason: words() })
}

/// Ending the work.
pub(crate) fn complete(fence: Fence) -> Command {
    let (workflow, fence) = (workflow_id(), Some(fence));
    Command::Complete(Complete {
        workflow,
        fence,
        result: None,
        note: None,
        context_updates: Default::default(),
        used: None,
    })
}

impl Model for Small {
    type State = Scene;
    type Action = Deed;

    fn init_states(&self) -> Vec<Scene> {
        vec![Scene::begin()]
    }

    fn actions(&self, scene: &Scene, deeds: &mut Vec<Deed>) {
        let Some(workflow) = scene.workflow() else { return };
        if scene.broken.is_some() {
            return;
        }
        let size = &self.size;
        let begun = workflow.handoffs.len();
        for told in &scene.told {
            match told.handoff {
                None if begun == 0 => deeds.push(Deed::Begins(size.policy, told.fence)),
                None => (),
                Some(_) => {
                    deeds.push(Deed::Returns(told.clone(), true));
                    deeds.extend(size.disturbed.then(|| Deed::Returns(told.clone(), false)));
                }
            }
            if begun < size.handoffs_max {
                deeds.push(Deed::Escalates(told.clone()));
            }
            deeds.push(Deed::Completes(told.clone()));
        }
        deeds.extend(scene.unheard.iter().cloned().map(Deed::AsksAgain));
        for n in 0..begun {
            let Some(of) = workflow.handoffs.get(&handoff(n)) else { continue };
            if let State::Initiated { .. } = of.state {
                deeds.push(Deed::Accepts(of.to.clone(), n));
                deeds.extend(size.disturbed.then(|| Deed::Rejects(of.to.clone(), n)));
                if scene.crashes < size.crashes_max {
                    deeds.push(Deed::AcceptsUnheard(of.to.clone(), n));
                }
            }
            if size.disturbed && !of.state.is_over() {
                deeds.push(Deed::Cancels(n));
                // A person may give a question to whom it likes, so nothing is said of those.
                let asks = matches!(of.terms.kind, Kind::Escalation(_));
                if scene.reassigned < size.reassigns_max && !asks {
                    deeds.push(Deed::Reassigns(n, agent("architect")));
                }
            }
        }
        if size.disturbed {
            deeds.push(Deed::CallsOff);
            deeds.extend(scene.world.due(scene.now).map(Deed::Records));
            let next = scene.world.next_wake().filter(|at| *at > scene.now);
            deeds.extend(next.map(|_| Deed::Waits));
        }
    }

    fn next_state(&self, scene: &Scene, deed: Deed) -> Option<Scene> {
        let operator = Actor::Operator;
        let (next, events) = match &deed {
            Deed::Waits => (scene.at(scene.world.next_wake()?), Vec::new()),
            Deed::AsksAgain(told) => {
                let mut next = scene.clone();
                next.told.extend(next.unheard.take(told));
                (next, Vec::new())
            }
            Deed::Begins(policy, fence) => {
                scene.ask(actor(&agent("planner")), self.forms.begin(*policy, *fence))?
            }
            Deed::Accepts(by, n) | Deed::AcceptsUnheard(by, n) => {
                scene.ask(actor(by), accept(*n))?
            }
            Deed::Rejects(by, n) => scene.ask(actor(by), reject(*n))?,
            Deed::Returns(told, success) => {
                let give = self.forms.give(told.handoff?, told.fence, *success);
                scene.ask(actor(&told.agent), give)?
            }
            Deed::Escalates(told) => {
                scene.ask(actor(&told.agent), self.forms.escalate(told.fence))?
            }
            Deed::Completes(told) => scene.ask(actor(&told.agent), complete(told.fence))?,
            Deed::Cancels(n) => scene.ask(operator, cancel(*n))?,
            Deed::Reassigns(n, to) => scene.ask(operator, reassign(*n, to.clone()))?,
            Deed::CallsOff => {
                let all = CancelWorkflow { workflow: workflow_id(), reason: words() };
                scene.ask(operator, Command::CancelWorkflow(all))?
            }
            Deed::Records(timer) => scene.ask(Actor::Coordinator, wake(*timer))?,
        };
        self.meet(scene, &deed, &events);
        Some(believing(next, scene, &deed, &events).sealed())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        laws::all()
    }
}

/// What agents believe after a deed.
fn believing(mut next: Scene, before: &Scene, deed: &Deed, events: &[Event]) -> Scene {
    for event in events {
        if let (Event::Accepted { by, fence, .. }, Some(n)) = (event, accepted(deed)) {
            let told = Told { agent: by.clone(), handoff: Some(n), fence: *fence };
            match deed {
                Deed::AcceptsUnheard(..) => {
                    next.crashes = before.crashes + 1;
                    next.unheard.insert(told)
                }
                _ => next.told.insert(told),
            };
        }
    }
    if let Deed::Reassigns(..) = deed {
        next.reassigned = before.reassigned + 1;
    }
    next
}

fn accepted(deed: &Deed) -> Option<usize> {
    match deed {
        Deed::Accepts(_, n) | Deed::AcceptsUnheard(_, n) => Some(*n),
        _ => None,
    }
}

impl Small {
    /// Notes what happened, so that the walk can show that it met it.
    fn meet(&self, scene: &Scene, deed: &Deed, events: &[Event]) {
        let mut met = self.met.lock().expect("nobody panicked");
        let is_due = |n| scene.world.due(scene.now).any(|due| due == Timer::Handoff(handoff(n)));
        met.extend(match deed {
            // The time was over, and that was not recorded yet.
            Deed::Accepts(_, n) if is_due(*n) => Some("accepted late"),
            Deed::Returns(Told { handoff: Some(n), .. }, _) if is_due(*n) => Some("returned late"),
            Deed::AsksAgain(_) => Some("heard later"),
            _ => None,
        });
        let answers = |event: &&Event| matches!(event, Event::Completed { .. });
        if events.iter().filter(answers).count() > 2 {
            met.insert("an answer went all the way down");
        }
        for event in events {
            met.insert(match event {
                Event::Failed { detail: Detail::TimedOut, .. } => "failed for good",
                Event::Failed { detail: Detail::PassedOn { .. }, .. } => "passed on above",
                Event::Resent { handoff, .. } if resends(scene, *handoff) == 3 => "third resend",
                Event::Initiated { terms, .. } => match &terms.kind {
                    Kind::Escalation(asked) => *["level 1", "level 2"]
                        .get(usize::from(asked.level) - 1)
                        .unwrap_or(&"level 3"),
                    _ => "initiated",
                },
                other => other.word(),
            });
        }
    }
}

fn resends(scene: &Scene, id: HandoffId) -> u8 {
    let of = scene.workflow().and_then(|workflow| workflow.handoffs.get(&id));
    of.map_or(0, |of| of.attempts.resends)
}
