//! Counting tokens as models do.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use tiktoken::CoreBpe;

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
    pub fn count(self, text: &str) -> usize {
        self.vocabulary().count(text)
    }

    /// As much of the beginning of `text` as fits into `limit` tokens, ending between characters.
    pub fn cut(self, text: &str, limit: usize) -> &str {
        // No token is less than a byte: what is this short fits, whatever it says.
        if text.len() <= limit {
            return text;
        }
        let vocabulary = self.vocabulary();
        let tokens = vocabulary.encode(text);
        if tokens.len() <= limit {
            return text;
        }
        let mut end = vocabulary.decode(&tokens[..limit]).len();
        loop {
            end = text.floor_char_boundary(end);
            // A beginning can be more tokens than it was as part of the whole.
            if end == 0 || vocabulary.count(&text[..end]) <= limit {
                return &text[..end];
            }
            end -= 1;
        }
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

    #[test]
    fn counts_are_those_of_the_reference() {
        // `tiktoken.get_encoding(name).encode_ordinary(text)` in Python.
        for (text, o200k, cl100k) in
            [("", 0, 0), ("hello world", 2, 2), ("<|endoftext|>", 7, 7), ("引き継ぎ", 5, 7)]
        {
            assert_eq!(Tokenizer::O200kBase.count(text), o200k, "{text}");
            assert_eq!(Tokenizer::Cl100kBase.count(text), cl100k, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_cut_fits_and_is_a_beginning(text in ".{0,200}", limit in 0usize..40) {
            let cut = Tokenizer::O200kBase.cut(&text, limit);
            prop_assert!(text.starts_with(cut));
            prop_assert!(Tokenizer::O200kBase.count(cut) <= limit);
        }
    }
}
