//! Masks secrets in texts before anything is recorded, because nothing recorded is ever changed.
//!
//! Only shapes that are secrets beyond doubt are known here: a prefix that a vendor chose so that
//! scanners can find it, followed by enough of the right characters.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// A shape of secret: what it begins with, how long the rest is, and how it is called.
struct Shape {
    prefix: &'static str,
    rest_min: usize,
    name: &'static str,
    /// Whether the prefix itself is kept, because it is a word and not part of the secret.
    keep_prefix: bool,
}

const fn shape(prefix: &'static str, rest_min: usize, name: &'static str) -> Shape {
    Shape { prefix, rest_min, name, keep_prefix: false }
}

const SHAPES: &[Shape] = &[
    shape("bt1_", 40, "baton-token"),
    shape("sk-ant-", 24, "anthropic-key"),
    shape("sk-proj-", 24, "openai-key"),
    shape("sk-", 32, "api-key"),
    shape("sk_live_", 16, "stripe-key"),
    shape("rk_live_", 16, "stripe-key"),
    shape("ghp_", 30, "github-token"),
    shape("gho_", 30, "github-token"),
    shape("ghu_", 30, "github-token"),
    shape("ghs_", 30, "github-token"),
    shape("ghr_", 30, "github-token"),
    shape("github_pat_", 40, "github-token"),
    shape("glpat-", 20, "gitlab-token"),
    shape("npm_", 36, "npm-token"),
    shape("hf_", 30, "huggingface-token"),
    shape("xoxb-", 20, "slack-token"),
    shape("xoxp-", 20, "slack-token"),
    shape("AKIA", 16, "aws-key"),
    shape("ASIA", 16, "aws-key"),
    shape("AIza", 35, "google-key"),
    shape("eyJ", 60, "jwt"),
    Shape { prefix: "Bearer ", rest_min: 20, name: "bearer", keep_prefix: true },
];

const KEY_BLOCK_BEGIN: &str = "-----BEGIN ";
const KEY_BLOCK_KIND: &str = "PRIVATE KEY";
const KEY_BLOCK_END: &str = "-----END ";

static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let prefixes = SHAPES.iter().map(|s| s.prefix).chain([KEY_BLOCK_BEGIN]);
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(prefixes)
        .expect("the prefixes are few and fixed")
});

/// Returns `text` with every known secret replaced by `[masked NAME]`.
///
/// Masking a masked text changes nothing, so a record may pass here again when it is read back.
pub fn mask(text: &str) -> Cow<'_, str> {
    let mut masked = String::new();
    let mut kept = 0;
    let mut from = 0;
    while let Some(found) = FINDER.find(aho_corasick::Input::new(text).span(from..text.len())) {
        from = found.end();
        // Behind a secret stands its mask, which is no part of a word.
        let alone = kept > 0 && found.start() == kept;
        let Some((start, end, name)) =
            secret_at(text, found.pattern().as_usize(), found.range(), alone)
        else {
            continue;
        };
        masked.push_str(&text[kept..start]);
        masked.push_str("[masked ");
        masked.push_str(name);
        masked.push(']');
        kept = end;
        from = end;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(&text[kept..]);
    Cow::Owned(masked)
}

/// Whether a text holds a known secret, for texts that cannot be changed without breaking them.
pub(crate) fn is_secret(text: &str) -> bool {
    matches!(mask(text), Cow::Owned(_))
}

/// Returns where the secret that begins with this prefix starts and ends, if it is one.
fn secret_at(
    text: &str,
    pattern: usize,
    prefix: std::ops::Range<usize>,
    alone: bool,
) -> Option<(usize, usize, &'static str)> {
    let Some(shape) = SHAPES.get(pattern) else {
        return key_block_at(text, prefix.end).map(|end| (prefix.start, end, "private-key"));
    };
    let inside_a_word = text[..prefix.start]
        .chars()
        .next_back()
        .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if inside_a_word && !alone {
        return None;
    }
    let rest = &text.as_bytes()[prefix.end..];
    let of_secret = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    let length = rest.iter().take_while(|b| of_secret(b)).count();
    if length < shape.rest_min {
        return None;
    }
    let start = if shape.keep_prefix { prefix.end } else { prefix.start };
    Some((start, prefix.end + length, shape.name))
}

/// Returns where a PEM private key ends; a block that was cut off ends with the text.
fn key_block_at(text: &str, begin: usize) -> Option<usize> {
    let line = text[begin..].lines().next().unwrap_or("");
    if !line.contains(KEY_BLOCK_KIND) {
        return None;
    }
    let Some(at) = text[begin..].find(KEY_BLOCK_END) else {
        return Some(text.len());
    };
    let tail = begin + at + KEY_BLOCK_END.len();
    let close = text[tail..].find("-----").map_or(text.len(), |n| tail + n + 5);
    Some(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_secrets_are_masked_and_words_are_not() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert_eq!(mask(&format!("use {token}!")), "use [masked github-token]!");
        let header = format!("Authorization: Bearer {}", "x".repeat(24));
        assert_eq!(mask(&header), "Authorization: Bearer [masked bearer]");
        let pem = "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b";
        assert_eq!(mask(pem), "a [masked private-key] b");
        for plain in ["ask-me-anything-about-the-plan-and-its-risks", "sk-short", "Bearer me", ""] {
            assert_eq!(mask(plain), plain);
        }
        let public = "-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----";
        assert_eq!(mask(public), public);
    }

    #[test]
    fn masking_twice_is_masking_once() {
        let text = format!("a AKIA{} b bt1_builder_{}", "Z".repeat(16), "q".repeat(43));
        let once = mask(&text).into_owned();
        assert_eq!(once, "a [masked aws-key] b [masked baton-token]");
        assert_eq!(mask(&once), once);
    }

    #[test]
    fn a_secret_right_behind_another_is_masked_the_first_time() {
        let pem = "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----";
        let both = format!("{pem}AKIA{}", "Z".repeat(16));
        assert_eq!(mask(&both), "[masked private-key][masked aws-key]");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_masked_without_panic_and_only_once(text in ".{0,200}") {
            let once = mask(&text).into_owned();
            assert_eq!(mask(&once), once.as_str());
        }
    }
}
