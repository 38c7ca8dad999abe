//! Texts with expressions in them: `Retry {{ attempt }} of {{ result.service }}`.

use serde_json::Value;

use super::reader::Reader;
use crate::expr::{ExprError, Expression, Facts};

/// A text with expressions in it.
pub(super) struct Template(Vec<Piece>);

enum Piece {
    Words(String),
    Made(Box<dyn Expression>),
}

impl Template {
    /// Reads a text.
    pub(super) fn read(text: &str, reader: &mut Reader<'_>) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((words, after)) = rest.split_once("{{") {
            let (inside, after) = after.split_once("}}").ok_or(TemplateError::Open)?;
            let made = reader.part(inside.trim()).map_err(TemplateError::Expression)?;
            pieces.push(Piece::Words(words.to_owned()));
            pieces.extend(made.map(Piece::Made));
            rest = after;
        }
        pieces.push(Piece::Words(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// The text, with what its expressions come to.
    pub(super) fn made(&self, facts: &dyn Facts, left: &mut usize) -> Result<String, ExprError> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Words(words) => text.push_str(words),
                Piece::Made(made) => match made.value_within(facts, left)? {
                    Value::String(words) => text.push_str(&words),
                    other => text.push_str(&other.to_string()),
                },
            }
        }
        Ok(text)
    }

    /// What its expressions look at.
    pub(super) fn reads(&self) -> Vec<String> {
        let made = self.0.iter().filter_map(|piece| match piece {
            Piece::Made(made) => Some(made.reads()),
            Piece::Words(_) => None,
        });
        made.flatten().collect()
    }
}

/// Why a text is no template.
#[derive(Debug, thiserror::Error)]
pub(super) enum TemplateError {
    /// It never ends.
    #[error("`{{{{` without `}}}}`; an expression stands between both")]
    Open,
    /// What stands in it is no expression.
    #[error(transparent)]
    Expression(ExprError),
}
