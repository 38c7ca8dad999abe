//! Rules that can never be taken, and signals that no rule answers.

use std::collections::BTreeSet;

use baton_protocol::definition::{RuleSpec, SignalName, StateName};

use super::{Look, MONITOR, meant};
use crate::definition::Problem;

impl Look<'_> {
    /// Rules that can never be taken, and signals that no rule answers.
    pub(super) fn signals(&mut self) {
        let definition = self.definition;
        let raised: BTreeSet<SignalName> =
            self.tried.keys().map(|(_, signal)| signal.clone()).collect();
        let said: Vec<Option<String>> = definition.rules.iter().map(said).collect();
        for (n, rule) in definition.rules.iter().enumerate() {
            let known = self.triggers(n, rule, &raised);
            let counts = self.counts.get(n).is_some_and(|counts| !counts.is_empty());
            if !counts && known {
                self.never_raised(n, rule);
            } else if counts {
                self.shadowed(n, &said);
            }
        }
        for (name, spec) in &definition.states {
            if spec.end.is_some() {
                continue;
            }
            self.answered(name, spec.timeout.is_some(), spec.wait.is_some());
            if spec.wait.is_some() && spec.timeout.is_none() {
                let message = format!("`{name}` may wait forever");
                let problem = Problem::warning("wait-without-timeout", message);
                let hint = "give it a `timeout`, and a rule for when it is up";
                self.found(problem.hint(hint), format!("states.{name}.wait"));
            }
        }
    }

    /// Whether any signal that brings a rule up is known.
    fn triggers(&mut self, n: usize, rule: &RuleSpec, raised: &BTreeSet<SignalName>) -> bool {
        let declared = &self.definition.signals;
        let triggers = rule.trigger.all();
        let mut any = false;
        for (m, signal) in triggers.iter().enumerate() {
            if raised.contains(signal) || declared.contains_key(signal) {
                any = true;
                continue;
            }
            let known = raised.iter().chain(declared.keys()).map(|signal| signal.as_str());
            let hint = meant(signal.as_str(), known);
            let message = format!("no state raises `{signal}`");
            let path = if self.positions.has(&format!("rules[{n}].trigger[{m}]")) {
                format!("rules[{n}].trigger[{m}]")
            } else {
                format!("rules[{n}].trigger")
            };
            self.found(Problem::error("unknown-signal", message).hint(hint), path);
        }
        any
    }

    fn never_raised(&mut self, n: usize, rule: &RuleSpec) {
        let signals: Vec<&str> = rule.trigger.all().iter().map(|name| name.as_str()).collect();
        let signals = signals.join(" or ");
        let monitor = rule.from.as_str() == MONITOR;
        let message = match rule.states.as_slice() {
            [] => format!("no state of `{}` raises {signals}", rule.from),
            some => {
                let some: Vec<&str> = some.iter().map(|name| name.as_str()).collect();
                format!("{signals} is not raised in {} for `{}`", some.join(", "), rule.from)
            }
        };
        let hint = match monitor {
            true => "the error monitor is only asked with ERROR_RETRY",
            false => {
                "a state raises NAME_COMPLETE, NAME_FAILED, NAME_TIMEOUT if it has a \
                      `timeout`, and what it waits for"
            }
        };
        let problem = Problem::error("never-fires", message).hint(hint);
        self.found(problem, format!("rules[{n}].trigger"));
    }

    /// Whether rules before this one leave nothing to it.
    fn shadowed(&mut self, n: usize, said: &[Option<String>]) {
        let own = said.get(n).and_then(Option::as_ref);
        let mut by = None;
        let counts = self.counts.get(n).map(Vec::as_slice).unwrap_or_default();
        for (state, signal) in counts {
            let tried = self.tried.get(&(*state, signal.clone()));
            let mut before = tried.into_iter().flatten().copied().take_while(|m| *m < n);
            let covers = before.find(|m| match said.get(*m).and_then(Option::as_ref) {
                None => true,
                Some(when) => Some(when) == own || when == "true",
            });
            match covers {
                Some(earlier) => by = Some(earlier),
                None => return,
            }
        }
        let Some(by) = by.and_then(|by| self.definition.rules.get(by)) else { return };
        let always = by.when.is_none();
        let why = if always { "always holds" } else { "has the same condition" };
        let message = format!("rule `{}` comes first and {why}", by.id);
        let hint = match always {
            true => format!("put this rule before `{}`, or give that one a condition", by.id),
            false => "leave one of them out, or let their conditions differ".to_owned(),
        };
        self.found(Problem::error("never-fires", message).hint(hint), format!("rules[{n}]"));
    }

    fn answered(&mut self, name: &StateName, times: bool, waits: bool) {
        let none = |signal: &SignalName| {
            self.tried.get(&(name, signal.clone())).is_none_or(|rules| rules.is_empty())
        };
        let spec = &self.definition.states[name];
        let complete = match &spec.wait {
            Some(wait) => wait.signal.clone(),
            None => self.definition.complete(name),
        };
        let timeout = self.definition.timeout(name);
        let any = self.tried.iter().any(|((state, _), rules)| *state == name && !rules.is_empty());
        let (unanswered, untimed) = (none(&complete), times && none(&timeout));
        // A state that no rule is about at all is a dead end, which says enough.
        if unanswered && any {
            let message = format!("no rule answers `{complete}`");
            let hint = format!("add a rule with `trigger: {complete}`");
            let path = if waits { format!("states.{name}.wait") } else { format!("states.{name}") };
            self.found(Problem::error("unanswered-signal", message).hint(hint), path);
        }
        if untimed {
            let message = format!("no rule answers `{timeout}`: the error monitor takes it");
            let hint = format!("add a rule with `trigger: {timeout}`");
            let problem = Problem::warning("unanswered-timeout", message).hint(hint);
            self.found(problem, format!("states.{name}.timeout"));
        }
    }
}

/// The condition of a rule, without what makes no difference.
fn said(rule: &RuleSpec) -> Option<String> {
    let when = rule.when.as_ref()?;
    Some(when.as_str().split_whitespace().collect::<Vec<_>>().join(" "))
}
