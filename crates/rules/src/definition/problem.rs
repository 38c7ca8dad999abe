//! What is wrong with a definition, where, and what to do about it.

use serde::Serialize;

use super::Positions;
use crate::language::Place;

/// Whether it can run all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, but somebody should look at it.
    Warning,
}

/// Where in a text something stands; line and column from 1, the column and the length in
/// characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// How much of the line.
    pub length: usize,
}

/// Something that is wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Whether it can run all the same.
    pub severity: Severity,
    /// The name that programs match on; it never changes.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What it is about, as in `rules[3].when`; empty means the whole text.
    pub path: String,
    /// Where that stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where in the text of an expression it is.
    #[serde(skip)]
    pub(crate) inside: Option<Place>,
}

impl Problem {
    /// Something that must be put right.
    pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Self {
        let (severity, message) = (Severity::Error, message.into());
        Self { severity, code, message, path: String::new(), span: None, hint: None, inside: None }
    }

    /// Something that somebody should look at.
    pub(crate) fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// What it is about, and where that stands.
    pub(crate) fn at(mut self, path: impl Into<String>, positions: &Positions) -> Self {
        self.path = path.into();
        self.span = positions.at(&self.path);
        self
    }

    /// What it is about, where nobody knows the text.
    pub(crate) fn about(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// What to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Finds its place in a text, if it has none yet.
    pub fn placed(mut self, positions: &Positions) -> Self {
        if self.span.is_none() && !self.path.is_empty() {
            let inside = self.inside.and_then(|at| positions.inside(&self.path, at));
            self.span = inside.or_else(|| positions.at(&self.path));
        }
        self
    }
}
