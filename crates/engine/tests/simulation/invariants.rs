//! What must be true, whatever happens. `docs/invariants.md` says why, by the same ids.
//!
//! The checker judges by the records and by what may be seen of the states; it shares no code with
//! the rules it judges, so that a mistake in them is not made here as well.

mod ends;
mod receivers;
mod records;
mod states;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use baton_protocol::World;
use baton_protocol::event::StreamId;
use baton_protocol::handoff::{Aggregation, Handoff};
use baton_protocol::id::{AgentId, CommandId, Fence, GroupId, HandoffId, WorkflowId};
use baton_protocol::time::Timestamp;
use baton_store::Record;

/// The invariants by id, each in a few words. `docs/invariants.md` has one row for each.
pub(crate) const ALL: &[(&str, &str)] = &[
    ("I1", "a live workflow has one owner, who holds it"),
    ("I2", "a piece of work has at most one holder"),
    ("I3", "fences grow by one and are given once"),
    ("I4", "nothing is recorded under a fence that is not in force, or is another's"),
    ("I5", "a handoff that is over never changes again"),
    ("I6", "an agent's load is what it holds"),
    ("I7", "nobody accepts more than it can hold"),
    ("I8", "a lock belongs to a hold that is alive"),
    ("I9", "an exclusive lock is not shared"),
    ("I10", "a queue is called by priority, then first in first out"),
    ("I11", "nothing waits while there is room, and only the more urgent overtake a queue"),
    ("I12", "at most three reroutes, then a person; never back to one who had it"),
    ("I13", "at most three resends, after 2, 4 and 8 s"),
    ("I14", "a question climbs, at most three levels, and the third is a person"),
    ("I15", "a holder is suspended exactly while its question is open"),
    ("I16", "a suspended holder changes nothing"),
    ("I17", "a broadcast is decided once, as soon as and only when its tally decides it"),
    ("I18", "a late return is recorded as late and changes nothing"),
    ("I19", "what ended has one end on record, what completed was accepted"),
    ("I20", "a record about a handoff has all audit fields"),
    ("I21", "the timers are those that follow from the states"),
    ("I22", "no timer fires early"),
    ("I23", "a repeated command is answered as the first time and records nothing"),
    ("I24", "records are dense, in order, chained, and never go back in time"),
    ("I25", "whoever is asked is able, trusted and well enough"),
    ("I26", "the world rebuilt from the records, or from a snapshot, is the world"),
    ("I27", "a refusal records nothing"),
    ("I28", "who waits passes nothing on, and what is unfinished stays open"),
    ("I29", "work that somebody waits for has that somebody"),
    ("I30", "variables are written in scope, over what was seen, and lists only grow"),
    ("I31", "an effect is lent to one at a time and settled once"),
    ("I32", "an answer that is recorded first wins"),
    ("I33", "nothing is stuck: when all answer and time passes, all work ends"),
    ("I34", "no decision panics"),
    ("I35", "a workflow told again from its own records is the live one, after each of them"),
    ("D1", "what was answered survives a power cut"),
    ("D2", "nothing is recorded twice"),
    ("D3", "what was shown is never taken back"),
    ("D4", "what is stored, chained and signed is what was recorded"),
];

/// An invariant that did not hold.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) id: &'static str,
    pub(crate) how: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = ALL.iter().find(|(id, _)| *id == self.id).map_or("", |(_, words)| words);
        write!(f, "{} ({words}): {}", self.id, self.how)
    }
}

pub(crate) type Checked = Result<(), Broken>;

/// Fails with the invariant `id` unless `holds`.
pub(crate) fn must(holds: bool, id: &'static str, how: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Broken { id, how: how() }) }
}

/// What the records have told so far, read apart from the rules.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) last_seq: u64,
    pub(crate) last_at: Timestamp,
    versions: BTreeMap<StreamId, u64>,
    fences: BTreeMap<WorkflowId, Fence>,
    tales: BTreeMap<HandoffId, Tale>,
    groups: BTreeMap<GroupId, Tally>,
    /// Handoffs of live workflows as they were when they ended.
    over: BTreeMap<HandoffId, Handoff>,
    /// The last command by which a person took the whole work.
    reclaimed: Option<CommandId>,
    /// The last record that changed what is known of an agent.
    changed: BTreeMap<AgentId, u64>,
    settled: BTreeSet<baton_protocol::effect::EffectId>,
}

/// What the records have told of one handoff.
#[derive(Default)]
struct Tale {
    group: Option<GroupId>,
    accepted: u32,
    ended: u32,
    succeeded: bool,
    reroutes: u8,
    resends: u8,
    receivers: Vec<AgentId>,
    /// The record by which the last of them was asked.
    asked_by: u64,
    /// A person gave it to somebody, whom the rules need not like.
    reassigned: bool,
}

/// What the records have told of one broadcast.
struct Tally {
    aggregation: Aggregation,
    expected: Vec<HandoffId>,
    outcome: Option<bool>,
}

/// One record on its way into the checker.
pub(crate) struct Told<'a> {
    pub(crate) record: &'a Record,
    pub(crate) line: &'a [u8],
    /// Its place among the records of its command.
    pub(crate) part: (u32, u32),
}

impl Told<'_> {
    /// The agent that asked, or nobody when the coordinator did.
    pub(crate) fn asker(&self) -> Option<AgentId> {
        let by = self.record.by.as_str();
        let name = by.strip_prefix("operator as ").unwrap_or(by);
        (by != "coordinator").then(|| name.parse().expect("records name agents"))
    }

    pub(crate) fn by_operator(&self) -> bool {
        self.record.by == "operator"
    }
}

impl Facts {
    /// Judges a record against the world before it, and takes note of it.
    pub(crate) fn before(&mut self, world: &World, told: &Told<'_>) -> Checked {
        records::order(self, told)?;
        records::judge(self, world, told)?;
        ends::judge(self, world, told)?;
        receivers::judge(self, world, told)?;
        records::note(self, told);
        Ok(())
    }

    /// Judges the world after the last record of a command.
    pub(crate) fn after(&mut self, world: &World) -> Checked {
        states::judge(self, world)?;
        ends::freeze(self, world)
    }

    /// Judges what one look at the timers must leave behind.
    pub(crate) fn at_rest(&self, world: &World, now: Timestamp) -> Checked {
        states::at_rest(world, now)
    }
}
