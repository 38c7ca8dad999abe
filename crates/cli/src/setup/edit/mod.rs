//! What setup puts into a file and takes out of it again, from text to text.
//!
//! Nothing here touches a disk. Whatever is not ours stays as it is, byte for byte: texts are cut
//! and joined at places that a parser told, and never written anew from what was parsed.

pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod node;
mod splice;
pub(crate) mod toml;

use std::fmt;

/// What makes a text unfit to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The line that it is about, counted from 1.
    pub(crate) line: usize,
    pub(crate) why: String,
}

impl Wrong {
    fn at(text: &str, place: usize, why: impl Into<String>) -> Self {
        let before = text.get(..place).unwrap_or(text);
        Self { line: 1 + before.matches('\n').count(), why: why.into() }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// What a client takes in JSON that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) comments: bool,
    pub(crate) trailing_commas: bool,
    /// The mark that some editors put before the first character.
    pub(crate) bom: bool,
}

/// What of ours belongs into one file.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// Properties and list elements in JSON, with or without comments.
    Json(Vec<json::Slot>),
    /// A server's table in TOML.
    Toml(toml::Server),
    /// A block between two marker lines.
    Block(&'static str),
    /// The whole file.
    Whole(String),
}

/// The mark that some editors put before the first character.
const BOM: char = '\u{feff}';

impl Edit {
    /// The text with ours in it, and the same text if ours is in it already.
    pub(crate) fn put(&self, text: Option<&str>) -> Result<String, Wrong> {
        let text = text.unwrap_or_default();
        let (bom, bare) = split_bom(text);
        let put = match self {
            Self::Json(slots) => json::put(bare, slots)?,
            Self::Toml(server) => toml::put(bare, server)?,
            Self::Block(body) => markdown::put(bare, body)?,
            Self::Whole(whole) => whole.clone(),
        };
        Ok(format!("{bom}{put}"))
    }

    /// The text without anything of ours; nothing if nothing else is in it and there was no file
    /// before. What it was like before, if that is known, tells which empty places are the user's.
    pub(crate) fn take(&self, text: &str, before: Option<&str>) -> Result<Option<String>, Wrong> {
        let (bom, bare) = split_bom(text);
        let bare_before = before.map(|before| split_bom(before).1);
        let left = match self {
            Self::Json(slots) => json::take(bare, slots, bare_before)?,
            Self::Toml(server) => toml::take(bare, server)?,
            Self::Block(_) => markdown::take(bare)?,
            Self::Whole(whole) if whole == text => String::new(),
            Self::Whole(_) => return Ok(Some(text.to_owned())),
        };
        let ours_alone = before.is_none() && left != bare && left.trim().is_empty();
        Ok(if ours_alone { None } else { Some(format!("{bom}{left}")) })
    }

    /// Why a client that takes no more than this cannot read the text, though we can.
    pub(crate) fn unread(&self, text: &str, taken: Taken) -> Option<Wrong> {
        let (bom, bare) = split_bom(text);
        match self {
            Self::Json(_) if !bom.is_empty() && !taken.bom => {
                Some(Wrong::at(text, 0, "there is a byte order mark"))
            }
            Self::Json(_) => json::fits(bare, taken).err(),
            Self::Toml(_) | Self::Block(_) | Self::Whole(_) => None,
        }
    }

    /// Whether anything in the text is ours, be it up to date or not.
    pub(crate) fn touches(&self, text: &str) -> Result<bool, Wrong> {
        let (_, bare) = split_bom(text);
        match self {
            Self::Json(slots) => json::touches(bare, slots),
            Self::Toml(server) => toml::touches(bare, server),
            Self::Block(_) => markdown::touches(bare),
            Self::Whole(whole) => Ok(whole == text),
        }
    }
}

fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 })
}

/// How lines end in a text; a text of one line says nothing.
fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    }
}

/// The text with a paragraph of its own at the end.
///
/// A text that did not end its last line does not do so afterwards either: by that, `cut` knows
/// what there was before.
fn append(text: &str, lines: &str) -> String {
    let nl = newline(text);
    let lines = lines.trim_end().replace('\n', nl);
    if text.is_empty() {
        format!("{lines}{nl}")
    } else if text.ends_with('\n') {
        format!("{text}{nl}{lines}{nl}")
    } else {
        format!("{text}{nl}{nl}{lines}")
    }
}

/// The text without the whole lines from `start` to `end`, and without what `append` put around
/// them.
fn cut(text: &str, start: usize, end: usize) -> String {
    let (mut before, after) = (&text[..start], &text[end..]);
    // Our own lines end as the text's did when they were put in.
    let nl = newline(&text[start..end]);
    if let Some(rest) = before.strip_suffix(nl).filter(|rest| rest.ends_with('\n')) {
        before = rest;
    }
    if after.is_empty() && !text.ends_with('\n') {
        before = before.strip_suffix(nl).unwrap_or(before);
    }
    format!("{before}{after}")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
