//! What is declared and never used, and what the workspace lacks.

use std::collections::BTreeSet;

use super::{Known, Look, MONITOR};
use crate::definition::Problem;

impl Look<'_> {
    /// What is declared and never used, and what the workspace lacks.
    pub(super) fn unused(&mut self, known: &Known) {
        let definition = self.definition;
        let mut taken = BTreeSet::new();
        for (n, rule) in definition.rules.iter().enumerate() {
            taken.extend(self.states_of(n).into_iter().map(|state| (state, &rule.next_state)));
        }
        for (state, after) in &definition.transitions {
            for (n, next) in after.iter().enumerate() {
                let ours = definition.states.contains_key(state)
                    && definition.states.contains_key(next)
                    && definition.states[state].end.is_none();
                if ours && !self.goes_alone(state, next) && !taken.contains(&(state, next)) {
                    let message = format!("no rule goes from `{state}` to `{next}`");
                    let problem = Problem::warning("unused-transition", message);
                    let hint = "add a rule that does, or leave it out";
                    self.found(problem.hint(hint), format!("transitions.{state}[{n}]"));
                }
            }
        }
        let waited: BTreeSet<_> = definition
            .states
            .values()
            .filter_map(|spec| spec.wait.as_ref().map(|wait| &wait.signal))
            .chain(definition.rules.iter().flat_map(|rule| rule.trigger.all()))
            .collect();
        for signal in definition.signals.keys().filter(|signal| !waited.contains(signal)) {
            let message = format!("nothing waits for `{signal}`");
            let problem = Problem::warning("unused-signal", message);
            let hint = "let a state wait for it, or leave it out";
            let path = format!("signals.{signal}");
            let span = self.positions.key(&path);
            let problem = problem.hint(hint).about(path);
            self.problems.push(Problem { span, ..problem });
        }
        let working: BTreeSet<_> =
            definition.states.values().filter_map(|spec| spec.agent.as_ref()).collect();
        for agent in definition.agents.keys() {
            if !working.contains(agent) && agent.as_str() != MONITOR {
                let message = format!("`{agent}` is responsible in no state");
                let problem = Problem::warning("unused-agent", message);
                let hint = "make it the `agent` of a state, or leave it out";
                self.found(problem.hint(hint), format!("agents.{agent}"));
            }
        }
        self.registered(known);
    }

    fn registered(&mut self, known: &Known) {
        let Some(agents) = &known.agents else { return };
        let definition = self.definition;
        for (agent, part) in &definition.agents {
            if agent.as_str() == MONITOR {
                continue;
            }
            let Some(able) = agents.get(agent) else {
                let message = format!("this workspace has no agent `{agent}`");
                let problem = Problem::warning("agent-not-registered", message);
                let hint = format!("`baton agent add {agent}`");
                self.found(problem.hint(hint), format!("agents.{agent}"));
                continue;
            };
            for (n, capability) in part.capabilities.iter().enumerate() {
                if !able.contains(capability) {
                    let message = format!("`{agent}` is not known to be capable of `{capability}`");
                    let problem = Problem::warning("capability-not-registered", message);
                    let hint = format!("`baton agent add {agent} --capability {capability}`");
                    let path = format!("agents.{agent}.capabilities[{n}]");
                    self.found(problem.hint(hint), path);
                }
            }
        }
    }
}
