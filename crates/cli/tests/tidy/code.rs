//! Reads Rust source as text: what is code in it, and where its functions begin and end.
//!
//! Enough of the language to tell code from comments and literals, and no more: it must never grow
//! into a parser.

/// Blanks comments, strings and character literals, and keeps every line where it is.
///
/// Banned words may be spoken about, and a brace in a string closes nothing.
pub(crate) fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // `r"` opens a raw string only where a word cannot still be going on.
        let in_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = match literal_or_comment(rest, in_word) {
            Some(length) => {
                let blanked = &rest[..length];
                code.extend(blanked.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                length
            }
            None => {
                code.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    code
}

/// Returns the length of the comment or literal that `rest` opens with, if it does.
fn literal_or_comment(rest: &str, in_word: bool) -> Option<usize> {
    let until = |from: usize, end: &str| {
        rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len())
    };
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(until(2, "*/"));
    }
    if rest.starts_with('"') {
        return Some(quoted(rest));
    }
    if let Some(quote) = rest.strip_prefix('\'') {
        let first = quote.chars().next()?;
        if first == '\\' {
            return Some(until(3, "'"));
        }
        // Without the closing quote it is a lifetime.
        let close = 1 + first.len_utf8();
        return rest[close..].starts_with('\'').then_some(close + 1);
    }
    let raw = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    if in_word || !raw[hashes..].starts_with('"') {
        return None;
    }
    let open = rest.len() - raw.len() + hashes + 1;
    Some(until(open, &format!("\"{}", "#".repeat(hashes))))
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    rest.len()
}

/// Returns the name of the function whose signature starts on this line.
pub(crate) fn function_on(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    while !rest.starts_with("fn ") {
        let (word, after) = rest.split_once(' ')?;
        let opens = ["pub", "async", "const", "unsafe", "extern"].contains(&word);
        // A blanked ABI string leaves spaces behind.
        rest = (opens || word.starts_with("pub(")).then(|| after.trim_start())?;
    }
    rest[3..].split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Counts from the signature to the brace that closes it at the same indentation.
pub(crate) fn function_lines(lines: &[&str]) -> usize {
    let indentation = lines[0].len() - lines[0].trim_start().len();
    let mut has_body = false;
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        has_body |= trimmed.contains('{');
        let closes = line.len() - line.trim_start().len() == indentation
            && trimmed.starts_with('}')
            && !trimmed.ends_with('{');
        let bodiless = !has_body && trimmed.ends_with(';');
        let on_one_line = at == 0 && has_body && trimmed.ends_with('}');
        if closes || bodiless || on_one_line {
            return at + 1;
        }
    }
    lines.len()
}

pub(crate) fn functions(code: &str) -> Vec<String> {
    code.lines().filter_map(function_on).map(str::to_owned).collect()
}

/// Tells whether `code` has `needle` as a whole word or path, also as `std::{…}`.
pub(crate) fn names(code: &str, needle: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |text: &str, needle: &str| {
        text.match_indices(needle).any(|(at, _)| {
            !text[..at].ends_with(is_word) && !text[at + needle.len()..].starts_with(is_word)
        })
    };
    let grouped = |module: &str| {
        let groups = code.split("std::{").skip(1);
        groups.map(|group| group.split("};").next().unwrap_or(group)).any(|g| whole(g, module))
    };
    whole(code, needle) || needle.strip_prefix("std::").is_some_and(grouped)
}

#[test]
fn the_scan_sees_code_and_not_what_is_said_about_it() {
    let text =
        "let a = \"todo!(\\\"\"; // Manager\nlet b = r#\"utils\n\"}\"#; let c: &'a str = '\"';";
    let blanked = code_of(text);
    assert_eq!(blanked.lines().count(), text.lines().count());
    assert!(blanked.contains("let c: &'a str ="), "{blanked}");
    for hidden in ["todo", "Manager", "utils", "}"] {
        assert!(!blanked.contains(hidden), "{blanked}");
    }
}
