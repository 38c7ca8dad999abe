//! JSON Schemas of what tools take and give, without the words that cost a model tokens and tell
//! it nothing.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Words that say what the type's own name or shape says already. What is not known is refused
/// whether that is said here or not.
const IDLE_WORDS: &[&str] =
    &["$schema", "title", "format", "default", "minimum", "maximum", "additionalProperties"];

/// The schema of `T`, whole and short.
pub(crate) fn of<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    let mut value = Value::from(schema);
    slim(&mut value);
    match value {
        Value::Object(object) => Arc::new(object),
        // A schema may also be `true`; a tool takes and gives objects.
        _ => Arc::new(JsonObject::new()),
    }
}

fn slim(value: &mut Value) {
    // Anything may be written as `true`, which some clients do not take for a schema.
    if *value == Value::Bool(true) {
        *value = Value::Object(JsonObject::new());
    }
    let Value::Object(object) = value else { return };
    for word in IDLE_WORDS {
        object.remove(*word);
    }
    // Whoever may leave a field out does not send null in its place.
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = object.remove("anyOf") {
        let mut choices: Vec<Value> =
            choices.into_iter().filter(|choice| choice["type"] != "null").collect();
        match (choices.len(), choices.pop()) {
            (1, Some(Value::Object(only))) => {
                for (word, meaning) in only {
                    object.entry(word).or_insert(meaning);
                }
            }
            (_, Some(last)) => {
                choices.push(last);
                object.insert("anyOf".to_owned(), Value::Array(choices));
            }
            (_, None) => (),
        }
    }
    // A property may be called `title`, so names are not looked at, only what they mean.
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(slim);
    }
    if let Some(items) = object.get_mut("items") {
        slim(items);
    }
    if let Some(Value::Array(choices)) = object.get_mut("oneOf") {
        choices.iter_mut().for_each(slim);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Sample {
        /// What it is called.
        title: String,
        count: Option<u64>,
        how: Option<How>,
        parts: Vec<Part>,
        rest: Option<Value>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum How {
        Fast,
        Slow,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Part {
        id: String,
    }

    #[test]
    fn a_schema_says_what_must_be_said_and_no_more() {
        let part = json!({
            "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"]
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "description": "What it is called." },
                "count": { "type": "integer" },
                "how": { "type": "string", "enum": ["fast", "slow"] },
                "parts": { "type": "array", "items": part },
                "rest": {},
            },
            "required": ["title", "parts"],
        });
        assert_eq!(Value::Object((*of::<Sample>()).clone()), expected);
    }
}
