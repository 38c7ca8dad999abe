//! The Common Expression Language (CEL) as far as we let people use it.
//!
//! What a text could do to us is bounded before it is parsed ([`scan`]) and before it is ever
//! judged ([`look`]). Approval rules and the expressions of workflows share this, each with a
//! [`Dialect`] of its own.

mod look;
mod scan;

pub(crate) use look::look;
pub(crate) use scan::{place, tokens};

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use cel::{Env, ExecutionError, Program, Value};

/// Bytes of the words with which an expression tells what went wrong.
const WORDS_MAX: usize = 200;

/// The functions of the language; making it anew for each rule takes longer than to judge one.
pub(crate) static LANGUAGE: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// Functions that may be called, beside operators.
pub(crate) const FUNCTIONS: [&str; 7] =
    ["size", "contains", "startsWith", "endsWith", "int", "double", "string"];

/// What one kind of expression may say.
pub(crate) struct Dialect {
    /// The names that stand for something.
    pub(crate) names: &'static [&'static str],
    /// What such a name is called.
    pub(crate) what: &'static str,
    /// What is written like a function, and read as more than one.
    pub(crate) macros: &'static [&'static str],
    /// Whether what the names stand for has fields.
    pub(crate) fields: bool,
    /// Lists that are gone over inside or after each other.
    pub(crate) nested: usize,
    /// Bytes of the text.
    pub(crate) bytes: usize,
    /// Words and signs.
    pub(crate) tokens: usize,
    /// Opening brackets.
    pub(crate) brackets: usize,
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

/// Why a text is no expression, or an expression could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// More of something than there may be.
    #[error("{found} {what}; a rule has at most {most}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much there is.
        found: usize,
        /// How much there may be.
        most: usize,
    },
    /// All expressions of a definition are too much together.
    #[error("all expressions together have more than {most} words and signs")]
    TooMany {
        /// How many there may be.
        most: usize,
    },
    /// Something that it looks at is larger than it may be.
    #[error("{path} {what}; a rule looks at {most} at most")]
    TooLarge {
        /// What it looks at.
        path: String,
        /// In what way it is large.
        what: String,
        /// How large it may be.
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
    #[error("it comes to {found}; a rule says yes or no, as in `{like}`")]
    NotYesOrNo {
        /// What it comes to.
        found: &'static str,
        /// What a rule looks like.
        like: &'static str,
    },
    /// Something that it looks at is not there.
    #[error("{path} is missing; `has({path})` tells whether it is there")]
    Missing {
        /// What is missing.
        path: String,
    },
    /// It could not be judged.
    #[error("it cannot be judged: {words}")]
    Failed {
        /// What stood in the way.
        words: String,
    },
}

impl ExprError {
    /// Where in its text it is wrong, if it is wrong at one place.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Unreadable { at, .. }
            | Self::Unknown { at, .. }
            | Self::NotAllowed { at, .. } => Some(*at),
            Self::TooMuch { .. }
            | Self::TooMany { .. }
            | Self::TooLarge { .. }
            | Self::NotYesOrNo { .. }
            | Self::Missing { .. }
            | Self::Failed { .. } => None,
        }
    }
}

pub(crate) fn within(what: &'static str, found: usize, most: usize) -> Result<(), ExprError> {
    if found > most { Err(ExprError::TooMuch { what, found, most }) } else { Ok(()) }
}

/// Reads a text, once it is known that reading it does no harm.
pub(crate) fn parse(text: &str, dialect: &Dialect) -> Result<Program, ExprError> {
    scan::scan(text, dialect)?;
    let program = guarded(|| Program::compile(text))?.map_err(|errors| {
        let first = errors.errors.first();
        let at = first.map_or(Place { line: 1, column: 1 }, |error| from_parser(error.pos));
        let words = first.map_or_else(|| "it is no expression".to_owned(), |e| cut(&e.msg));
        ExprError::Unreadable { at, words }
    })?;
    look(&program, dialect)?;
    Ok(program)
}

/// Runs what is not ours. Should it panic after all, that is an error of this rule alone.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, ExprError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| {
        let words = "the interpreter panicked".to_owned();
        ExprError::Failed { words }
    })
}

/// Whether it would go wrong whatever the facts say.
pub(crate) fn is_of_the_text(error: &ExecutionError) -> bool {
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

/// What kind of value it is, in words.
pub(crate) fn type_of(value: &Value) -> &'static str {
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
fn from_parser((line, column): (isize, isize)) -> Place {
    let from_one = |n: isize| usize::try_from(n).unwrap_or(1).max(1);
    Place { line: from_one(line), column: from_one(column) }
}

/// The beginning of somebody else's words, on one line.
pub(crate) fn cut(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.char_indices().map(|(at, _)| at).nth(WORDS_MAX);
    end.map_or(line.clone(), |end| format!("{}…", &line[..end]))
}
