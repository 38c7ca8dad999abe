//! A look at a text before it is parsed, at the cost of reading it once.
//!
//! The parser and the interpreter call themselves for every level of an expression, so a text of
//! enough terms overflows the stack, which ends the process. Nothing is deeper than it has tokens;
//! so we count these, roughly and never too few: what stands in a literal or a remark counts, too,
//! because a scanner that can be talked into skipping something is no bound.

use super::{Dialect, ExprError, Place, within};

/// Refuses a text that is too long, too rich or too deep.
pub(super) fn scan(text: &str, dialect: &Dialect) -> Result<(), ExprError> {
    within("bytes", text.len(), dialect.bytes)?;
    within("words and signs", tokens(text), dialect.tokens)?;
    let brackets = text.bytes().filter(|byte| matches!(byte, b'(' | b'[' | b'{')).count();
    within("brackets", brackets, dialect.brackets)?;
    if let Some(at) = text.find(|c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r')) {
        let why = "a control character; rules are plain text";
        return Err(ExprError::NotAllowed { at: place(text, at), why });
    }
    Ok(())
}

/// How many words and signs there are at most.
pub(crate) fn tokens(text: &str) -> usize {
    let mut tokens = 0;
    let mut in_word = false;
    for character in text.chars() {
        let word = character.is_alphanumeric() || character == '_';
        let starts = if word { !in_word } else { !character.is_whitespace() };
        tokens += usize::from(starts);
        in_word = word;
    }
    tokens
}

/// The place of the byte `at`.
pub(crate) fn place(text: &str, at: usize) -> Place {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Place { line, column }
}
