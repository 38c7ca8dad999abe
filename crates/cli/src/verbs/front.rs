//! Reads the front matter of a coding agent's definition.
//!
//! It is meant to be YAML and often is not: descriptions hold colons that nobody quoted, and the
//! programs that such files are written for take them. So whatever is no YAML is read line by line.

use baton_protocol::agent::{Capability, Profile, Role};
use baton_protocol::text::Text;
use serde::Deserialize;
use serde_json::Value;

use super::import::{Mistake, parse};

/// What a coding agent's definition says of it. What concerns only its own program is left alone.
#[derive(Default, Deserialize)]
struct Front {
    name: String,
    #[serde(default)]
    description: Option<Text>,
    #[serde(default)]
    role: Role,
    #[serde(default)]
    capabilities: Vec<Capability>,
}

/// Reads the agent that `text` defines; nothing if it has no front matter at all.
pub(super) fn from_markdown(text: &str) -> Result<Option<Profile>, Mistake> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let opened = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    let Some(rest) = opened else { return Ok(None) };
    let mut length = 0;
    let closed = rest.split_inclusive('\n').any(|line| {
        let closes = line.trim_end() == "---";
        length += if closes { 0 } else { line.len() };
        closes
    });
    if !closed {
        let why = "the front matter has no end; expected --- on a line of its own";
        return Err(Mistake { line: 1, why: why.to_owned() });
    }
    let front = &rest[..length];
    // What is YAML is judged as YAML, so that a mistake in it is told and not guessed around.
    let front = if parse::<Value>(front).is_ok() { parse(front) } else { by_lines(front) };
    // The first line of the file is the one that opens the front matter.
    let front = front.map_err(|mistake| Mistake { line: mistake.line + 1, ..mistake })?;
    profile(front).map(Some)
}

fn profile(front: Front) -> Result<Profile, Mistake> {
    let named = slug(&front.name);
    let id = named.parse().map_err(|error| Mistake {
        line: 2,
        why: format!("name `{}` makes no agent name: {error}", front.name),
    })?;
    let mut profile = Profile::named(id);
    if named != front.name {
        profile.name = front.name.parse().ok();
    }
    profile.description = front.description;
    profile.role = front.role;
    profile.capabilities = front.capabilities;
    Ok(profile)
}

/// The name in letters that an agent may have: `Code Reviewer` becomes `code-reviewer`.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// One key and all that stands behind it and below it.
struct Entry<'a> {
    line: u64,
    key: &'a str,
    parts: Vec<&'a str>,
}

/// Reads `key: value`, whatever the value holds; lines that are set in belong to the key above.
fn by_lines(front: &str) -> Result<Front, Mistake> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for (number, line) in (1..).zip(front.lines()) {
        let below = line.starts_with([' ', '\t', '-']);
        match (line.split_once(':'), entries.last_mut()) {
            (_, Some(entry)) if below => entry.parts.push(line.trim()),
            (Some((key, value)), _) if !below => {
                entries.push(Entry { line: number, key: key.trim(), parts: vec![value.trim()] });
            }
            _ => (),
        }
    }
    let mut read = Front::default();
    for entry in &entries {
        let wrong =
            |error: &dyn std::fmt::Display| Mistake { line: entry.line, why: error.to_string() };
        match entry.key {
            "name" => read.name = entry.text(),
            "description" => {
                read.description = Some(entry.text().parse().map_err(|error| wrong(&error))?);
            }
            "role" => {
                let role = serde_json::from_value(Value::String(entry.text()));
                read.role = role.map_err(|error| wrong(&error))?;
            }
            "capabilities" => {
                let list = entry.list().into_iter();
                let list = list.map(|name| serde_json::from_value(Value::String(name)));
                read.capabilities = list.collect::<Result<_, _>>().map_err(|e| wrong(&e))?;
            }
            _ => (),
        }
    }
    if read.name.is_empty() {
        return Err(Mistake { line: 1, why: "missing field `name`".to_owned() });
    }
    Ok(read)
}

impl Entry<'_> {
    fn text(&self) -> String {
        // The marks of a text that begins on the next line.
        let is_mark = |part: &&str| matches!(*part, "" | "|" | ">" | "|-" | ">-" | "|+" | ">+");
        let words: Vec<_> = self.parts.iter().copied().filter(|part| !is_mark(part)).collect();
        unquoted(&words.join(" ")).to_owned()
    }

    fn list(&self) -> Vec<String> {
        let items = self.parts.iter().flat_map(|part| {
            let part = part.trim_start_matches("- ");
            part.trim_start_matches('[').trim_end_matches(']').split(',')
        });
        let items = items.map(|item| unquoted(item.trim()).to_owned());
        items.filter(|item| !item.is_empty()).collect()
    }
}

fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text: &str| text.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}
