//! Samples for the page: what a body may look like, and how to send it.

use serde_json::{Map, Value, json};

/// How deep a sketch goes before it says no more.
const DEPTH_MAX: usize = 6;

/// A command that sends a request, as somebody would type it.
pub(super) fn curl(document: &Value, path: &str, method: &str, operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    let mut path = path.to_owned();
    let mut query = Vec::new();
    for parameter in parameters {
        let name = parameter["name"].as_str().unwrap_or("");
        let shown = sketch(document, &parameter["schema"], 0);
        let shown = shown.as_str().map_or_else(|| shown.to_string(), str::to_owned);
        match parameter["in"].as_str() {
            Some("path") => path = path.replace(&format!("{{{name}}}"), &shown),
            Some("query") if parameter["required"] == true => query.push(format!("{name}={shown}")),
            _ => (),
        }
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let mut words = String::from("curl --unix-socket .baton/run/baton.sock");
    let content = operation["requestBody"]["content"].as_object().and_then(|all| all.iter().next());
    if !matches!(method, "get" | "post") || method == "post" && content.is_none() {
        words.push_str(&format!(" -X {}", method.to_uppercase()));
    }
    words.push_str(&format!(" 'http://baton{path}'"));
    if parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key") {
        words.push_str(" \\\n  -H 'Idempotency-Key: k-1'");
    }
    if let Some((media, content)) = content {
        let body = match content.get("example") {
            Some(example) => example.clone(),
            None => required(document, &content["schema"]),
        };
        words.push_str(&format!(" \\\n  -H 'Content-Type: {media}' \\\n  -d '{body}'"));
    }
    words
}

/// An object with the fields that it must have.
fn required(document: &Value, schema: &Value) -> Value {
    let named = named(document, schema);
    let mut object = Map::new();
    for name in named["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        object.insert(name.to_owned(), sketch(document, &named["properties"][name], 1));
    }
    Value::Object(object)
}

fn named<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(name) => document.pointer(name.trim_start_matches('#')).unwrap_or(schema),
        None => schema,
    }
}

/// Something that fits a schema.
pub(super) fn sketch(document: &Value, schema: &Value, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return json!("…");
    }
    let schema = named(document, schema);
    let first = |name: &str| schema[name].as_array().and_then(|all| all.first());
    if let Some(one) = schema.get("example").or(first("examples")).or(first("enum")) {
        return one.clone();
    }
    if let Some(one) = schema.get("const") {
        return one.clone();
    }
    if let Some(one) = first("anyOf").or(first("oneOf")) {
        return sketch(document, one, depth + 1);
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields =
                fields.map(|(name, field)| (name.clone(), sketch(document, field, depth + 1)));
            Value::Object(fields.collect())
        }
        Some("array") => json!([sketch(document, &schema["items"], depth + 1)]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("string") => json!(match schema["format"].as_str() {
            Some("uuid") => "8c5d0f62-3f5e-4b0e-9c2a-0d9c41a7f4b1",
            _ => "text",
        }),
        _ => Value::Null,
    }
}
