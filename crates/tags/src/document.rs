//! A text and the tags in it: which are meant, which are only mentioned, and where each stands.
//!
//! It reads and never writes. What it does not understand, such as bytes that are not UTF-8, it
//! passes over.

use std::ops::Range;
use std::str;

use memchr::memchr_iter;
use memchr::memmem::Finder;

use crate::markup::{self, Kind, Line};
use crate::name::{Tag, TagPattern};
use crate::record::is_entry;

/// A text with its tags found.
///
/// A tag is a `#` and a name that stand by themselves. In code (spans and fenced blocks), behind
/// a backslash, inside a link's target or a longer word it is a mention, and nobody acts on it.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    text: &'a [u8],
    lines: Vec<Line>,
    occurrences: Vec<Occurrence>,
    tags_line: Option<usize>,
}

/// One tag at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The tag.
    pub tag: Tag,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1, in bytes.
    pub column: usize,
    /// The bytes of the tag in the file, from its `#` on.
    pub range: Range<usize>,
    /// Whether it stands on the Tags line.
    pub on_tags_line: bool,
}

/// Which work item of a file is meant: the one of its Tags line, or one inside the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The line `**Tags**: …` under the first heading.
    TagsLine,
    /// The first fitting tag on this line, counted from 1.
    Line(usize),
}

impl Occurrence {
    /// Tells whether this is (part of) the work item at `place`.
    pub fn is_at(&self, place: Place) -> bool {
        match place {
            Place::TagsLine => self.on_tags_line,
            Place::Line(line) => self.line == line,
        }
    }
}

impl<'a> Document<'a> {
    /// Finds the tags of a text. Any bytes are a text; at worst one without tags.
    pub fn read(text: &'a [u8]) -> Self {
        let mut document = Self::unscanned(text);
        document.occurrences = document.scan(memchr_iter(b'#', text), |_| true, usize::MAX);
        document
    }

    /// Finds only the tags that fit a pattern, and at most `most` of them.
    ///
    /// For searches: a large file may be all tags, and they take more memory than the file.
    pub(crate) fn read_for(text: &'a [u8], pattern: &TagPattern, most: usize) -> Self {
        let mut document = Self::unscanned(text);
        let literal = Finder::new(pattern.prefix());
        let starts = literal.find_iter(text);
        document.occurrences = document.scan(starts, |tag| pattern.matches(tag), most);
        document
    }

    fn unscanned(text: &'a [u8]) -> Self {
        let lines = markup::lines(text);
        let tags_line = tags_line(&lines);
        Self { text, lines, occurrences: Vec::new(), tags_line }
    }

    /// Returns every tag with its place, in the order of the text.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// Returns every tag, in the order of the text, as often as it stands there.
    pub fn tags(&self) -> impl Iterator<Item = &Tag> {
        self.occurrences.iter().map(|occurrence| &occurrence.tag)
    }

    /// Tells whether the Tags line has this tag.
    pub fn is_tagged(&self, tag: &Tag) -> bool {
        let mut on_line = self.occurrences.iter().filter(|found| found.on_tags_line);
        on_line.any(|found| found.tag == *tag)
    }

    /// Returns the text of the first heading, without its marks.
    pub fn title(&self) -> Option<String> {
        let at = self.heading()?;
        let mut title = self.line_bytes(at).trim_ascii();
        if title.iter().all(|&byte| byte == b'=') && at > 0 {
            title = self.line_bytes(at - 1).trim_ascii();
        } else {
            let marks = title.iter().take_while(|&&byte| byte == b'#').count();
            title = title[marks..].trim_ascii();
        }
        Some(String::from_utf8_lossy(title).into_owned())
    }

    /// Returns one line, counted from 1, without its end.
    pub fn line(&self, number: usize) -> Option<&'a [u8]> {
        let at = number.checked_sub(1).filter(|&at| at < self.lines.len())?;
        Some(self.line_bytes(at))
    }

    /// Returns where the Tags line is, without its line end.
    pub(crate) fn tags_line(&self) -> Option<Range<usize>> {
        Some(self.lines[self.tags_line?].text.clone())
    }

    /// Returns the line that a new Tags line comes after, if it does not open the file.
    pub(crate) fn line_above_tags(&self) -> Option<&Line> {
        let front = |line: &&Line| line.kind == Kind::FrontMatter;
        match self.heading() {
            Some(at) => Some(&self.lines[at]),
            None => self.lines.iter().take_while(front).last(),
        }
    }

    /// Returns every line, with what it is.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the bytes that were read.
    pub(crate) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the first line of the file, which may begin after a byte order mark.
    pub(crate) fn first_line(&self) -> Option<&Line> {
        self.lines.first()
    }

    /// Tells whether this is built as `before` was, but for prose that went from one line.
    pub(crate) fn is_built_like(&self, before: &Document<'_>, changed_line: usize) -> bool {
        let same = |(at, (new, old)): (usize, (&Line, &Line))| {
            let emptied = matches!(new.kind, Kind::Blank | Kind::Opening | Kind::Prose)
                && matches!(old.kind, Kind::Opening | Kind::Prose);
            new.kind == old.kind || (at + 1 == changed_line && emptied)
        };
        let pairs = self.lines.iter().zip(&before.lines);
        self.lines.len() == before.lines.len() && pairs.enumerate().all(same)
    }

    fn heading(&self) -> Option<usize> {
        self.lines.iter().position(|line| line.kind == Kind::Heading)
    }

    fn line_bytes(&self, at: usize) -> &'a [u8] {
        &self.text[self.lines[at].text.clone()]
    }

    fn scan(
        &self,
        starts: impl Iterator<Item = usize>,
        fits: impl Fn(&Tag) -> bool,
        most: usize,
    ) -> Vec<Occurrence> {
        let code = markup::code(self.text, &self.lines);
        let mut code = code.iter().peekable();
        let mut found = Vec::new();
        for start in starts {
            if found.len() == most {
                break;
            }
            while code.next_if(|range| range.end <= start).is_some() {}
            let mentioned = code.peek().is_some_and(|range| range.start <= start);
            if mentioned || !opens_tag(&self.text[..start]) {
                continue;
            }
            let Some(tag) = tag_at(&self.text[start..]).filter(&fits) else {
                continue;
            };
            let at = self.lines.partition_point(|line| line.next <= start);
            // `**Session**: …, #fix, …` names an item and is none.
            if self.lines[at].kind == Kind::Record || is_entry(self.line_bytes(at)) {
                continue;
            }
            found.push(Occurrence {
                line: at + 1,
                column: start - self.lines[at].text.start + 1,
                range: start..start + tag.as_str().len(),
                on_tags_line: self.tags_line == Some(at),
                tag,
            });
        }
        found
    }
}

/// Finds the Tags line in the head of a file: before its second heading.
///
/// It belongs right under the first heading, but people put a date or a blank line between, and a
/// second Tags line made beside theirs would split the work in two.
fn tags_line(lines: &[Line]) -> Option<usize> {
    let mut headings = 0;
    for (at, line) in lines.iter().enumerate() {
        match line.kind {
            Kind::Tags => return Some(at),
            Kind::Heading if headings == 1 => return None,
            Kind::Heading => headings += 1,
            Kind::Fenced | Kind::FrontMatter | Kind::Blank | Kind::Record => (),
            Kind::Opening | Kind::Prose => (),
        }
    }
    None
}

/// Tells whether a `#` after this text may open a tag.
fn opens_tag(before: &[u8]) -> bool {
    match before.last() {
        None => true,
        // Parts of a word, of an HTML entity, of an address, or escaped.
        Some(b'_' | b'#' | b'&' | b'/' | b'\\') => false,
        Some(b'(') => !before.ends_with(b"]("),
        Some(byte) if byte.is_ascii() => !byte.is_ascii_alphanumeric(),
        Some(_) => !ends_in_letter(before),
    }
}

/// Returns the tag that this text opens with, if it ends where a word may end.
fn tag_at(text: &[u8]) -> Option<Tag> {
    let in_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let length = 1 + text[1..].iter().take_while(in_name).count();
    let (name, after) = text.split_at(length);
    // `#a#b` is neither of the two, or removing the one would bring forth the other.
    if after.starts_with(b"#") || starts_with_letter(after) {
        return None;
    }
    str::from_utf8(name).ok()?.parse().ok()
}

fn ends_in_letter(text: &[u8]) -> bool {
    let width_max = text.len().min(4);
    let last = (1..=width_max).find_map(|width| str::from_utf8(&text[text.len() - width..]).ok());
    last.is_some_and(|last| last.ends_with(char::is_alphanumeric))
}

fn starts_with_letter(text: &[u8]) -> bool {
    let width_max = text.len().min(4);
    let first = (1..=width_max).find_map(|width| str::from_utf8(&text[..width]).ok());
    first.is_some_and(|first| first.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists the tags of a text as `line:column tag`, those of the Tags line with a `!`.
    fn seen(text: impl AsRef<[u8]>) -> Vec<String> {
        let text = text.as_ref();
        let document = Document::read(text);
        let show = |found: &Occurrence| {
            assert_eq!(&text[found.range.clone()], found.tag.as_str().as_bytes());
            let mark = if found.on_tags_line { "!" } else { "" };
            format!("{}:{} {}{mark}", found.line, found.column, found.tag)
        };
        document.occurrences().iter().map(show).collect()
    }

    #[test]
    fn tags_stand_on_the_tags_line_and_in_the_text() {
        let text = "# Plan\n**Tags**: #needs-fix #P1\n\n1. Auth #needs-fix-later, (#M).\n";
        assert_eq!(
            seen(text),
            ["2:11 #needs-fix!", "2:22 #P1!", "4:9 #needs-fix-later", "4:28 #M"]
        );
    }

    #[test]
    fn mentions_are_not_tags() {
        for mention in [
            "`#a`",
            "``x `#a` y``",
            "```\n#a\n```",
            "~~~ md\n#a",
            "word#a",
            "[up](#a)",
            "see https://example.org/#a",
            "&#x27;",
            "\\#a",
            "#A",
            "#a_b",
            "#naïve",
            "é#a",
            "#2",
            "# a",
            "##a",
            "#a#b",
        ] {
            assert!(seen(mention).is_empty(), "{mention}: {:?}", seen(mention));
        }
        assert!(seen(format!("#{}", "a".repeat(64))).is_empty());
    }

    #[test]
    fn a_tag_may_touch_punctuation() {
        for text in ["(#a)", "#a.", "#a:", "\"#a\"", "**#a**", "«#a»", "a,#a", "- #a", "> #a"] {
            assert_eq!(Document::read(text.as_bytes()).tags().count(), 1, "{text}");
        }
    }

    #[test]
    fn any_line_end_mark_and_byte_is_read() {
        assert_eq!(seen("\u{feff}# A\r\n**Tags**: #a\r\n"), ["2:11 #a!"]);
        assert_eq!(seen("\u{feff}**Tags**: #a"), ["1:11 #a!"]);
        assert_eq!(seen(b"# A\xff\n**Tags**: #a\n\xfe#b \x80\n"), ["2:11 #a!", "3:2 #b"]);
    }

    #[test]
    fn the_tags_line_is_in_the_head_of_the_file() {
        assert_eq!(seen("# A\n\n**Date**: x\n**Tags**: #a\n"), ["4:11 #a!"]);
        assert_eq!(seen("**Tags**: #a\n# A\n"), ["1:11 #a!"]);
        assert_eq!(seen("# A\n## B\n**Tags**: #a\n"), ["3:11 #a"]);
        assert_eq!(seen("# A\n**Tags**: #a\n**Tags**: #b\n"), ["2:11 #a!", "3:11 #b"]);
        assert_eq!(seen("# A\n```\n**Tags**: #a\n```\n"), [""; 0]);
        assert_eq!(seen("---\n# x: y\n---\n# A\n**Tags**: #a\n"), ["5:11 #a!"]);
    }

    #[test]
    fn the_title_is_the_first_heading() {
        let title = |text: &str| Document::read(text.as_bytes()).title();
        assert_eq!(title("text\n## Fix it\n").as_deref(), Some("Fix it"));
        assert_eq!(title("Fix it\n======\n").as_deref(), Some("Fix it"));
        assert_eq!(title("text"), None);
        assert_eq!(Document::read(b"a\r\nb").line(2), Some(&b"b"[..]));
        assert_eq!(Document::read(b"a").line(0), None);
    }
}
