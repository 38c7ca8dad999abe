//! Edits of one tag in a text. Pure: bytes in, bytes out, and no byte changes but the tag's own.
//!
//! Which moves are allowed is not asked here (`lifecycle.rs`), and nothing is written (`file.rs`).

use std::ops::Range;

use crate::document::{Document, Occurrence, Place};
use crate::name::Tag;

/// A text after a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swapped {
    /// The new text.
    pub text: Vec<u8>,
    /// Which of the alternatives was there.
    pub old: Tag,
    /// The line of the swap, counted from 1.
    pub line: usize,
}

/// Why a text was left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// Somebody else was faster, or the tag was never there.
    #[error("{} is not {}{}", list(.old), shown(*.place), but_on(.elsewhere))]
    Gone {
        /// The alternatives that were looked for.
        old: Vec<Tag>,
        /// Where.
        place: Place,
        /// The lines that do have one of them.
        elsewhere: Vec<usize>,
    },

    /// Such a swap could be won twice.
    #[error("{tag} cannot be swapped for itself")]
    Itself {
        /// The tag that is both old and new.
        tag: Tag,
    },

    /// The text around the tag would read differently without it, for example as code.
    #[error("without {tag} on line {line} the text around it would change its meaning")]
    Entangled {
        /// The tag that stays.
        tag: Tag,
        /// Its line.
        line: usize,
    },
}

impl EditError {
    /// Returns the name that clients match on. It never changes once released; the sentence may.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Gone { .. } => "gone",
            Self::Itself { .. } => "itself",
            Self::Entangled { .. } => "entangled",
        }
    }
}

/// Puts a tag on the Tags line, and makes that line when there is none.
///
/// Returns `None` when the tag is already there. A new Tags line goes under the first heading, or
/// to the top of a text without one (after its front matter), with the text's own line ends.
pub fn add(text: &[u8], tag: &Tag) -> Option<Vec<u8>> {
    let document = Document::read(text);
    if document.is_tagged(tag) {
        return None;
    }
    if let Some(line) = document.tags_line() {
        // Trailing blanks stay last: two of them are a line break.
        let used = text[line.clone()].trim_ascii_end().len();
        return Some(insert(text, line.start + used, format!(" {tag}")));
    }
    let newline = newline(text);
    let line = format!("**Tags**: {tag}");
    Some(match document.line_above_tags() {
        Some(above) if above.next == above.text.end => {
            insert(text, above.next, format!("{newline}{line}"))
        }
        Some(above) => insert(text, above.next, format!("{line}{newline}")),
        None => {
            let start = document.first_line().map_or(text.len(), |line| line.text.start);
            insert(text, start, format!("{line}{newline}"))
        }
    })
}

/// Takes a tag away, with the one blank that set it apart.
///
/// Returns `None` when it is not there, which is no error. On the Tags line every copy of it goes;
/// inside the text each occurrence is work of its own, so only the first on that line does.
pub fn remove(text: &[u8], tag: &Tag, place: Place) -> Result<Option<Vec<u8>>, EditError> {
    let document = Document::read(text);
    let copies = match place {
        Place::TagsLine => usize::MAX,
        Place::Line(_) => 1,
    };
    let found = document.occurrences().iter();
    let fits = |found: &&Occurrence| found.tag == *tag && found.is_at(place);
    let changes: Vec<_> = found.filter(fits).take(copies).map(|found| (found, None)).collect();
    if changes.is_empty() {
        return Ok(None);
    }
    rewrite(text, &document, &changes).map(Some)
}

/// Replaces one of the tags `old` at `place` by `new`.
///
/// An error when none of them is there: whoever comes second has lost. The Tags line is one work
/// item, so further copies of the old tags there go too, or a second claimant would win with them.
pub fn swap(text: &[u8], old: &[Tag], new: &Tag, place: Place) -> Result<Swapped, EditError> {
    if old.contains(new) {
        return Err(EditError::Itself { tag: new.clone() });
    }
    let document = Document::read(text);
    let found: Vec<_> =
        document.occurrences().iter().filter(|found| old.contains(&found.tag)).collect();
    let mut here = found.iter().filter(|found| found.is_at(place));
    let Some(first) = here.next() else {
        let mut elsewhere: Vec<_> = found.iter().map(|found| found.line).collect();
        elsewhere.dedup();
        return Err(EditError::Gone { old: old.to_vec(), place, elsewhere });
    };
    let mut changes = vec![(*first, Some(new))];
    if place == Place::TagsLine {
        // A line that has the new tag already needs no second one.
        changes[0].1 = (!document.is_tagged(new)).then_some(new);
        changes.extend(here.map(|copy| (*copy, None)));
    }
    Ok(Swapped {
        text: rewrite(text, &document, &changes)?,
        old: first.tag.clone(),
        line: first.line,
    })
}

/// Replaces or drops some occurrences, given in the order of the text.
///
/// Afterwards the text is read again: where a tag kept two backticks apart, dropping it could turn
/// a neighbour into code or a mention into a tag, and then nothing may be changed.
fn rewrite(
    text: &[u8],
    document: &Document<'_>,
    changes: &[(&Occurrence, Option<&Tag>)],
) -> Result<Vec<u8>, EditError> {
    let mut edited = Vec::with_capacity(text.len() + Tag::LENGTH_MAX);
    let mut copied = 0;
    for (found, becomes) in changes {
        let range = match becomes {
            Some(_) => found.range.clone(),
            None => with_blank(text, found),
        };
        let start = range.start.max(copied);
        edited.extend_from_slice(&text[copied..start]);
        edited.extend_from_slice(becomes.map_or(b"", |tag| tag.as_str().as_bytes()));
        copied = range.end;
    }
    edited.extend_from_slice(&text[copied..]);

    let mut changed = changes.iter().peekable();
    let expected = document.occurrences().iter().filter_map(|found| {
        match changed.next_if(|(changed, _)| *changed == found) {
            Some((_, becomes)) => becomes.map(|tag| (found.line, tag)),
            None => Some((found.line, &found.tag)),
        }
    });
    let after = Document::read(&edited);
    let found = after.occurrences().iter().map(|found| (found.line, &found.tag));
    let (about, _) = changes[0];
    if !found.eq(expected) || !after.is_built_like(document, about.line) {
        return Err(EditError::Entangled { tag: about.tag.clone(), line: about.line });
    }
    Ok(edited)
}

/// Widens a tag's range by the one blank that its removal would leave doubled or dangling.
fn with_blank(text: &[u8], found: &Occurrence) -> Range<usize> {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let range = &found.range;
    let before = &text[range.start + 1 - found.column..range.start];
    let after = text.get(range.end);
    // Behind a bare list marker the blank stays: it is what makes the marker one.
    let in_words = before.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    let ends = blank(after) || matches!(after, None | Some(b'\r' | b'\n'));
    if in_words && blank(before.last()) && ends {
        range.start - 1..range.end
    } else if !in_words && blank(after) {
        range.start..range.end + 1
    } else {
        range.clone()
    }
}

pub(crate) fn insert(text: &[u8], at: usize, new: String) -> Vec<u8> {
    [&text[..at], new.as_bytes(), &text[at..]].concat()
}

/// Returns the line end that a text uses, by its first one.
pub(crate) fn newline(text: &[u8]) -> &'static str {
    match memchr::memchr(b'\n', text) {
        Some(at) if text[..at].ends_with(b"\r") => "\r\n",
        Some(_) | None => "\n",
    }
}

fn list(tags: &[Tag]) -> String {
    let tags: Vec<_> = tags.iter().map(Tag::as_str).collect();
    tags.join(" or ")
}

fn shown(place: Place) -> String {
    match place {
        Place::TagsLine => "on the Tags line".to_owned(),
        Place::Line(line) => format!("on line {line}"),
    }
}

fn but_on(lines: &[usize]) -> String {
    const SHOWN_MAX: usize = 5;
    let more = if lines.len() > SHOWN_MAX { ", …" } else { "" };
    let lines: Vec<_> = lines.iter().take(SHOWN_MAX).map(usize::to_string).collect();
    match lines.len() {
        0 => String::new(),
        1 => format!(" (but on line {})", lines[0]),
        _ => format!(" (but on lines {}{more})", lines.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tag(text: &str) -> Tag {
        text.parse().unwrap()
    }

    fn added(text: &str, name: &str) -> String {
        let new = add(text.as_bytes(), &tag(name)).unwrap_or_else(|| text.into());
        String::from_utf8(new).unwrap()
    }

    fn removed(text: &str, name: &str, place: Place) -> String {
        let new = remove(text.as_bytes(), &tag(name), place).unwrap();
        String::from_utf8(new.unwrap_or_else(|| text.into())).unwrap()
    }

    fn swapped(text: &str, old: &str, new: &str, place: Place) -> Result<String, String> {
        let old = crate::alternatives(old).unwrap();
        match swap(text.as_bytes(), &old, &tag(new), place) {
            Ok(swapped) => Ok(String::from_utf8(swapped.text).unwrap()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn adding_uses_the_tags_line_and_makes_a_missing_one() {
        assert_eq!(added("# A\n**Tags**: #b  \n", "#a"), "# A\n**Tags**: #b #a  \n");
        assert_eq!(added("# A\n**Tags**:\n", "#a"), "# A\n**Tags**: #a\n");
        assert_eq!(added("# A\n**Tags**: #a\n", "#a"), "# A\n**Tags**: #a\n");
        assert_eq!(added("# A\n\n#a\n", "#a"), "# A\n**Tags**: #a\n\n#a\n");
        assert_eq!(added("# A\r\nb\r\n", "#a"), "# A\r\n**Tags**: #a\r\nb\r\n");
        assert_eq!(added("# A", "#a"), "# A\n**Tags**: #a");
        assert_eq!(added("A\n=\nb\n", "#a"), "A\n=\n**Tags**: #a\nb\n");
        assert_eq!(added("b", "#a"), "**Tags**: #a\nb");
        assert_eq!(added("", "#a"), "**Tags**: #a\n");
        assert_eq!(added("\u{feff}b\n", "#a"), "\u{feff}**Tags**: #a\nb\n");
        assert_eq!(added("---\nx: y\n---\nb\n", "#a"), "---\nx: y\n---\n**Tags**: #a\nb\n");
    }

    #[test]
    fn removing_takes_the_tag_and_one_blank() {
        let line = Place::TagsLine;
        assert_eq!(removed("**Tags**: #a #b #a\n", "#a", line), "**Tags**: #b\n");
        assert_eq!(removed("**Tags**: #a\n", "#a", line), "**Tags**:\n");
        assert_eq!(removed("**Tags**: #a-b\n", "#a", line), "**Tags**: #a-b\n");
        assert_eq!(removed("# A\nfix #a now\n", "#a", line), "# A\nfix #a now\n");
        let second = Place::Line(2);
        assert_eq!(removed("# A\nfix #a now #a\n", "#a", second), "# A\nfix now #a\n");
        assert_eq!(removed("# A\n(#a) x\r\n", "#a", second), "# A\n() x\r\n");
        assert_eq!(removed("# A\n- #a\n", "#a", second), "# A\n- \n");
        assert_eq!(removed("# A\n  #a x\n", "#a", second), "# A\n  x\n");
        assert_eq!(removed("# A\n`#a` x\n", "#a", second), "# A\n`#a` x\n");
    }

    #[test]
    fn removing_never_changes_what_the_neighbours_mean() {
        for text in ["x]#a(#b)", "#a # Heading", "#a ```\n#b", "#a\n===\n"] {
            let refused = remove(text.as_bytes(), &tag("#a"), Place::Line(1)).unwrap_err();
            assert_eq!(
                refused.to_string(),
                "without #a on line 1 the text around it would change its meaning"
            );
        }
    }

    #[test]
    fn swapping_takes_any_of_the_alternatives_and_is_won_once() {
        let line = Place::TagsLine;
        let text = "# A\n**Tags**: #next-x #P1\n\n`#next-x` #next-x\n";
        assert_eq!(
            swapped(text, "#delegated-x,#next-x", "#claimed-x", line).unwrap(),
            "# A\n**Tags**: #claimed-x #P1\n\n`#next-x` #next-x\n"
        );
        assert_eq!(
            swapped(text, "#next-x", "#claimed-x", Place::Line(4)).unwrap(),
            "# A\n**Tags**: #next-x #P1\n\n`#next-x` #claimed-x\n"
        );
        assert_eq!(
            swapped("**Tags**: #a #b #a #c\n", "#a,#b", "#d", line).unwrap(),
            "**Tags**: #d #c\n"
        );
        assert_eq!(swapped("**Tags**: #a #b\n", "#a", "#b", line).unwrap(), "**Tags**: #b\n");
    }

    #[test]
    fn swapping_what_is_gone_is_an_error_that_says_where_it_is() {
        let text = "# A\n**Tags**: #claimed-x\n\n#a\n#a #a\n";
        let complaint = |old: &str, place: Place| swapped(text, old, "#b", place).unwrap_err();
        assert_eq!(
            complaint("#delegated-x,#next-x", Place::TagsLine),
            "#delegated-x or #next-x is not on the Tags line"
        );
        assert_eq!(complaint("#claimed", Place::Line(2)), "#claimed is not on line 2");
        assert_eq!(
            complaint("#a", Place::TagsLine),
            "#a is not on the Tags line (but on lines 4, 5)"
        );
        assert_eq!(
            swapped(text, "#a,#b", "#b", Place::Line(4)).unwrap_err(),
            "#b cannot be swapped for itself"
        );
    }

    /// Texts made of what could trip an edit, with a few tags among them.
    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let pieces: Vec<&'static [u8]> = vec![
            b"#a",
            b"#b",
            b"#a-b",
            b"**Tags**:",
            b"# ",
            b"`",
            b"``",
            b"```",
            b"~~~",
            b" ",
            b"  ",
            b"\n",
            b"\n\n",
            b"\r\n",
            b"- ",
            b"> ",
            b"---",
            b"===",
            b"|",
            b"word",
            b"\\",
            b"](",
            b")",
            b"]",
            b"\xff",
            b"\t",
            b"\xef\xbb\xbf",
            b",",
            "é".as_bytes(),
            b"&",
            b"/",
        ];
        let piece = prop::sample::select(pieces);
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    fn places() -> impl Strategy<Value = Place> {
        prop_oneof![Just(Place::TagsLine), (1..6_usize).prop_map(Place::Line)]
    }

    /// Lists what may have been cut out of `long` to leave `short`.
    ///
    /// More than one stretch can: `aba` without `ab` is also `aba` without `ba`.
    fn cuts(long: &[u8], short: &[u8]) -> Vec<String> {
        let same = long.iter().zip(short).take_while(|(a, b)| a == b).count();
        let length = long.len().saturating_sub(short.len());
        let fits = |at: &usize| long[at + length..] == short[*at..];
        let stretch = |at| String::from_utf8_lossy(&long[at..at + length]).into_owned();
        (0..=same).filter(fits).map(stretch).collect()
    }

    proptest! {
        #[test]
        fn adding_only_inserts_and_then_the_tag_is_there(text in texts()) {
            let new = tag("#new");
            let edited = add(&text, &new).expect("no text has it yet");
            prop_assert!(Document::read(&edited).is_tagged(&new));
            prop_assert_eq!(add(&edited, &new), None);
            let new_bytes = cuts(&edited, &text);
            let is_tag = |new: &String| new.replacen("**Tags**:", "", 1).trim() == "#new";
            prop_assert!(new_bytes.iter().any(is_tag), "{new_bytes:?}");
            let before: Vec<_> = Document::read(&text).tags().cloned().collect();
            let document = Document::read(&edited);
            let after: Vec<_> = document.tags().filter(|tag| **tag != new).cloned().collect();
            prop_assert_eq!(after, before);
        }

        #[test]
        fn swapping_there_and_back_is_no_change(text in texts(), place in places()) {
            let (old, new) = (tag("#a"), tag("#new"));
            if let Ok(there) = swap(&text, std::slice::from_ref(&old), &new, place) {
                let at = Place::Line(there.line);
                let back = swap(&there.text, &[new], &old, at).expect("the new tag is there");
                let copies = Document::read(&text).occurrences().iter()
                    .filter(|found| found.tag == old && found.is_at(place)).count();
                if copies == 1 || place != Place::TagsLine {
                    prop_assert_eq!(back.text, text);
                }
            }
        }

        #[test]
        fn removing_only_cuts_out_the_tag(text in texts(), line in 1..6_usize) {
            let old = tag("#a");
            match remove(&text, &old, Place::Line(line)) {
                Ok(Some(edited)) => {
                    let gone = cuts(&text, &edited);
                    let is_tag = |gone: &String| gone.len() <= 3 && gone.trim() == "#a";
                    prop_assert!(gone.iter().any(is_tag), "{gone:?}");
                }
                Ok(None) => {
                    let document = Document::read(&text);
                    let mut found = document.occurrences().iter();
                    prop_assert!(!found.any(|found| found.tag == old && found.line == line));
                }
                Err(error) => {
                    let entangled = matches!(error, EditError::Entangled { .. });
                    prop_assert!(entangled, "{error}");
                }
            }
        }
    }
}
