//! Reading messages in the shapes that people have.
//!
//! One reader for all of them: shapes differ in which fields are there, and real conversations mix
//! them. What has neither a speaker nor a known type is no message.

use serde_json::{Map, Value};

use super::{Message, Part, PartKind, Place, Role};

/// Something in a list of messages that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {found}, expected {expected}")]
pub struct NotAMessage {
    /// Where it is, such as `messages[3].content[0].text`.
    pub at: String,
    /// What is there.
    pub found: String,
    /// What could have been.
    pub expected: &'static str,
}

type Fields = Map<String, Value>;

impl Message {
    /// Reads the message at `index` of a list.
    ///
    /// # Errors
    ///
    /// When it is no message in any of the known shapes; the error names the field.
    pub fn read(index: usize, original: Value) -> Result<Self, NotAMessage> {
        let (role, parts) = match &original {
            Value::String(text) => (Role::Other, vec![part(PartKind::Text, text, Place::Whole)]),
            Value::Object(fields) => {
                let at = format!("messages[{index}]");
                match item(fields) {
                    Some(read) => read,
                    None => spoken(&at, fields)?,
                }
            }
            other => return Err(wrong(format!("messages[{index}]"), other, "a message")),
        };
        Ok(Self { role, parts, index, original })
    }
}

fn part(kind: PartKind, text: impl Into<String>, place: Place) -> Part {
    Part { kind, text: text.into(), tokens: 0, place }
}

fn wrong(at: String, found: &Value, expected: &'static str) -> NotAMessage {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => format!("`{}`", text.chars().take(40).collect::<String>()),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    NotAMessage { at, found, expected }
}

fn word<'a>(fields: &'a Fields, key: &str) -> Option<&'a str> {
    fields.get(key)?.as_str()
}

fn owned(fields: &Fields, key: &str) -> Option<String> {
    word(fields, key).map(str::to_owned)
}

/// What a value says: a text as it is, anything else as JSON.
fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn called(name: &str, arguments: Option<&Value>) -> String {
    format!("{name}({})", shown(arguments))
}

/// An item of OpenAI's Responses, which has a type and no speaker.
fn item(fields: &Fields) -> Option<(Role, Vec<Part>)> {
    let kind = word(fields, "type")?;
    if fields.contains_key("role") || fields.contains_key("author") {
        return None;
    }
    let id = owned(fields, "call_id");
    if kind.ends_with("_call_output") && id.is_some() {
        let result = PartKind::Result { id, name: None };
        let text = joined(fields.get("output"));
        return Some((Role::Tool, vec![part(result, text, Place::Whole)]));
    }
    if kind.ends_with("_call") && id.is_some() {
        let name = word(fields, "name").unwrap_or(kind);
        let asked = ["arguments", "input", "action"].iter().find_map(|key| fields.get(*key));
        let call = PartKind::Call { id, name: name.to_owned() };
        return Some((Role::Assistant, vec![part(call, called(name, asked), Place::Whole)]));
    }
    let known = kind.ends_with("_call") || kind.starts_with("mcp_") || kind == "item_reference";
    let (kind, text) = match kind {
        "reasoning" => {
            let thought = [joined(fields.get("summary")), joined(fields.get("content"))];
            (PartKind::Reasoning, thought.join("\n").trim().to_owned())
        }
        _other if known => (PartKind::Hosted, Value::Object(fields.clone()).to_string()),
        _other => return None,
    };
    Some((Role::Assistant, vec![part(kind, text, Place::Whole)]))
}

/// A message that somebody says: chats, content blocks, plain text.
fn spoken(at: &str, fields: &Fields) -> Result<(Role, Vec<Part>), NotAMessage> {
    let named = ["role", "author"].into_iter().find(|key| fields.contains_key(*key));
    let Some(named) = named else {
        let found = match word(fields, "type") {
            Some(kind) => format!("no speaker and the unknown type `{kind}`"),
            None => "no speaker".to_owned(),
        };
        return Err(NotAMessage { at: format!("{at}.role"), found, expected: "a role" });
    };
    let Some(speaker) = word(fields, named) else {
        return Err(wrong(format!("{at}.{named}"), &fields[named], "a name"));
    };
    let role = match speaker {
        "system" | "developer" => Role::System,
        "user" | "human" => Role::User,
        "assistant" | "ai" | "model" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _other => Role::Other,
    };
    let key = ["content", "text", "parts"].into_iter().find(|key| fields.contains_key(*key));
    let mut parts = Vec::new();
    for key in ["reasoning_content", "reasoning"] {
        if let Some(text) = word(fields, key) {
            parts.push(part(PartKind::Reasoning, text, Place::Field(key)));
        }
    }
    if let Some(key) = key {
        content(at, key, &fields[key], &mut parts)?;
    }
    if let Some(text) = word(fields, "refusal") {
        parts.push(part(PartKind::Text, text, Place::Field("refusal")));
    }
    calls(at, fields, &mut parts)?;
    if key.is_none() && parts.is_empty() {
        let (found, expected) = ("nothing".to_owned(), "a text or a list of parts");
        return Err(NotAMessage { at: format!("{at}.content"), found, expected });
    }
    if role == Role::Tool && !parts.iter().any(Part::is_result) {
        // The whole message is the answer of one tool.
        let text = key.map(|key| joined(fields.get(key))).unwrap_or_default();
        let name = owned(fields, "name").or_else(|| owned(fields, "tool_name"));
        let result = PartKind::Result { id: owned(fields, "tool_call_id"), name };
        parts = vec![part(result, text, Place::Whole)];
    }
    Ok((role, parts))
}

fn content(
    at: &str,
    key: &'static str,
    value: &Value,
    parts: &mut Vec<Part>,
) -> Result<(), NotAMessage> {
    match value {
        Value::Null => Ok(()),
        Value::String(text) => {
            parts.push(part(PartKind::Text, text, Place::Field(key)));
            Ok(())
        }
        Value::Array(blocks) => {
            for (number, found) in blocks.iter().enumerate() {
                let place = Place::Block(key, number);
                parts.push(block(found, place).map_err(|(field, found, expected)| {
                    wrong(format!("{at}.{key}[{number}]{field}"), &found, expected)
                })?);
            }
            Ok(())
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(wrong(format!("{at}.{key}"), value, "a text or a list of parts"))
        }
    }
}

type Misfit = (&'static str, Value, &'static str);

fn block(found: &Value, place: Place) -> Result<Part, Misfit> {
    let fields = match found {
        Value::String(text) => return Ok(part(PartKind::Text, text, place)),
        Value::Object(fields) => fields,
        other => return Err(("", other.clone(), "a text or an object")),
    };
    let text_of = |key: &'static str, path: &'static str| match fields.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        other => Err((path, other.cloned().unwrap_or(Value::Null), "a text")),
    };
    let read = match word(fields, "type") {
        Some("text" | "input_text" | "output_text" | "summary_text") => {
            part(PartKind::Text, text_of("text", ".text")?, place)
        }
        None if fields.get("text").is_some_and(Value::is_string) => {
            part(PartKind::Text, text_of("text", ".text")?, place)
        }
        Some("refusal") => part(PartKind::Text, text_of("refusal", ".refusal")?, place),
        Some("thinking") => part(PartKind::Reasoning, text_of("thinking", ".thinking")?, place),
        Some("redacted_thinking" | "reasoning") => {
            part(PartKind::Reasoning, shown(fields.get("text")), place)
        }
        Some("tool_use") => {
            let (id, name) = (Some(text_of("id", ".id")?), text_of("name", ".name")?);
            let text = called(&name, fields.get("input"));
            part(PartKind::Call { id, name }, text, place)
        }
        Some("tool_result") => {
            let id = Some(text_of("tool_use_id", ".tool_use_id")?);
            let text = joined(fields.get("content"));
            part(PartKind::Result { id, name: None }, text, place)
        }
        Some(kind) if kind.ends_with("tool_use") || kind.ends_with("tool_result") => {
            part(PartKind::Hosted, found.to_string(), place)
        }
        Some(kind) => match attachment(kind, fields) {
            Some((inline, text)) => part(PartKind::Attachment { inline }, text, place),
            None => part(PartKind::Unknown, found.to_string(), place),
        },
        None => part(PartKind::Unknown, found.to_string(), place),
    };
    Ok(read)
}

/// Whether a block is a picture, document or sound, carried inside or lying elsewhere, and where.
fn attachment(kind: &str, fields: &Fields) -> Option<(bool, String)> {
    let kinds = ["image", "image_url", "input_image", "document", "file", "input_file"];
    if !kinds.contains(&kind) && kind != "input_audio" && kind != "audio" {
        return None;
    }
    // The thing itself is in an object named by its kind or by `source`, or in the block.
    let inner = [kind, "source", "image_url"].iter().find_map(|key| fields.get(*key)?.as_object());
    let holders = [inner.unwrap_or(fields), fields];
    let find = |key: &str| holders.iter().find_map(|holder| word(holder, key));
    let data = ["data", "file_data"].iter().any(|key| find(key).is_some());
    let lies = ["url", "file_id", "image_url", "file_url", "id"].iter().find_map(|key| find(key));
    let text = match (lies, fields.get("title")) {
        (Some(lies), _) if lies.starts_with("data:") => return Some((true, String::new())),
        (Some(lies), _) if !data => lies.to_owned(),
        (_, title) => shown(title),
    };
    Some((data || lies.is_none(), text))
}

/// The tools that a chat message asks, in the present and in the older way.
fn calls(at: &str, fields: &Fields, parts: &mut Vec<Part>) -> Result<(), NotAMessage> {
    let asked = match fields.get("tool_calls") {
        None | Some(Value::Null) => [].as_slice(),
        Some(Value::Array(asked)) => asked,
        Some(other) => return Err(wrong(format!("{at}.tool_calls"), other, "a list of calls")),
    };
    for (number, call) in asked.iter().enumerate() {
        let function = ["function", "custom"].iter().find_map(|key| call.get(key)?.as_object());
        let name = function.and_then(|function| word(function, "name"));
        let (Some(function), Some(name)) = (function, name) else {
            let at = format!("{at}.tool_calls[{number}].function");
            let found = call.get("function").unwrap_or(&Value::Null);
            return Err(wrong(at, found, "an object with the name of a tool"));
        };
        let id = call.get("id").and_then(Value::as_str).map(str::to_owned);
        let text = called(name, function.get("arguments").or_else(|| function.get("input")));
        let kind = PartKind::Call { id, name: name.to_owned() };
        parts.push(part(kind, text, Place::Block("tool_calls", number)));
    }
    let Some(Value::Object(function)) = fields.get("function_call") else {
        return Ok(());
    };
    let Some(name) = word(function, "name") else {
        let at = format!("{at}.function_call.name");
        return Err(wrong(at, function.get("name").unwrap_or(&Value::Null), "a tool's name"));
    };
    let kind = PartKind::Call { id: None, name: name.to_owned() };
    parts.push(part(kind, called(name, function.get("arguments")), Place::Field("function_call")));
    Ok(())
}

/// The texts of a list of blocks, one a line. What has no text is shown as JSON, except for what
/// lies in it as data, which nobody reads.
fn joined(value: Option<&Value>) -> String {
    let Some(Value::Array(blocks)) = value else {
        return shown(value);
    };
    let text_of = |block: &Value| match block {
        Value::String(text) => text.clone(),
        Value::Object(fields) => match (word(fields, "text"), word(fields, "type")) {
            (Some(text), _) => text.to_owned(),
            (None, Some(kind)) => match attachment(kind, fields) {
                Some((_, text)) => format!("[{kind}] {text}"),
                None => block.to_string(),
            },
            (None, None) => block.to_string(),
        },
        other => other.to_string(),
    };
    blocks.iter().map(text_of).collect::<Vec<_>>().join("\n")
}
