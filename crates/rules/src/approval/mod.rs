//! Rules in the Common Expression Language (CEL), such as `risk == "high" && cost > 5.0`.
//!
//! A rule is judged before anything is decided, and what it came to is recorded; whoever replays
//! the records never judges again. Nothing here reads a clock, a file or the world: a rule sees the
//! [`Facts`] it is handed.
//!
//! What a text could do to us is bounded before it is parsed, before it is ever judged
//! ([`check`]), and by the facts, whose lists have a limit.

mod check;
mod facts;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use crate::language::{ExprError as RuleError, Place};
pub use facts::{Facts, KNOWN};

use baton_protocol::limits::{RULE_BRACKETS_MAX, RULE_BYTES_MAX, RULE_TOKENS_MAX};
use cel::{Context, ExecutionError, Program, Value};

use crate::language::{Dialect, LANGUAGE, cut, guarded, is_of_the_text, parse, type_of};

/// What approval rules may say.
const DIALECT: Dialect = Dialect {
    names: &KNOWN,
    what: "fact",
    macros: &["has", "exists", "exists_one", "all", "filter"],
    fields: false,
    nested: 1,
    bytes: RULE_BYTES_MAX,
    tokens: RULE_TOKENS_MAX,
    brackets: RULE_BRACKETS_MAX,
};
/// What a rule looks like, for whoever wrote one that is none.
const LIKE: &str = "risk == \"high\"";

/// A rule that can be judged.
#[derive(Debug)]
pub struct Rule {
    program: Program,
    uses: check::Uses,
    steps: usize,
}

impl Rule {
    /// Reads a rule. It is judged once on a sample, so that words compared with numbers and the
    /// like are found now and not when work waits.
    pub fn compile(text: &str) -> Result<Self, RuleError> {
        let program = parse(text, &DIALECT)?;
        let (uses, steps) = check::check(&program)?;
        let rule = Self { program, uses, steps };
        match rule.judged(&Facts::sample()) {
            Ok(Value::Bool(_)) => Ok(rule),
            Ok(other) => Err(RuleError::NotYesOrNo { found: type_of(&other), like: LIKE }),
            Err(Fault::Program(error)) if is_of_the_text(&error) => {
                Err(RuleError::Failed { words: cut(&error.to_string()) })
            }
            // What goes wrong with the sample's values may go well with others.
            Err(Fault::Program(_)) => Ok(rule),
            Err(Fault::Ours(error)) => Err(error),
        }
    }

    /// The most steps that it takes.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Whether it can hold for one recipient of a broadcast and not for another.
    pub fn varies(&self) -> bool {
        facts::OF_ONE.iter().any(|fact| self.uses.contains(fact))
    }

    /// Whether the rule holds.
    pub fn holds(&self, facts: &Facts) -> Result<bool, RuleError> {
        match self.judged(facts) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(RuleError::NotYesOrNo { found: type_of(&other), like: LIKE }),
            Err(Fault::Program(error)) => Err(RuleError::Failed { words: cut(&error.to_string()) }),
            Err(Fault::Ours(error)) => Err(error),
        }
    }

    fn judged(&self, facts: &Facts) -> Result<Value, Fault> {
        facts.bounded(&self.uses).map_err(Fault::Ours)?;
        let run = || {
            let mut context = Context::with_env(LANGUAGE.clone());
            facts.fill(&mut context, &self.uses);
            self.program.execute(&context)
        };
        guarded(run).map_err(Fault::Ours)?.map_err(Fault::Program)
    }
}

/// Why a rule came to nothing.
enum Fault {
    Program(ExecutionError),
    Ours(RuleError),
}
