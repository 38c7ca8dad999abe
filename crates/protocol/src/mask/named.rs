//! Values whose name says that they are secret: `DB_PASSWORD=…`, `"client_secret": "…"`,
//! `password: …`, `--token …`. The value goes, the name stays.
//!
//! For each `=`, `:` and `--` it looks a few bytes back for the name and a few on for the value, so
//! no text takes more than a fixed number of steps for each byte.

use std::ops::Range;

use super::names::says_secret;
use super::rules::Rules;
use super::value::{is_secret_bare, is_secret_in_environment, is_secret_literal};
use super::{ENV_VALUE, Place, Secret, looked_at};

/// Bytes of a name.
const NAME_BYTES_MAX: usize = 64;
/// Spaces on either side of the sign between name and value.
const SPACES_MAX: usize = 32;
/// Bytes of a value by which it is judged. It is masked as a whole.
const JUDGED_BYTES_MAX: usize = 256;
/// Backslashes before a quote, as in JSON inside of JSON inside of JSON.
const ESCAPES_MAX: usize = 3;
/// Bytes of a type between a name and its value: `token: &'static str = "…"`.
const TYPE_BYTES_MAX: usize = 40;

pub(super) fn next(place: Place<'_>, rules: &Rules) -> Option<Secret<'static>> {
    let Place { text, from, .. } = place;
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        let found = match bytes[at] {
            b'=' | b':' => assigned(text, at, rules),
            b'-' if bytes[at..].starts_with(b"--") => flagged(text, at, rules),
            _ => None,
        };
        if let Some(range) = found.filter(|range| !rules.allows(&text[range.clone()])) {
            looked_at(range.end - from);
            return Some(Secret { at: range, name: ENV_VALUE });
        }
        at += 1;
    }
    looked_at(bytes.len() - from);
    None
}

/// The secret behind the sign at `sign`.
fn assigned(text: &str, sign: usize, rules: &Rules) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let (name, spaced) = name_before(text, sign)?;
    let sure = says_secret(&text[name.clone()], rules)?;
    let signs = bytes[sign..].iter().take(3).take_while(|b| b"=:>".contains(b)).count();
    if bytes[sign] == b':' && bytes.get(sign + 1) == Some(&b':') {
        return None;
    }
    let compares = bytes[sign..].starts_with(b"==");
    let after = sign + signs;
    let begin = after + spaces(&bytes[after..]);
    let upper = !bytes[name.clone()].iter().any(u8::is_ascii_lowercase);
    let environment = upper && !spaced && signs == 1 && bytes[sign] == b'=' && begin == after;
    let quoted = quoted(text, begin).or_else(|| quoted(text, behind_type(bytes, sign, begin)?));
    if let Some(range) = quoted {
        let value = judged(text, &range);
        let secret =
            is_secret_literal(value, sure) || environment && is_secret_in_environment(value, sure);
        return secret.then_some(range);
    }
    let range = bare(text, begin);
    let value = judged(text, &range);
    let after = bytes.get(range.end + 1).is_none_or(u8::is_ascii_whitespace);
    let ends_a_statement = bytes.get(range.end) == Some(&b';') && after;
    let secret = match environment {
        true => is_secret_in_environment(value, sure),
        false => !compares && is_secret_bare(value, sure, ends_a_statement),
    };
    secret.then(|| range.start..end_of_bare(text, range))
}

/// The secret behind an option of a command line: `--password hunter22`.
fn flagged(text: &str, dashes: usize, rules: &Rules) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let begin = dashes + 2;
    let of_name = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'-' || **b == b'_';
    let length = bytes[begin..].iter().take(NAME_BYTES_MAX).take_while(of_name).count();
    looked_at(length);
    let end = begin + length;
    if length == 0 || bytes.get(end) != Some(&b' ') || bytes[begin] == b'-' {
        return None;
    }
    let sure = says_secret(&text[begin..end], rules)?;
    if let Some(range) = quoted(text, end + 1) {
        return is_secret_literal(judged(text, &range), sure).then_some(range);
    }
    let range = bare(text, end + 1);
    let secret = is_secret_bare(judged(text, &range), sure, false);
    secret.then(|| range.start..end_of_bare(text, range))
}

/// The identifier that ends before `sign`, perhaps quoted, and whether spaces follow it.
fn name_before(text: &str, sign: usize) -> Option<(Range<usize>, bool)> {
    let bytes = &text.as_bytes()[..sign];
    let back = |end: usize, most: usize, of: fn(&u8) -> bool| {
        end - bytes[..end].iter().rev().take(most).take_while(|b| of(b)).count()
    };
    let mut end = back(sign, SPACES_MAX, |b| *b == b' ' || *b == b'\t');
    let spaced = end < sign;
    let is_quote = |b: &u8| b"\"'`".contains(b);
    if end >= 2 && bytes[end - 1] == b']' && is_quote(&bytes[end - 2]) {
        end -= 1;
    }
    if end >= 1 && is_quote(&bytes[end - 1]) {
        end = back(end - 1, ESCAPES_MAX, |b| *b == b'\\');
    }
    let mut begin =
        back(end, NAME_BYTES_MAX + 1, |b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-');
    // The n of a line's end that is written as two characters is no part of the name.
    if begin >= 1 && bytes[begin - 1] == b'\\' && begin < end && b"nrt".contains(&bytes[begin]) {
        begin += 1;
    }
    looked_at(sign - begin);
    let fits = (1..=NAME_BYTES_MAX).contains(&(end - begin));
    fits.then_some((begin..end, spaced))
}

fn spaces(bytes: &[u8]) -> usize {
    bytes.iter().take(SPACES_MAX).take_while(|b| **b == b' ' || **b == b'\t').count()
}

/// Where the value may begin if a type stands between: `: &str = "…"`.
fn behind_type(bytes: &[u8], sign: usize, begin: usize) -> Option<usize> {
    if bytes[sign] != b':' {
        return None;
    }
    let of_type = |b: &&u8| b.is_ascii_alphanumeric() || b"_&'<>: []?|".contains(b);
    let length = bytes[begin..].iter().take(TYPE_BYTES_MAX).take_while(of_type).count();
    looked_at(length);
    let equals = begin + length;
    let assigns = length > 0 && bytes.get(equals) == Some(&b'=');
    (assigns && bytes.get(equals + 1) != Some(&b'=')).then(|| {
        let after = equals + 1;
        after + spaces(&bytes[after..])
    })
}

/// The inside of a quoted text that begins here. One that was cut off ends with its first word.
fn quoted(text: &str, begin: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let count = |from: usize, most: usize, of: &[u8]| {
        bytes[from..].iter().take(most).take_while(|b| of.contains(b)).count()
    };
    let marked = begin + count(begin, 2, b"rbfuRBFU@");
    let escapes = count(marked, ESCAPES_MAX, b"\\");
    let quote = *bytes.get(marked + escapes).filter(|b| b"\"'`".contains(b))?;
    let start = marked + escapes + 1;
    let mut slashes = 0;
    for (n, byte) in bytes[start..].iter().enumerate().take_while(|(_, b)| **b != b'\n') {
        if *byte == quote && slashes <= escapes {
            looked_at(n);
            return Some(start..start + n - slashes);
        }
        slashes = if *byte == b'\\' { slashes + 1 } else { 0 };
        if n > JUDGED_BYTES_MAX {
            break;
        }
    }
    looked_at(JUDGED_BYTES_MAX);
    let word = bytes[start..].iter().take_while(|b| !b.is_ascii_whitespace() && **b != quote);
    let end = start + word.take(JUDGED_BYTES_MAX * 16).count();
    let end = (start..=end).rev().find(|end| text.is_char_boundary(*end))?;
    Some(start..end)
}

/// What of a value is looked at.
fn judged<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    let value = &text[range.clone()];
    let most = value.len().min(JUDGED_BYTES_MAX);
    let end = (0..=most).rev().find(|end| value.is_char_boundary(*end)).unwrap_or(0);
    &value[..end]
}

/// A value without quotes, as far as it is judged: to the next space, quote, or the next name.
fn bare(text: &str, begin: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let mut end = begin;
    while end < bytes.len() && end - begin < JUDGED_BYTES_MAX && !ends_bare(bytes, end) {
        end += 1;
    }
    looked_at(end - begin);
    if end - begin < JUDGED_BYTES_MAX {
        let marks = |b: &&u8| b",;.:)]}\\".contains(b);
        end -= bytes[begin..end].iter().rev().take_while(marks).count();
    }
    let end = (begin..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(begin);
    begin..end
}

/// Where a value without quotes ends that was judged by its beginning.
fn end_of_bare(text: &str, judged: Range<usize>) -> usize {
    let bytes = text.as_bytes();
    if judged.len() + 4 < JUDGED_BYTES_MAX {
        return judged.end;
    }
    let more = (judged.end..bytes.len()).find(|at| ends_bare(bytes, *at));
    more.unwrap_or(bytes.len())
}

fn ends_bare(bytes: &[u8], at: usize) -> bool {
    let byte = bytes[at];
    if byte.is_ascii_whitespace() || b"\"'`".contains(&byte) {
        return true;
    }
    // A line or a quoted text may end in a text that is itself quoted.
    if byte == b'\\' && bytes.get(at + 1).is_some_and(|b| b"nrt\"'".contains(b)) {
        return true;
    }
    // `token=…&page=2` and `Password=…;Server=db` go on with another name.
    let of_name = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_' || **b == b'-';
    b"&;,".contains(&byte) && {
        let rest = &bytes[at + 1..];
        let length = rest.iter().take(NAME_BYTES_MAX).take_while(of_name).count();
        length > 0 && rest.get(length).is_some_and(|b| b"=:".contains(b))
    }
}
