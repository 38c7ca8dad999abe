//! A definition as a picture: its states, and the rules that lead from one to the next.

use std::collections::BTreeMap;

use baton_flow::{Card, Edge, Node, NodeKind, Picture, Standing, Words};
use baton_protocol::definition::{Definition, End, RuleSpec, SignalName, StateName, StateSpec};

use crate::check::MONITOR;

/// What the signs of rules mean.
const MEANINGS: [(Standing, &str); 4] = [
    (Standing::Completed, "when done"),
    (Standing::Waiting, "on a signal or in time"),
    (Standing::Failed, "when failed"),
    (Standing::Suspended, "tried again"),
];

/// The picture of a definition.
pub fn graph(definition: &Definition) -> Picture {
    let order = order(definition);
    let places: BTreeMap<&StateName, usize> =
        order.iter().enumerate().map(|(at, name)| (*name, at + 1)).collect();
    let mut nodes = vec![Node {
        kind: NodeKind::Begin,
        name: "begin".to_owned(),
        note: None,
        words: Vec::new(),
    }];
    nodes.extend(order.iter().map(|name| node(name, &definition.states[*name])));
    let mut pairs: BTreeMap<(usize, usize), Vec<Card>> = BTreeMap::new();
    if let Some(start) = places.get(&definition.start) {
        pairs.insert((0, *start), Vec::new());
        // A start without an agent goes on by itself.
        let first = definition.first().and_then(|first| places.get(first));
        pairs.extend(first.filter(|first| *first != start).map(|first| ((*start, *first), vec![])));
    }
    for rule in &definition.rules {
        for (from, standing) in moments(definition, rule) {
            let ends = (places.get(from), places.get(&rule.next_state));
            if let (Some(from), Some(to)) = ends {
                pairs.entry((*from, *to)).or_default().push(card(rule, standing));
            }
        }
    }
    let edges = pairs.into_iter().map(|((from, to), cards)| Edge { from, to, cards }).collect();
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let summary = [
        count(definition.states.len(), "state"),
        count(definition.rules.len(), "rule"),
        count(definition.agents.len(), "agent"),
    ];
    Picture {
        title: definition.id().to_string(),
        summary: summary.join(", "),
        nodes,
        edges,
        notes: Vec::new(),
        meanings: MEANINGS.to_vec(),
    }
}

/// The states as work comes to them, and then those to which it does not; the ends last.
fn order(definition: &Definition) -> Vec<&StateName> {
    let mut order: Vec<&StateName> = Vec::new();
    let start = definition.states.get_key_value(&definition.start);
    let mut open: Vec<&StateName> = start.map(|(name, _)| name).into_iter().collect();
    while let Some(name) = open.pop() {
        if order.contains(&name) {
            continue;
        }
        order.push(name);
        for next in definition.after(name).iter().rev() {
            open.extend(definition.states.get_key_value(next).map(|(name, _)| name));
        }
    }
    let missing: Vec<&StateName> =
        definition.states.keys().filter(|name| !order.contains(name)).collect();
    order.extend(missing);
    // Stable: among the rest, the order in which work comes to them stays.
    order.sort_by_key(|name| definition.states[*name].end.is_some());
    order
}

fn node(name: &StateName, spec: &StateSpec) -> Node {
    let kind = match spec.end {
        None => NodeKind::State,
        Some(End::Completed) => NodeKind::Completed,
        Some(End::Failed) => NodeKind::Failed,
        Some(End::Cancelled) => NodeKind::Cancelled,
    };
    let waits = spec.wait.as_ref().map(|wait| format!("waits for {}", wait.signal));
    let agent = spec.agent.as_ref().map(ToString::to_string);
    let notes: Vec<String> = agent.into_iter().chain(waits).collect();
    let note = (!notes.is_empty()).then(|| notes.join(", "));
    Node { kind, name: name.to_string(), note, words: Vec::new() }
}

/// The states in which a rule counts, and on what occasion in each.
fn moments<'d>(definition: &'d Definition, rule: &'d RuleSpec) -> Vec<(&'d StateName, Standing)> {
    let monitor = rule.from.as_str() == MONITOR;
    let here = |(name, spec): &(&StateName, &StateSpec)| {
        let listed = rule.states.is_empty() || rule.states.contains(name);
        let theirs = monitor || spec.agent.as_ref().is_none_or(|agent| *agent == rule.from);
        listed && theirs && spec.end.is_none()
    };
    let triggers = rule.trigger.all();
    let given_up = rule.to.as_ref().is_some_and(|to| to.as_str() == MONITOR);
    let mut moments = Vec::new();
    for (name, spec) in definition.states.iter().filter(here) {
        let heard = |signal: &SignalName| triggers.contains(signal);
        let waits = spec.wait.as_ref().is_some_and(|wait| heard(&wait.signal));
        let late = heard(&definition.timeout(name));
        let standing = if monitor && heard(&SignalName::error_retry()) {
            Standing::Suspended
        } else if spec.wait.is_none() && !given_up && heard(&definition.complete(name)) {
            Standing::Completed
        } else if heard(&definition.failed(name)) || (given_up && heard(&definition.complete(name)))
        {
            Standing::Failed
        } else if waits || late {
            Standing::Waiting
        } else {
            continue;
        };
        moments.push((name, standing));
    }
    moments
}

fn card(rule: &RuleSpec, standing: Standing) -> Card {
    let mut words = Vec::new();
    if let Some(when) = &rule.when {
        words.push(Words::Reason(format!("if {}", one_line(when.as_str()))));
    }
    words.push(Words::Reason(one_line(rule.reason.as_str())));
    let triggers: Vec<&str> = rule.trigger.all().iter().map(|name| name.as_str()).collect();
    let state = rule.to.as_ref().map(|to| format!("to {to}")).unwrap_or_default();
    Card {
        number: rule.id.to_string(),
        count: 1,
        kind: triggers.first().copied().unwrap_or_default().to_owned(),
        standing,
        state,
        words,
        returned: false,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
