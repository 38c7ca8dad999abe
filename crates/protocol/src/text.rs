//! Words and JSON from outside: limited, masked and checked by the mere fact of being parsed.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::limits::{
    BODY_BYTES_MAX, HISTORY_BYTES_MAX, JSON_DEPTH_MAX, PAYLOAD_BYTES_MAX, TEXT_BYTES_MAX,
    VALUE_BYTES_MAX,
};
use crate::mask::{mask, named_secret};

/// Why a text or a JSON value is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing but white space.
    #[error("an empty text; expected at least one word")]
    Empty,
    /// Over the limit.
    #[error("{found} bytes; expected at most {most}")]
    TooLong {
        /// How many there were.
        found: usize,
        /// How many may be.
        most: usize,
    },
    /// A control character, which could take over a terminal that shows it.
    #[error("the control character {bad:?}; expected printable text, newlines and tabs")]
    Control {
        /// The first one.
        bad: char,
    },
    /// JSON nested too deep.
    #[error("JSON nested deeper than {JSON_DEPTH_MAX} levels")]
    TooDeep,
}

/// What a person or an agent said: a reason, a title, a note. Never empty, secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Text(Box<str>);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl Text {
    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Text {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(TextError::TooLong { found: text.len(), most: TEXT_BYTES_MAX });
        }
        if text.trim().is_empty() {
            return Err(TextError::Empty);
        }
        let unsafe_to_show = |c: &char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if let Some(bad) = text.chars().find(unsafe_to_show) {
            return Err(TextError::Control { bad });
        }
        Ok(Self(mask(text).into()))
    }
}

impl TryFrom<String> for Text {
    type Error = TextError;

    fn try_from(text: String) -> Result<Self, TextError> {
        text.parse()
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0.into()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// JSON of at most `BYTES_MAX` bytes, not too deep, secrets masked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Json<const BYTES_MAX: usize>(Value);

impl<const BYTES_MAX: usize> Serialize for Json<BYTES_MAX> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

/// The value of a variable.
pub type VariableValue = Json<VALUE_BYTES_MAX>;
/// A conversation as it comes; what travels of it is a body.
pub type HistoryJson = Json<HISTORY_BYTES_MAX>;
/// A result, or what travels of a conversation.
pub type BodyJson = Json<BODY_BYTES_MAX>;
/// What travels with a handoff that a rule begins, or with a signal.
pub type PayloadJson = Json<PAYLOAD_BYTES_MAX>;

impl<const BYTES_MAX: usize> Json<BYTES_MAX> {
    /// The value itself.
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The same as it is kept under this name, which may say that it is a secret.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        mask_named(name, &mut self.0);
        self
    }

    /// How many bytes it takes as JSON, near enough to decide where it is kept.
    pub fn weight(&self) -> usize {
        weight(&self.0, 0).unwrap_or(usize::MAX)
    }
}

impl<const BYTES_MAX: usize> TryFrom<Value> for Json<BYTES_MAX> {
    type Error = TextError;

    fn try_from(mut value: Value) -> Result<Self, TextError> {
        let found = weight(&value, 0)?;
        if found > BYTES_MAX {
            return Err(TextError::TooLong { found, most: BYTES_MAX });
        }
        mask_strings(&mut value);
        Ok(Self(value))
    }
}

impl<const BYTES_MAX: usize> From<Json<BYTES_MAX>> for Value {
    fn from(json: Json<BYTES_MAX>) -> Self {
        json.0
    }
}

/// Counts the bytes of a value without writing it; escapes are not counted.
fn weight(value: &Value, depth: usize) -> Result<usize, TextError> {
    if depth > JSON_DEPTH_MAX {
        return Err(TextError::TooDeep);
    }
    Ok(match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 12,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            let mut sum = 2;
            for item in items {
                sum += weight(item, depth + 1)? + 1;
            }
            sum
        }
        Value::Object(fields) => {
            let mut sum = 2;
            for (name, item) in fields {
                sum += name.len() + 4 + weight(item, depth + 1)?;
            }
            sum
        }
    })
}

/// The same JSON with its secrets masked, for what is shown and not kept.
pub fn masked(mut value: Value) -> Value {
    mask_strings(&mut value);
    value
}

fn mask_strings(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
        Value::String(text) => {
            if let Cow::Owned(masked) = mask(text) {
                *text = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_strings),
        Value::Object(fields) => {
            if fields.keys().any(|name| matches!(mask(name), Cow::Owned(_))) {
                let named = std::mem::take(fields).into_iter();
                *fields = named.map(|(name, value)| (mask(&name).into_owned(), value)).collect();
            }
            for (name, value) in fields {
                mask_strings(value);
                mask_named(name, value);
            }
        }
    }
}

/// Masks a string whose name says that it is a secret.
fn mask_named(name: &str, value: &mut Value) {
    if let Value::String(text) = value
        && let Some(masked) = named_secret(name, text)
    {
        masked.clone_into(text);
    }
}

/// A body kept beside the ledger, named by what it holds.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    /// SHA-256 of the bytes, as 64 hexadecimal digits.
    pub sha256: String,
    /// How many bytes there are.
    pub bytes: u64,
}

/// A result or a history: in the record, or beside it when it is large.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// The JSON itself.
    Inline(BodyJson),
    /// The name of a blob that holds the JSON.
    Blob(BlobRef),
}

/// How a body looks on the way in: always the JSON itself.
///
/// A caller must not be able to name a blob by its hash, or it could read what was never passed
/// to it. Only the engine turns a large body into a blob.
pub mod body_on_the_wire {
    use super::{Body, BodyJson, Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the JSON of an inline body.
    pub fn serialize<S: Serializer>(body: &Body, to: S) -> Result<S::Ok, S::Error> {
        match body {
            Body::Inline(json) => json.serialize(to),
            Body::Blob(blob) => blob.serialize(to),
        }
    }

    /// Reads any JSON as an inline body.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Body, D::Error> {
        BodyJson::deserialize(from).map(Body::Inline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_limited_printable_and_masked() {
        assert_eq!("  \n".parse::<Text>(), Err(TextError::Empty));
        assert_eq!("a\u{1b}[2J".parse::<Text>(), Err(TextError::Control { bad: '\u{1b}' }));
        assert!("x".repeat(TEXT_BYTES_MAX + 1).parse::<Text>().is_err());
        let text: Text = format!("key AKIA{}", "Z".repeat(16)).parse().expect("a text");
        assert_eq!(text.as_str(), "key [masked aws-key]");
    }

    #[test]
    fn json_is_limited_in_depth_and_size_and_masked_inside() {
        let mut deep = Value::Null;
        for _ in 0..JSON_DEPTH_MAX + 2 {
            deep = Value::Array(vec![deep]);
        }
        assert_eq!(VariableValue::try_from(deep), Err(TextError::TooDeep));
        let long = Value::String("x".repeat(VALUE_BYTES_MAX));
        assert!(matches!(VariableValue::try_from(long), Err(TextError::TooLong { .. })));
        let key = format!("AKIA{}", "Z".repeat(16));
        let secret = serde_json::json!({"k": [key], (key): 1});
        let json = VariableValue::try_from(secret).expect("json");
        let masked = serde_json::json!({"k": ["[masked aws-key]"], "[masked aws-key]": 1});
        assert_eq!(json.as_value(), &masked);
    }
}
