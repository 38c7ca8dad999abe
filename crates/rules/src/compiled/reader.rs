//! Reads the expressions and schemas of a definition, no more than one may have.
//!
//! Each expression is bounded by itself, but a definition has room for ten thousand of them; so all
//! of them are counted together, too.

use std::sync::Arc;

use baton_protocol::definition::Definition;
use baton_protocol::limits::DEFINITION_TOKENS_MAX;
use jsonschema::Validator;
use serde_json::Value;

use super::of_expression;
use super::schema::Schemas;
use crate::definition::Problem;
use crate::expr::{ExprError, Expression, expression};
use crate::language::tokens;

/// Words and signs that the shortest expression takes as long as.
const EXPRESSION_TOKENS: usize = 4;

/// Reads the expressions and schemas of a definition.
pub(super) struct Reader<'a> {
    schemas: Schemas<'a>,
    /// Words and signs that may still come, over all expressions; none once there were too many.
    left: Option<usize>,
    /// Why it cannot be judged.
    pub(super) problems: Vec<Problem>,
    /// What can be judged and is hardly meant.
    pub(super) remarks: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) fn of(definition: &'a Definition) -> Self {
        let schemas = Schemas::of(&definition.schemas);
        let left = Some(DEFINITION_TOKENS_MAX);
        Self { schemas, left, problems: Vec::new(), remarks: Vec::new() }
    }

    /// Reads an expression. The first that is too much is an error; those after it are not read.
    pub(super) fn part(&mut self, text: &str) -> Result<Option<Box<dyn Expression>>, ExprError> {
        let Some(left) = self.left else { return Ok(None) };
        self.left = left.checked_sub(tokens(text) + EXPRESSION_TOKENS);
        match self.left {
            Some(_) => expression(text).map(Some),
            None => Err(ExprError::TooMany { most: DEFINITION_TOKENS_MAX }),
        }
    }

    /// Reads the expression at a path; what is wrong with it is a problem.
    pub(super) fn expression(&mut self, text: &str, path: String) -> Option<Box<dyn Expression>> {
        self.part(text).unwrap_or_else(|error| {
            self.problems.push(of_expression(&error, path));
            None
        })
    }

    /// Reads a condition: it says yes or no, and may hold.
    pub(super) fn condition(&mut self, text: &str, path: String) -> Option<Box<dyn Expression>> {
        let read = self.expression(text, path.clone())?;
        if let Some(found) = read.not_yes_or_no() {
            let message = format!("{found}, where yes or no is asked for");
            let hint = format!("compare it with something, as in `{}`", super::LIKE);
            self.remark(Problem::error("bad-expression", message).hint(hint), path);
        } else if let Some(why) = read.never() {
            let problem = Problem::error("never-fires", format!("this never holds: {why}"));
            self.remark(problem.hint("leave it out, or mend the condition"), path);
        }
        Some(read)
    }

    /// Reads a schema.
    pub(super) fn schema(&mut self, schema: &Value, path: String) -> Option<Arc<Validator>> {
        let bad = |words| self.problems.push(Problem::error("bad-schema", words).about(path));
        self.schemas.read(schema).map_err(bad).ok()
    }

    pub(super) fn remark(&mut self, problem: Problem, path: String) {
        self.remarks.push(problem.about(path));
    }
}
