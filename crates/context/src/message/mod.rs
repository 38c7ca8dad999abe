//! One message of a conversation, whatever shape it came in.
//!
//! What is kept of a message is written back as it came: the original is never taken apart and put
//! together again, it is only edited at the places where its parts were found. So fields and blocks
//! that are unknown here travel on unchanged.

mod edit;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

pub(crate) use edit::Answer;
pub use read::NotAMessage;

use crate::Tokenizer;

/// What a picture or document that is carried inside a message counts. Models charge for what it
/// shows and not for its bytes, so the bytes are not counted.
pub const ATTACHMENT_TOKENS: usize = 1_000;

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Whoever set the model up (`system`, `developer`).
    System,
    /// The one who asks.
    User,
    /// The agent.
    Assistant,
    /// A tool that answers.
    Tool,
    /// Somebody else, or nobody named.
    Other,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other => "somebody",
        })
    }
}

/// One message: its parts as they are understood here, and the original that they were read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Whose it is.
    pub role: Role,
    /// What is in it, in its order.
    pub parts: Vec<Part>,
    /// Where it stood in the list that it was read from.
    pub(crate) index: usize,
    pub(crate) original: Value,
}

/// One thing that a message says.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Its words: what is counted, compared with the task and summarised.
    pub text: String,
    /// How many tokens it is, once it was counted.
    pub(crate) tokens: usize,
    pub(crate) place: Place,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    /// Words for the other side.
    Text,
    /// What the agent thought.
    Reasoning,
    /// A tool is asked. Older shapes have no id; those pair by order.
    Call {
        /// What the result refers to.
        id: Option<String>,
        /// The tool.
        name: String,
    },
    /// A tool has answered.
    Result {
        /// The call that it answers.
        id: Option<String>,
        /// The tool, where the shape says it.
        name: Option<String>,
    },
    /// A picture, document or sound.
    Attachment {
        /// Whether its bytes are in the message. Otherwise the text is where it lies.
        inline: bool,
    },
    /// A tool that the provider runs within the agent's own message.
    Hosted,
    /// A block that is not known here. Its text is its JSON.
    Unknown,
}

/// Where in its original a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is all of it.
    Whole,
    /// In a field of its own.
    Field(&'static str),
    /// In a list in that field.
    Block(&'static str, usize),
}

impl Message {
    /// The message as JSON, in the shape it came in.
    pub fn into_value(self) -> Value {
        self.original
    }

    /// How many tokens it is: the sum of its parts. Names of fields and the like are not counted.
    pub fn tokens(&self) -> usize {
        self.parts.iter().map(|part| part.tokens).sum()
    }

    pub(crate) fn count(&mut self, tokenizer: Tokenizer) {
        for part in &mut self.parts {
            part.count(tokenizer);
        }
    }

    /// Who speaks, as the message names them; nothing where it names nobody.
    pub(crate) fn speaker(&self) -> Option<&str> {
        ["role", "author"].iter().find_map(|field| self.original.get(field)?.as_str())
    }

    /// The words that were said to the other side.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter(|part| part.kind == PartKind::Text).map(|part| part.text.as_str())
    }

    /// Whether it is nothing but answers of tools.
    pub(crate) fn only_results(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(Part::is_result)
    }
}

impl Part {
    pub(crate) fn is_call(&self) -> bool {
        matches!(self.kind, PartKind::Call { .. })
    }

    pub(crate) fn is_result(&self) -> bool {
        matches!(self.kind, PartKind::Result { .. })
    }

    fn count(&mut self, tokenizer: Tokenizer) {
        self.tokens = match self.kind {
            PartKind::Attachment { inline: true } => ATTACHMENT_TOKENS,
            PartKind::Attachment { inline: false }
            | PartKind::Text
            | PartKind::Reasoning
            | PartKind::Call { .. }
            | PartKind::Result { .. }
            | PartKind::Hosted
            | PartKind::Unknown => tokenizer.count(&self.text),
        };
    }
}
