//! Words for a picture: on one line, harmless, and no longer than there is room.

use unicode_width::UnicodeWidthChar;

/// The columns of a terminal that a text takes.
pub(crate) fn columns(text: &str) -> usize {
    width(text, cells)
}

/// A text on one line, without anything that a terminal or a browser would obey.
pub(crate) fn plain(text: &str) -> String {
    let harmless = |c: char| match c {
        // Marks that show letters in another order than they stand in, or hide them.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => ' ',
        '\u{feff}' | '\u{fff9}'..='\u{ffff}' => ' ',
        c if c.is_control() => ' ',
        c => c,
    };
    let text: String = text.chars().map(harmless).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How wide a character is, in whatever unit there is.
pub(crate) type Measure = fn(char) -> usize;

/// The columns of a terminal that a character takes.
pub(crate) fn cells(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// About how wide a character is in a sans-serif font, in thousandths of the font's size. A little
/// more than most fonts need, because nobody knows which one will be there.
pub(crate) fn thousandths(c: char) -> usize {
    match c {
        'i' | 'j' | 'l' | '|' | '!' | '\'' | '.' | ',' | ':' | ';' => 290,
        'f' | 't' | 'r' | 'I' | ' ' | '(' | ')' | '[' | ']' | '/' | '-' | '·' => 370,
        'm' | 'M' | 'W' | '@' | '%' | '…' | '—' => 960,
        'w' => 800,
        'a'..='z' => 590,
        'A'..='Z' => 710,
        '0'..='9' => 600,
        c if cells(c) == 0 => 0,
        c if cells(c) > 1 => 1_050,
        _ => 680,
    }
}

/// How wide a text is.
pub(crate) fn width(text: &str, measure: Measure) -> usize {
    text.chars().map(measure).sum()
}

/// As much of a text as fits `most`, with … where it was cut.
pub(crate) fn cut(text: &str, most: usize, measure: Measure) -> String {
    if width(text, measure) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = measure('…');
    for c in text.chars() {
        used += measure(c);
        if used > most {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// A text over at most `lines` lines of width `most`.
pub(crate) fn wrapped(text: &str, most: usize, lines: usize, measure: Measure) -> Vec<String> {
    let mut done: Vec<String> = Vec::new();
    let mut rest = text.to_owned();
    while !rest.is_empty() {
        if done.len() + 1 >= lines || width(&rest, measure) <= most {
            done.push(cut(&rest, most, measure));
            break;
        }
        let (line, left) = broken(&rest, most, measure);
        done.push(line);
        rest = left;
    }
    done
}

/// What fits one line, broken between words where that is possible.
fn broken(text: &str, most: usize, measure: Measure) -> (String, String) {
    let mut used = 0;
    let fits = |(_, c): &(usize, char)| {
        used += measure(*c);
        used <= most
    };
    let end = text.char_indices().take_while(fits).last();
    let end = end.map_or(text.len(), |(at, c)| at + c.len_utf8());
    let at_word = match text[end..].starts_with(' ') {
        true => Some(end),
        false => text[..end].rfind(' ').filter(|at| *at > 0),
    };
    let (line, rest) = text.split_at(at_word.unwrap_or(end));
    (line.trim_end().to_owned(), rest.trim_start().to_owned())
}

/// The name of an artifact: the last part of its path.
pub(crate) fn name_of(path: &str) -> String {
    let path = plain(path);
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Names in a row, the last ones counted where there are too many.
pub(crate) fn listed(names: &[String], most: usize) -> String {
    match names.len().checked_sub(most) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} +{more}", names[..most].join(", ")),
    }
}

/// A number of things, such as `1 handoff` or `3 handoffs`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{s}")
}

/// A length of time in its largest two units.
pub(crate) fn span(millis: u64) -> String {
    let seconds = millis / 1_000;
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) if seconds == 0 => format!("{millis}ms"),
        (0, 0, 0) => format!("{rest}s"),
        (0, 0, _) => format!("{minutes}m {rest:02}s"),
        (0, ..) => format!("{hours}h {minutes:02}m"),
        _ => format!("{days}d {hours:02}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_and_broken_by_columns() {
        assert_eq!(plain("a\n\tb\u{202e}c \u{1b}[2J"), "a b c [2J");
        assert_eq!(cut("日本語の長い題", 7, cells), "日本語…");
        assert_eq!(wrapped("one two three four", 9, 2, cells), ["one two", "three fo…"]);
        assert_eq!(wrapped("onetwothree", 4, 9, cells), ["onet", "woth", "ree"]);
        assert_eq!(wrapped("", 4, 2, cells), Vec::<String>::new());
        assert_eq!(name_of("https://x/y/plan.md"), "plan.md");
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([listed(&names, 3), listed(&names, 1)], ["a, b, c", "a +2"]);
        assert_eq!([span(900), span(61_000), span(7_260_000)], ["900ms", "1m 01s", "2h 01m"]);
    }
}
