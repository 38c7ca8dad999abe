//! Counting tokens as models do.

mod runs;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use tiktoken::CoreBpe;

/// The longest word that is counted as one.
pub const WORD_BYTES_MAX: usize = 8 * 1024;
/// How many bytes a token is at most, nearly always: where a cut is looked for first.
const NEAR_BYTES: usize = 16;
/// How many tokens the mark of a shortened text is, about.
const MARK_TOKENS: usize = 10;

/// Which vocabulary tokens are counted with. It is unpacked when something is counted the first
/// time, which takes a part of a second and some memory; who never counts never pays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tokenizer {
    /// `o200k_base`: the one of present models.
    #[default]
    O200kBase,
    /// `cl100k_base`: the one of models before those.
    Cl100kBase,
}

impl Tokenizer {
    /// How many tokens a text is. What looks like a control token counts as the text it is.
    ///
    /// The count is that of the reference, except in words, runs of signs or of spaces that are
    /// longer than [`WORD_BYTES_MAX`]: those are counted in pieces, which can be a token more for
    /// each. Otherwise a megabyte without a space would take a second.
    pub fn count(self, text: &str) -> usize {
        let vocabulary = self.vocabulary();
        let (mut from, mut tokens) = (0, 0);
        for end in runs::cuts(text, WORD_BYTES_MAX) {
            tokens += vocabulary.count(&text[from..end]);
            from = end;
        }
        tokens + vocabulary.count(&text[from..])
    }

    /// As much of the beginning of `text` as fits into `limit` tokens, ending between characters.
    pub fn cut(self, text: &str, limit: usize) -> &str {
        // No token is less than a byte: what is this short fits, whatever it says.
        if text.len() <= limit {
            return text;
        }
        let vocabulary = self.vocabulary();
        // A megabyte need not be read for its first words, unless those are very long ones.
        let near = &text[..text.floor_char_boundary(limit.saturating_mul(NEAR_BYTES))];
        let mut tokens = vocabulary.encode(near);
        if tokens.len() <= limit && near.len() < text.len() {
            tokens = vocabulary.encode(text);
        }
        if tokens.len() <= limit {
            return text;
        }
        let mut end = vocabulary.decode(&tokens[..limit]).len();
        loop {
            end = text.floor_char_boundary(end);
            // A beginning can be more tokens than it was as part of the whole.
            if end == 0 || self.count(&text[..end]) <= limit {
                return &text[..end];
            }
            end -= 1;
        }
    }

    /// As much of the end of `text` as fits into `limit` tokens, beginning between characters.
    pub fn cut_front(self, text: &str, limit: usize) -> &str {
        if text.len() <= limit {
            return text;
        }
        let vocabulary = self.vocabulary();
        let from = text.len().saturating_sub(limit.saturating_mul(NEAR_BYTES));
        let near = &text[text.ceil_char_boundary(from)..];
        let mut tokens = vocabulary.encode(near);
        if tokens.len() <= limit && near.len() < text.len() {
            tokens = vocabulary.encode(text);
        }
        if tokens.len() <= limit {
            return text;
        }
        let mut start = text.len() - vocabulary.decode(&tokens[tokens.len() - limit..]).len();
        loop {
            start = text.ceil_char_boundary(start);
            if start == text.len() || self.count(&text[start..]) <= limit {
                return &text[start..];
            }
            start += 1;
        }
    }

    /// `text` within `limit` tokens: what is too much goes from the middle, and a mark says so.
    ///
    /// Where not even the mark fits, the beginning is left, without a mark.
    pub fn shorten(self, text: &str, limit: usize) -> Cow<'_, str> {
        if text.len() <= limit {
            return Cow::Borrowed(text);
        }
        let all = self.count(text);
        if all <= limit {
            return Cow::Borrowed(text);
        }
        // The beginning says what it is about, so it gets the larger part.
        let mut room = limit.saturating_sub(MARK_TOKENS);
        while room > 0 {
            let head = self.cut(text, room - room / 3);
            let tail = self.cut_front(&text[head.len()..], room / 3);
            let left_out = all.saturating_sub(room);
            let short = format!("{head}\n[… {left_out} tokens left out …]\n{tail}");
            let tokens = self.count(&short);
            if tokens <= limit {
                return Cow::Owned(short);
            }
            room = room.saturating_sub(tokens - limit);
        }
        Cow::Borrowed(self.cut(text, limit))
    }

    fn vocabulary(self) -> &'static CoreBpe {
        static O200K: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::o200k_base);
        static CL100K: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::cl100k_base);
        match self {
            Self::O200kBase => &O200K,
            Self::Cl100kBase => &CL100K,
        }
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        })
    }
}

/// A name that is no vocabulary.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no tokenizer `{0}`; expected o200k_base or cl100k_base")]
pub struct UnknownTokenizer(String);

impl FromStr for Tokenizer {
    type Err = UnknownTokenizer;

    fn from_str(name: &str) -> Result<Self, UnknownTokenizer> {
        match name {
            "o200k_base" => Ok(Self::O200kBase),
            "cl100k_base" => Ok(Self::Cl100kBase),
            other => Err(UnknownTokenizer(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A text, how often it stands there, its tokens in `o200k_base` and in `cl100k_base`: from
    /// Python's tiktoken. `scripts/bench-tokens counts` checks them.
    const REFERENCE: &[(&str, usize, usize, usize)] = &[
        ("", 1, 0, 0),
        ("hello world", 1, 2, 2),
        ("<|endoftext|>", 1, 7, 7),
        ("引き継ぎ", 1, 5, 7),
        ("fn main() {\n    println!(\"{}\", x_1 + 0xff);\n}\n", 1, 16, 16),
        ("👩\u{200d}👩\u{200d}👧\u{200d}👦🏳\u{fe0f}\u{200d}🌈🎉", 1, 19, 30),
        ("構文解析器はヘッダーを先に読みます。", 50, 700, 1000),
        ("请修复解析器，文件不存在。", 50, 450, 500),
        ("Größe, naïve café; e\u{301} don't WE'LL HTTPServer2", 3, 48, 51),
        ("a", 10000, 1250, 1250),
        ("  \n\n\t ", 20, 40, 40),
        ("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=", 40, 840, 840),
    ];

    #[test]
    fn counts_are_those_of_the_reference() {
        for (text, times, o200k, cl100k) in REFERENCE {
            let text = text.repeat(*times);
            assert_eq!(Tokenizer::O200kBase.count(&text), *o200k, "{text}");
            assert_eq!(Tokenizer::Cl100kBase.count(&text), *cl100k, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_cut_fits_and_is_a_beginning(text in ".{0,200}", limit in 0usize..40) {
            let cut = Tokenizer::O200kBase.cut(&text, limit);
            prop_assert!(text.starts_with(cut));
            prop_assert!(Tokenizer::O200kBase.count(cut) <= limit);
        }

        #[test]
        fn what_is_cut_at_the_front_fits_and_is_an_end(text in ".{0,200}", limit in 0usize..40) {
            let cut = Tokenizer::O200kBase.cut_front(&text, limit);
            prop_assert!(text.ends_with(cut));
            prop_assert!(Tokenizer::O200kBase.count(cut) <= limit);
        }

        #[test]
        fn what_is_shortened_fits(text in ".{0,300}", limit in 0usize..60) {
            let short = Tokenizer::O200kBase.shorten(&text, limit);
            prop_assert!(Tokenizer::O200kBase.count(&short) <= limit);
        }
    }
}
