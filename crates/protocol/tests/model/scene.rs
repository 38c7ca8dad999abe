//! One state of the small world: the real world, what agents believe, and what the records say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use baton_protocol::command::{Actor, Command, GiveBack, Pass, SetVariables, Submission};
use baton_protocol::event::{Decision, Event};
use baton_protocol::handoff::{Due, Handoff, Kind, OnTimeout, State, Terms};
use baton_protocol::id::{AgentId, CommandId, Fence, HandoffId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::{Hold, Workflow};
use baton_protocol::{World, decide, evolve};
use serde_json::{Value, json};

use crate::monitor::{Broken, Monitor};

/// A fence that an agent was given, and for what; nothing for whoever began the work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Told {
    pub(crate) agent: AgentId,
    pub(crate) handoff: Option<usize>,
    pub(crate) fence: Fence,
}

/// One state.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) world: Arc<World>,
    pub(crate) now: Timestamp,
    /// What agents believe to hold. They never forget.
    pub(crate) told: BTreeSet<Told>,
    /// What was recorded for agents that have not heard of it.
    pub(crate) unheard: BTreeSet<Told>,
    pub(crate) crashes: u8,
    pub(crate) reassigned: u8,
    pub(crate) monitor: Monitor,
    /// What was agreed on for each handoff, in a number.
    terms: BTreeMap<HandoffId, u64>,
    /// The rule that the last deed broke.
    pub(crate) broken: Option<Broken>,
    digest: u64,
}

/// Forms of commands, made once because reading them from JSON takes longer than deciding them.
pub(crate) struct Forms {
    pub(crate) delegate: Pass,
    pub(crate) pass: Pass,
    pub(crate) escalate: Pass,
    pub(crate) success: GiveBack,
    pub(crate) failure: GiveBack,
    pub(crate) write: SetVariables,
}

/// The command that brings the `n`-th handoff into the world, and that handoff. Numbered by how
/// many there are, so that two ways to the same world are the same.
static NUMBERED: LazyLock<Vec<(CommandId, HandoffId)>> = LazyLock::new(|| {
    let command = |n: usize| CommandId::from_key("model", &n.to_string());
    (0..20).map(command).map(|command| (command, command.handoff())).collect()
});

/// The `n`-th handoff.
pub(crate) fn handoff(n: usize) -> HandoffId {
    NUMBERED[n].1
}

pub(crate) fn agent(name: &str) -> AgentId {
    name.parse().expect("a sound name")
}

pub(crate) fn actor(agent: &AgentId) -> Actor {
    if agent.is_operator() { Actor::Operator } else { Actor::Agent(agent.clone()) }
}

impl Forms {
    pub(crate) fn new() -> Self {
        let pass = |kind: &str, to: Option<&str>, back: Value| {
            let form = json!({
                "workflow": workflow_id(), "to_agent": to, "type": kind, "reason": "your turn",
                "return_protocol": back, "audit": { "decision_rationale": "too hard" },
            });
            serde_json::from_value(form).expect("a pass")
        };
        let give = |status: &str| {
            let form = json!({ "handoff": handoff(0), "fence": 0, "status": status });
            serde_json::from_value(form).expect("a return")
        };
        Self {
            delegate: pass("delegation", Some("builder"), json!({ "timeout": "20s" })),
            pass: pass("sequential", Some("builder"), json!({})),
            escalate: pass("escalation", None, json!({ "timeout": "20s" })),
            success: give("success"),
            failure: give("failed"),
            write: serde_json::from_value(
                json!({ "workflow": workflow_id(), "changes": { "x": 1 } }),
            )
            .expect("a write"),
        }
    }

    /// Passing as the policy says; `None` passes for good.
    pub(crate) fn begin(&self, policy: Option<OnTimeout>, fence: Fence) -> Command {
        let mut pass = if policy.is_some() { self.delegate.clone() } else { self.pass.clone() };
        pass.fence = Some(fence);
        pass.return_protocol.on_timeout = policy.unwrap_or_default();
        Command::Pass(Box::new(pass))
    }

    pub(crate) fn escalate(&self, fence: Fence) -> Command {
        Command::Pass(Box::new(Pass { fence: Some(fence), ..self.escalate.clone() }))
    }

    pub(crate) fn write(&self, fence: Fence) -> Command {
        Command::SetVariables(SetVariables { fence: Some(fence), ..self.write.clone() })
    }

    pub(crate) fn give(&self, n: usize, fence: Fence, success: bool) -> Command {
        let form = if success { &self.success } else { &self.failure };
        Command::Return(Box::new(GiveBack { handoff: handoff(n), fence, ..form.clone() }))
    }
}

static BEGIN: LazyLock<(CommandId, WorkflowId)> = LazyLock::new(|| {
    let begin = CommandId::from_key("model", "begin");
    (begin, begin.workflow())
});

/// The one workflow.
pub(crate) fn workflow_id() -> WorkflowId {
    BEGIN.1
}

/// What would be recorded if this was asked now.
pub(crate) fn decided(
    world: &World,
    actor: Actor,
    command: Command,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let made = world.workflows.get(&workflow_id()).map_or(0, |workflow| workflow.handoffs.len());
    decide(world, &Submission { id: NUMBERED[made].0, actor, command }, now)
}

/// Lets it be asked and happen, and says whether anything did.
pub(crate) fn happens(
    world: &mut World,
    actor: Actor,
    command: Command,
    now: Timestamp,
) -> Option<Vec<Event>> {
    let decision = decided(world, actor, command, now).ok()?;
    for event in &decision.events {
        evolve(world, &decision.stream, event, now);
    }
    Some(decision.events).filter(|events| !events.is_empty())
}

impl Scene {
    /// The planner has begun the work.
    pub(crate) fn begin() -> Self {
        let cast = [
            json!({ "id": "planner" }),
            json!({ "id": "builder", "answer_within": "20s" }),
            json!({ "id": "reviewer", "role": "reviewer", "answer_within": "20s" }),
            json!({ "id": "architect", "role": "architect", "answer_within": "20s" }),
            json!({ "id": "boss", "role": "human" }),
        ];
        let (mut world, now) = (World::default(), Timestamp::default());
        // The model is about how work moves; what limits it has tests of its own.
        (world.policy.max_handoffs, world.policy.breaker.failures) = (4_096, 0);
        for profile in cast {
            let register = serde_json::from_value(json!({ "register": profile }));
            let register = register.expect("a profile");
            happens(&mut world, Actor::Operator, register, now).expect("registered");
        }
        let start = serde_json::from_value(json!({ "start": { "title": "the work" } }));
        let (id, actor) = (BEGIN.0, Actor::Agent(agent("planner")));
        let ask = Submission { id, actor, command: start.expect("a start") };
        let decision = decide(&world, &ask, now).expect("started");
        for event in &decision.events {
            evolve(&mut world, &decision.stream, event, now);
        }
        let fence = Fence(1);
        let told = BTreeSet::from([Told { agent: agent("planner"), handoff: None, fence }]);
        let (world, monitor) = (Arc::new(world), Monitor::begin(fence));
        let (unheard, crashes, reassigned, terms, broken, digest) = Default::default();
        Self { world, now, told, unheard, crashes, reassigned, monitor, terms, broken, digest }
            .sealed()
    }

    /// The work, while it is not over.
    pub(crate) fn workflow(&self) -> Option<&Workflow> {
        self.world.workflows.get(&workflow_id())
    }

    /// Whether a fence is in force, for this agent.
    pub(crate) fn is_alive(&self, told: &Told) -> bool {
        let hold = self.workflow().and_then(|workflow| workflow.holds.get(&told.fence));
        hold.is_some_and(|hold| hold.agent == told.agent)
    }

    /// The same at another time.
    pub(crate) fn at(&self, now: Timestamp) -> Self {
        Self { now, ..self.clone() }
    }

    /// Lets somebody ask; `None` if nothing comes of it. Says also what was recorded.
    pub(crate) fn ask(&self, actor: Actor, command: Command) -> Option<(Self, Vec<Event>)> {
        let decision = decided(&self.world, actor, command, self.now).ok()?;
        if decision.events.is_empty() {
            return None;
        }
        let mut world = (*self.world).clone();
        for event in &decision.events {
            evolve(&mut world, &decision.stream, event, self.now);
        }
        let mut next = Self { world: Arc::new(world), ..self.clone() };
        next.broken = next.judged(self, &decision.events).err();
        Some((next, decision.events))
    }

    fn judged(&mut self, before: &Self, events: &[Event]) -> Result<(), Broken> {
        for event in events {
            if let Event::Initiated { terms, .. } = event {
                self.terms.insert(terms.id, digest(terms));
            }
            self.monitor.note(event, self.now)?;
            let written = serde_json::to_vec(event).map_err(|_| "a record cannot be written")?;
            match serde_json::from_slice::<Event>(&written) {
                Ok(read) if read == *event => (),
                Ok(_) | Err(_) => return Err("a record is read back as another"),
            }
        }
        let (Some(was), Some(is)) = (before.workflow(), self.workflow()) else { return Ok(()) };
        for (id, handoff) in was.handoffs.iter().filter(|(_, handoff)| handoff.state.is_over()) {
            if is.handoffs.get(id) != Some(handoff) {
                return Err("a handoff that was over has changed");
            }
        }
        let fresh = |fence: &&Fence| !was.holds.contains_key(fence);
        if is.fence < was.fence || is.holds.keys().filter(fresh).any(|fence| *fence <= was.fence) {
            return Err("a fence does not grow");
        }
        Ok(())
    }

    /// The same, ready to be told from others.
    ///
    /// Of the fences that agents lost, the newest of each counts: whether a lost one can still do
    /// something is asked in every state, and by their number alone they differ for no rule.
    #[must_use]
    pub(crate) fn sealed(mut self) -> Self {
        let mut hasher = DefaultHasher::new();
        self.broken.hash(&mut hasher);
        if let Some(workflow) = self.workflow() {
            let lost = self.told.iter().filter(|told| !self.is_alive(told));
            let newest: BTreeMap<_, _> = lost.map(|told| (&told.agent, told)).collect();
            let alive = self.told.iter().filter(|told| self.is_alive(told));
            alive.chain(newest.into_values()).for_each(|told| told.hash(&mut hasher));
            (&self.unheard, self.crashes, self.reassigned).hash(&mut hasher);
            self.monitor.hash(&mut hasher);
            let agents = self.world.agents.values().map(|agent| agent.health.is_good());
            agents.for_each(|well| well.hash(&mut hasher));
            (workflow.owner, workflow.fence).hash(&mut hasher);
            for hop in &workflow.hops {
                (&hop.from, &hop.to, hop.sequential, &hop.context, hop.progress).hash(&mut hasher);
            }
            workflow.holds.iter().for_each(|held| hash_hold(held, self.now, &mut hasher));
            for of in workflow.handoffs.values() {
                self.terms.get(&of.terms.id).hash(&mut hasher);
                hash_handoff(of, self.now, &mut hasher);
            }
        }
        self.digest = hasher.finish();
        self
    }
}

/// Everything that was agreed on, in a number. It never changes, so it is made once.
fn digest(terms: &Terms) -> u64 {
    let mut terms = terms.clone();
    if let Kind::Escalation(asked) = &mut terms.kind {
        // When somebody said something is for people.
        asked.trail.iter_mut().for_each(|step| step.at = Timestamp::default());
    }
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(&terms).expect("terms are plain data").hash(&mut hasher);
    hasher.finish()
}

/// How far ahead a moment lies. The rules only compare moments with now and add spans to them, so
/// moments count as from now, and all that have passed are alike.
fn ahead(at: Timestamp, now: Timestamp) -> i64 {
    (at.as_micros() - now.as_micros()).max(0)
}

fn due_in(due: Option<Due>, now: Timestamp) -> Option<(bool, i64)> {
    due.map(|due| (matches!(due, Due::Return(_)), ahead(due.at(), now)))
}

/// Takes in what matters to the rules; what is named with `_` is only for people. No `..` here: a
/// new field must be thought about.
fn hash_handoff(of: &Handoff, now: Timestamp, hasher: &mut impl Hasher) {
    let Handoff { terms: _, to, initiated_at: _, gap, attempts, tried, approved: _, .. } = of;
    let Handoff { unverified, evidence: _, state, .. } = of;
    unverified.hash(hasher);
    state.word().hash(hasher);
    if state.is_over() {
        // How it ended is for people; that it stays so is asked of every deed.
        return;
    }
    (to, gap, attempts.resends, attempts.reroutes, tried).hash(hasher);
    match state {
        State::Queued { until, give_up } => {
            (until.map(|at| ahead(at, now)), give_up.map(|at| ahead(at, now))).hash(hasher);
        }
        State::Initiated { answer_by, called } => {
            (answer_by.map(|at| ahead(at, now)), called).hash(hasher);
        }
        State::Deferred { until, reason: _ } => ahead(*until, now).hash(hasher),
        State::Accepted { fence, since: _, estimated_completion: _, due } => {
            (fence, due_in(*due, now)).hash(hasher);
        }
        // What is due is paused, so it counts as from when its holder began to wait.
        State::Suspended { fence, escalation, at, since: _, due } => {
            (fence, escalation, due_in(*due, *at)).hash(hasher);
        }
        State::Returned { fence, result: _, at: _, since: _, due: _ } => fence.hash(hasher),
        State::AwaitingApproval { .. } | State::Completed { .. } | State::Failed { .. } => (),
    }
}

fn hash_hold((fence, held): (&Fence, &Hold), now: Timestamp, hasher: &mut impl Hasher) {
    // Nothing in the model is limited, and nobody waits for a lock.
    let Hold { agent, handoff, since: _, seen, locks, progress: _, suspended, due, .. } = held;
    let due = match suspended {
        Some(waiting) => due.map(|at| ahead(at, waiting.since)),
        None => due.map(|at| ahead(at, now)),
    };
    let waits = suspended.map(|waiting| waiting.escalation);
    (fence, agent, handoff, seen, locks.len(), waits, due).hash(hasher);
}

impl Hash for Scene {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.digest.hash(hasher);
    }
}

impl PartialEq for Scene {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.now.as_micros() / 1_000_000)?;
        let Some(workflow) = self.workflow() else { return write!(f, " the work is over") };
        for n in 0..workflow.handoffs.len() {
            let Some(of) = workflow.handoffs.get(&handoff(n)) else { continue };
            let (kind, to, state) = (of.terms.kind.word(), &of.to, of.state.word());
            write!(f, ", h{n} {kind} {state} ({to})")?;
        }
        match self.broken {
            Some(broken) => write!(f, ": BROKEN: {broken}"),
            None => Ok(()),
        }
    }
}
