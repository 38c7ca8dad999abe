//! Changing a message where something must go or become shorter, and nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Message, Part, PartKind, Place};
use crate::Tokenizer;

impl Message {
    /// Keeps only some parts. Returns nothing when none is left of a message that had some.
    pub(crate) fn keeping(mut self, keep: impl Fn(usize, &Part) -> bool) -> Option<Self> {
        let stays: Vec<bool> = self.parts.iter().enumerate().map(|(n, it)| keep(n, it)).collect();
        if stays.iter().all(|stays| *stays) {
            return Some(self);
        }
        if stays.iter().all(|stays| !stays) {
            return None;
        }
        let fields = self.original.as_object_mut()?;
        // Blocks that go, by the list they are in.
        let mut gone: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (part, _) in self.parts.iter().zip(&stays).filter(|(_, stays)| !**stays) {
            match part.place {
                Place::Whole => return None,
                Place::Field("content") => {
                    // Chats want the field to be there, even if nothing is in it.
                    fields.insert("content".to_owned(), Value::Null);
                }
                Place::Field(key) => {
                    fields.remove(key);
                }
                Place::Block(key, number) => {
                    gone.entry(key).or_default().insert(number);
                }
            }
        }
        for (key, gone) in &gone {
            let blocks = fields.get_mut(*key)?.as_array_mut()?;
            let mut numbers = 0..;
            blocks.retain(|_| numbers.next().is_none_or(|number| !gone.contains(&number)));
            // An empty list of calls is refused where none is not.
            if blocks.is_empty() && *key == "tool_calls" {
                fields.remove(*key);
            }
        }
        let mut stay = stays.iter();
        self.parts.retain(|_| stay.next().is_none_or(|stays| *stays));
        let mut next: BTreeMap<&str, usize> = BTreeMap::new();
        for part in &mut self.parts {
            if let Place::Block(key, number) = &mut part.place {
                let next = next.entry(key).or_default();
                *number = *next;
                *next += 1;
            }
        }
        Some(self)
    }

    /// Gives a text or a result other words.
    pub(crate) fn reword(&mut self, at: usize, words: &str, tokenizer: Tokenizer) {
        let part = &mut self.parts[at];
        let result = part.is_result();
        let holder = match part.place {
            Place::Whole => Some(&mut self.original),
            Place::Field(key) => self.original.get_mut(key),
            Place::Block(key, number) => {
                self.original.get_mut(key).and_then(|blocks| blocks.get_mut(number))
            }
        };
        match holder {
            Some(Value::Object(fields)) => {
                let keys: &[&str] = match result {
                    true => &["output", "content", "text", "parts"],
                    false => &["text", "refusal", "thinking"],
                };
                let usual = if result { "content" } else { "text" };
                let key = keys.iter().find(|key| fields.contains_key(**key)).unwrap_or(&usual);
                fields.insert((*key).to_owned(), words.into());
            }
            Some(text) => *text = words.into(),
            None => (),
        }
        words.clone_into(&mut part.text);
        part.count(tokenizer);
    }

    /// Gives a call or a result another id.
    pub(crate) fn rename(&mut self, at: usize, new: &str) {
        let part = &mut self.parts[at];
        let holder = match part.place {
            Place::Whole => Some(&mut self.original),
            Place::Field(key) => self.original.get_mut(key),
            Place::Block(key, number) => {
                self.original.get_mut(key).and_then(|blocks| blocks.get_mut(number))
            }
        };
        if let Some(Value::Object(fields)) = holder {
            let keys = ["call_id", "tool_call_id", "tool_use_id", "id"];
            if let Some(key) = keys.iter().find(|key| fields.contains_key(**key)) {
                fields.insert((*key).to_owned(), new.into());
            }
        }
        if let PartKind::Call { id, .. } | PartKind::Result { id, .. } = &mut part.kind {
            *id = Some(new.to_owned());
        }
    }

    /// The block that a part is in, alone.
    pub(crate) fn block(&self, part: &Part) -> Option<&Value> {
        match part.place {
            Place::Whole | Place::Field(_) => None,
            Place::Block(key, number) => self.original.get(key)?.get(number),
        }
    }

    /// Puts blocks behind the results that the message begins with, and reads it anew.
    ///
    /// A text becomes a list of one block first: there is no other way to have both.
    pub(crate) fn with_results(&self, blocks: &[Value], tokenizer: Tokenizer) -> Option<Self> {
        let mut original = self.original.clone();
        let content = original.get_mut("content")?;
        if let Value::String(text) = content {
            *content = json!([{"type": "text", "text": text}]);
        }
        let list = content.as_array_mut()?;
        let leading = self.parts.iter().take_while(|part| part.is_result()).count();
        list.splice(leading..leading, blocks.iter().cloned());
        let mut read = Self::read(self.index, original).ok()?;
        read.count(tokenizer);
        Some(read)
    }

    /// Whether a result has the shape that belongs to a call of this message. No provider takes a
    /// conversation in which one is answered in the shape of another.
    pub(crate) fn fits(&self, call: &Part, holder: &Self, result: &Part) -> bool {
        let role = holder.original.get("role").and_then(Value::as_str);
        match call.place {
            Place::Whole => result.place == Place::Whole && role.is_none(),
            Place::Field(_) => result.place == Place::Whole && role == Some("function"),
            Place::Block("tool_calls", _) => result.place == Place::Whole && role == Some("tool"),
            Place::Block(..) => matches!(result.place, Place::Block(..)),
        }
    }

    /// A result that says that a call was interrupted.
    pub(crate) fn interrupted(&self, call: &Part) -> Option<Answer> {
        self.answered(call, INTERRUPTED, true)
    }

    /// A result with these words, in the shape that belongs to a call of this message.
    ///
    /// There is none for calls whose results are no words, such as those to a screen.
    pub(crate) fn answered(&self, call: &Part, words: &str, failed: bool) -> Option<Answer> {
        let PartKind::Call { id, name } = &call.kind else {
            return None;
        };
        let mut fields = Map::new();
        let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
        match call.place {
            Place::Whole => {
                let kind = self.original.get("type")?.as_str()?;
                if !["function_call", "custom_tool_call"].contains(&kind) {
                    return None;
                }
                set("type", format!("{kind}_output").into());
                set("call_id", id.clone().into());
                set("output", words.into());
            }
            Place::Field(_) => {
                set("role", "function".into());
                set("name", name.clone().into());
                set("content", words.into());
            }
            Place::Block("tool_calls", _) => {
                set("role", "tool".into());
                match id {
                    Some(id) => set("tool_call_id", id.clone().into()),
                    None => set("tool_name", name.clone().into()),
                };
                set("content", words.into());
            }
            Place::Block(..) => {
                let id = id.as_deref()?;
                return Some(Answer::Block(json!({
                    "type": "tool_result", "tool_use_id": id, "content": words, "is_error": failed,
                })));
            }
        }
        Some(Answer::Message(Value::Object(fields)))
    }
}

/// What the result of a call says that nobody answered.
pub(crate) const INTERRUPTED: &str = "This call was interrupted; it has no result.";

/// A result on its way to its call.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// It is a message of its own.
    Message(Value),
    /// It is a block of the message that follows the call.
    Block(Value),
}
