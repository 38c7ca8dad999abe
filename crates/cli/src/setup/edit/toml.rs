//! Ours in TOML: one server's table.
//!
//! It is put behind everything as a table of its own. Where the user wrote all servers into one
//! pair of braces, TOML does not allow that, and it goes among those.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::json::{SERVER, is_baton};
use super::node::quoted;
use super::{Wrong, append, cut};

/// The server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// The table of all servers.
    pub(crate) among: &'static str,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// Where our table is in a text, and what is in it.
#[derive(Clone, Debug, Default)]
struct Found {
    /// Its name, where it stands first.
    name: usize,
    /// All servers, if they stand in one pair of braces.
    braces: Option<usize>,
    /// What belongs to it: from a key or a name in a header to the end of the value.
    parts: Vec<Range<usize>>,
    command: Option<(String, Range<usize>)>,
    args: Option<(Vec<String>, Range<usize>)>,
}

impl Found {
    fn is_ours(&self) -> bool {
        let program = self.command.as_ref().is_some_and(|(program, _)| is_baton(program));
        let verb = self.args.as_ref().and_then(|(args, _)| args.first());
        program && verb.is_some_and(|verb| verb == "mcp")
    }
}

/// The text with our server in it.
pub(super) fn put(text: &str, server: &Server) -> Result<String, Wrong> {
    if let Some(found) = find(text, server.among)? {
        return change(text, server, &found);
    }
    let Server { among, command, args } = server;
    let (command, args) = (quoted(command), list(args));
    let inserted = match braces(text, among)? {
        Some(open) => {
            let (before, rest) = text.split_at(open + 1);
            let item = format!("{SERVER} = {{ command = {command}, args = {args} }}");
            match rest.trim_start().starts_with('}') {
                true => format!("{before}{item}{rest}"),
                false => format!("{before} {item},{rest}"),
            }
        }
        None => {
            let table = format!("[{among}.{SERVER}]\ncommand = {command}\nargs = {args}\n");
            append(text, &table)
        }
    };
    match find(&inserted, among) {
        Ok(Some(_)) => Ok(inserted),
        Ok(None) | Err(_) => {
            Err(Wrong::at(text, 0, format!("`{among}` cannot hold a server; expected a table")))
        }
    }
}

fn change(text: &str, server: &Server, found: &Found) -> Result<String, Wrong> {
    if !found.is_ours() {
        let why = format!("there is a server named {SERVER} that is not ours; rename it first");
        return Err(Wrong::at(text, found.name, why));
    }
    let mut text = text.to_owned();
    let mut changes = Vec::new();
    if let Some((command, place)) = &found.command
        && *command != server.command
    {
        changes.push((place.clone(), quoted(&server.command)));
    }
    if let Some((args, place)) = &found.args
        && *args != server.args
    {
        changes.push((place.clone(), list(&server.args)));
    }
    // From the end, so that the places before stay right.
    changes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    for (place, value) in changes {
        text.replace_range(place, &value);
    }
    Ok(text)
}

/// The text without our server.
pub(super) fn take(text: &str, server: &Server) -> Result<String, Wrong> {
    let Some(found) = find(text, server.among)?.filter(Found::is_ours) else {
        return Ok(text.to_owned());
    };
    let left = match found.braces {
        Some(open) => take_from_braces(text, open, &found),
        None => take_lines(text, &found.parts),
    };
    match find(&left, server.among) {
        Ok(None) => Ok(left),
        Ok(Some(_)) | Err(_) => {
            let why =
                format!("cannot take the server {SERVER} out without harm; remove it by hand");
            Err(Wrong::at(text, found.name, why))
        }
    }
}

/// Whether the server in the text is ours.
pub(super) fn touches(text: &str, server: &Server) -> Result<bool, Wrong> {
    Ok(find(text, server.among)?.is_some_and(|found| found.is_ours()))
}

fn take_from_braces(text: &str, open: usize, found: &Found) -> String {
    let end = found.parts.iter().map(|part| part.end).max().unwrap_or(found.name);
    let rest = text[end..].trim_start_matches([' ', '\t']);
    let (before, name) = (&text[..found.name], found.name);
    match rest.strip_prefix(',') {
        // With the space that was put before it.
        Some(rest) if before[open..].trim_end() == "{" => format!("{}{rest}", &text[..=open]),
        Some(rest) => format!("{before}{}", rest.trim_start_matches(' ')),
        None => {
            let before = text[..name].trim_end_matches([' ', '\t']);
            let before = before.strip_suffix(',').unwrap_or(&text[..name]);
            format!("{before}{}", &text[end..])
        }
    }
}

/// Cuts out the lines of all parts; those that follow each other go as one.
fn take_lines(text: &str, parts: &[Range<usize>]) -> String {
    let line_of = |part: &Range<usize>| {
        let start = text[..part.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[part.end..].find('\n').map_or(text.len(), |at| part.end + at + 1);
        start..end
    };
    let mut lines: Vec<_> = parts.iter().map(line_of).collect();
    lines.sort_by_key(|lines| lines.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for next in lines {
        match joined.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            Some(_) | None => joined.push(next),
        }
    }
    let mut left = text.to_owned();
    for Range { start, end } in joined.into_iter().rev() {
        // A line of dotted keys stands among others; only a table has space of its own.
        let is_table = left[start..].trim_start().starts_with('[');
        left = match is_table {
            true => cut(&left, start, end),
            false => format!("{}{}", &left[..start], &left[end..]),
        };
    }
    left
}

fn list(args: &[String]) -> String {
    let args: Vec<_> = args.iter().map(|arg| quoted(arg)).collect();
    format!("[{}]", args.join(", "))
}

fn read(text: &str) -> Result<Spanned<DeTable<'_>>, Wrong> {
    DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        let why = error.message().lines().collect::<Vec<_>>().join(" ");
        Wrong::at(text, place, why)
    })
}

/// The opening brace of all servers, if they stand in one pair.
fn braces(text: &str, among: &str) -> Result<Option<usize>, Wrong> {
    let table = read(text)?;
    let all = table.get_ref().iter().find(|(name, _)| name.get_ref() == among);
    let start = all.map(|(_, value)| value.span().start);
    Ok(start.filter(|start| text[*start..].starts_with('{')))
}

fn find(text: &str, among: &str) -> Result<Option<Found>, Wrong> {
    let table = read(text)?;
    let all = table.get_ref().iter().find(|(name, _)| name.get_ref() == among);
    let all = all.and_then(|(_, all)| all.get_ref().as_table());
    let ours = all.and_then(|all| all.iter().find(|(name, _)| name.get_ref() == SERVER));
    let Some((name, ours)) = ours else {
        return Ok(None);
    };
    let mut found =
        Found { name: name.span().start, braces: braces(text, among)?, ..Found::default() };
    found.parts.push(name.span());
    collect(ours, &mut found.parts);
    let fields = ours.get_ref().as_table();
    for (key, value) in fields.into_iter().flatten() {
        let place = value.span();
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("command", DeValue::String(text)) => found.command = Some((text.to_string(), place)),
            ("args", DeValue::Array(items)) => {
                let texts = items.iter().filter_map(|item| item.get_ref().as_str());
                found.args = Some((texts.map(str::to_owned).collect(), place));
            }
            _ => (),
        }
    }
    Ok(Some(found))
}

/// All keys and values under a value, however deep.
fn collect(value: &Spanned<DeValue<'_>>, parts: &mut Vec<Range<usize>>) {
    match value.get_ref().as_table() {
        Some(table) => {
            parts.push(value.span());
            for (key, value) in table {
                parts.push(key.span());
                collect(value, parts);
            }
        }
        None => parts.push(value.span()),
    }
}
