//! Finds words that are so long that they must be counted in pieces.

/// What a run is made of. A tokenizer never makes one piece of two of these, but for the first
/// and the last few characters of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Space,
    Sign,
    /// Marks, joiners and pictures: they go with whatever is around them.
    Any,
    /// Digits are taken three at a time, so there is never a long piece of them.
    Break,
}

/// Where a text is cut so that no run in it is longer than `most` bytes, in order.
///
/// A run that is twice as long as a block covers a whole block, so only blocks are looked at, and
/// nearly all of them are seen to be mixed after a few characters.
pub(super) fn cuts(text: &str, most: usize) -> Vec<usize> {
    let mut cuts = Vec::new();
    let block = (most / 2).max(1);
    let (mut at, mut done) = (0, 0);
    while at + block <= text.len() {
        let start = text.floor_char_boundary(at);
        let end = text.floor_char_boundary(at + block);
        if !uniform(&text[start..end]) {
            at += block;
            continue;
        }
        let from = start - back(&text[done..start], &text[start..end]);
        let to = start + forth(&text[start..]);
        let mut cut = from;
        while to - cut > most {
            let next = text.floor_char_boundary(cut + most);
            if next <= cut {
                break;
            }
            cuts.push(next);
            cut = next;
        }
        done = to;
        at = (to / block + 1) * block;
    }
    cuts
}

fn class(found: char) -> Class {
    match found {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Break,
        _ascii if found.is_ascii() && !found.is_ascii_whitespace() => Class::Sign,
        // Marks of Chinese and Japanese sentences end a word.
        '\u{3001}'..='\u{303f}' | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' => Class::Break,
        _other if found.is_whitespace() => Class::Space,
        _other if found.is_alphabetic() => Class::Letter,
        _other if found.is_numeric() => Class::Break,
        _other => Class::Any,
    }
}

/// How many bytes at the start of a text are one run.
fn forth(text: &str) -> usize {
    length(text.chars(), None)
}

/// How many bytes at the end of `before` belong to the run that `run` begins with.
fn back(before: &str, run: &str) -> usize {
    let kind = run.chars().map(class).find(|class| *class != Class::Any);
    length(before.chars().rev(), kind)
}

fn length(chars: impl Iterator<Item = char>, mut kind: Option<Class>) -> usize {
    let mut bytes = 0;
    for found in chars {
        match class(found) {
            Class::Any => (),
            Class::Break => break,
            class => match kind {
                Some(kind) if kind != class => break,
                Some(_) | None => kind = Some(class),
            },
        }
        bytes += found.len_utf8();
    }
    bytes
}

fn uniform(text: &str) -> bool {
    forth(text) == text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_is_cut_and_what_is_around_it_is_not() {
        let text = format!("{} {} {}", "word ".repeat(100), "x".repeat(100), "word ".repeat(100));
        let start = 501;
        assert_eq!(cuts(&text, 40), [start + 40, start + 80]);
        assert_eq!(cuts(&"word ".repeat(1_000), 40), [0; 0]);
        assert_eq!(cuts(&"12".repeat(1_000), 40), [0; 0]);
    }

    #[test]
    fn cuts_lie_between_characters() {
        for unit in ["語", "e\u{301}", "🎉", "=", " ", "\n", "é"] {
            let text = unit.repeat(300);
            let cuts = cuts(&text, 64);
            assert!(!cuts.is_empty(), "{unit}");
            assert!(cuts.iter().all(|cut| text.is_char_boundary(*cut)), "{unit}");
            assert!(cuts.windows(2).all(|pair| pair[1] - pair[0] <= 64), "{unit}");
        }
    }
}
