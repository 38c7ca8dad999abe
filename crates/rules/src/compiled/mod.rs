//! A definition that can be judged: every expression, template and schema in it read once.
//!
//! What it is judged on is handed in ([`Facts`]); what it came to is a [`Verdict`], which the
//! engine records.

mod reader;
mod rule;
mod schema;
mod template;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use baton_protocol::definition::{
    Definition, RuleSpec, SignalName, StateName, StateSpec, Tried, Verdict,
};
use baton_protocol::id::AgentId;
use baton_protocol::limits::{JUDGEMENT_STEPS_MAX, TEXT_BYTES_MAX};
use baton_protocol::text::Text;

use crate::definition::Problem;
use crate::expr::{ExprError, Expression, Facts, KNOWN};
use reader::Reader;
use rule::CompiledRule;

/// What a condition looks like, for whoever wrote one that is none.
const LIKE: &str = "size(result.quotes) >= 3";

/// A definition that can be judged.
pub struct Compiled {
    rules: Vec<CompiledRule>,
    waits: BTreeMap<StateName, Box<dyn Expression>>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compiled({} rules, {} waits)", self.rules.len(), self.waits.len())
    }
}

impl Compiled {
    /// Reads everything in a definition that is to be judged.
    pub fn of(definition: &Definition) -> Result<Self, Vec<Problem>> {
        Self::looked(definition).0
    }

    /// The same, and what somebody who checks the definition wants to know beside it: it can be
    /// judged, and yet is hardly meant.
    pub(crate) fn looked(definition: &Definition) -> (Result<Self, Vec<Problem>>, Vec<Problem>) {
        let mut reader = Reader::of(definition);
        for (name, schema) in &definition.schemas {
            reader.schema(schema, format!("schemas.{name}"));
        }
        let mut rules = Vec::with_capacity(definition.rules.len());
        for (n, rule) in definition.rules.iter().enumerate() {
            rules.extend(CompiledRule::of(rule, &format!("rules[{n}]"), &mut reader));
        }
        let mut waits = BTreeMap::new();
        for (name, state) in &definition.states {
            let Some(until) = until(state) else { continue };
            let path = format!("states.{name}.wait.until");
            waits.extend(reader.condition(until.as_str(), path).map(|read| (name.clone(), read)));
        }
        let Reader { problems, remarks, .. } = reader;
        (if problems.is_empty() { Ok(Self { rules, waits }) } else { Err(problems) }, remarks)
    }

    /// What the rules say when `signal` comes up in `state`; `from` is whoever is asked what comes
    /// next. The first that holds counts.
    pub fn judge(
        &self,
        definition: &Definition,
        state: &StateName,
        from: &AgentId,
        signal: &SignalName,
        facts: &dyn Facts,
    ) -> Verdict {
        let mut left = JUDGEMENT_STEPS_MAX;
        let mut tried = Vec::new();
        for (n, spec) in definition.candidates(state, from, signal) {
            let Some(rule) = self.rules.get(n) else { continue };
            match rule.holds(facts, &mut left) {
                Ok(true) => {
                    return match rule.chosen(spec, facts, &mut left) {
                        Ok(chosen) => Verdict::Chosen(Box::new(chosen)),
                        Err(why) => broken(spec, &why),
                    };
                }
                Ok(false) => tried.extend(looked_at(spec, rule, facts)),
                Err(error) => {
                    return broken(spec, &format!("its condition: {error}"));
                }
            }
        }
        Verdict::None { tried }
    }

    /// Whether what a state waits for is the case. A state without a condition waits for its
    /// signal alone.
    pub fn waits(&self, state: &StateName, facts: &dyn Facts) -> Result<bool, ExprError> {
        let Some(until) = self.waits.get(state) else { return Ok(true) };
        let mut left = JUDGEMENT_STEPS_MAX;
        rule::yes_or_no(until.as_ref(), facts, &mut left)
    }

    /// What the condition that a state waits for looks at, as it is.
    pub fn waits_saw(&self, state: &StateName, facts: &dyn Facts) -> String {
        self.waits.get(state).map(|until| until.saw(facts)).unwrap_or_default()
    }

    /// What the condition that a state waits for looks at.
    pub(crate) fn waits_reads(&self, state: &StateName) -> Vec<String> {
        self.waits.get(state).map(|until| until.reads()).unwrap_or_default()
    }

    /// What the expressions of a rule look at, each with its path below the rule.
    pub(crate) fn reads(&self, rule: usize) -> Vec<(String, Vec<String>)> {
        self.rules.get(rule).map(CompiledRule::reads).unwrap_or_default()
    }
}

fn until(state: &StateSpec) -> Option<&Text> {
    state.wait.as_ref().and_then(|wait| wait.until.as_ref())
}

fn looked_at(spec: &RuleSpec, rule: &CompiledRule, facts: &dyn Facts) -> Option<Tried> {
    let when = spec.when.clone()?;
    Some(Tried { rule: spec.id.clone(), when, saw: text(&rule.saw(facts)) })
}

fn broken(spec: &RuleSpec, why: &str) -> Verdict {
    Verdict::Broken { rule: spec.id.clone(), why: text(why) }
}

/// Words as a text that can be recorded: no longer than those may be, nothing that takes over a
/// terminal, and never none.
fn text(words: &str) -> Text {
    fn kept(words: &str) -> Option<Text> {
        let safe = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c };
        let mut room = TEXT_BYTES_MAX;
        let fits = |c: &char| {
            let fits = c.len_utf8() <= room;
            room = if fits { room - c.len_utf8() } else { 0 };
            fits
        };
        let words: String = words.chars().map(safe).take_while(fits).collect();
        words.parse().ok()
    }
    kept(words).or_else(|| kept("nothing")).unwrap_or_else(|| unreachable!("a word is a text"))
}

/// A problem with an expression.
fn of_expression(error: &ExprError, path: String) -> Problem {
    let code = match error {
        ExprError::Unknown { .. } => "unknown-name",
        ExprError::TooMuch { .. } | ExprError::TooMany { .. } | ExprError::TooLarge { .. } => {
            "too-costly"
        }
        ExprError::Unreadable { .. }
        | ExprError::NotAllowed { .. }
        | ExprError::NotYesOrNo { .. }
        | ExprError::Missing { .. }
        | ExprError::Failed { .. } => "bad-expression",
    };
    let mut problem = Problem::error(code, error.to_string()).about(path);
    problem.inside = error.place();
    if let ExprError::Unknown { name, what: "name", .. } = error {
        let near = KNOWN.into_iter().find(|known| known.len().abs_diff(name.len()) <= 1);
        let near = near.filter(|known| known.starts_with(&name[..name.len().min(1)]));
        problem.hint =
            Some(near.map_or_else(|| other(name), |near| format!("did you mean `{near}`?")));
    }
    problem
}

/// What somebody may have meant by a name that there is not.
fn other(name: &str) -> String {
    format!(
        "write `result.{name}` for what the agent reported, `context.{name}` for a variable, \
             or \"{name}\" for a text"
    )
}
