//! Words from agents, made safe to show: nothing in them can move a cursor or reorder a line.

use std::fmt;

/// A text with everything escaped that a terminal would obey.
pub(crate) struct Plain<'a> {
    text: &'a str,
    breaks: bool,
}

impl<'a> Plain<'a> {
    /// On one line: breaks and tabs become spaces.
    pub(crate) fn line(text: &'a str) -> Self {
        Self { text, breaks: false }
    }

    /// With its line breaks.
    pub(crate) fn lines(text: &'a str) -> Self {
        Self { text, breaks: true }
    }
}

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for c in self.text.chars() {
            match c {
                '\n' if self.breaks => f.write_char('\n')?,
                '\n' | '\t' => f.write_char(' ')?,
                '\r' if !self.breaks => (),
                c if c.is_control() || reorders(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Characters of a value that an error repeats.
const ECHO_CHARS_MAX: usize = 200;

/// As much of a value as is needed to know it by.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(ECHO_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Marks that make a terminal show the letters of a line in another order than they stand in.
fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Sets compact JSON apart over lines, in the order in which it was written.
///
/// Reading it into a map and writing it again would sort the fields; people look for them where
/// the coordinator put them.
pub(crate) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        if quoted {
            out.push(c);
            quoted = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if chars.peek().is_some_and(|next| matches!(next, '}' | ']')) {
                    continue;
                }
                depth += 1;
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                if !out.ends_with(['{', '[']) {
                    depth = depth.saturating_sub(1);
                    new_line(&mut out, depth);
                }
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => (),
            c => {
                out.push(c);
                quoted = c == '"';
            }
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let shown = |text| Plain::line(text).to_string();
        assert_eq!(shown("a\u{1b}[2J\u{7}b"), "a\\u{1b}[2J\\u{7}b");
        assert_eq!(shown("a\r\nb\tc"), "a b c");
        assert_eq!(shown("\u{9b}31m\u{202e}x"), "\\u{9b}31m\\u{202e}x");
        assert_eq!(shown("日本 ü"), "日本 ü");
        assert_eq!(Plain::lines("a\nb\r").to_string(), "a\nb\\u{d}");
    }

    #[test]
    fn a_long_value_is_known_by_its_beginning() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"ü".repeat(300)), format!("{}…", "ü".repeat(200)));
    }

    #[test]
    fn json_is_set_apart_in_its_own_order() {
        let json = r#"{"z":[1,{"a":"x: {[,\"}"}],"b":{},"c":[ ],"d":null}"#;
        let shown = indented(json);
        expect![[r#"
            {
              "z": [
                1,
                {
                  "a": "x: {[,\"}"
                }
              ],
              "b": {},
              "c": [],
              "d": null
            }"#]]
        .assert_eq(&shown);
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&shown), read(json));
    }
}
