//! What was masked, counted by name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::MASK_BEGIN;
use super::rules::RULE_NAME_BYTES_MAX;

/// How often each kind of secret was masked.
pub type Masks = BTreeMap<String, u32>;

/// Counts the masks in a text by name.
///
/// A mask is what it looks like: one that somebody typed is counted as well, since nothing tells
/// it from one that another process left.
pub fn count_masks(text: &str) -> Masks {
    let mut masks = Masks::new();
    add(text, &mut masks);
    masks
}

/// Counts the masks in all strings and names of a JSON value.
pub fn count_masks_in(value: &Value) -> Masks {
    let mut masks = Masks::new();
    add_all(value, &mut masks);
    masks
}

fn add_all(value: &Value, masks: &mut Masks) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
        Value::String(text) => add(text, masks),
        Value::Array(items) => items.iter().for_each(|item| add_all(item, masks)),
        Value::Object(fields) => {
            for (name, item) in fields {
                add(name, masks);
                add_all(item, masks);
            }
        }
    }
}

fn add(text: &str, masks: &mut Masks) {
    for rest in text.split(MASK_BEGIN).skip(1) {
        if let Some(name) = name_of(rest) {
            let count = masks.entry(name.to_owned()).or_default();
            *count = count.saturating_add(1);
        }
    }
}

/// The name in a mask of which this is what follows its beginning.
pub(super) fn name_of(rest: &str) -> Option<&str> {
    let of_name = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
    let length = rest.bytes().take(RULE_NAME_BYTES_MAX + 1).take_while(of_name).count();
    let closed = rest.as_bytes().get(length) == Some(&b']');
    (closed && (1..=RULE_NAME_BYTES_MAX).contains(&length)).then(|| &rest[..length])
}
