//! Expressions of a workflow's definition, such as `size(result.quotes) >= 3`.
//!
//! An expression sees four names: `result` (what the agent reported), `context` (the workflow's
//! variables), `task` (what the agent was asked) and `attempt` (how often it was tried again). Only
//! what it names is fetched and converted, and before it runs we reckon, with the sizes of what it
//! really looks at, how many steps it can take at worst.
//!
//! The rest of Baton knows the two traits here and not the language behind them.

mod convert;
mod kind;
mod never;
mod paths;
mod plan;
mod saw;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use crate::language::{ExprError, Place};
pub use kind::Outcome;

use baton_protocol::limits::{
    EXPRESSION_BRACKETS_MAX, EXPRESSION_BYTES_MAX, EXPRESSION_NESTED_MAX, EXPRESSION_STEPS_MAX,
    EXPRESSION_TOKENS_MAX,
};
use cel::common::value::Val;
use cel::{Context, ExecutionError, Program};
use serde_json::Value;

use crate::language::{Dialect, LANGUAGE, cut, guarded, parse};
use paths::{Paths, Stub};
use plan::Plan;

/// The names that an expression may use.
pub const KNOWN: [&str; 4] = ["result", "context", "task", "attempt"];

/// What expressions of a workflow may say.
pub(crate) const DIALECT: Dialect = Dialect {
    names: &KNOWN,
    what: "name",
    macros: &["has", "exists", "exists_one", "all", "filter", "map"],
    fields: true,
    nested: EXPRESSION_NESTED_MAX,
    bytes: EXPRESSION_BYTES_MAX,
    tokens: EXPRESSION_TOKENS_MAX,
    brackets: EXPRESSION_BRACKETS_MAX,
};

/// What an expression sees.
pub trait Facts {
    /// What the agent reported, or the error that it failed with.
    fn result(&self) -> &Value;
    /// One variable of the workflow.
    fn context(&self, name: &str) -> Option<Value>;
    /// All of them, by name: only asked for when an expression uses `context` as a whole.
    fn contexts(&self) -> Value;
    /// What the agent was asked to do.
    fn task(&self) -> &Value;
    /// How often it was tried again so far.
    fn attempt(&self) -> i64;
}

/// Something that comes to a value once the facts are known.
pub trait Expression: Send + Sync {
    /// What it comes to, taking its steps from those that are `left`.
    fn value_within(&self, facts: &dyn Facts, left: &mut usize) -> Result<Value, ExprError>;

    /// What it looks at, as it is: `result.quotes = 2, context.client is missing`.
    fn saw(&self, facts: &dyn Facts) -> String;

    /// What it looks at: `result.quotes`, `context.client`; never what only `has` asks for.
    fn reads(&self) -> Vec<String>;

    /// Why it cannot hold whatever the facts are, if that can be told.
    fn never(&self) -> Option<String>;

    /// What it, or a part that must be yes or no, comes to where that is something else whatever
    /// the facts are, if that can be told.
    fn not_yes_or_no(&self) -> Option<String>;

    /// What it can come to, as far as its text tells.
    fn outcomes(&self) -> Vec<Outcome>;

    /// What it comes to.
    fn value(&self, facts: &dyn Facts) -> Result<Value, ExprError> {
        self.value_within(facts, &mut { EXPRESSION_STEPS_MAX })
    }
}

/// Reads an expression.
pub fn expression(text: &str) -> Result<Box<dyn Expression>, ExprError> {
    Ok(Box::new(Cel::read(text)?))
}

/// An expression in CEL.
struct Cel {
    program: Program,
    paths: Paths,
    plan: Plan,
}

impl Cel {
    fn read(text: &str) -> Result<Self, ExprError> {
        let program = parse(text, &DIALECT)?;
        let (plan, paths) = plan::of(program.expression());
        let cel = Self { program, paths, plan };
        // What takes too long whatever it looks at is refused now.
        let least = vec![convert::Size::least(); cel.paths.values.len()];
        cel.plan.within(&least, &mut { EXPRESSION_STEPS_MAX })?;
        Ok(cel)
    }

    fn run(&self, facts: &dyn Facts, left: &mut usize) -> Result<Value, ExprError> {
        let fetched = self.paths.fetch(facts);
        let mut sizes = Vec::with_capacity(fetched.len());
        let mut values = Vec::with_capacity(fetched.len());
        for (path, found) in self.paths.values.iter().zip(&fetched) {
            let (value, size) = match found {
                Some(value) => convert::to_cel(path, value)?,
                None => (None, convert::Size::least()),
            };
            sizes.push(size);
            values.push(value);
        }
        self.plan.within(&sizes, left)?;
        let judged = guarded(|| {
            let mut context = Context::with_env(LANGUAGE.clone());
            // What is there as a whole takes the place of what only `has` asks for.
            for stub in &self.paths.stubs {
                context.add_variable_as_val(stub.name(), self.stub(stub, facts));
            }
            for (path, value) in self.paths.values.iter().zip(values) {
                if let Some(value) = value {
                    context.add_variable_as_val(path.name.as_str(), value);
                }
            }
            self.program.execute(&context)
        })?;
        match judged {
            Ok(value) => convert::to_json(&value),
            Err(error) => Err(self.explained(error, &fetched)),
        }
    }

    fn stub<'v>(&self, stub: &Stub, facts: &dyn Facts) -> Box<dyn Val + 'v> {
        convert::keys(stub.tested.iter().filter(|path| path.is_there(facts)))
    }

    /// The error in terms of what the expression looks at, where that is why.
    fn explained(&self, error: ExecutionError, fetched: &[Option<paths::Found<'_>>]) -> ExprError {
        let absent = matches!(
            error,
            ExecutionError::NoSuchKey(_)
                | ExecutionError::UndeclaredReference(_)
                | ExecutionError::NoSuchOverload(_)
                | ExecutionError::UnexpectedType { .. }
        );
        let missing = self.paths.values.iter().zip(fetched).find(|(_, found)| found.is_none());
        match missing {
            Some((path, _)) if absent => ExprError::Missing { path: path.name.clone() },
            _ => ExprError::Failed { words: cut(&error.to_string()) },
        }
    }
}

impl Expression for Cel {
    fn value_within(&self, facts: &dyn Facts, left: &mut usize) -> Result<Value, ExprError> {
        // A mere path is handed on as it is: nothing is converted, however large it is.
        if let Some(path) = self.paths.alone(self.program.expression()) {
            let missing = || ExprError::Missing { path: path.name.clone() };
            return path.fetch(facts).map(paths::Found::into_owned).ok_or_else(missing);
        }
        self.run(facts, left)
    }

    fn saw(&self, facts: &dyn Facts) -> String {
        saw::saw(&self.paths, facts)
    }

    fn reads(&self) -> Vec<String> {
        self.paths.values.iter().map(|path| path.name.clone()).collect()
    }

    fn never(&self) -> Option<String> {
        never::never(self.program.expression())
    }

    fn not_yes_or_no(&self) -> Option<String> {
        kind::not_yes_or_no(self.program.expression())
    }

    fn outcomes(&self) -> Vec<Outcome> {
        kind::outcomes(self.program.expression())
    }
}
