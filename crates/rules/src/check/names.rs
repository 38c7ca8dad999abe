//! Names that stand for nothing, and rules that do not fit the states they are about.

use std::collections::BTreeMap;

use baton_protocol::definition::{RuleSpec, StateName};
use baton_protocol::id::AgentId;

use super::{Look, MONITOR, meant};
use crate::definition::Problem;

impl Look<'_> {
    /// Names that are not declared.
    pub(super) fn names(&mut self) {
        let definition = self.definition;
        self.state(&definition.start, "start".to_owned());
        for (name, spec) in &definition.states {
            if let Some(agent) = &spec.agent {
                self.agent(agent, format!("states.{name}.agent"), false);
            }
            if let Some(wait) = &spec.wait
                && !definition.signals.contains_key(&wait.signal)
            {
                let message = format!("there is no signal `{}`", wait.signal);
                let known = definition.signals.keys().map(|name| name.as_str());
                let hint =
                    format!("{}; write it under `signals`", meant(wait.signal.as_str(), known));
                let problem = Problem::error("unknown-signal", message).hint(hint);
                self.found(problem, format!("states.{name}.wait.signal"));
            }
        }
        for (name, after) in &definition.transitions {
            self.state(name, format!("transitions.{name}"));
            for (n, next) in after.iter().enumerate() {
                self.state(next, format!("transitions.{name}[{n}]"));
            }
        }
        let mut ids = BTreeMap::new();
        for (n, rule) in definition.rules.iter().enumerate() {
            self.agent(&rule.from, format!("rules[{n}].from"), true);
            if let Some(to) = &rule.to {
                self.agent(to, format!("rules[{n}].to"), true);
            }
            for (m, state) in rule.states.iter().enumerate() {
                self.state(state, format!("rules[{n}].states[{m}]"));
            }
            self.state(&rule.next_state, format!("rules[{n}].next_state"));
            if let Some(first) = ids.insert(&rule.id, n) {
                let message = format!("rules[{first}] is called `{}`, too", rule.id);
                let problem = Problem::error("duplicate-rule", message);
                self.found(
                    problem.hint("give each rule an id of its own"),
                    format!("rules[{n}].id"),
                );
            }
        }
    }

    fn state(&mut self, name: &StateName, path: String) {
        let states = &self.definition.states;
        if !states.contains_key(name) {
            let hint = meant(name.as_str(), states.keys().map(|name| name.as_str()));
            let message = format!("there is no state `{name}`");
            self.found(Problem::error("unknown-state", message).hint(hint), path);
        }
    }

    fn agent(&mut self, name: &AgentId, path: String, monitor: bool) {
        let agents = &self.definition.agents;
        let built_in = monitor && name.as_str() == MONITOR;
        if !agents.contains_key(name) && !built_in {
            let known = agents.keys().map(|name| name.as_str());
            let hint = meant(name.as_str(), known.chain([MONITOR]));
            let message = format!("there is no agent `{name}`");
            self.found(Problem::error("unknown-agent", message).hint(hint), path);
        }
    }

    /// What states and rules say of each other.
    pub(super) fn rules_and_states(&mut self) {
        let definition = self.definition;
        for (name, spec) in &definition.states {
            if spec.agent.is_none() && spec.end.is_none() && *name != definition.start {
                let message = format!("nobody is responsible in `{name}`");
                let hint = "name its `agent`, or say how it ends with `end: completed`";
                self.found(
                    Problem::error("no-owner", message).hint(hint),
                    format!("states.{name}"),
                );
            }
            if spec.end.is_some() && !definition.after(name).is_empty() {
                let message = format!("`{name}` is an end, and nothing follows an end");
                let problem = Problem::error("end-goes-on", message);
                let hint = "leave these transitions out, or leave `end` out of the state";
                self.found(problem.hint(hint), format!("transitions.{name}"));
            }
        }
        for (n, rule) in definition.rules.iter().enumerate() {
            self.holder(n, rule);
            self.states_are_of_the_agent(n, rule);
            self.transitions_are_declared(n, rule);
        }
    }

    /// Whoever goes on must be responsible in the state that follows.
    fn holder(&mut self, n: usize, rule: &RuleSpec) {
        let Some(next) = self.definition.states.get(&rule.next_state) else { return };
        let name = &rule.next_state;
        match (&rule.to, &next.agent) {
            (Some(to), _) if to.as_str() == MONITOR => (),
            (Some(to), Some(agent)) if to == agent => (),
            (Some(to), Some(agent)) => {
                let message = format!("`{to}` goes on, but `{name}` belongs to `{agent}`");
                let hint = format!("write `to: {agent}`, or another `next_state`");
                self.found(
                    Problem::error("wrong-agent", message).hint(hint),
                    format!("rules[{n}].to"),
                );
            }
            (Some(to), None) => {
                let message = format!("`{to}` goes on, but nobody is responsible in `{name}`");
                let problem = Problem::error("wrong-agent", message);
                self.found(problem.hint("leave `to` out"), format!("rules[{n}].to"));
            }
            (None, Some(agent)) if *agent != rule.from && rule.from.as_str() != MONITOR => {
                let message =
                    format!("`{name}` belongs to `{agent}`, and nobody is handed anything");
                let problem = Problem::error("wrong-agent", message);
                let path = format!("rules[{n}].next_state");
                self.found(problem.hint(format!("write `to: {agent}`")), path);
            }
            (None, _) => (),
        }
    }

    fn states_are_of_the_agent(&mut self, n: usize, rule: &RuleSpec) {
        if rule.from.as_str() == MONITOR {
            return;
        }
        for (m, state) in rule.states.iter().enumerate() {
            let agent = self.definition.states.get(state).and_then(|spec| spec.agent.as_ref());
            if let Some(agent) = agent.filter(|agent| **agent != rule.from) {
                let message = format!("`{state}` belongs to `{agent}`, not to `{}`", rule.from);
                let hint = format!("write `from: {agent}`, or another state");
                let path = format!("rules[{n}].states[{m}]");
                self.found(Problem::error("wrong-agent", message).hint(hint), path);
            }
        }
    }

    fn transitions_are_declared(&mut self, n: usize, rule: &RuleSpec) {
        let next = &rule.next_state;
        if !self.definition.states.contains_key(next) {
            return;
        }
        for state in self.states_of(n) {
            if self.definition.allows(state, next) {
                continue;
            }
            let allowed: Vec<&str> =
                self.definition.after(state).iter().map(|state| state.as_str()).collect();
            let allowed = match allowed.as_slice() {
                [] => "nothing may".to_owned(),
                some => format!("{} may", some.join(", ")),
            };
            let message = format!("`{next}` may not follow `{state}`; {allowed}");
            let hint = format!("add `{next}` to `transitions.{state}`");
            let problem = Problem::error("transition-not-declared", message).hint(hint);
            self.found(problem, format!("rules[{n}].next_state"));
        }
    }
}
