//! As much Markdown as it takes to tell code from prose.
//!
//! Works on bytes, because a file may hold a few that are not UTF-8 and must keep them. It must
//! never change anything, and where Markdown is ambiguous it prefers what a reader would see.

use std::collections::HashMap;
use std::ops::Range;

use memchr::{memchr, memchr_iter};

use crate::record::Record;

const BOM: &[u8] = b"\xef\xbb\xbf";
const TAGS_LINE: &[u8] = b"**Tags**:";

/// One line, as byte positions in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Where the text is, without its line end and without a byte order mark.
    pub(crate) text: Range<usize>,
    /// Where the next line begins.
    pub(crate) next: usize,
    pub(crate) kind: Kind,
}

impl Line {
    /// Tells whether it is part of a fenced code block.
    pub(crate) fn is_code(&self) -> bool {
        self.kind == Kind::Fenced
    }

    /// Tells whether it is one of the lines that Baton keeps under the Tags line.
    pub(crate) fn is_record(&self) -> bool {
        self.kind == Kind::Record
    }
}

/// What a line is, as far as tags care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Inside a fenced code block, or one of its fences.
    Fenced,
    /// Part of the YAML block that opens the file.
    FrontMatter,
    /// `# Title`, or the `=====` under one.
    Heading,
    /// `**Tags**: …`. Whether it is *the* Tags line, the document decides.
    Tags,
    /// `**Approved**: …` or `**Session**: …`, written by us and no part of the text.
    Record,
    Blank,
    /// Prose that begins a block of its own: a list item, a table row, another quote.
    Opening,
    /// Prose that goes on from the line before, if that was prose.
    Prose,
}

/// Splits a file into lines and says of each what it is.
pub(crate) fn lines(text: &[u8]) -> Vec<Line> {
    let mut lines = split(text);
    let front = front_matter(text, &lines);
    for line in &mut lines[..front] {
        line.kind = Kind::FrontMatter;
    }
    let mut fence: Option<Fence> = None;
    let mut quotes_before = 0;
    for at in front..lines.len() {
        let shape = Shape::of(&text[lines[at].text.clone()]);
        if fence.as_ref().is_some_and(|fence| fence.ends_before(&shape)) {
            fence = None;
        }
        lines[at].kind = if let Some(open) = &fence {
            if open.closed_by(&shape) {
                fence = None;
            }
            Kind::Fenced
        } else if let Some(opened) = Fence::opened_by(&shape) {
            fence = Some(opened);
            Kind::Fenced
        } else {
            shape.kind(at > 0 && is_prose(lines[at - 1].kind), quotes_before)
        };
        quotes_before = shape.quotes;
    }
    lines
}

/// Returns the byte ranges of code, in order: tags in there are only talked about.
pub(crate) fn code(text: &[u8], lines: &[Line]) -> Vec<Range<usize>> {
    let mut code = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let first = &lines[at];
        at += 1;
        match first.kind {
            Kind::Fenced => code.push(first.text.clone()),
            Kind::Blank => (),
            Kind::FrontMatter | Kind::Heading | Kind::Tags | Kind::Record => {
                spans(text, first.text.clone(), &mut code);
            }
            Kind::Opening | Kind::Prose => {
                // A code span may run on to the next line of the same paragraph.
                while lines.get(at).is_some_and(|line| line.kind == Kind::Prose) {
                    at += 1;
                }
                spans(text, first.text.start..lines[at - 1].text.end, &mut code);
            }
        }
    }
    code
}

fn is_prose(kind: Kind) -> bool {
    matches!(kind, Kind::Prose | Kind::Opening)
}

fn split(text: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = if text.starts_with(BOM) { BOM.len() } else { 0 };
    while start < text.len() {
        let (mut end, next) = match memchr(b'\n', &text[start..]) {
            Some(at) => (start + at, start + at + 1),
            None => (text.len(), text.len()),
        };
        if next > end && text[start..end].ends_with(b"\r") {
            end -= 1;
        }
        lines.push(Line { text: start..end, next, kind: Kind::Prose });
        start = next;
    }
    lines
}

/// Counts the lines of the `---` block at the top. One that is never closed is none.
fn front_matter(text: &[u8], lines: &[Line]) -> usize {
    let is = |line: &Line, mark: &[u8]| text[line.text.clone()].trim_ascii_end() == mark;
    if !lines.first().is_some_and(|line| is(line, b"---")) {
        return 0;
    }
    let close = lines[1..].iter().position(|line| is(line, b"---") || is(line, b"..."));
    close.map_or(0, |at| at + 2)
}

/// A line without the marks of the quotes and lists that it stands in.
struct Shape<'a> {
    /// How many `>` it begins with.
    quotes: usize,
    /// At which column the rest begins, counted after the quotes.
    indent: usize,
    /// Whether a list item begins on this line.
    item: bool,
    rest: &'a [u8],
}

impl<'a> Shape<'a> {
    fn of(line: &'a [u8]) -> Self {
        let mut shape = Shape { quotes: 0, indent: 0, item: false, rest: line };
        loop {
            shape.skip_blanks();
            if let Some(rest) = shape.rest.strip_prefix(b">") {
                shape.quotes += 1;
                // The one space that belongs to the quote is not indentation.
                shape.rest = rest.strip_prefix(b" ").unwrap_or(rest);
                shape.indent = 0;
            } else if let Some(width) = marker(shape.rest) {
                shape.item = true;
                shape.indent += width;
                shape.rest = &shape.rest[width..];
            } else {
                return shape;
            }
        }
    }

    fn skip_blanks(&mut self) {
        while let [first @ (b' ' | b'\t'), rest @ ..] = self.rest {
            let tab = 4 - self.indent % 4;
            self.indent += if *first == b'\t' { tab } else { 1 };
            self.rest = rest;
        }
    }

    fn kind(&self, after_prose: bool, quotes_before: usize) -> Kind {
        let rest = self.rest.trim_ascii_end();
        let hashes = rest.iter().take_while(|&&byte| byte == b'#').count();
        let top = self.quotes == 0 && !self.item;
        let opens = self.item || self.quotes != quotes_before || rest.starts_with(b"|");
        if rest.is_empty() && !self.item {
            Kind::Blank
        } else if top && self.indent == 0 && rest.starts_with(TAGS_LINE) {
            Kind::Tags
        } else if top && self.indent == 0 && Record::parse(rest).is_some() {
            Kind::Record
        } else if top && self.indent < 4 && heading_marks(rest, hashes) {
            Kind::Heading
        } else if top && after_prose && rest.iter().all(|&byte| byte == b'=') {
            // Of the two underlines only this one: dashes are more often a rule between parts.
            Kind::Heading
        } else if opens {
            Kind::Opening
        } else {
            Kind::Prose
        }
    }
}

fn heading_marks(rest: &[u8], hashes: usize) -> bool {
    (1..=6).contains(&hashes) && matches!(rest.get(hashes), None | Some(b' ' | b'\t'))
}

/// Returns the width of the list marker that opens this text, such as `- ` or `12. `.
fn marker(rest: &[u8]) -> Option<usize> {
    const DIGITS_MAX: usize = 9;
    let width = match rest.first()? {
        b'-' | b'*' | b'+' => 1,
        _ => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let closed = matches!(rest.get(digits), Some(b'.' | b')'));
            ((1..=DIGITS_MAX).contains(&digits) && closed).then_some(digits + 1)?
        }
    };
    matches!(rest.get(width), Some(b' ' | b'\t')).then_some(width)
}

/// An open fenced code block.
struct Fence {
    mark: u8,
    length: usize,
    quotes: usize,
    /// The indentation that its list item demands; a line with less has left the list.
    within: usize,
}

impl Fence {
    fn opened_by(shape: &Shape<'_>) -> Option<Self> {
        let mark = *shape.rest.first().filter(|mark| b"`~".contains(mark))?;
        let length = shape.rest.iter().take_while(|&&byte| byte == mark).count();
        // Three backticks that close again on the same line are a code span.
        let span = mark == b'`' && memchr(b'`', &shape.rest[length..]).is_some();
        let within = match shape.indent {
            _ if shape.item => shape.indent,
            // Up to three columns are free; more of them are owed to a list around it.
            indent => indent.saturating_sub(3),
        };
        (length >= 3 && !span).then_some(Self { mark, length, quotes: shape.quotes, within })
    }

    /// Tells whether the quote or list around the block is over, and the block with it.
    fn ends_before(&self, line: &Shape<'_>) -> bool {
        let blank = line.rest.trim_ascii().is_empty();
        line.quotes < self.quotes || (line.indent < self.within && !blank)
    }

    fn closed_by(&self, line: &Shape<'_>) -> bool {
        let rest = line.rest.trim_ascii_end();
        let all = rest.iter().all(|&byte| byte == self.mark);
        rest.len() >= self.length && all && !line.item && line.indent <= self.within + 3
    }
}

/// Adds the code spans of one block: a run of backticks up to the next run of the same length.
fn spans(text: &[u8], block: Range<usize>, code: &mut Vec<Range<usize>>) {
    let runs = runs(text, &block);
    let mut by_length: HashMap<usize, Vec<usize>> = HashMap::new();
    for run in &runs {
        by_length.entry(run.len()).or_default().push(run.start);
    }
    let mut free_from = block.start;
    for run in runs {
        if run.start < free_from {
            continue;
        }
        // A backslash takes the first backtick out of the run, though not inside of a span.
        let before = text[free_from..run.start].iter().rev();
        let escaped = before.take_while(|&&byte| byte == b'\\').count() % 2;
        let length = run.len() - escaped;
        let Some(starts) = by_length.get(&length) else {
            continue;
        };
        let next = starts.partition_point(|&start| start < run.end);
        if let Some(&close) = starts.get(next) {
            code.push(run.start + escaped..close + length);
            free_from = close + length;
        }
    }
}

fn runs(text: &[u8], block: &Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in memchr_iter(b'`', &text[block.clone()]).map(|at| at + block.start) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows a text with its code blanked out.
    fn prose(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for range in code(text.as_bytes(), &lines(text.as_bytes())) {
            bytes[range].fill(b'.');
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_code_span_ends_at_a_run_of_its_own_length() {
        assert_eq!(prose("a `b` c"), "a ... c");
        assert_eq!(prose("``a ` b`` c"), "......... c");
        assert_eq!(prose("`a b"), "`a b");
        assert_eq!(prose("`` a ` b"), "`` a ` b");
        assert_eq!(prose("a `b\nc` d"), "a ..... d");
        assert_eq!(prose("a `b\n\nc` d"), "a `b\n\nc` d");
        assert_eq!(prose("- a `b\n- c` d"), "- a `b\n- c` d");
        assert_eq!(prose("\\`a `b` c"), "\\`a ... c");
        assert_eq!(prose("`a\\` b` c"), ".... b` c");
    }

    #[test]
    fn a_fence_ends_at_its_like_or_with_the_file() {
        assert_eq!(prose("```sh\na\n```\nb"), ".....\n.\n...\nb");
        assert_eq!(prose("~~~\n```\n~~~~\nb"), "...\n...\n....\nb");
        assert_eq!(prose("   ````\n```\n    ````\nc"), ".......\n...\n........\n.");
        assert_eq!(prose("```\r\na\r\n```\r\nb"), "...\r\n.\r\n...\r\nb");
        assert_eq!(prose("```a``` b\nc"), "....... b\nc");
    }

    #[test]
    fn a_fence_in_a_list_or_quote_ends_with_it() {
        assert_eq!(prose("1. a\n\n   ```\n   b\n\nc"), "1. a\n\n......\n....\n\n.");
        assert_eq!(prose("- ```\n  a\nb"), ".....\n...\nb");
        assert_eq!(prose("-   a\n\n    ```\n    b\n    ```\nc `d`").lines().last(), Some("c ..."));
        assert_eq!(prose("> ```\n> a\nb"), ".....\n...\nb");
    }

    #[test]
    fn headings_and_front_matter_are_seen() {
        let kinds = |text: &str| -> Vec<Kind> {
            lines(text.as_bytes()).iter().map(|line| line.kind).collect()
        };
        use Kind::{Blank, FrontMatter, Heading, Opening, Prose, Tags};
        assert_eq!(
            kinds("---\n# no\n---\n\n# A\n**Tags**: #a\n* b\n#c\n"),
            [FrontMatter, FrontMatter, FrontMatter, Blank, Heading, Tags, Opening, Prose]
        );
        assert_eq!(kinds("\u{feff}# A\r\nB\n===\n"), [Heading, Prose, Heading]);
        assert_eq!(kinds("---\n####### a\n    # b"), [Prose, Prose, Prose]);
    }
}
