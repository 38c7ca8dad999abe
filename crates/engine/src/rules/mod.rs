//! Rules in the Common Expression Language (CEL), such as `risk == "high" && cost > 5.0`.
//!
//! A rule is judged before anything is decided, and what it came to is recorded; whoever replays
//! the records never judges again. Nothing here reads a clock, a file or the world: a rule sees the
//! [`Facts`] it is handed.
//!
//! What a text could do to us is bounded before it is parsed ([`scan`]), before it is ever judged
//! ([`check`]), and by the facts, whose lists have a limit.

mod check;
mod facts;
mod scan;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use facts::{Facts, KNOWN};

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use cel::{Context, Env, ExecutionError, Program, Value};

/// Bytes of the words with which a rule tells what went wrong.
const WORDS_MAX: usize = 200;

/// The functions of the language; making it anew for each rule takes longer than to judge one.
static LANGUAGE: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A rule that can be judged.
#[derive(Debug)]
pub struct Rule {
    program: Program,
    uses: check::Uses,
    steps: usize,
}

/// Where in a text something is wrong, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text is no rule, or a rule could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// More of something than a rule may have.
    #[error("{found} {what}; a rule has at most {most}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much there is.
        found: usize,
        /// How much there may be.
        most: usize,
    },
    /// Not the language.
    #[error("{at}: {words}")]
    Unreadable {
        /// Where.
        at: Place,
        /// What the parser says.
        words: String,
    },
    /// A name that stands for nothing.
    #[error("{at}: there is no {what} `{name}`; known are {known}")]
    Unknown {
        /// Where.
        at: Place,
        /// A fact or a function.
        what: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Something of the language that rules do without.
    #[error("{at}: {why}")]
    NotAllowed {
        /// Where.
        at: Place,
        /// What, and what to write in its place.
        why: &'static str,
    },
    /// It says neither yes nor no.
    #[error("it comes to {found}; a rule says yes or no, as in `risk == \"high\"`")]
    NotYesOrNo {
        /// What it comes to.
        found: &'static str,
    },
    /// It could not be judged.
    #[error("it cannot be judged: {words}")]
    Failed {
        /// What stood in the way.
        words: String,
    },
}

impl Rule {
    /// Reads a rule. It is judged once on a sample, so that words compared with numbers and the
    /// like are found now and not when work waits.
    pub fn compile(text: &str) -> Result<Self, RuleError> {
        scan::scan(text)?;
        let program = guarded(|| Program::compile(text))?.map_err(|errors| {
            let first = errors.errors.first();
            let at = first.map_or(Place { line: 1, column: 1 }, |error| place(error.pos));
            let words = first.map_or_else(|| "it is no expression".to_owned(), |e| cut(&e.msg));
            RuleError::Unreadable { at, words }
        })?;
        let (uses, steps) = check::check(&program)?;
        let rule = Self { program, uses, steps };
        match rule.judged(&Facts::sample()) {
            Ok(Value::Bool(_)) => Ok(rule),
            Ok(other) => Err(RuleError::NotYesOrNo { found: type_of(&other) }),
            Err(Fault::Program(error)) if is_of_the_text(&error) => {
                Err(RuleError::Failed { words: cut(&error.to_string()) })
            }
            // What goes wrong with the sample's values may go well with others.
            Err(Fault::Program(_)) => Ok(rule),
            Err(Fault::Ours(error)) => Err(error),
        }
    }

    /// The most steps that it takes.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// Whether it can hold for one recipient of a broadcast and not for another.
    pub(crate) fn varies(&self) -> bool {
        facts::OF_ONE.iter().any(|fact| self.uses.contains(fact))
    }

    /// Whether the rule holds.
    pub fn holds(&self, facts: &Facts) -> Result<bool, RuleError> {
        match self.judged(facts) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(RuleError::NotYesOrNo { found: type_of(&other) }),
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

/// Runs what is not ours. Should it panic after all, that is an error of this rule alone.
fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, RuleError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| {
        let words = "the interpreter panicked".to_owned();
        RuleError::Failed { words }
    })
}

/// Whether it would go wrong whatever the facts say.
fn is_of_the_text(error: &ExecutionError) -> bool {
    matches!(
        error,
        ExecutionError::NoSuchOverload(_)
            | ExecutionError::UndeclaredReference(_)
            | ExecutionError::InvalidArgumentCount { .. }
            | ExecutionError::MissingArgumentOrTarget
            | ExecutionError::UnexpectedType { .. }
            | ExecutionError::NotSupportedAsMethod { .. }
            | ExecutionError::UnsupportedTargetType { .. }
            | ExecutionError::UnsupportedBinaryOperator(..)
            | ExecutionError::ValuesNotComparable(..)
    )
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "yes or no",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "a number",
        Value::String(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
        Value::Null => "nothing",
        _ => "something else",
    }
}

/// A place as the parser counts it: lines from 1, columns from 1 or, where it knows no better, 0.
fn place((line, column): (isize, isize)) -> Place {
    let from_one = |n: isize| usize::try_from(n).unwrap_or(1).max(1);
    Place { line: from_one(line), column: from_one(column) }
}

/// The beginning of somebody else's words, on one line.
fn cut(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.char_indices().map(|(at, _)| at).nth(WORDS_MAX);
    end.map_or(line.clone(), |end| format!("{}…", &line[..end]))
}
