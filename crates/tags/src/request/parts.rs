//! Where the parts of a request file are: its records, its sections, and the body that is left.
//!
//! Reads, and makes the few insertions that a move needs. Every byte that was there stays.

use std::ops::Range;
use std::str;

use jiff::Timestamp;

use crate::document::Document;
use crate::edit::{insert, newline};
use crate::item::{ItemKey, reduced};
use crate::markup::{Kind, Line};
use crate::record::{BodyHash, Record};

/// The two sections that are written by Baton and are no part of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Recovery,
    Response,
}

impl Name {
    fn of(heading: &[u8]) -> Option<Self> {
        match heading.strip_prefix(b"##")?.trim_ascii() {
            b"Recovery" => Some(Self::Recovery),
            b"Response" => Some(Self::Response),
            _ => None,
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Self::Recovery => "## Recovery",
            Self::Response => "## Response",
        }
    }
}

/// One such section: the numbers of its lines, counted from 0, with its heading.
pub(super) struct Section {
    pub(super) name: Name,
    pub(super) lines: Range<usize>,
}

impl Section {
    /// Returns what its lines `*   **label**: value` say.
    fn said<'d>(&self, document: &'d Document<'_>, label: &str) -> Vec<&'d str> {
        let lines = &document.lines()[self.lines.clone()];
        let prose = lines.iter().filter(|line| matches!(line.kind, Kind::Opening | Kind::Prose));
        let value = |line: &Line| {
            let line = str::from_utf8(&document.text()[line.text.clone()]).ok()?;
            let rest = line.trim().strip_prefix('*')?.trim_start().strip_prefix("**")?;
            Some(rest.strip_prefix(label)?.strip_prefix("**:")?.trim())
        };
        prose.filter_map(value).collect()
    }

    /// Returns the items that the section names, each with what stands behind it.
    pub(super) fn entries<'d>(&self, document: &'d Document<'_>) -> Vec<(ItemKey, &'d str)> {
        let entry = |said: &'d str| {
            let (item, rest) = said.split_once(',').unwrap_or((said, ""));
            Some((item.trim().parse().ok()?, rest.trim()))
        };
        self.said(document, "Item").into_iter().filter_map(entry).collect()
    }

    /// Returns when a recovery was, as far as it says.
    pub(super) fn date(&self, document: &Document<'_>) -> Option<Timestamp> {
        self.said(document, "Date").first()?.parse().ok()
    }

    /// Returns what stands under the heading.
    pub(super) fn written(&self, document: &Document<'_>) -> String {
        let lines = &document.lines()[self.lines.clone()];
        let (first, last) = (lines.first(), lines.last());
        let range = first.map_or(0, |line| line.next)..last.map_or(0, |line| line.next);
        String::from_utf8_lossy(&document.text()[range]).into_owned()
    }

    /// Tells whether anything stands under the heading.
    pub(super) fn has_content(&self, document: &Document<'_>) -> bool {
        let mut lines = document.lines()[self.lines.clone()].iter().skip(1);
        lines.any(|line| line.kind != Kind::Blank)
    }
}

/// Lists the sections that are ours, in the order of the text.
pub(super) fn sections(document: &Document<'_>) -> Vec<Section> {
    let lines = document.lines();
    let mut found: Vec<Section> = Vec::new();
    let mut open: Option<(Name, usize)> = None;
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.kind == Kind::Heading) {
        let text = document.text()[line.text.clone()].trim_ascii();
        let level = text.iter().take_while(|&&byte| byte == b'#').count();
        if level > 2 {
            continue;
        }
        // What stands over a `=====` is the heading, so the section ends before it.
        let begins = if level == 0 { at.saturating_sub(1) } else { at };
        found.extend(open.take().map(|(name, start)| Section { name, lines: start..begins }));
        open = Name::of(text).map(|name| (name, at));
    }
    found.extend(open.map(|(name, start)| Section { name, lines: start..lines.len() }));
    found
}

/// Lists the records in the head of a file, with the numbers of their lines, counted from 0.
pub(super) fn records(document: &Document<'_>) -> Vec<(usize, Record)> {
    let mut headings = 0;
    let mut found = Vec::new();
    for (at, line) in document.lines().iter().enumerate() {
        match line.kind {
            Kind::Heading if headings == 1 => break,
            Kind::Heading => headings += 1,
            Kind::Record => {
                let text = document.text()[line.text.clone()].trim_ascii_end();
                found.extend(Record::parse(text).map(|record| (at, record)));
            }
            Kind::Fenced | Kind::FrontMatter | Kind::Tags => (),
            Kind::Blank | Kind::Opening | Kind::Prose => (),
        }
    }
    found
}

/// Hashes what a person approves.
pub(super) fn body_hash(document: &Document<'_>) -> BodyHash {
    let lines = document.lines();
    let mut ours = vec![false; lines.len()];
    for section in sections(document) {
        ours[section.lines].fill(true);
    }
    for (at, _) in records(document) {
        ours[at] = true;
    }
    let tags_line = document.tags_line();
    let mut body = Vec::new();
    for (line, _) in lines.iter().zip(ours).filter(|(_, ours)| !ours) {
        if tags_line.as_ref() != Some(&line.text) {
            body.extend(reduced(document, line.text.start, line.next));
        }
    }
    BodyHash::of(body.trim_ascii_end())
}

/// Returns the line, counted from 1, of a code block that is never closed.
///
/// Whatever is written behind it would be code, so no section can be.
pub(super) fn open_fence(text: &[u8]) -> Option<usize> {
    let probe = [text, b"\n\n## Response\n"].concat();
    let document = Document::read(&probe);
    let lines = document.lines();
    let last = lines.last().filter(|line| line.kind == Kind::Fenced)?;
    debug_assert_eq!(last.next, probe.len());
    let prose = lines.iter().rposition(|line| line.kind != Kind::Fenced);
    Some(prose.map_or(1, |at| at + 2))
}

/// Writes a record: in the place of the one about the same item, or under the Tags line.
pub(super) fn set(text: &[u8], record: &Record) -> Vec<u8> {
    let document = Document::read(text);
    let lines = document.lines();
    let records = records(&document);
    if let Some((at, _)) = records.iter().find(|(_, old)| record.replaces(old)) {
        let old = lines[*at].text.clone();
        return [&text[..old.start], record.to_string().as_bytes(), &text[old.end..]].concat();
    }
    let newline = newline(text);
    let below = |line: &Line| match line.next == line.text.end {
        true => insert(text, line.next, format!("{newline}{record}")),
        false => insert(text, line.next, format!("{record}{newline}")),
    };
    // Approvals come first: they were there before anybody held the item.
    let is_approval = |record: &Record| matches!(record, Record::Approved(..));
    let first_session = records.iter().find(|(_, old)| !is_approval(old));
    match (records.last(), first_session) {
        (Some(_), Some((at, _))) if is_approval(record) => {
            let start = lines[*at].text.start;
            return insert(text, start, format!("{record}{newline}"));
        }
        (Some((at, _)), _) => return below(&lines[*at]),
        (None, _) => (),
    }
    let tags_line = document.tags_line();
    let is_tags_line = |line: &&Line| tags_line.as_ref() == Some(&line.text);
    let own = |line: &&Line| Name::of(text[line.text.clone()].trim_ascii()).is_none();
    let above = lines.iter().find(is_tags_line);
    match above.or_else(|| document.line_above_tags().filter(own)) {
        Some(above) => below(above),
        None => {
            let start = lines.first().map_or(text.len(), |line| line.text.start);
            insert(text, start, format!("{record}{newline}"))
        }
    }
}

/// Writes the records of one item under another name.
pub(super) fn rename(text: &[u8], old: &ItemKey, new: &ItemKey) -> Vec<u8> {
    let document = Document::read(text);
    let mut edited = text.to_vec();
    for (at, record) in records(&document).into_iter().rev() {
        let renamed = match record {
            Record::Approved(of, approval) if of == *old => Record::Approved(new.clone(), approval),
            Record::Session(of, holding) if of == *old => Record::Session(new.clone(), holding),
            Record::Approved(..) | Record::Session(..) => continue,
        };
        let line = document.lines()[at].text.clone();
        edited.splice(line, renamed.to_string().into_bytes());
    }
    edited
}

/// Takes away the approval of an item, as often as it stands there.
pub(super) fn drop_approval(text: &[u8], item: &ItemKey) -> Vec<u8> {
    let document = Document::read(text);
    let lines = document.lines();
    let mut edited = text.to_vec();
    for (at, record) in records(&document).into_iter().rev() {
        if !matches!(record, Record::Approved(of, _) if of == *item) {
            continue;
        }
        let line = &lines[at];
        // The last line of the text takes the line end before it with it.
        let is_last = line.next == line.text.end && edited.len() == line.next;
        let start = match at.checked_sub(1).filter(|_| is_last) {
            Some(before) => lines[before].text.end,
            None => line.text.start,
        };
        edited.drain(start..line.next);
    }
    edited
}

/// Puts lines at the end of the text, under a heading of their own.
pub(super) fn append(text: &[u8], name: Name, entry: &[String]) -> Vec<u8> {
    let newline = newline(text);
    let mut edited = text.to_vec();
    if !edited.is_empty() && !edited.ends_with(b"\n") {
        edited.extend_from_slice(newline.as_bytes());
    }
    let blank = edited.ends_with(b"\n\n") || edited.ends_with(b"\n\r\n") || edited.is_empty();
    if !blank {
        edited.extend_from_slice(newline.as_bytes());
    }
    for line in [name.heading().to_owned()].iter().chain(entry) {
        edited.extend_from_slice(line.as_bytes());
        edited.extend_from_slice(newline.as_bytes());
    }
    edited
}

/// Puts a line at the end of the last section of this name, which is made when there is none.
pub(super) fn enter(text: &[u8], name: Name, entry: String) -> Vec<u8> {
    let document = Document::read(text);
    let sections = sections(&document);
    let Some(section) = sections.iter().rfind(|section| section.name == name) else {
        return append(text, name, &[entry]);
    };
    let lines = &document.lines()[section.lines.clone()];
    let used = lines.iter().rfind(|line| line.kind != Kind::Blank);
    let newline = newline(text);
    match used {
        Some(line) if line.next == line.text.end => {
            insert(text, line.next, format!("{newline}{entry}{newline}"))
        }
        Some(line) => insert(text, line.next, format!("{entry}{newline}")),
        None => append(text, name, &[entry]),
    }
}
