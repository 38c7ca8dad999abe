//! The OpenAPI 3.1 document of all operations.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::operation::{Answered, Operation, Parameter, Sent};
use super::schemas::Schemas;
use crate::wire::ProblemDetails;

const ABOUT: &str = "\
Baton passes work between agents. Every change is one command, decided by the same rules and \
recorded before it is answered, whichever way it came in. Send an `Idempotency-Key` with each \
change: asking again under the same key is answered as it was the first time. Lists come in pages: \
follow the `Link` header. Problems are `application/problem+json` with a stable `code` and a \
`hint`. docs/http.md says more.";

pub(super) fn document(operations: &[Operation]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for operation in operations {
        let described = described(operation, &mut schemas);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_lowercase()] = described;
    }
    // Problems refer to it by name.
    schemas.answered::<ProblemDetails>();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Baton",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The coordinator of a workspace." }],
        "tags": tags(operations),
        "paths": paths,
        "components": { "securitySchemes": { "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token. On the workspace's own socket the operator needs none.",
        }}},
    });
    schemas.finish(&mut document);
    document
}

fn tags(operations: &[Operation]) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    let sections = operations.iter().map(|operation| operation.section);
    let first = sections.filter(|section| seen.insert(section.name));
    first.map(|section| json!({ "name": section.name, "description": section.says })).collect()
}

fn described(operation: &Operation, schemas: &mut Schemas) -> Value {
    let parameters = operation.parameters.iter();
    let parameters: Vec<Value> =
        parameters.flat_map(|parameter| parameter_of(parameter, schemas)).collect();
    let mut responses = Map::new();
    for answer in &operation.answers {
        responses.insert(answer.status.to_string(), answer_of(answer, schemas));
    }
    for (status, codes) in &operation.problems {
        responses.insert(status.to_string(), problem_of(*status, codes));
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.section.name],
        "responses": responses,
        "security": if operation.asks_who { json!([{ "token": [] }, {}]) } else { json!([]) },
    });
    if !operation.detail.is_empty() {
        described["description"] = json!(operation.detail);
    }
    if !parameters.is_empty() {
        described["parameters"] = json!(parameters);
    }
    if let Some(body) = &operation.body {
        described["requestBody"] = body_of(body, schemas);
    }
    described
}

fn parameter_of(parameter: &Parameter, schemas: &mut Schemas) -> Vec<Value> {
    let schema = (parameter.schema)(schemas);
    if parameter.place != "query" {
        return vec![json!({
            "name": parameter.name,
            "in": parameter.place,
            "required": parameter.place == "path",
            "description": parameter.says,
            "schema": schema,
        })];
    }
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = schema["properties"].as_object().cloned().unwrap_or_default();
    let field = |(name, mut schema): (String, Value)| {
        let says = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        json!({
            "name": name,
            "in": "query",
            "required": required.contains(&json!(name)),
            "description": says,
            "schema": present(schema),
        })
    };
    fields.into_iter().map(field).collect()
}

/// A parameter is there or not; it is never null.
fn present(mut schema: Value) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("default");
    }
    if let Some([one, Value::Object(null)]) = schema["anyOf"].as_array().map(Vec::as_slice)
        && null["type"] == "null"
    {
        return one.clone();
    }
    if let Some([one, null]) = schema["type"].as_array().map(Vec::as_slice)
        && null == "null"
    {
        schema["type"] = one.clone();
    }
    schema
}

fn body_of(body: &Sent, schemas: &mut Schemas) -> Value {
    let mut content = json!({ "schema": (body.schema)(schemas) });
    if let Some(example) = &body.example {
        content["example"] = example.clone();
    }
    let content = BTreeMap::from([(body.media, content)]);
    json!({ "required": body.required, "content": content })
}

fn answer_of(answer: &Answered, schemas: &mut Schemas) -> Value {
    let mut described = json!({ "description": answer.says });
    if let Some((media, schema)) = &answer.content {
        described["content"] = json!({ *media: { "schema": schema(schemas) } });
    }
    for media in &answer.texts {
        described["content"][*media] = json!({ "schema": { "type": "string" } });
    }
    for (name, says) in &answer.headers {
        described["headers"][name] = json!({ "description": says, "schema": { "type": "string" } });
    }
    described
}

/// A problem, with exactly the codes that this operation gives it.
fn problem_of(status: u16, codes: &BTreeSet<&'static str>) -> Value {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let reason = reason.unwrap_or("Problem");
    let listed = codes.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>().join(", ");
    let own = json!({ "properties": { "code": { "enum": codes } } });
    let schema = json!({ "allOf": [{ "$ref": "#/components/schemas/Problem" }, own] });
    json!({
        "description": format!("{reason}: {listed}"),
        "content": { "application/problem+json": { "schema": schema } },
    })
}
