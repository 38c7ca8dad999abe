//! Whether providers would accept a conversation: written apart from the code that mends, from
//! what the providers say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn blocks<'a>(message: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    list(message, "content").iter().filter(move |block| text(block, "type") == Some(kind))
}

fn is_item(message: &Value, end: &str) -> bool {
    let kind = text(message, "type").unwrap_or_default();
    message.get("role").is_none() && message.get("call_id").is_some() && kind.ends_with(end)
}

fn is_tool(message: &Value) -> bool {
    matches!(text(message, "role"), Some("tool" | "function"))
        && blocks(message, "tool_result").next().is_none()
}

/// Says what a provider would say, if it would refuse.
pub(crate) fn accepted(messages: &[Value]) -> Result<(), String> {
    once(messages)?;
    for (at, message) in messages.iter().enumerate() {
        let calls = list(message, "tool_calls");
        chat(messages, at, calls)?;
        if message.get("function_call").is_some_and(Value::is_object) {
            let next = messages.get(at + 1).and_then(|next| text(next, "role"));
            if next != Some("function") {
                return Err(format!("messages[{at}]: a function call without its answer"));
            }
        }
        let used: BTreeSet<_> =
            blocks(message, "tool_use").filter_map(|it| text(it, "id")).collect();
        turn(messages, at, &used)?;
        if is_item(message, "_call") {
            let later = messages[at + 1..].iter().any(|later| {
                is_item(later, "_call_output") && text(later, "call_id") == text(message, "call_id")
            });
            if !later {
                return Err(format!("messages[{at}]: an item without its output"));
            }
        }
    }
    Ok(())
}

/// No id is called or answered twice, and each is both.
fn once(messages: &[Value]) -> Result<(), String> {
    let (mut called, mut answered) = (BTreeMap::new(), BTreeMap::new());
    let (mut nameless, mut replies) = (0, 0);
    for message in messages {
        let mut call = |id: Option<&str>| match id {
            Some(id) => *called.entry(id.to_owned()).or_insert(0) += 1,
            None => nameless += 1,
        };
        list(message, "tool_calls").iter().for_each(|it| call(text(it, "id")));
        blocks(message, "tool_use").for_each(|it| call(text(it, "id")));
        if message.get("function_call").is_some_and(Value::is_object) {
            call(None);
        }
        if is_item(message, "_call") {
            call(text(message, "call_id"));
        }
        let mut answer = |id: Option<&str>| match id {
            Some(id) => *answered.entry(id.to_owned()).or_insert(0) += 1,
            None => replies += 1,
        };
        blocks(message, "tool_result").for_each(|it| answer(text(it, "tool_use_id")));
        if is_tool(message) {
            answer(text(message, "tool_call_id"));
        }
        if is_item(message, "_call_output") {
            answer(text(message, "call_id"));
        }
    }
    if called != answered || nameless != replies || called.values().any(|count| *count != 1) {
        return Err(format!("called {called:?} {nameless}, answered {answered:?} {replies}"));
    }
    Ok(())
}

/// Chats: the messages behind a call are its results.
fn chat(messages: &[Value], at: usize, calls: &[Value]) -> Result<(), String> {
    let only_results = |message: &Value| {
        let content = list(message, "content");
        let all = content.iter().all(|block| text(block, "type") == Some("tool_result"));
        is_tool(message) || is_item(message, "_call_output") || (!content.is_empty() && all)
    };
    let behind: Vec<&Value> =
        messages[at + 1..].iter().take_while(|message| only_results(message)).collect();
    if behind.len() < calls.len() && !calls.is_empty() {
        let grouped: usize = behind.iter().map(|it| list(it, "content").len().max(1)).sum();
        if grouped < calls.len() {
            return Err(format!("messages[{at}]: fewer results than calls behind it"));
        }
    }
    for id in calls.iter().filter_map(|call| text(call, "id")) {
        let answers = |message: &&&Value| {
            text(message, "tool_call_id") == Some(id)
                || text(message, "call_id") == Some(id)
                || blocks(message, "tool_result").any(|it| text(it, "tool_use_id") == Some(id))
        };
        if behind.iter().find(answers).is_none() {
            return Err(format!("messages[{at}]: no result of {id} directly behind it"));
        }
    }
    Ok(())
}

/// Blocks: what follows the agent's turn begins with the results of all of its calls.
fn turn(messages: &[Value], at: usize, used: &BTreeSet<&str>) -> Result<(), String> {
    if used.is_empty() {
        return Ok(());
    }
    let own = |message: &&Value| {
        text(message, "role") == Some("assistant")
            && list(message, "tool_calls").is_empty()
            && message.get("function_call").is_none()
    };
    let after = at + 1 + messages[at + 1..].iter().take_while(own).count();
    let mut found = BTreeSet::new();
    for message in &messages[after..] {
        if is_tool(message) || is_item(message, "_call_output") {
            found.extend(text(message, "tool_call_id").or(text(message, "call_id")));
            continue;
        }
        let content = list(message, "content");
        let results = content.iter().take_while(|block| text(block, "type") == Some("tool_result"));
        let results: Vec<_> = results.filter_map(|block| text(block, "tool_use_id")).collect();
        let only = !content.is_empty() && results.len() == content.len();
        found.extend(results);
        if !only {
            break;
        }
    }
    match used.iter().find(|id| !found.contains(**id)) {
        Some(id) => Err(format!("messages[{at}]: no result of {id} at the start of what follows")),
        None => Ok(()),
    }
}
