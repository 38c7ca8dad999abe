//! Ours in JSON: a server under its name, hooks in lists, a status line where there is none.
//!
//! Comments and trailing commas are understood and kept. Of an entry that is ours, only the fields
//! that we write are ours: what the user adds to it stays until the entry goes.

use std::path::Path;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::node::{Layout, Node, quoted};
use super::splice::{self, Container};
use super::{Taken, Wrong};

/// The name of our server.
pub(crate) const SERVER: &str = "baton";
/// Changes that one entry of ours may need, and entries of ours in one file.
const STEPS_MAX: usize = 1_000;

/// One thing of ours in a file.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// An MCP server, in the object of this name.
    Server { among: &'static str, node: Node },
    /// A group of hooks for an event, with one hook in it.
    Hook { event: &'static str, node: Node },
    /// The command that fills the status line.
    Status { node: Node },
}

/// One step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

/// The text with every slot filled.
pub(super) fn put(text: &str, slots: &[Slot]) -> Result<String, Wrong> {
    let mut text = match root(text, |root| root.is_some())? {
        true => text.to_owned(),
        false if text.trim().is_empty() => "{}\n".to_owned(),
        // Nothing but comments.
        false => format!("{}\n{{}}\n", text.trim_end()),
    };
    for slot in slots {
        for _ in 0..STEPS_MAX {
            match slot.step(&text)? {
                Some(next) => text = next,
                None => break,
            }
        }
    }
    Ok(text)
}

/// The text without anything of ours.
pub(super) fn take(text: &str, slots: &[Slot], before: Option<&str>) -> Result<String, Wrong> {
    let mut left = text.to_owned();
    for slot in slots {
        for _ in 0..STEPS_MAX {
            match slot.places(&left)?.pop() {
                Some(place) => left = remove(&left, &place, before)?,
                None => break,
            }
        }
    }
    if left == text {
        return Ok(left);
    }
    let emptied = root(&left, |root| {
        let root = container(root?);
        let bare = inside(&left, &root).trim().is_empty();
        bare.then(|| format!("{}{}", &left[..root.open], &left[root.close + 1..]))
    })?;
    let had_none = |before: &str| root(before, |root| root.is_none()).unwrap_or(false);
    Ok(match (emptied, before) {
        (Some(around), None) if around.trim().is_empty() => String::new(),
        // Only comments, or nothing at all, as far as the user is concerned.
        (Some(around), Some(before)) if had_none(before) => match around.trim() == before.trim() {
            true => before.to_owned(),
            false => around,
        },
        (Some(_) | None, _) => left,
    })
}

/// Whether anything in the text is ours.
pub(super) fn touches(text: &str, slots: &[Slot]) -> Result<bool, Wrong> {
    for slot in slots {
        if !slot.places(text)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Slot {
    /// The text with one thing nearer to what it should be; nothing if all is as it should be.
    fn step(&self, text: &str) -> Result<Option<String>, Wrong> {
        let (among, node) = match self {
            Self::Server { among, node } => (vec![key(among)], node),
            Self::Hook { event, node } => return step_hook(text, event, node),
            Self::Status { node } => (Vec::new(), node),
        };
        let name = self.name();
        let whole = [among.clone(), vec![key(name)]].concat();
        let found = within(text, &whole, |it| it.map(|it| (self.is_ours(it), it.start())))?;
        match found {
            Some((true, _)) => set(text, &whole, node),
            Some((false, at)) => match self {
                // One that the user has chosen is better than ours.
                Self::Status { .. } => Ok(None),
                Self::Server { .. } | Self::Hook { .. } => Err(Wrong::at(
                    text,
                    at,
                    format!("there is a server named {SERVER} that is not ours; rename it first"),
                )),
            },
            None => add(text, &among, name, node).map(Some),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Server { .. } => SERVER,
            Self::Hook { event, .. } => event,
            Self::Status { .. } => "statusLine",
        }
    }

    fn is_ours(&self, value: &Value<'_>) -> bool {
        match self {
            Self::Server { .. } => is_server(value),
            Self::Hook { .. } => is_call(value, "hook"),
            Self::Status { .. } => is_call(value, "statusline"),
        }
    }

    /// Where anything of this kind of ours is.
    fn places(&self, text: &str) -> Result<Vec<Vec<Step>>, Wrong> {
        let whole = match self {
            Self::Server { among, .. } => vec![key(among), key(SERVER)],
            Self::Status { .. } => vec![key("statusLine")],
            // Of every event: an older Baton may have known another.
            Self::Hook { .. } => return within(text, &[key("hooks")], |it| hooks(it, None)),
        };
        let ours = within(text, &whole, |it| it.is_some_and(|it| self.is_ours(it)))?;
        Ok(if ours { vec![whole] } else { Vec::new() })
    }
}

/// Where our hooks are among all, or among those for one event: the group if it is all ours, or
/// else the hook in it.
fn hooks(all: Option<&Value<'_>>, event: Option<&str>) -> Vec<Vec<Step>> {
    let mut places = Vec::new();
    let Some(Value::Object(all)) = all else {
        return places;
    };
    for property in &all.properties {
        let name = property.name.as_str();
        let groups = property.value.as_array().map(|it| it.elements.as_slice()).unwrap_or_default();
        for (at, group) in groups.iter().enumerate().filter(|_| event.is_none_or(|it| it == name)) {
            let inner = group.as_object().and_then(|group| group.get_array("hooks"));
            let inner = inner.map(|it| it.elements.as_slice()).unwrap_or_default();
            let ours: Vec<_> = (0..inner.len()).filter(|n| is_call(&inner[*n], "hook")).collect();
            let place = vec![key("hooks"), key(name), Step::Index(at)];
            if !ours.is_empty() && ours.len() == inner.len() {
                places.push(place);
                continue;
            }
            places.extend(
                ours.into_iter()
                    .map(|n| [place.clone(), vec![key("hooks"), Step::Index(n)]].concat()),
            );
        }
    }
    places
}

fn step_hook(text: &str, event: &'static str, node: &Node) -> Result<Option<String>, Wrong> {
    let places = within(text, &[key("hooks")], |it| hooks(it, Some(event)))?;
    let Some(place) = places.into_iter().next() else {
        return add_hook(text, event, node).map(Some);
    };
    let hook = match node.field("hooks") {
        Some(Node::List(hooks)) => hooks.first(),
        Some(_) | None => None,
    };
    let Some(hook) = hook else {
        return Ok(None);
    };
    // In a group that the user shares with us, the matcher is the user's.
    if place.len() > 3 {
        return set(text, &place, hook);
    }
    if let Some(matcher) = node.field("matcher") {
        let matcher = Node::object([("matcher", matcher.clone())]);
        if let Some(next) = set(text, &place, &matcher)? {
            return Ok(Some(next));
        }
    }
    set(text, &[place, vec![key("hooks"), Step::Index(0)]].concat(), hook)
}

fn add_hook(text: &str, event: &'static str, node: &Node) -> Result<String, Wrong> {
    let list = [key("hooks"), key(event)];
    let found = within(text, &list, |it| it.map(|it| (container_of(it), it.start())))?;
    match found {
        None => add(text, &list[..1], event, &Node::List(vec![node.clone()])),
        Some((Some(container), at)) if text[at..].starts_with('[') => {
            Ok(splice::insert(text, &container, |layout| node.render(layout)))
        }
        Some((_, at)) => Err(Wrong::at(text, at, format!("`hooks.{event}` is not a list"))),
    }
}

/// The text with one more property in the object at `among`, which is made if it is not there.
fn add(text: &str, among: &[Step], name: &str, node: &Node) -> Result<String, Wrong> {
    let found = within(text, among, |it| it.map(|it| (container_of(it), it.start())))?;
    match (found, among) {
        (Some((Some(container), at)), _) if text[at..].starts_with('{') => {
            let name = quoted(name);
            let item = |layout: Option<Layout<'_>>| format!("{name}: {}", node.render(layout));
            Ok(splice::insert(text, &container, item))
        }
        (Some((_, at)), []) => Err(Wrong::at(text, at, "expected an object")),
        (Some((_, at)), [.., last]) => {
            Err(Wrong::at(text, at, format!("`{}` is not an object", last.word())))
        }
        (None, [.., Step::Key(last)]) => {
            let node = Node::object([(name, node.clone())]);
            add(text, &among[..among.len() - 1], last, &node)
        }
        (None, [] | [.., Step::Index(_)]) => Err(Wrong::at(text, 0, "expected an object")),
    }
}

impl Step {
    fn word(&self) -> String {
        match self {
            Self::Key(name) => name.clone(),
            Self::Index(index) => index.to_string(),
        }
    }
}

/// The text with the first field of the object at `place` set that is not as `node` has it.
fn set(text: &str, place: &[Step], node: &Node) -> Result<Option<String>, Wrong> {
    let Node::Object(fields) = node else {
        return Ok(None);
    };
    for (name, ours) in fields {
        let field = [place.to_vec(), vec![key(name)]].concat();
        let found = within(text, &field, |it| it.map(|it| (ours.is_in(it), it.range())))?;
        match found {
            Some((true, _)) => (),
            Some((false, range)) => {
                let (before, after) = (&text[..range.start], &text[range.end..]);
                return Ok(Some(format!("{before}{}{after}", ours.render(None))));
            }
            None => return add(text, place, name, ours).map(Some),
        }
    }
    Ok(None)
}

/// The text without what is at `place`, and without the objects and lists that were there for the
/// sake of it.
fn remove(text: &str, place: &[Step], before: Option<&str>) -> Result<String, Wrong> {
    let Some((last, among)) = place.split_last() else {
        return Ok(text.to_owned());
    };
    let found = within(text, among, |it| {
        let it = it?;
        Some((container_of(it)?, index(it, last)?))
    })?;
    let Some((container, at)) = found else {
        return Ok(text.to_owned());
    };
    let left = splice::remove(text, &container, at);
    let Some(rest) = within(&left, among, |it| it.and_then(container_of))? else {
        return Ok(left);
    };
    if !rest.items.is_empty() {
        return Ok(left);
    }
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let now = inside(&left, &rest);
    let theirs = before.and_then(|before| {
        let found = within(before, among, |it| it.and_then(container_of)).ok()??;
        Some((inside(before, &found).to_owned(), found.items.is_empty()))
    });
    let fill = match theirs {
        Some((inside, true)) if words(&inside) == words(now) => inside,
        Some(_) if now.trim().is_empty() => String::new(),
        None if now.trim().is_empty() && !among.is_empty() => return remove(&left, among, before),
        Some(_) | None => return Ok(left),
    };
    Ok(format!("{}{fill}{}", &left[..=rest.open], &left[rest.close..]))
}

fn inside<'a>(text: &'a str, container: &Container) -> &'a str {
    &text[container.open + 1..container.close]
}

fn container(object: &Object<'_>) -> Container {
    let items = object.properties.iter().map(|it| (it.start(), it.end())).collect();
    Container { open: object.start(), close: object.end() - 1, items }
}

fn container_of(value: &Value<'_>) -> Option<Container> {
    match value {
        Value::Object(object) => Some(container(object)),
        Value::Array(list) => {
            let items = list.elements.iter().map(|it| (it.start(), it.end())).collect();
            Some(Container { open: list.start(), close: list.end() - 1, items })
        }
        Value::StringLit(_)
        | Value::NumberLit(_)
        | Value::BooleanLit(_)
        | Value::NullKeyword(_) => None,
    }
}

/// Which item of a container a step leads to; of two properties of one name the last one counts.
fn index(value: &Value<'_>, step: &Step) -> Option<usize> {
    match (value, step) {
        (Value::Object(object), Step::Key(name)) => {
            object.properties.iter().rposition(|it| it.name.as_str() == name)
        }
        (Value::Array(list), Step::Index(at)) => (*at < list.elements.len()).then_some(*at),
        (_, Step::Key(_) | Step::Index(_)) => None,
    }
}

/// Reads the text, and asks about what is at `place`.
fn within<T>(
    text: &str,
    place: &[Step],
    ask: impl FnOnce(Option<&Value<'_>>) -> T,
) -> Result<T, Wrong> {
    let parsed = parse(text)?;
    let mut at = parsed.as_ref();
    for step in place {
        at = at.and_then(|value| {
            let index = index(value, step)?;
            match step {
                Step::Key(_) => value.as_object().map(|object| &object.properties[index].value),
                Step::Index(_) => value.as_array().map(|list| &list.elements[index]),
            }
        });
    }
    Ok(ask(at))
}

fn root<T>(text: &str, ask: impl FnOnce(Option<&Object<'_>>) -> T) -> Result<T, Wrong> {
    match parse(text)? {
        None => Ok(ask(None)),
        Some(Value::Object(object)) => Ok(ask(Some(&object))),
        Some(other) => Err(Wrong::at(text, other.start(), "expected an object")),
    }
}

/// Whether a client that takes no more than this can read the text.
pub(super) fn fits(text: &str, taken: Taken) -> Result<(), Wrong> {
    parse_as(text, taken).map(drop)
}

fn parse(text: &str) -> Result<Option<Value<'_>>, Wrong> {
    parse_as(text, Taken { comments: true, trailing_commas: true, bom: true })
}

fn parse_as(text: &str, taken: Taken) -> Result<Option<Value<'_>>, Wrong> {
    let options = ParseOptions {
        allow_comments: taken.comments,
        allow_trailing_commas: taken.trailing_commas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| {
        Wrong::at(text, error.range().start, error.kind().to_string().to_lowercase())
    })?;
    Ok(parsed.value)
}

/// Whether an entry starts our server, as anybody would write it.
fn is_server(value: &Value<'_>) -> bool {
    let Some(object) = value.as_object() else {
        return false;
    };
    let word = |value: Option<&Value<'_>>| value?.as_string_lit().map(|it| it.value.to_string());
    let (program, argument) = match object.get_array("command") {
        Some(command) => (word(command.elements.first()), word(command.elements.get(1))),
        None => {
            let command = object.get_string("command").map(|it| it.value.to_string());
            (command, object.get_array("args").and_then(|args| word(args.elements.first())))
        }
    };
    program.is_some_and(|it| is_baton(&it)) && argument.as_deref() == Some("mcp")
}

/// Whether an object has a command that calls the verb of ours.
fn is_call(value: &Value<'_>, verb: &str) -> bool {
    let command = value.as_object().and_then(|object| object.get_string("command"));
    command.is_some_and(|command| {
        let command = command.value.trim();
        let (program, rest) = match command.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').unwrap_or((quoted, "")),
            None => command.split_once(char::is_whitespace).unwrap_or((command, "")),
        };
        is_baton(program) && rest.split_whitespace().next() == Some(verb)
    })
}

/// Whether a program is ours by its name.
pub(super) fn is_baton(program: &str) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == SERVER)
}
