//! States that nobody reaches, states that lead nowhere, and loops.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use baton_protocol::definition::{End, StateName};
use baton_protocol::limits::HANDOFFS_PER_WORKFLOW;

use super::{Look, MONITOR};
use crate::definition::Problem;

type Edges<'a> = BTreeMap<&'a StateName, BTreeSet<&'a StateName>>;

impl<'a> Look<'a> {
    /// Where the rules lead, state by state.
    pub(super) fn edges(&self) -> Edges<'a> {
        let mut edges = Edges::new();
        for (n, rule) in self.definition.rules.iter().enumerate() {
            for state in self.states_of(n) {
                edges.entry(state).or_default().insert(&rule.next_state);
            }
        }
        if let Some(first) =
            self.definition.first().filter(|first| **first != self.definition.start)
        {
            edges.entry(&self.definition.start).or_default().insert(first);
        }
        edges
    }

    /// Whether work goes from one state to another without a rule: from the start to its first
    /// agent, and to an end where a person or the error monitor takes it.
    pub(super) fn goes_alone(&self, state: &StateName, next: &StateName) -> bool {
        let begins = *state == self.definition.start && self.definition.first() == Some(next);
        let end = self.definition.states.get(next).and_then(|spec| spec.end);
        begins || matches!(end, Some(End::Cancelled | End::Failed))
    }

    /// States that nobody reaches, states that lead nowhere, and loops.
    pub(super) fn reach(&mut self) {
        let definition = self.definition;
        let edges = self.edges();
        if !definition.states.values().any(|spec| spec.end.is_some()) {
            let problem = Problem::error("no-end", "no state is an end, so work never does");
            self.found(problem.hint("give one `end: completed`"), "states");
        } else if definition.failure().is_none() {
            let message = "no state has `end: failed`: work that cannot be done has nowhere to go";
            let hint = "add `failed: { end: failed }`";
            self.found(Problem::warning("no-failed-end", message).hint(hint), "states");
        }
        let mut reached = from(&edges, [&definition.start].into_iter());
        // Whatever fails for good ends there by itself, and people call off what they like.
        reached.extend(definition.failure());
        for (state, after) in &definition.transitions {
            if reached.contains(state) {
                reached.extend(after.iter().filter(|next| self.goes_alone(state, next)));
            }
        }
        for name in definition.states.keys().filter(|name| !reached.contains(name)) {
            let message = format!("no rule leads to `{name}`");
            let into: Vec<&str> = definition
                .transitions
                .iter()
                .filter(|(_, after)| after.contains(name))
                .map(|(before, _)| before.as_str())
                .collect();
            let hint = match into.as_slice() {
                [] => "add a rule with this `next_state`, or leave the state out".to_owned(),
                some => format!("add a rule that leads here from {}", some.join(" or ")),
            };
            let problem = Problem::error("unreachable-state", message).hint(hint);
            self.found(problem, format!("states.{name}"));
        }
        self.dead_ends(&edges, &reached);
        self.loops();
    }

    fn dead_ends(&mut self, edges: &Edges<'a>, reached: &BTreeSet<&StateName>) {
        let mut back = Edges::new();
        for (state, after) in edges {
            for next in after {
                back.entry(next).or_default().insert(state);
            }
        }
        let states = &self.definition.states;
        let ends = states.iter().filter(|(_, spec)| spec.end.is_some()).map(|(name, _)| name);
        let ending = from(&back, ends);
        for name in states.keys() {
            if ending.contains(name) || !reached.contains(name) {
                continue;
            }
            let way = match edges.get(name) {
                None => "no rule leads on from",
                Some(_) => "no end can be reached from",
            };
            let hint = match self.definition.after(name) {
                [] => "add a transition and a rule that takes it".to_owned(),
                [next, ..] => format!("add a rule that leads on, such as to `{next}`"),
            };
            let problem = Problem::error("dead-end", format!("{way} `{name}`")).hint(hint);
            self.found(problem, format!("states.{name}"));
        }
    }

    /// Loops of states that nothing bounds. What the error monitor tries again is bounded.
    fn loops(&mut self) {
        let definition = self.definition;
        let mut edges = Edges::new();
        for (n, rule) in definition.rules.iter().enumerate() {
            let monitor = rule.from.as_str() == MONITOR
                || rule.to.as_ref().is_some_and(|to| to.as_str() == MONITOR);
            if monitor {
                continue;
            }
            for state in self.states_of(n) {
                edges.entry(state).or_default().insert(&rule.next_state);
            }
        }
        let mut told = BTreeSet::new();
        for state in definition.states.keys() {
            if told.contains(state) {
                continue;
            }
            let Some(way) = round(&edges, state) else { continue };
            told.extend(way.iter().copied());
            let names: Vec<&str> =
                way.iter().chain(way.first()).map(|state| state.as_str()).collect();
            let names = names.join(" → ");
            let long = definition.max_handoffs.and_then(|most| {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                (way.len() > most).then_some(most)
            });
            let (message, hint) = match (definition.max_handoffs, long) {
                (Some(_), None) => continue,
                (Some(_), Some(most)) => (
                    format!("{names} takes more handoffs than the {most} that are allowed"),
                    "raise `max_handoffs`".to_owned(),
                ),
                (None, _) => (
                    format!(
                        "{names} can go on and on; only the policy's limit of \
                         {HANDOFFS_PER_WORKFLOW} handoffs ends it"
                    ),
                    "set `max_handoffs`, or count the rounds in a variable".to_owned(),
                ),
            };
            let problem = Problem::warning("unbounded-loop", message).hint(hint);
            self.found(problem, format!("states.{state}"));
        }
    }
}

/// The states that can be reached, and those that one begins with.
pub(super) fn from<'a>(
    edges: &Edges<'a>,
    begin: impl Iterator<Item = &'a StateName>,
) -> BTreeSet<&'a StateName> {
    let mut reached: BTreeSet<&StateName> = begin.collect();
    let mut open: Vec<&StateName> = reached.iter().copied().collect();
    while let Some(state) = open.pop() {
        for next in edges.get(state).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The shortest way from a state back to it.
fn round<'a>(edges: &Edges<'a>, state: &'a StateName) -> Option<Vec<&'a StateName>> {
    let mut before: BTreeMap<&StateName, &StateName> = BTreeMap::new();
    let mut open = VecDeque::from([state]);
    while let Some(here) = open.pop_front() {
        for next in edges.get(here).into_iter().flatten() {
            if *next == state {
                let mut way = vec![here];
                while let Some(earlier) = before.get(way[way.len() - 1]) {
                    way.push(earlier);
                }
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(next) {
                before.insert(next, here);
                open.push_back(next);
            }
        }
    }
    None
}
