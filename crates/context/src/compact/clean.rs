//! Texts on their way into an artifact: on one line, without secrets, and short if they must be.

use baton_protocol::mask;

use super::written::quoted;
use crate::Tokenizer;

/// What stands where a text was cut.
const MARK: char = '…';

/// Characters of a text that are looked at for each token that it may be: no vocabulary has a
/// token of more, apart from runs of spaces, and those are one space by then.
const CHARS_PER_TOKEN_MAX: usize = 128;

/// The text on one line, secrets masked, without what a terminal would obey or YAML must escape.
pub(super) fn clean(text: &str) -> String {
    let masked = mask(text);
    let mut line = String::with_capacity(masked.len());
    for c in masked.chars() {
        if c.is_whitespace() || c.is_control() {
            if !line.ends_with(' ') && !line.is_empty() {
                line.push(' ');
            }
        } else if !is_invisible(c) {
            line.push(c);
        }
    }
    line.truncate(line.trim_end().len());
    // What was taken out may have stood in the middle of a secret.
    mask(&line).into_owned()
}

/// Marks that reorder or hide letters, and places in Unicode that no letter has.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// How many tokens a text is where it stands in the file.
pub(super) fn weight(text: &str, tokenizer: Tokenizer) -> usize {
    tokenizer.count(&quoted(text))
}

/// As many tokens as [`weight`] says, or a number over `allowed` that is quick to tell.
///
/// A text of a megabyte is not counted to its end only to say that it is too long.
pub(super) fn weight_up_to(text: &str, allowed: usize, tokenizer: Tokenizer) -> usize {
    let end = text.char_indices().nth((allowed + 1) * CHARS_PER_TOKEN_MAX);
    weight(end.map_or(text, |(end, _)| &text[..end]), tokenizer)
}

/// The text with a mark where it was cut, of at most `allowed` tokens as it is written.
pub(super) fn shortened(
    text: &str,
    allowed: usize,
    keeps_its_end: bool,
    tokenizer: Tokenizer,
) -> String {
    let chars: Vec<char> = text.chars().collect();
    let form = |count: usize| {
        let mut short = String::new();
        if keeps_its_end {
            short.push(MARK);
            short.extend(&chars[chars.len() - count..]);
        } else {
            let kept: String = chars[..count].iter().collect();
            // Neither a space nor half of a joined character before the mark.
            short.push_str(kept.trim_end_matches([' ', '\u{200d}']));
            short.push(MARK);
        }
        short
    };
    let fits = |count: usize| weight(&form(count), tokenizer) <= allowed;
    let (mut low, mut high) = (0, chars.len().min(allowed * CHARS_PER_TOKEN_MAX));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    // One letter more can be one token less, so the search may end beside the edge.
    while low > 0 && !fits(low) {
        low -= 1;
    }
    form(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_without_secrets_and_tricks() {
        assert_eq!(clean("  a\n\n\tb\u{7}c\u{202e}d\u{feff}  "), "a b cd");
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert_eq!(clean(&format!("use {token}\n")), "use [masked github-token]");
        let split = token.replacen("a1", "a\u{200b}1", 1);
        assert_eq!(clean(&split), "[masked github-token]");
    }

    #[test]
    fn sentences_keep_their_beginning_and_paths_their_end() {
        let text = "We keep sessions in the database because cookies are too small for them";
        let tokenizer = Tokenizer::default();
        assert_eq!(
            shortened(text, 8, false, tokenizer),
            "We keep sessions in the database because…"
        );
        let path = "packages/checkout/src/components/payment/PaymentForm.test.tsx";
        assert_eq!(shortened(path, 10, true, tokenizer), "…payment/PaymentForm.test.tsx");
    }
}
