//! A flow as a graph that fits a page: what is too much is drawn together, and said so.

use std::collections::BTreeMap;

use baton_protocol::id::{AgentId, GroupId};

use crate::cards::{artifacts, asked, card, folded, outcome};
use crate::fold::{Slot, slots};
use crate::model::{Flow, FlowHandoff, FlowStatus, Holding};
use crate::standing::Standing;
use crate::text::{count, listed, plain, span};

/// How much there is room for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Agents.
    pub agents: usize,
    /// Handoffs between the same two that are drawn one by one.
    pub cards: usize,
    /// Pairs of agents between whom something is drawn.
    pub pairs: usize,
    /// Broadcasts that have a node of their own.
    pub broadcasts: usize,
}

impl Room {
    /// A page of a report.
    pub const PAGE: Self = Self { agents: 12, cards: 4, pairs: 36, broadcasts: 6 };
    /// A page on which everything stands side by side, and so must be fewer.
    pub(crate) const CROWDED: Self = Self { agents: 8, cards: 4, pairs: 24, broadcasts: 4 };
}

/// A graph to be drawn. Its nodes stand in the order in which they came to the work.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What the work is about.
    pub title: String,
    /// How it stands, in numbers.
    pub summary: String,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges.
    pub edges: Vec<Edge>,
    /// What is not drawn as it was.
    pub notes: Vec<String>,
    /// What standings mean here, where it is not what they mean of a handoff.
    pub meanings: Vec<(Standing, &'static str)>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// What it is called.
    pub name: String,
    /// What there is to say of it.
    pub note: Option<String>,
    /// What travels through it, for a broadcast.
    pub words: Vec<Words>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Where the work began.
    Begin,
    /// A program.
    Agent,
    /// A person.
    Person,
    /// Several who did the same, or who did little.
    Several,
    /// One subtask for several, and what it came to so far.
    Broadcast(Standing),
    /// The end, as it was meant.
    Completed,
    /// The end, called off.
    Cancelled,
    /// The end, because it could not be done.
    Failed,
    /// A state of a definition.
    State,
}

/// Everything that was passed from one node to another, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The node that it leaves.
    pub from: usize,
    /// The node that it reaches.
    pub to: usize,
    /// What was passed; nothing for the lines to the begin, the end and a broadcast.
    pub cards: Vec<Card>,
}

/// One handoff, or several that are told as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// The number of the handoff, or the first and last of several.
    pub number: String,
    /// How many they are.
    pub count: usize,
    /// How it was passed.
    pub kind: String,
    /// Where it stands.
    pub standing: Standing,
    /// Where it stands, in words.
    pub state: String,
    /// What there is to say of it.
    pub words: Vec<Words>,
    /// Whether something came back.
    pub returned: bool,
}

/// One line of what there is to say.
#[derive(Clone, Debug, PartialEq)]
pub enum Words {
    /// Why it was passed.
    Reason(String),
    /// Artifacts that came with it.
    Artifacts(String),
    /// What was said when it was turned away or taken back.
    Answer(String),
    /// How often it was tried.
    Tries(String),
    /// What came back.
    Return(String),
}

impl Words {
    /// The line as plain text.
    pub fn text(&self) -> String {
        match self {
            Self::Reason(text) | Self::Answer(text) | Self::Tries(text) => text.clone(),
            Self::Artifacts(names) => format!("with {names}"),
            Self::Return(text) => format!("↩ {text}"),
        }
    }
}

impl Picture {
    /// What a standing means here.
    pub(crate) fn meaning(&self, standing: Standing) -> &'static str {
        let own = self.meanings.iter().find(|(one, _)| *one == standing);
        own.map_or(standing.word(), |(_, word)| word)
    }
}

impl Edge {
    /// Where the latest of it stands; nothing for lines that carry nothing.
    pub fn standing(&self) -> Option<Standing> {
        self.cards.last().map(|card| card.standing)
    }

    /// Whether something came back.
    pub fn returned(&self) -> bool {
        self.cards.iter().any(|card| card.returned)
    }
}

/// Names of artifacts on one line; more are counted.
pub(crate) const NAMES_SHOWN: usize = 3;

impl Picture {
    /// What of `flow` can be drawn where there is `room`.
    pub fn of(flow: &Flow, room: Room) -> Self {
        let mut draft = Draft::new(flow, room);
        draft.begin();
        for handoff in &flow.handoffs {
            draft.add(handoff);
        }
        draft.end();
        draft.finish(room)
    }
}

/// A picture on its way.
struct Draft<'a> {
    flow: &'a Flow,
    slots: Vec<Slot>,
    /// The node of each slot, once it has one.
    placed: BTreeMap<usize, usize>,
    /// The node of each broadcast, and whether its copies say the same.
    groups: BTreeMap<GroupId, usize>,
    alike: BTreeMap<GroupId, bool>,
    nodes: Vec<Node>,
    pairs: BTreeMap<(usize, usize), Vec<Card>>,
    notes: Vec<String>,
}

impl<'a> Draft<'a> {
    fn new(flow: &'a Flow, room: Room) -> Self {
        let slots = slots(flow, room.agents.max(2));
        let mut notes = Vec::new();
        let together: usize = slots.iter().map(|slot| slot.agents.len()).filter(|n| *n > 1).sum();
        if together > 0 {
            notes.push(format!("{together} of {} agents are drawn together", flow.agents.len()));
        }
        let mut alike = BTreeMap::new();
        let mut seen: BTreeMap<GroupId, (usize, &FlowHandoff)> = BTreeMap::new();
        for handoff in &flow.handoffs {
            let Some(group) = handoff.group else { continue };
            let (copies, first) = seen.entry(group).or_insert((0, handoff));
            *copies += 1;
            let same = first.reason == handoff.reason && first.artifacts == handoff.artifacts;
            let alike = alike.entry(group).or_insert(true);
            *alike = *alike && same && first.from_agent == handoff.from_agent;
        }
        // One copy is no group, and a broadcast that the reader may not see whole has no node.
        let whole = |id: &GroupId| flow.broadcasts.iter().any(|one| one.group == *id);
        alike.retain(|id, _| seen.get(id).is_some_and(|(copies, _)| *copies > 1) && whole(id));
        if alike.len() > room.broadcasts {
            let won = flow.broadcasts.iter().filter(|one| one.success == Some(true)).count();
            let all = flow.broadcasts.len();
            notes.push(format!("{}, {won} succeeded, drawn as copies", count(all, "broadcast")));
            alike.clear();
        }
        let (placed, groups, nodes, pairs) = Default::default();
        Self { flow, slots, placed, groups, alike, nodes, pairs, notes }
    }

    fn begin(&mut self) {
        let name = "begin".to_owned();
        self.nodes.push(Node { kind: NodeKind::Begin, name, note: None, words: Vec::new() });
        let first = self.node_of(&self.flow.started_by);
        self.pairs.insert((0, first), Vec::new());
    }

    fn add(&mut self, handoff: &FlowHandoff) {
        let from = self.node_of(&handoff.from_agent);
        let group = handoff.group.filter(|group| self.alike.contains_key(group));
        let source = match group {
            Some(group) => self.junction(group, handoff, from),
            None => from,
        };
        for tried in &handoff.tries {
            let to = self.node_of(&tried.agent);
            self.pairs.entry((source, to)).or_default().push(asked(handoff, tried));
        }
        let to = self.node_of(&handoff.to_agent);
        let told = group.and_then(|group| self.alike.get(&group)).copied().unwrap_or(false);
        self.pairs.entry((source, to)).or_default().push(card(handoff, told));
    }

    fn end(&mut self) {
        for agent in &self.flow.agents {
            self.node_of(&agent.id);
        }
        let Some(end) = &self.flow.ended else { return };
        let by = self.node_of(&end.by);
        let (kind, word) = match self.flow.status {
            FlowStatus::Cancelled => (NodeKind::Cancelled, "cancelled"),
            FlowStatus::Failed => (NodeKind::Cancelled, "failed"),
            FlowStatus::Completed | FlowStatus::Open => (NodeKind::Completed, "completed"),
        };
        let note = end.words.as_deref().map(plain);
        let at = self.nodes.len();
        self.nodes.push(Node { kind, name: word.to_owned(), note, words: Vec::new() });
        self.pairs.insert((by, at), Vec::new());
    }

    /// The node of an agent, made when it first comes to the work.
    fn node_of(&mut self, agent: &AgentId) -> usize {
        let slot = self.slots.iter().position(|slot| slot.agents.contains(agent));
        // Every agent of a handoff is among the agents; one that is not is drawn with the last.
        let slot = slot.unwrap_or(self.slots.len().saturating_sub(1));
        if let Some(node) = self.placed.get(&slot) {
            return *node;
        }
        let node = self.slots.get(slot).map(|slot| agent_node(self.flow, slot));
        let at = self.nodes.len();
        self.nodes.extend(node);
        self.placed.insert(slot, at);
        at
    }

    /// The node of a broadcast, made with its first copy.
    fn junction(&mut self, id: GroupId, copy: &FlowHandoff, from: usize) -> usize {
        if let Some(node) = self.groups.get(&id) {
            return *node;
        }
        let broadcast = self.flow.broadcasts.iter().find(|one| one.group == id);
        let at = self.nodes.len();
        let mut words = Vec::new();
        if self.alike.get(&id) == Some(&true) {
            words.push(Words::Reason(plain(&copy.reason)));
            words.extend(artifacts(&copy.artifacts));
        }
        let (standing, note) = broadcast.map_or((Standing::Held, None), outcome);
        let (kind, name) = (NodeKind::Broadcast(standing), "broadcast".to_owned());
        self.nodes.push(Node { kind, name, note, words });
        self.groups.insert(id, at);
        self.pairs.insert((from, at), Vec::new());
        at
    }

    fn finish(mut self, room: Room) -> Picture {
        let mut pairs: Vec<_> = self.pairs.into_iter().collect();
        if pairs.len() > room.pairs {
            // Lines that carry nothing hold the picture together; of the others the busiest stay.
            pairs.sort_by_key(|((from, to), cards)| {
                (!cards.is_empty(), std::cmp::Reverse(cards.len()), *from, *to)
            });
            let left: usize = pairs.drain(room.pairs..).map(|(_, cards)| cards.len()).sum();
            let what = if left == 1 { "handoff is" } else { "handoffs are" };
            self.notes.push(format!("{left} {what} not drawn"));
            pairs.sort_by_key(|((from, to), _)| (*from, *to));
        }
        let edge = |((from, to), cards): ((usize, usize), Vec<Card>)| {
            let cards = if cards.len() > room.cards { folded(cards) } else { cards };
            Edge { from, to, cards }
        };
        let edges = pairs.into_iter().map(edge).collect();
        let (title, summary) = (plain(&self.flow.title), summary(self.flow));
        let (nodes, notes) = (self.nodes, self.notes);
        Picture { title, summary, nodes, edges, notes, meanings: Vec::new() }
    }
}

fn agent_node(flow: &Flow, slot: &Slot) -> Node {
    let (kind, name) = match slot.agents.as_slice() {
        [only] if slot.is_person(flow) => (NodeKind::Person, only.to_string()),
        [only] => (NodeKind::Agent, only.to_string()),
        several => (NodeKind::Several, count(several.len(), "agent")),
    };
    let holds = |id: &AgentId| flow.agents.iter().find(|agent| agent.id == *id)?.holds;
    let note = match slot.agents.as_slice() {
        [only] => holds(only).map(|holds| {
            let said = match holds {
                Holding::Whole => "holds the work",
                Holding::Part => "has a part in hand",
                Holding::Waits => "waits for a decision",
            };
            said.to_owned()
        }),
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            Some(listed(&names, NAMES_SHOWN))
        }
    };
    Node { kind, name, note, words: Vec::new() }
}

fn summary(flow: &Flow) -> String {
    let mut parts = Vec::new();
    let took = flow.ended.as_ref().map(|end| span(end.at.millis_since(flow.started_at)));
    parts.push(match took {
        Some(took) => format!("{} in {took}", flow.status.word()),
        None => flow.status.word().to_owned(),
    });
    parts.push(count(flow.handoffs.len(), "handoff"));
    let over = |wanted: &[Standing]| {
        flow.handoffs.iter().filter(|handoff| wanted.contains(&handoff.standing)).count()
    };
    let not_well = over(&[Standing::Rejected, Standing::Failed]);
    if not_well > 0 {
        parts.push(format!("{not_well} failed"));
    }
    let again: usize = flow
        .handoffs
        .iter()
        .map(|handoff| usize::from(handoff.resends) + usize::from(handoff.reroutes))
        .sum();
    if again > 0 {
        parts.push(if again == 1 { "1 retry".to_owned() } else { format!("{again} retries") });
    }
    if flow.tokens_consumed > 0 {
        parts.push(format!("{} tokens", flow.tokens_consumed));
    }
    parts.join(" · ")
}
