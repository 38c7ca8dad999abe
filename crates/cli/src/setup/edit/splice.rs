//! Puts an item into a JSON object or list and takes one out, with nothing but cuts in the text.
//!
//! The two undo each other: an item goes behind the last one and follows the user's habit with
//! commas, so that from what stands there it can be told what stood there before.

use super::newline;
use super::node::Layout;

/// An object or a list: where its brackets stand, and its items.
#[derive(Clone, Debug)]
pub(super) struct Container {
    /// The opening bracket.
    pub(super) open: usize,
    /// The closing bracket.
    pub(super) close: usize,
    /// From where to where each item goes, without commas.
    pub(super) items: Vec<(usize, usize)>,
}

/// What stands between two items, or between an item and a bracket.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    /// The end of the last thing in it that is no white space.
    mark: usize,
    comma: Option<usize>,
    /// Whether that last thing is a comment that goes to the end of its line.
    line_comment: bool,
}

fn gap(text: &str, from: usize, to: usize) -> Gap {
    let mut gap = Gap { mark: from, ..Gap::default() };
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        let length = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        let blank = rest.starts_with(char::is_whitespace);
        if rest.starts_with(',') {
            gap.comma = Some(at);
        }
        at += length;
        if !blank {
            gap.mark = at;
            gap.line_comment = rest.starts_with("//");
        }
    }
    gap
}

/// The text with one more item at the end of `container`.
pub(super) fn insert(
    text: &str,
    container: &Container,
    item: impl Fn(Option<Layout<'_>>) -> String,
) -> String {
    let Container { open, close, items } = container;
    let Some(&(last, end)) = items.last() else {
        return insert_first(text, container, item);
    };
    let (nl, base, unit) = (newline(text), indent_of(text, *open), unit_of(text));
    let first = items[0].0;
    let spread = text[*open..first].contains('\n') || text[end..*close].contains('\n');
    let indent = match starts_line(text, last) {
        true => indent_of(text, last).to_owned(),
        false => format!("{base}{unit}"),
    };
    let item = match spread {
        true => {
            format!("{nl}{indent}{}", item(Some(Layout { newline: nl, indent: &indent, unit })))
        }
        false => format!(" {}", item(None)),
    };
    let Gap { mark, comma, .. } = gap(text, end, *close);
    match comma {
        Some(_) => format!("{}{item},{}", &text[..mark], &text[mark..]),
        None => format!("{},{}{item}{}", &text[..end], &text[end..mark], &text[mark..]),
    }
}

fn insert_first(
    text: &str,
    container: &Container,
    item: impl Fn(Option<Layout<'_>>) -> String,
) -> String {
    let Container { open, close, .. } = container;
    let (nl, base, unit) = (newline(text), indent_of(text, *open), unit_of(text));
    let mark = gap(text, open + 1, *close).mark;
    let whole = text.trim();
    let item = if whole.contains('\n') || whole.len() == 2 {
        let indent = format!("{base}{unit}");
        let item = item(Some(Layout { newline: nl, indent: &indent, unit }));
        let end =
            if text[mark..*close].contains('\n') { String::new() } else { format!("{nl}{base}") };
        format!("{nl}{indent}{item}{end}")
    } else {
        item(None)
    };
    format!("{}{item}{}", &text[..mark], &text[mark..])
}

/// The text without the item at `index`. What is left of an empty container is for the caller to
/// judge.
pub(super) fn remove(text: &str, container: &Container, index: usize) -> String {
    let Container { open, close, items } = container;
    let (start, end) = items[index];
    let from = if index == 0 { open + 1 } else { items[index - 1].1 };
    let to = items.get(index + 1).map_or(*close, |next| next.0);
    let (before, after) = (gap(text, from, start), gap(text, end, to));
    let mut left = text[..before.mark].to_owned();
    let mut rest = match after.comma {
        Some(comma) => format!("{}{}", &text[end..comma], &text[comma + 1..]),
        None => text[end..].to_owned(),
    };
    // The comma before the last item is there for the sake of it, unless there is one behind it.
    if let (None, Some(comma), true) = (after.comma, before.comma, index + 1 == items.len()) {
        left.remove(comma);
    }
    let ends_line = rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
    if before.line_comment && !ends_line {
        rest.insert_str(0, newline(text));
    }
    left + &rest
}

/// What the line begins with on which `at` lies.
pub(super) fn indent_of(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line..at];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

fn starts_line(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[line..at].trim().is_empty() && line > 0
}

/// One level of indentation, as the first indented line has it.
pub(super) fn unit_of(text: &str) -> &str {
    let indented = text.lines().find_map(|line| {
        let rest = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - rest.len()];
        (!indent.is_empty() && rest.starts_with(['"', '{', '['])).then_some(indent)
    });
    indented.filter(|indent| indent.len() <= INDENT_MAX).unwrap_or("  ")
}

/// More than this is no habit but an accident.
const INDENT_MAX: usize = 8;
