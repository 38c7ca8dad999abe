//! What an expression names of the facts: `result.quotes`, `context.client`, `has(task.payload)`.
//!
//! The interpreter looks a dotted name up as a whole before it goes from field to field. So each
//! path is fetched by itself and made known under its whole name, and nothing else is converted.

use std::borrow::Cow;

use cel::common::ast::{Expr, IdedExpr};
use serde_json::Value;

use super::Facts;

/// A value that was found.
pub(super) type Found<'a> = Cow<'a, Value>;

/// One path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// As it is written.
    pub(super) name: String,
    parts: Vec<String>,
}

/// What `has` asks for below one name. It is made known as a map with nothing but those keys, so
/// that asking costs nothing, and asking below what is not there says no.
pub(super) struct Stub {
    name: String,
    /// The whole paths that are asked for.
    pub(super) tested: Vec<Path>,
}

impl Stub {
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// All that an expression names.
#[derive(Default)]
pub(super) struct Paths {
    /// What it looks at.
    pub(super) values: Vec<Path>,
    /// What it asks for by `has`.
    pub(super) stubs: Vec<Stub>,
}

impl Path {
    /// The path that this part of an expression spells.
    pub(super) fn of(part: &IdedExpr) -> Option<Self> {
        let mut parts = Vec::new();
        let mut part = part;
        loop {
            match &part.expr {
                Expr::Ident(name) => {
                    parts.push(name.clone());
                    parts.reverse();
                    return Some(Self { name: parts.join("."), parts });
                }
                Expr::Select(select) if !select.test => {
                    parts.push(select.field.clone());
                    part = &select.operand;
                }
                _ => return None,
            }
        }
    }

    /// The same path and one field more.
    fn with(&self, field: &str) -> Self {
        let mut parts = self.parts.clone();
        parts.push(field.to_owned());
        Self { name: format!("{}.{field}", self.name), parts }
    }

    /// The first name in it.
    pub(super) fn root(&self) -> &str {
        self.parts.first().map(String::as_str).unwrap_or_default()
    }

    /// The last name in it.
    pub(super) fn last(&self) -> &str {
        self.parts.last().map(String::as_str).unwrap_or_default()
    }

    /// What is there now.
    pub(super) fn fetch<'a>(&self, facts: &'a dyn Facts) -> Option<Found<'a>> {
        let rest = self.parts.get(1..).unwrap_or_default();
        match self.root() {
            "result" => below(facts.result(), rest).map(Cow::Borrowed),
            "task" => below(facts.task(), rest).map(Cow::Borrowed),
            "attempt" if rest.is_empty() => Some(Cow::Owned(facts.attempt().into())),
            "context" => match rest.split_first() {
                None => Some(Cow::Owned(facts.contexts())),
                Some((name, [])) => facts.context(name).map(Cow::Owned),
                Some((name, rest)) => below(&facts.context(name)?, rest).cloned().map(Cow::Owned),
            },
            _ => None,
        }
    }

    /// Whether there is anything now.
    pub(super) fn is_there(&self, facts: &dyn Facts) -> bool {
        self.fetch(facts).is_some()
    }
}

fn below<'a>(value: &'a Value, fields: &[String]) -> Option<&'a Value> {
    fields.iter().try_fold(value, |value, field| value.as_object()?.get(field))
}

impl Paths {
    /// The place of a path among those that are looked at.
    pub(super) fn value(&mut self, path: Path) -> usize {
        match self.values.iter().position(|known| *known == path) {
            Some(at) => at,
            None => {
                self.values.push(path);
                self.values.len() - 1
            }
        }
    }

    /// Remembers that `has` asks for a field.
    pub(super) fn test(&mut self, path: &Path, field: &str) {
        let tested = path.with(field);
        match self.stubs.iter_mut().find(|stub| stub.name == path.name) {
            Some(stub) => stub.tested.push(tested),
            None => self.stubs.push(Stub { name: path.name.clone(), tested: vec![tested] }),
        }
    }

    /// The path, if the whole expression is nothing else.
    pub(super) fn alone(&self, expression: &IdedExpr) -> Option<&Path> {
        let simple = matches!(&expression.expr, Expr::Ident(_) | Expr::Select(_));
        match (simple && self.stubs.is_empty(), self.values.as_slice()) {
            (true, [only]) if Path::of(expression).as_ref() == Some(only) => Some(only),
            _ => None,
        }
    }

    /// What is there now, in the order of the paths.
    pub(super) fn fetch<'a>(&self, facts: &'a dyn Facts) -> Vec<Option<Found<'a>>> {
        self.values.iter().map(|path| path.fetch(facts)).collect()
    }
}
