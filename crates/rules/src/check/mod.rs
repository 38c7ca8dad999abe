//! Finds what is wrong with a definition without running it.
//!
//! Errors are what cannot go well: a state that nobody reaches or leaves, a name that stands for
//! nothing, a rule that never holds. Warnings are what somebody should look at.

mod names;
mod reach;
mod signals;
mod unused;
mod wanting;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use baton_protocol::definition::{Definition, Retry, RuleSpec, SignalName, StateName, StateSpec};
use baton_protocol::id::{AgentId, CapabilityId};
use baton_protocol::limits::{DEFINITION_JSON_BYTES_MAX, HANDOFFS_ALLOWED_MAX, RETRIES_MAX};
use baton_protocol::{count_masks_in, mask};

use crate::compiled::Compiled;
use crate::definition::{Positions, Problem, Read, too_many};

/// The agent that takes failures; it is there in every workflow.
pub(crate) const MONITOR: &str = "error-monitor";

/// What is known of the place where a definition is to run.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The agents of the workspace and what they can do, if there is one.
    pub agents: Option<BTreeMap<AgentId, Vec<CapabilityId>>>,
}

/// Everything that is wrong with a definition, in the order of its text.
pub fn check(read: &Read, known: &Known) -> Vec<Problem> {
    let mut look = Look::of(&read.definition, &read.positions);
    look.bounds();
    look.names();
    look.rules_and_states();
    look.reach();
    look.signals();
    look.unused(known);
    look.payloads();
    let (compiled, remarks) = Compiled::looked(&read.definition);
    look.problems.extend(remarks);
    match compiled {
        Ok(compiled) => look.variables(&compiled),
        Err(problems) => look.problems.extend(problems),
    }
    let place = |problem: Problem| problem.placed(&read.positions);
    let mut problems: Vec<Problem> = look.problems.into_iter().map(place).collect();
    problems.sort_by_key(|problem| (problem.span, problem.severity));
    problems
}

/// Everything that is wrong with a definition that did not come as a text.
pub fn check_definition(definition: &Definition) -> Vec<Problem> {
    let positions = Positions::of("");
    let text = serde_json::to_string(definition).unwrap_or_default();
    let bytes = text.len();
    if bytes > DEFINITION_JSON_BYTES_MAX {
        let message = format!("{bytes} bytes; expected at most {DEFINITION_JSON_BYTES_MAX}");
        return vec![Problem::error("too-large", message)];
    }
    let problems = too_many(definition, &positions);
    if !problems.is_empty() {
        return problems;
    }
    // Its texts were masked as they were read, and a rule that was changed says something else; its
    // schemas come as they are.
    let masked = serde_json::from_str(&text).map(|value| !count_masks_in(&value).is_empty());
    if masked.unwrap_or(true) || mask(&text) != text {
        let problem = Problem::error("secret", "it holds something that looks like a secret");
        let hint = "definitions are recorded for good; keep secrets with the agents";
        return vec![problem.hint(hint)];
    }
    check(&Read { definition: definition.clone(), positions }, &Known::default())
}

impl Look<'_> {
    /// Numbers that nobody means.
    fn bounds(&mut self) {
        let definition = self.definition;
        let too_often = |retry: &Retry| retry.times > RETRIES_MAX;
        let message = format!("more than {RETRIES_MAX} tries");
        let problem = || Problem::error("too-often", message.clone()).hint("say fewer");
        if too_often(&definition.retry) {
            self.found(problem(), "retry");
        }
        for (name, spec) in &definition.states {
            if spec.retry.as_ref().is_some_and(too_often) {
                self.found(problem(), format!("states.{name}.retry"));
            }
        }
        if definition.max_handoffs.is_some_and(|most| most > HANDOFFS_ALLOWED_MAX) {
            let message = format!("more than the {HANDOFFS_ALLOWED_MAX} that work can have");
            self.found(Problem::error("too-often", message).hint("say fewer"), "max_handoffs");
        }
    }
}

/// A definition as it is looked at.
struct Look<'a> {
    definition: &'a Definition,
    positions: &'a Positions,
    problems: Vec<Problem>,
    /// For each rule, the states in which it counts and the signals that bring it up there.
    counts: Vec<Vec<(&'a StateName, SignalName)>>,
    /// For each state and each signal that it raises, the rules that are tried.
    tried: BTreeMap<(&'a StateName, SignalName), Vec<usize>>,
}

impl<'a> Look<'a> {
    fn of(definition: &'a Definition, positions: &'a Positions) -> Self {
        let mut by_signal: BTreeMap<&SignalName, Vec<usize>> = BTreeMap::new();
        for (n, rule) in definition.rules.iter().enumerate() {
            for signal in rule.trigger.all() {
                by_signal.entry(signal).or_default().push(n);
            }
        }
        let mut counts = vec![Vec::new(); definition.rules.len()];
        let mut tried = BTreeMap::new();
        for (state, spec) in &definition.states {
            for (asked, signal) in raised(definition, state, spec) {
                let rules = by_signal.get(&signal).map(Vec::as_slice).unwrap_or_default();
                let here = |n: &&usize| {
                    definition.rules.get(**n).is_some_and(|rule| {
                        let here = rule.states.is_empty() || rule.states.contains(state);
                        here && asked.is(rule, spec)
                    })
                };
                let mut found: Vec<usize> = rules.iter().filter(here).copied().collect();
                found.dedup();
                for n in &found {
                    counts[*n].push((state, signal.clone()));
                }
                tried.insert((state, signal), found);
            }
        }
        Self { definition, positions, problems: Vec::new(), counts, tried }
    }

    /// Notes a problem.
    fn found(&mut self, problem: Problem, path: impl Into<String>) {
        self.problems.push(problem.at(path, self.positions));
    }

    /// The states in which a rule counts, each once.
    fn states_of(&self, rule: usize) -> Vec<&'a StateName> {
        let counts = self.counts.get(rule).map(Vec::as_slice).unwrap_or_default();
        let mut states: Vec<&StateName> = counts.iter().map(|(state, _)| *state).collect();
        states.dedup();
        states
    }
}

/// Who is asked what comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The state's agent.
    Agent,
    /// The error monitor.
    Monitor,
}

impl Asked {
    fn is(self, rule: &RuleSpec, spec: &StateSpec) -> bool {
        match self {
            // Whoever begins holds a start that has nobody.
            Self::Agent => spec.agent.as_ref().is_none_or(|agent| *agent == rule.from),
            Self::Monitor => rule.from.as_str() == MONITOR,
        }
    }
}

/// The signals that come up in a state.
fn raised(
    definition: &Definition,
    state: &StateName,
    spec: &StateSpec,
) -> Vec<(Asked, SignalName)> {
    if spec.end.is_some() {
        return Vec::new();
    }
    let mut raised = Vec::new();
    match &spec.wait {
        Some(wait) => raised.push((Asked::Agent, wait.signal.clone())),
        None => {
            raised.push((Asked::Agent, definition.complete(state)));
            raised.push((Asked::Agent, definition.failed(state)));
        }
    }
    if spec.timeout.is_some() {
        raised.push((Asked::Agent, definition.timeout(state)));
    }
    raised.push((Asked::Monitor, SignalName::error_retry()));
    // What comes from outside comes when it likes; what some state waits for is heard there.
    let outside = definition.signals.keys().filter(|signal| !definition.awaits(signal));
    if spec.agent.is_some() {
        raised.extend(outside.map(|signal| (Asked::Agent, signal.clone())));
    }
    raised
}

/// The name that is most like this one, if one is.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let close = |known: &'n str| (distance(name, known), known);
    let (far, nearest) = known.map(close).min()?;
    (far <= 1 + name.len() / 4).then_some(nearest)
}

/// How many characters must be changed, added or left out to make one of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (n, a) in one.chars().enumerate() {
        let mut before = n;
        let mut left = n + 1;
        for (m, b) in other.iter().enumerate() {
            let above = row.get(m + 1).copied().unwrap_or_default();
            let changed = before + usize::from(a != *b);
            row[m] = left;
            left = changed.min(above + 1).min(left + 1);
            before = above;
        }
        if let Some(last) = row.last_mut() {
            *last = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// A hint that names the nearest name, or all that there are.
fn meant<'n>(name: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    const NAMED_MAX: usize = 12;
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let some: Vec<&str> = known.take(NAMED_MAX).collect();
            match some.as_slice() {
                [] => "none is declared".to_owned(),
                some => format!("declared are {}", some.join(", ")),
            }
        }
    }
}
