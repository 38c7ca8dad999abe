//! A workflow as a graph to be drawn, made from its records.

use std::collections::BTreeMap;

use baton_flow::{
    Flow, FlowAgent, FlowBroadcast, FlowEnd, FlowHandoff, FlowKind, FlowReturn, FlowStatus,
    FlowTry, Holding, Party, Standing,
};
use baton_protocol::artifact::Artifact;
use baton_protocol::command::Actor;
use baton_protocol::event::Event;
use baton_protocol::handoff::{Cause, Detail, Handoff, Kind, Return, State};
use baton_protocol::id::{AgentId, GroupId, HandoffId, WorkflowId};
use baton_protocol::text::Body;
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::{Ending, Hold, Workflow};
use baton_store::Record;
use serde_json::Value;

use super::build::said;
use super::kinds;
use super::past::Ended;
use super::sight::Sight;

/// Characters of a result's words that a picture may show.
const WORDS_MAX: usize = 200;

/// What the records tell that the last state does not: the order in which handoffs began, and who
/// had each before.
#[derive(Debug, Default)]
pub(crate) struct Tale {
    order: Vec<HandoffId>,
    tries: BTreeMap<HandoffId, Vec<FlowTry>>,
    /// Who has each handoff, as far as the tale has come.
    has: BTreeMap<HandoffId, AgentId>,
    /// The last no to each handoff.
    turned_away: BTreeMap<HandoffId, FlowTry>,
}

impl Tale {
    /// Reads the records of a workflow from its beginning.
    pub(crate) fn of(lines: &[Vec<u8>]) -> Result<Self, serde_json::Error> {
        let mut tale = Self::default();
        for line in lines {
            tale.hear(Record::read(line)?.event);
        }
        Ok(tale)
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Initiated { terms, .. } => {
                self.order.push(terms.id);
                self.has.insert(terms.id, terms.to_agent);
            }
            Event::Rejected { handoff, by, reason, cause } => {
                let (ended, reason) = (word(cause).to_owned(), Some(reason.to_string()));
                self.turned_away.insert(handoff, FlowTry { agent: by, ended, reason });
            }
            Event::Rerouted { handoff, from, to, reason, .. } => {
                let known = self.turned_away.remove(&handoff).filter(|no| no.agent == from);
                let (ended, reason) = ("rerouted".to_owned(), Some(reason.to_string()));
                let tried = known.unwrap_or(FlowTry { agent: from, ended, reason });
                self.tries.entry(handoff).or_default().push(tried);
                self.has.insert(handoff, to);
            }
            Event::Reassigned { handoff, to, reason, .. } => {
                if let Some(agent) = self.has.insert(handoff, to) {
                    let (ended, reason) = ("reassigned".to_owned(), Some(reason.to_string()));
                    let tried = FlowTry { agent, ended, reason };
                    self.tries.entry(handoff).or_default().push(tried);
                }
            }
            // Everything else shows in the state that it led to.
            _ => (),
        }
    }
}

fn word(cause: Cause) -> &'static str {
    match cause {
        Cause::Answer => "rejected",
        Cause::CapabilityMismatch => "cannot do it",
        Cause::Risk => "too risky for it",
        Cause::AtCapacity => "had no room",
        Cause::Unavailable => "did not answer",
        Cause::Unwell => "not well",
    }
}

/// A workflow as `viewer` may see it drawn. Who is a person is not in its records.
pub(crate) fn flow(
    viewer: &Actor,
    (id, workflow): (WorkflowId, &Workflow),
    ended: Option<&Ended>,
    tale: &Tale,
) -> Flow {
    let sight = Sight::of(viewer, workflow);
    let known = tale.order.iter().filter_map(|id| workflow.handoffs.get(id));
    let seen: Vec<&Handoff> = known.filter(|handoff| sight.sees(handoff)).collect();
    let carried = Carried::of(sight, &seen);
    let handoffs: Vec<FlowHandoff> =
        (1..).zip(&seen).map(|(number, handoff)| edge(number, handoff, tale, &carried)).collect();
    let holds = holds(sight, ended);
    Flow {
        workflow: id,
        title: workflow.title.to_string(),
        status: match ended.map(|ended| &ended.ending) {
            None => FlowStatus::Open,
            Some(Ending::Completed { .. }) => FlowStatus::Completed,
            Some(Ending::Cancelled { .. }) => FlowStatus::Cancelled,
            Some(Ending::Failed { .. }) => FlowStatus::Failed,
        },
        started_by: workflow.started_by.clone(),
        started_at: workflow.started_at,
        ended: ended.map(end),
        agents: agents(workflow, &handoffs, &holds, ended),
        handoffs,
        broadcasts: broadcasts(sight),
        tokens_consumed: workflow.tokens_consumed,
    }
}

fn end(ended: &Ended) -> FlowEnd {
    let words = match &ended.ending {
        Ending::Completed { note, .. } => note.as_ref().map(ToString::to_string),
        Ending::Cancelled { reason } | Ending::Failed { reason, .. } => Some(reason.to_string()),
    };
    FlowEnd { at: ended.at, by: ended.by.clone(), words }
}

fn edge(number: usize, handoff: &Handoff, tale: &Tale, carried: &Carried) -> FlowHandoff {
    let terms = &handoff.terms;
    let (standing, ended_at) = standing(&handoff.state);
    let detail = match &handoff.state {
        State::Failed { detail, .. } => Some(said(detail)),
        _ => None,
    };
    let (kind, level, matter) = match &terms.kind {
        Kind::Sequential => (FlowKind::Sequential, None, None),
        Kind::Delegation(_) => (FlowKind::Delegation, None, None),
        Kind::Broadcast(_) => (FlowKind::Broadcast, None, None),
        Kind::Escalation(asked) => (FlowKind::Escalation, Some(asked.level), Some(asked.matter)),
    };
    FlowHandoff {
        number,
        id: terms.id,
        from_agent: terms.from_agent.clone(),
        to_agent: handoff.to.clone(),
        kind,
        level,
        matter,
        reason: terms.reason.to_string(),
        state: handoff.state.word().to_owned(),
        standing,
        detail,
        initiated_at: handoff.initiated_at,
        ended_at,
        resends: handoff.attempts.resends,
        reroutes: handoff.attempts.reroutes,
        tries: tale.tries.get(&terms.id).cloned().unwrap_or_default(),
        artifacts: carried.there.get(&terms.id).cloned().unwrap_or_default(),
        returned: result(&handoff.state).map(|(result, _)| back(terms.id, result, carried)),
        group: terms.kind.group(),
    }
}

/// What a state comes to in a picture, and when it was over.
fn standing(state: &State) -> (Standing, Option<Timestamp>) {
    match state {
        State::AwaitingApproval { .. } => (Standing::Approval, None),
        State::Queued { .. } | State::Initiated { .. } | State::Deferred { .. } => {
            (Standing::Waiting, None)
        }
        State::Accepted { .. } | State::Returned { .. } => (Standing::Held, None),
        State::Suspended { .. } => (Standing::Suspended, None),
        State::Completed { at, .. } => (Standing::Completed, Some(*at)),
        State::Failed { at, detail } => {
            let standing = match detail {
                Detail::Rejected { .. } | Detail::Denied { .. } => Standing::Rejected,
                Detail::Unavailable
                | Detail::TimedOut
                | Detail::Unapproved
                | Detail::Error { .. } => Standing::Failed,
                Detail::Cancelled { .. } => Standing::Cancelled,
                Detail::PassedOn { .. } => Standing::PassedOn,
            };
            (standing, Some(*at))
        }
    }
}

/// What came back, and when, as far as that is known.
fn result(state: &State) -> Option<(&Return, Option<Timestamp>)> {
    match state {
        State::Completed { result, at } => Some((result.as_deref()?, Some(*at))),
        State::Failed { detail: Detail::Error { result }, at } => Some((result, Some(*at))),
        State::Returned { result, .. } => Some((result, None)),
        State::Failed { .. }
        | State::AwaitingApproval { .. }
        | State::Queued { .. }
        | State::Initiated { .. }
        | State::Deferred { .. }
        | State::Accepted { .. }
        | State::Suspended { .. } => None,
    }
}

fn back(id: HandoffId, result: &Return, carried: &Carried) -> FlowReturn {
    let mut artifacts = carried.back.get(&id).cloned().unwrap_or_default();
    for produced in &result.artifacts_produced {
        let path = produced.path.to_string();
        if !artifacts.contains(&path) {
            artifacts.push(path);
        }
    }
    let body = result.content.as_ref().and_then(|content| match &content.body {
        Body::Inline(json) => match json.as_value() {
            Value::String(words) => Some(words.clone()),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        },
        Body::Blob(_) => None,
    });
    let words = result.notes.as_ref().map(ToString::to_string).or(body);
    let words = words.map(|words| words.chars().take(WORDS_MAX).collect());
    FlowReturn { status: result.status, artifacts, words }
}

/// Which artifacts travelled with which handoff, and which came back with it.
///
/// Everything that is known of a workflow is open to whoever takes a part of it. A picture tells
/// each artifact once: on the next way that leads away from its maker.
#[derive(Default)]
struct Carried {
    there: BTreeMap<HandoffId, Vec<String>>,
    back: BTreeMap<HandoffId, Vec<String>>,
}

/// A way that leads away from an agent.
struct Way<'a> {
    at: Timestamp,
    by: &'a AgentId,
    handoff: HandoffId,
    group: Option<GroupId>,
    is_back: bool,
}

impl Carried {
    fn of(sight: Sight<'_>, seen: &[&Handoff]) -> Self {
        let mut ways: Vec<Way<'_>> = Vec::new();
        for handoff in seen {
            let (id, group) = (handoff.terms.id, handoff.terms.kind.group());
            let (at, by) = (handoff.initiated_at, &handoff.terms.from_agent);
            ways.push(Way { at, by, handoff: id, group, is_back: false });
            if let Some((_, Some(at))) = result(&handoff.state) {
                ways.push(Way { at, by: &handoff.to, handoff: id, group: None, is_back: true });
            }
        }
        ways.sort_by_key(|way| way.at);
        let all = sight.workflow().artifacts.values();
        let mut artifacts: Vec<&Artifact> =
            all.filter(|artifact| !sight.hides(&artifact.created_by)).collect();
        artifacts.sort_by_key(|artifact| (artifact.created_at, artifact.id));
        let mut carried = Self::default();
        for artifact in artifacts {
            let leads =
                |way: &&Way<'_>| *way.by == artifact.created_by && way.at >= artifact.created_at;
            let Some(first) = ways.iter().find(leads) else { continue };
            // All copies of a broadcast carry the same.
            let same = |way: &&Way<'_>| match first.group {
                Some(_) => way.group == first.group,
                None => way.handoff == first.handoff && way.is_back == first.is_back,
            };
            for way in ways.iter().filter(same) {
                let side = if way.is_back { &mut carried.back } else { &mut carried.there };
                side.entry(way.handoff).or_default().push(artifact.produced.path.to_string());
            }
        }
        carried
    }
}

/// What everybody has in hand who may be seen with it.
fn holds(sight: Sight<'_>, ended: Option<&Ended>) -> BTreeMap<AgentId, Holding> {
    let workflow = sight.workflow();
    let mut holds = BTreeMap::new();
    if ended.is_some() {
        return holds;
    }
    let hidden = |hold: &Hold| {
        let brought = hold.handoff.and_then(|handoff| workflow.handoffs.get(&handoff));
        brought.is_some_and(|handoff| !sight.sees(handoff))
    };
    for (fence, hold) in workflow.holds.iter().filter(|(_, hold)| !hidden(hold)) {
        let holding = match (hold.suspended.is_some(), workflow.owner == *fence) {
            (true, _) => Holding::Waits,
            (false, true) => Holding::Whole,
            (false, false) => Holding::Part,
        };
        let known = holds.entry(hold.agent.clone()).or_insert(holding);
        if holding == Holding::Whole {
            *known = holding;
        }
    }
    holds
}

/// Everybody who is to be seen, in the order in which they came to the work.
fn agents(
    workflow: &Workflow,
    handoffs: &[FlowHandoff],
    holds: &BTreeMap<AgentId, Holding>,
    ended: Option<&Ended>,
) -> Vec<FlowAgent> {
    let mut agents: Vec<FlowAgent> = Vec::new();
    let mut add = |id: &AgentId| {
        if agents.iter().all(|agent| agent.id != *id) {
            let party = if id.is_operator() { Party::Person } else { Party::Agent };
            agents.push(FlowAgent { id: id.clone(), party, holds: holds.get(id).copied() });
        }
    };
    add(&workflow.started_by);
    for handoff in handoffs {
        add(&handoff.from_agent);
        handoff.tries.iter().for_each(|tried| add(&tried.agent));
        add(&handoff.to_agent);
    }
    holds.keys().for_each(&mut add);
    ended.iter().for_each(|ended| add(&ended.by));
    agents
}

fn broadcasts(sight: Sight<'_>) -> Vec<FlowBroadcast> {
    let one = |view: super::BroadcastView| FlowBroadcast {
        group: view.group,
        aggregation: view.aggregation,
        expected: view.expected,
        successes: view.successes,
        failures: view.failures,
        success: view.outcome.map(|outcome| outcome == "success"),
    };
    kinds::broadcasts(sight).into_iter().map(one).collect()
}
