//! Where everything in a text stands, by its path: `rules[3].when`, `states.analyzing.agent`.
//!
//! It is a second pass over the text, and knows nothing of what a definition says, so there are no
//! types that would have to follow those of the protocol.

use std::collections::BTreeMap;
use std::fmt;

use baton_protocol::limits::{DEFINITION_DEPTH_MAX, DEFINITION_NODES_MAX};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span as Marked};

use super::Span;
use crate::language::Place;

/// Where everything in a text stands.
#[derive(Clone, Default)]
pub struct Positions {
    places: BTreeMap<String, Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// Where its name stands, if it has one.
    key: Option<Span>,
    /// Where its value begins.
    value: Span,
    /// Whether the value is one word or text.
    simple: bool,
    /// Characters before the text itself: a quotation mark. None where it runs over lines.
    text: Option<usize>,
}

impl fmt::Debug for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Positions({} places)", self.places.len())
    }
}

impl Positions {
    /// Finds the places. A text that is no YAML has those up to where it stops being that.
    pub(crate) fn of(text: &str) -> Self {
        let mut options = Options::default();
        options.flow_nesting_limit = DEFINITION_DEPTH_MAX;
        let mut parser = Parser::new_from_str_with_options(text, options);
        let mut finding = Finding::default();
        while let Some(Ok((event, span))) = parser.next_event() {
            let (deep, many) = (finding.levels.len(), finding.places.len());
            if deep > DEFINITION_DEPTH_MAX || many > DEFINITION_NODES_MAX {
                break;
            }
            finding.event(&event, span);
        }
        Self { places: finding.places }
    }

    /// Where something stands: the value if it is one word, else its name; if it is not there,
    /// whatever it would be in.
    pub fn at(&self, path: &str) -> Option<Span> {
        let mut path = path;
        loop {
            if let Some(place) = self.places.get(path) {
                let key = place.key.filter(|_| !place.simple);
                return Some(key.unwrap_or(place.value));
            }
            path = above(path)?;
        }
    }

    /// Where the name of something stands.
    pub fn key(&self, path: &str) -> Option<Span> {
        self.places.get(path).and_then(|place| place.key)
    }

    /// Whether there is something.
    pub fn has(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    /// Where a place inside a text stands that is the value at `path`.
    pub(crate) fn inside(&self, path: &str, at: Place) -> Option<Span> {
        let place = self.places.get(path)?;
        let before = place.text.filter(|_| at.line == 1)?;
        let column = place.value.column + before + at.column - 1;
        let end = place.value.column + place.value.length;
        (column < end).then_some(Span { column, length: 1, ..place.value })
    }

    /// What stands at a place.
    pub(super) fn path_at(&self, line: usize, column: usize) -> Option<&str> {
        let here = |span: Span| {
            span.line == line && (span.column..=span.column + span.length).contains(&column)
        };
        let of = |place: &Known| here(place.value) || place.key.is_some_and(here);
        let mut found = self.places.iter().filter(|(_, place)| of(place));
        found.next_back().map(|(path, _)| path.as_str())
    }

    /// The word or text at a place, or one character.
    pub(super) fn token_at(&self, line: usize, column: usize) -> Span {
        let begins = |span: &Span| span.line == line && span.column == column;
        let all = self.places.values().flat_map(|place| [Some(place.value), place.key]);
        let longest = all.flatten().filter(begins).max_by_key(|span| span.length);
        longest.unwrap_or(Span { line, column, length: 1 })
    }
}

/// The path of what this is in.
fn above(path: &str) -> Option<&str> {
    path.rfind(['.', '[']).map(|at| &path[..at])
}

/// What we are in.
enum Level {
    /// A list, and how many entries it had.
    List(usize),
    /// A map whose next value belongs to this key, or whose next word is a key.
    Map(Option<(String, Span)>),
}

#[derive(Default)]
struct Finding {
    places: BTreeMap<String, Known>,
    levels: Vec<(String, Level)>,
}

impl Finding {
    fn event(&mut self, event: &Event<'_>, span: Marked) {
        match event {
            Event::Scalar(text, style, ..) => self.scalar(text, *style, span),
            Event::SequenceStart(..) => self.opens(span, Level::List(0)),
            Event::MappingStart(..) => self.opens(span, Level::Map(None)),
            Event::SequenceEnd | Event::MappingEnd => {
                self.levels.pop();
            }
            Event::Alias(_) => self.scalar("", ScalarStyle::Plain, span),
            _ => (),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Marked) {
        let value = on_one_line(span);
        if let Some((_, Level::Map(key @ None))) = self.levels.last_mut() {
            *key = Some((text.to_owned(), value));
            return;
        }
        let quote = match style {
            ScalarStyle::Plain => Some(0),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Some(1),
            _ => None,
        };
        let text = quote.filter(|_| span.start.line() == span.end.line());
        if let Some((path, key)) = self.next() {
            self.places.insert(path, Known { key, value, simple: true, text });
        }
    }

    fn opens(&mut self, span: Marked, level: Level) {
        // A map as a key is nothing that we look for.
        if let Some((_, Level::Map(key @ None))) = self.levels.last_mut() {
            *key = Some((String::new(), on_one_line(span)));
            self.levels.push((String::new(), level));
            return;
        }
        let (path, key) = self.next().unwrap_or_default();
        let value = Span { length: 1, ..on_one_line(span) };
        self.places.insert(path.clone(), Known { key, value, simple: false, text: None });
        self.levels.push((path, level));
    }

    /// The path of the value that comes now, and where its name stands.
    fn next(&mut self) -> Option<(String, Option<Span>)> {
        let (path, level) = self.levels.last_mut()?;
        Some(match level {
            Level::List(count) => {
                *count += 1;
                (format!("{path}[{}]", *count - 1), None)
            }
            Level::Map(key) => {
                let (name, at) = key.take()?;
                let dot = if path.is_empty() { "" } else { "." };
                (format!("{path}{dot}{name}"), Some(at))
            }
        })
    }
}

/// A span as far as it goes on its first line.
fn on_one_line(span: Marked) -> Span {
    let (line, column) = (span.start.line(), span.start.col() + 1);
    let length = match span.end.line() == line {
        true => span.end.col().saturating_sub(span.start.col()),
        false => 1,
    };
    Span { line, column, length: length.max(1) }
}
