//! JSON to the language's values and back.

use std::collections::HashMap;

use baton_protocol::limits::{EXPRESSION_LIST_MAX, EXPRESSION_TEXT_BYTES_MAX};
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString,
};
use cel::common::value::Val;
use cel::objects::Key;
use serde_json::Value;

use super::ExprError;
use super::paths::Path;
use crate::language::type_of;

/// Bytes of a text that are as much work as one value.
const BYTES_PER_STEP: usize = 64;

/// How large a value is, as far as work with it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Values in it, long texts counted as several.
    pub(super) whole: usize,
    /// Entries of the longest list or map in it.
    pub(super) len: usize,
    /// The size of the largest entry of any list in it.
    pub(super) entry: usize,
}

impl Size {
    /// The size of a number.
    pub(super) fn least() -> Self {
        Self { whole: 1, len: 0, entry: 0 }
    }

    /// The size of a text.
    pub(super) fn text(bytes: usize) -> Self {
        Self { whole: 1 + bytes / BYTES_PER_STEP, len: 0, entry: 0 }
    }

    /// Counts an entry of a list or a map.
    fn hold(&mut self, entry: Self) {
        self.whole = self.whole.saturating_add(entry.whole);
        self.len = self.len.max(entry.len);
        self.entry = self.entry.max(entry.whole).max(entry.entry);
    }
}

type Converted<'v> = (Option<Box<dyn Val + 'v>>, Size);

/// What the language sees of a value.
pub(super) fn to_cel<'v>(path: &Path, value: &'v Value) -> Result<Converted<'v>, ExprError> {
    let mut converting = Converting { path, size: Size::least() };
    let made = converting.made(value)?;
    Ok((Some(made), converting.size))
}

struct Converting<'p> {
    path: &'p Path,
    /// The size of what was made last.
    size: Size,
}

impl Converting<'_> {
    fn made<'v>(&mut self, value: &'v Value) -> Result<Box<dyn Val + 'v>, ExprError> {
        self.size = Size::least();
        Ok(match value {
            Value::Null => Box::new(CelNull),
            Value::Bool(bool) => Box::new(CelBool::from(*bool)),
            Value::Number(number) => match number.as_i64() {
                Some(number) => Box::new(CelInt::from(number)),
                None => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
            },
            Value::String(text) => {
                self.bounded("bytes of a text", text.len(), EXPRESSION_TEXT_BYTES_MAX)?;
                self.size = Size::text(text.len());
                Box::new(CelString::from(text.as_str()))
            }
            Value::Array(entries) => {
                self.bounded("entries of a list", entries.len(), EXPRESSION_LIST_MAX)?;
                let mut size = Size { len: entries.len(), ..Size::least() };
                let mut list = Vec::with_capacity(entries.len());
                for entry in entries {
                    list.push(self.made(entry)?);
                    size.hold(self.size);
                }
                self.size = size;
                Box::new(CelList::from(list))
            }
            Value::Object(fields) => {
                self.bounded("fields of an object", fields.len(), EXPRESSION_LIST_MAX)?;
                let mut size = Size { len: fields.len(), ..Size::least() };
                let mut map = HashMap::with_capacity(fields.len());
                for (name, field) in fields {
                    map.insert(CelMapKey::from(name.as_str()), self.made(field)?);
                    self.size.whole += Size::text(name.len()).whole;
                    size.hold(self.size);
                }
                self.size = size;
                Box::new(CelMap::from(map))
            }
        })
    }

    fn bounded(&self, what: &str, found: usize, most: usize) -> Result<(), ExprError> {
        if found <= most {
            return Ok(());
        }
        let (path, what) = (self.path.name.clone(), format!("has {found} {what}"));
        Err(ExprError::TooLarge { path, what, most })
    }
}

/// A map with these keys, to be asked by `has`.
pub(super) fn keys<'v, 'p>(tested: impl Iterator<Item = &'p Path>) -> Box<dyn Val + 'v> {
    let yes = || Box::new(CelBool::from(true)) as Box<dyn Val + 'v>;
    let keys = tested.map(|path| (CelMapKey::from(path.last().to_owned()), yes()));
    Box::new(CelMap::from(keys.collect::<HashMap<_, _>>()))
}

/// What an expression came to, as JSON.
pub(super) fn to_json(value: &cel::Value) -> Result<Value, ExprError> {
    Ok(match value {
        cel::Value::Null => Value::Null,
        cel::Value::Bool(bool) => (*bool).into(),
        cel::Value::Int(number) => (*number).into(),
        cel::Value::UInt(number) => (*number).into(),
        cel::Value::Float(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => Value::Number(number),
            None => return Err(failed("it comes to a number that is not finite".to_owned())),
        },
        cel::Value::String(text) => Value::String(text.as_str().to_owned()),
        cel::Value::List(entries) => {
            Value::Array(entries.iter().map(to_json).collect::<Result<_, _>>()?)
        }
        cel::Value::Map(map) => {
            let field = |(key, value): (&Key, &cel::Value)| match key {
                Key::String(name) => Ok((name.as_str().to_owned(), to_json(value)?)),
                Key::Int(_) | Key::Uint(_) | Key::Bool(_) => {
                    Err(failed("it comes to a map whose keys are no texts".to_owned()))
                }
            };
            Value::Object(map.map.iter().map(field).collect::<Result<_, _>>()?)
        }
        other => return Err(failed(format!("it comes to {}", type_of(other)))),
    })
}

fn failed(words: String) -> ExprError {
    ExprError::Failed { words }
}
