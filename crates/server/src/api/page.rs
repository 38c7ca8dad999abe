//! The document as one page for people: plain HTML, nothing loaded from anywhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value, json};

use super::sample::{curl, sketch};

const STYLE: &str = include_str!("page.css");

/// The page of an OpenAPI document.
pub(crate) fn page(document: &Value) -> String {
    let info = &document["info"];
    let sections = items(&document["tags"]);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (text(&info["title"])) " HTTP API" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                nav {
                    strong { (text(&info["title"])) " " (text(&info["version"])) }
                    @for section in sections {
                        a href={ "#" (text(&section["name"])) } { (text(&section["name"])) }
                    }
                    a href="#schemas" { "schemas" }
                    a href="openapi.json" { "openapi.json" }
                }
                main {
                    h1 { (text(&info["title"])) " HTTP API" }
                    p { (words(text(&info["description"]))) }
                    @for section in sections { (section_of(document, section)) }
                    (schemas_of(document))
                }
            }
        }
    };
    markup.into_string()
}

fn section_of(document: &Value, section: &Value) -> Markup {
    let name = text(&section["name"]);
    let inside = operations(document).filter(|(.., operation)| operation["tags"][0] == *name);
    html! {
        h2 id=(name) { (name) }
        p { (words(text(&section["description"]))) }
        @for (path, method, operation) in inside {
            (operation_of(document, path, method, operation))
        }
    }
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

fn operation_of(document: &Value, path: &str, method: &str, operation: &Value) -> Markup {
    let parameters = items(&operation["parameters"]);
    let body = operation["requestBody"]["content"].as_object().and_then(|all| all.iter().next());
    html! {
        article id=(text(&operation["operationId"])) {
            h3 {
                span class={ "method " (method) } { (method.to_uppercase()) }
                code { (path) }
                span class="summary" { (text(&operation["summary"])) }
            }
            @if let Some(detail) = operation["description"].as_str() { p { (words(detail)) } }
            @if !parameters.is_empty() {
                table {
                    @for parameter in parameters {
                        tr {
                            td { code { (text(&parameter["name"])) } }
                            td { (text(&parameter["in"])) }
                            td { (kind(&parameter["schema"])) }
                            td { (words(text(&parameter["description"]))) }
                        }
                    }
                }
            }
            @if let Some((media, content)) = body {
                details {
                    summary { "Body: " code { (media) } " " (kind(&content["schema"])) }
                    (fields(&content["schema"]))
                }
            }
            pre { (curl(document, path, method, operation)) }
            (answers(document, &operation["responses"]))
        }
    }
}

fn answers(document: &Value, responses: &Value) -> Markup {
    let responses = responses.as_object().into_iter().flatten();
    html! {
        dl {
            @for (status, response) in responses {
                @let good = status.starts_with('2');
                dt class=(if good { "good" } else { "bad" }) { (status) }
                dd {
                    (words(text(&response["description"])))
                    @for (name, header) in response["headers"].as_object().into_iter().flatten() {
                        " " code { (name) } ": " (words(text(&header["description"])))
                    }
                    @if good { (answered(document, response)) }
                }
            }
        }
    }
}

fn answered(document: &Value, response: &Value) -> Markup {
    let content = response["content"].as_object().into_iter().flatten();
    html! {
        @for (media, content) in content {
            details {
                summary { code { (media) } " " (kind(&content["schema"])) }
                pre { (pretty(&sketch(document, &content["schema"], 0))) }
            }
        }
    }
}

fn schemas_of(document: &Value) -> Markup {
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    html! {
        h2 id="schemas" { "schemas" }
        @for (name, schema) in schemas {
            details id={ "schema-" (name) } {
                summary { code { (name) } " " (words(first_line(schema))) }
                (fields(schema))
            }
        }
    }
}

/// The fields of an object, or the schema itself if it has none.
fn fields(schema: &Value) -> Markup {
    let Some(properties) = schema["properties"].as_object() else {
        return html! { pre { (pretty(schema)) } };
    };
    let required = items(&schema["required"]);
    html! {
        table {
            @for (name, field) in properties {
                tr {
                    td { code { (name) } @if required.contains(&json!(name)) { " *" } }
                    td { (kind(field)) }
                    td { (words(text(&field["description"]))) }
                }
            }
        }
    }
}

/// The type of a schema in a few words, with a link where it has a name.
fn kind(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        return html! { a href={ "#schema-" (name) } { (name) } };
    }
    if let Some(choice) = schema["enum"].as_array() {
        let choice: Vec<&str> = choice.iter().filter_map(Value::as_str).collect();
        return html! { (choice.join(" | ")) };
    }
    let several = ["anyOf", "oneOf"].iter().find_map(|name| schema[*name].as_array());
    if let Some(several) = several {
        return html! { @for (n, one) in several.iter().enumerate() {
            @if n > 0 { " | " } (kind(one))
        } };
    }
    match (&schema["type"], &schema["items"]) {
        (Value::String(kind), of) if kind == "array" => html! { "list of " (self::kind(of)) },
        (Value::String(kind), _) => html! { (kind) },
        (Value::Array(kinds), _) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            html! { (kinds.join(" | ")) }
        }
        _ => html! { "any JSON" },
    }
}

/// Words in which what stands between backticks is code.
fn words(said: &str) -> Markup {
    html! {
        @for (n, part) in said.split('`').enumerate() {
            @if n % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn first_line(schema: &Value) -> &str {
    text(&schema["description"]).lines().next().unwrap_or("")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn pretty(value: &Value) -> String {
    let empty = Value::Object(Map::new());
    let shown = if value.is_null() { &empty } else { value };
    serde_json::to_string_pretty(shown).unwrap_or_default()
}
