//! The stage: an engine, its ledger and its clock, and beside them a world that is rebuilt from the
//! stored lines alone. Whatever is asked goes through here, and everything is judged here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use baton_engine::view::Answer;
use baton_engine::{Clock, Engine, SubmitError};
use baton_protocol::command::{Actor, Command, Submission};
use baton_protocol::event::{Event, StreamId};
use baton_protocol::id::{AgentId, CommandId, Fence, HandoffId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use baton_protocol::{Timer, World, evolve};
use baton_store::{Envelope, Filter, Ledger, LedgerError, Memory, Record, Scope};
use serde_json::Value;

use crate::cast::Player;
use crate::chance::Chance;
use crate::invariants::{Broken, Facts, Told, must};
use crate::past::Past;

/// When every run begins, in microseconds.
const BEGIN: i64 = 1_750_000_000_000_000;
/// Records that a failing run shows.
const TAIL: usize = 12;
/// Looks at the timers until nothing may be due any more.
const LOOKS_MAX: usize = 60;

/// A clock that is set by hand, also back.
#[derive(Default)]
pub(crate) struct SkewedClock(AtomicI64);

impl SkewedClock {
    pub(crate) fn shift(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Why a run does not go on.
#[derive(Debug)]
pub(crate) enum Halt {
    /// An invariant did not hold.
    Broken(Broken),
    /// The ledger cannot any more.
    Down,
}

impl From<Broken> for Halt {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

pub(crate) type Went<T> = Result<T, Halt>;

/// A fence that was given, and to whom.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) agent: AgentId,
    pub(crate) workflow: WorkflowId,
    pub(crate) fence: Fence,
    pub(crate) handoff: Option<HandoffId>,
}

/// What agents and the tests remember, whatever becomes of the ledger.
pub(crate) struct Memories {
    pub(crate) chance: Chance,
    pub(crate) players: Vec<Player>,
    /// What each of the cast says of itself at first.
    pub(crate) profiles: Vec<Value>,
    pub(crate) clock: Arc<SkewedClock>,
    /// What was asked and recorded, with its answer.
    pub(crate) heard: Vec<(Submission, Answer)>,
    /// Every fence that was ever given.
    pub(crate) given: Vec<Given>,
    pub(crate) handoffs: Vec<HandoffId>,
    /// What a look found due and nobody woke yet.
    pub(crate) noticed: Vec<Timer>,
    pub(crate) step: u32,
    asked: u64,
    /// The last record that somebody was told of.
    pub(crate) acked: u64,
    /// How often each thing was recorded or refused.
    pub(crate) counts: BTreeMap<&'static str, u64>,
}

impl Memories {
    pub(crate) fn new(seed: u64) -> Self {
        let clock = Arc::new(SkewedClock(AtomicI64::new(BEGIN)));
        Self {
            chance: Chance::new(seed),
            players: Vec::new(),
            profiles: Vec::new(),
            clock,
            heard: Vec::new(),
            given: Vec::new(),
            handoffs: Vec::new(),
            noticed: Vec::new(),
            step: 0,
            asked: 0,
            acked: 0,
            counts: BTreeMap::new(),
        }
    }
}

/// The stage of one run.
pub(crate) struct Stage {
    pub(crate) own: Memories,
    pub(crate) engine: Engine,
    pub(crate) ledger: Arc<dyn Ledger>,
    memory: Option<Arc<Memory>>,
    /// The world that the stored lines tell.
    pub(crate) world: World,
    past: Past,
    facts: Facts,
    /// The last record that somebody else than Baton itself asked for.
    last_asked: u64,
    /// Something is asked again, so that nothing may be recorded.
    pub(crate) repeating: bool,
    tail: VecDeque<Vec<u8>>,
}

impl Stage {
    /// A stage on a ledger in memory.
    pub(crate) fn in_memory(own: Memories) -> Self {
        let memory = Arc::new(Memory::default());
        Self { memory: Some(memory.clone()), ..Self::on(memory, own) }
    }

    /// A stage on any ledger.
    pub(crate) fn on(ledger: Arc<dyn Ledger>, own: Memories) -> Self {
        let engine = Engine::on(ledger.clone(), own.clock.clone());
        let (world, facts, tail) = (World::default(), Facts::default(), VecDeque::new());
        Self {
            own,
            engine,
            ledger,
            memory: None,
            world,
            past: Past::default(),
            facts,
            last_asked: 0,
            repeating: false,
            tail,
        }
    }

    /// Leaves the stage with what everybody remembers; its ledger closes.
    pub(crate) fn leave(self) -> Memories {
        self.own
    }

    /// The last records, for people.
    pub(crate) fn tail(&self) -> String {
        let shown = |line: &Vec<u8>| {
            let text: Value = serde_json::from_slice(line).unwrap_or_default();
            let field = |name: &str| text[name].as_str().unwrap_or("").to_owned();
            let mut event = text["event"].to_string();
            event.truncate(event.char_indices().nth(900).map_or(event.len(), |(at, _)| at));
            let (at, stream, by) = (field("at"), field("stream"), field("by"));
            format!("  {} {at} {stream} by {by}: {event}\n", text["seq"])
        };
        self.tail.iter().map(shown).collect()
    }

    /// Asks something under a key of its own. `None` means that it was refused.
    pub(crate) async fn ask(&mut self, actor: Actor, command: Value) -> Went<Option<Answer>> {
        let parsed = serde_json::from_value(command.clone());
        let command = parsed.unwrap_or_else(|error| panic!("{command} is no command: {error}"));
        self.command(actor, command).await
    }

    pub(crate) async fn command(&mut self, actor: Actor, command: Command) -> Went<Option<Answer>> {
        self.own.asked += 1;
        let id = CommandId::from_key("sim", &self.own.asked.to_string());
        let submission = Submission { id, actor, command };
        let answer = self.submit(submission.clone()).await?;
        if let Ok(answer) = &answer
            && answer.seq.is_some()
        {
            self.own.heard.push((submission, answer.clone()));
        }
        Ok(answer.ok())
    }

    /// Submits, and judges whatever was recorded.
    pub(crate) async fn submit(&mut self, asked: Submission) -> Went<Result<Answer, Refusal>> {
        let before = self.facts.last_seq;
        match self.engine.submit(asked.clone()).await {
            Ok(answer) => {
                self.own.acked = self.own.acked.max(answer.seq.unwrap_or(0));
                self.absorb().await?;
                let last = self.facts.last_seq;
                let told = answer.seq.is_none_or(|seq| seq <= last) && answer.seq != Some(0);
                must(told, "I26", || format!("record {:?} is not there", answer.seq))?;
                Ok(Ok(answer))
            }
            Err(SubmitError::Refused(refusal)) => {
                self.absorb().await?;
                // Baton itself may look at what stood in the way; the asker changes nothing.
                let last = match asked.actor {
                    Actor::Coordinator => self.facts.last_seq,
                    Actor::Operator | Actor::Viewer | Actor::Agent(_) | Actor::OperatorAs(_) => {
                        self.last_asked
                    }
                };
                must(last <= before, "I27", || format!("{asked:?} was refused: {refusal}"))?;
                *self.own.counts.entry(refusal.code()).or_default() += 1;
                Ok(Err(refusal))
            }
            Err(SubmitError::Failed(failure)) => Err(self.failed(&failure, &asked)),
        }
    }

    fn failed(&self, failure: &LedgerError, asked: &Submission) -> Halt {
        let panicked = matches!(failure, LedgerError::Failed { what, .. } if what.contains("end"));
        match panicked || self.memory.is_some() {
            true => Halt::Broken(Broken { id: "I34", how: format!("{asked:?}: {failure}") }),
            false => Halt::Down,
        }
    }

    /// Reads what was stored since the last time, judges each record, and compares the world that
    /// they tell with the one that decisions see.
    pub(crate) async fn absorb(&mut self) -> Went<()> {
        loop {
            let after_seq = Some(self.facts.last_seq);
            let filter = Filter { after_seq, ..Filter::default() };
            let lines = self.ledger.history(filter).await.map_err(|_| Halt::Down)?;
            if lines.is_empty() {
                break;
            }
            for line in lines {
                self.follow(line)?;
            }
        }
        self.compare().await
    }

    fn follow(&mut self, line: Vec<u8>) -> Result<(), Broken> {
        let unread = |how: String| Broken { id: "I24", how };
        let record = Record::read(&line).map_err(|error| unread(error.to_string()))?;
        let part = Envelope::read(&line).map_err(|error| unread(error.to_string()))?.part();
        self.tail.push_back(line.clone());
        if self.tail.len() > TAIL {
            self.tail.pop_front();
        }
        must(!self.repeating, "I23", || "asking again recorded something".to_owned())?;
        let told = Told { record: &record, line: &line, part };
        self.facts.before(&self.world, &told)?;
        evolve(&mut self.world, &record.stream, &record.event, record.at);
        self.world.keep_effects(record.seq, &record.effects);
        self.past.follow(&self.world, &record)?;
        *self.own.counts.entry(record.event.word()).or_default() += 1;
        self.remember(&record);
        if told.asker().is_some() {
            self.last_asked = record.seq;
        }
        match part.0 + 1 == part.1 {
            true => self.facts.after(&self.world),
            false => Ok(()),
        }
    }

    fn remember(&mut self, record: &Record) {
        let StreamId::Workflow(workflow) = record.stream else { return };
        let given = match &record.event {
            Event::Started { by, .. } => Some((by, Fence(1), None)),
            Event::Accepted { by, fence, handoff, .. } => Some((by, *fence, Some(*handoff))),
            Event::Reclaimed { by, fence, .. } => Some((by, *fence, None)),
            Event::Initiated { terms, .. } => {
                self.own.handoffs.push(terms.id);
                None
            }
            _ => None,
        };
        self.own.given.extend(given.map(|(agent, fence, handoff)| Given {
            agent: agent.clone(),
            workflow,
            fence,
            handoff,
        }));
    }

    /// The world from the lines must be the world that decisions see, whoever looks.
    async fn compare(&mut self) -> Went<()> {
        let (tell, told) = std::sync::mpsc::channel();
        let rebuilt = std::mem::take(&mut self.world);
        let look = Box::new(move |world: &World| {
            let same = *world == rebuilt;
            let _ = tell.send((rebuilt, same));
        });
        let looked = self.ledger.look(Scope::Everything, look).await;
        let Ok((rebuilt, same)) = told.recv() else { return Err(Halt::Down) };
        self.world = rebuilt;
        looked.map_err(|_| Halt::Down)?;
        must(same, "I26", || "the world from the lines is another one".to_owned())?;
        Ok(())
    }

    /// Restarts: from the lines, and by way of a snapshot. Nothing may change by it.
    pub(crate) async fn restart(&mut self) -> Went<()> {
        let broken = |how: String| Broken { id: "I26", how };
        let stored = serde_json::to_vec(&self.world).map_err(|e| broken(e.to_string()))?;
        let back: World = serde_json::from_slice(&stored).map_err(|e| broken(e.to_string()))?;
        let same = back.restored() == self.world;
        must(same, "I26", || "the world from a snapshot is another one".to_owned())?;
        if let Some(memory) = &self.memory {
            memory.restart().map_err(broken)?;
        }
        self.compare().await
    }

    /// Follows every chain.
    pub(crate) async fn verify(&mut self, id: &'static str) -> Went<()> {
        let checked =
            self.ledger.check(baton_store::Against::default()).await.map_err(|_| Halt::Down)?;
        must(checked.problem.is_none(), id, || format!("{:?}", checked.problem))?;
        must(checked.records == self.facts.last_seq, id, || format!("{checked:?}"))?;
        Ok(())
    }

    /// Keeps how the work that was last changed is shown now.
    pub(crate) async fn keep_view(&mut self) -> Went<()> {
        Ok(self.past.keep(&self.engine, self.facts.last_seq).await?)
    }

    /// Looks back at what was kept: it is shown as it was then.
    pub(crate) async fn look_back(&mut self) -> Went<()> {
        Ok(self.past.look_back(&self.engine).await?)
    }

    /// The number of the last record that was judged.
    pub(crate) fn last_seq(&self) -> u64 {
        self.facts.last_seq
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.own.clock.now()
    }

    /// Wakes what is due until nothing is.
    pub(crate) async fn run_timers(&mut self) -> Went<()> {
        for _ in 0..LOOKS_MAX {
            // Two looks never happen in the same microsecond.
            self.own.clock.shift(1);
            let woken = self.engine.wake_due().await;
            self.absorb().await?;
            if woken.map_err(|_| Halt::Down)? == 0 {
                let now = self.now();
                return Ok(self.facts.at_rest(&self.world, now)?);
            }
        }
        Ok(must(false, "I11", || "the timers do not come to rest".to_owned())?)
    }
}
