//! Shapes that are secrets beyond doubt: a prefix that a vendor chose so that scanners can find
//! it, followed by enough of the right characters; and blocks of private keys.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};

use super::count::name_of;
use super::rules::Rules;
use super::{ENV_VALUE, MASK_BEGIN, Place, Secret, URL_PASSWORD, looked_at};

/// What must be so besides the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// Nothing more.
    Length,
    /// Exactly that many letters and digits, some of them digits.
    Exactly,
    /// Exactly that many hexadecimal digits in lower case.
    ExactlyHex,
    /// Base64 of a text with a colon in it, as HTTP has it; the prefix is a word and stays.
    UserAndPassword,
    /// As `Length`, but the prefix is a word and stays.
    Word,
    /// A number stands right before it, and is a part of it.
    BehindNumber,
}

#[derive(Clone, Debug)]
struct Shape {
    prefix: Cow<'static, str>,
    rest_min: usize,
    name: Cow<'static, str>,
    check: Check,
}

/// Name, least length of what follows, and the prefixes.
type Row = (&'static str, usize, &'static [&'static str]);

const PREFIXES: &[Row] = &[
    ("baton-token", 40, &["bt1_"]),
    ("anthropic-key", 24, &["sk-ant-"]),
    ("openai-key", 24, &["sk-proj-", "sk-svcacct-", "sk-admin-"]),
    ("openrouter-key", 24, &["sk-or-v1-"]),
    ("api-key", 32, &["sk-"]),
    ("stripe-key", 16, &["sk_live_", "rk_live_", "sk_test_", "rk_test_"]),
    ("stripe-webhook", 24, &["whsec_"]),
    ("github-token", 30, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]),
    ("github-token", 40, &["github_pat_"]),
    ("gitlab-token", 20, &["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glft-"]),
    ("npm-token", 36, &["npm_"]),
    ("pypi-token", 50, &["pypi-AgE"]),
    ("docker-token", 20, &["dckr_pat_", "dckr_oat_"]),
    ("huggingface-token", 30, &["hf_"]),
    ("slack-token", 20, &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xoxp-"]),
    ("slack-token", 20, &["xapp-"]),
    ("aws-key", 16, &["AKIA", "ASIA"]),
    ("google-key", 35, &["AIza"]),
    ("google-oauth", 20, &["ya29.", "GOCSPX-"]),
    ("google-oauth", 40, &["1//0"]),
    ("jwt", 60, &["eyJ"]),
    ("sendgrid-key", 60, &["SG."]),
    ("groq-key", 40, &["gsk_"]),
    ("xai-key", 40, &["xai-"]),
    ("replicate-token", 35, &["r8_"]),
    ("digitalocean-token", 60, &["dop_v1_", "doo_v1_", "dor_v1_"]),
    ("shopify-token", 30, &["shpat_", "shpss_", "shpca_", "shppa_"]),
    ("age-key", 50, &["AGE-SECRET-KEY-"]),
    ("vault-token", 24, &["hvs.", "hvb."]),
    ("doppler-token", 40, &["dp.pt.", "dp.st.", "dp.ct."]),
    ("linear-key", 36, &["lin_api_"]),
    ("notion-token", 40, &["ntn_"]),
    ("grafana-token", 32, &["glsa_"]),
    ("sentry-token", 50, &["sntrys_", "sntryu_"]),
    ("tailscale-key", 20, &["tskey-auth-", "tskey-api-", "tskey-client-"]),
    ("atlassian-token", 60, &["ATATT3"]),
    ("figma-token", 36, &["figd_"]),
    ("postman-key", 50, &["PMAK-"]),
    ("newrelic-key", 27, &["NRAK-"]),
];

const CHECKED: &[(&str, usize, Check, &str)] = &[
    ("bearer", 20, Check::Word, "Bearer "),
    ("bearer", 20, Check::Word, "bearer "),
    ("basic-auth", 8, Check::UserAndPassword, "Basic "),
    ("basic-auth", 8, Check::UserAndPassword, "basic "),
    ("slack-webhook", 20, Check::Word, "hooks.slack.com/services/"),
    ("slack-webhook", 20, Check::Word, "hooks.slack.com/triggers/"),
    ("discord-webhook", 40, Check::Word, "discord.com/api/webhooks/"),
    ("crates-token", 32, Check::Exactly, "cio"),
    ("twilio-key", 32, Check::ExactlyHex, "SK"),
    ("telegram-token", 33, Check::BehindNumber, ":AA"),
];

const PRIVATE_KEY: &str = "private-key";
const KEY_BLOCK_BEGIN: &str = "-----BEGIN ";
const KEY_BLOCK_KIND: &str = "PRIVATE KEY";
const KEY_BLOCK_END: &str = "-----END ";
const DASHES: &str = "-----";
/// Bytes of what a block is called, with its dashes.
const KEY_BLOCK_KIND_MAX: usize = 64;
/// Digits of the number of a bot.
const NUMBER: std::ops::RangeInclusive<usize> = 6..=12;

/// All shapes, and what finds them.
#[derive(Debug)]
pub(super) struct Shapes {
    shapes: Vec<Shape>,
    finder: AhoCorasick,
}

impl Shapes {
    pub(super) fn new(rules: &Rules) -> Self {
        let rows = PREFIXES.iter().flat_map(|(name, rest_min, prefixes)| {
            let row = |prefix: &'static str| (*name, *rest_min, Check::Length, prefix);
            prefixes.iter().map(move |prefix| row(prefix))
        });
        let built_in =
            rows.chain(CHECKED.iter().copied()).map(|(name, rest_min, check, prefix)| Shape {
                prefix: prefix.into(),
                rest_min,
                name: name.into(),
                check,
            });
        let own = rules.secrets.iter().map(|rule| Shape {
            prefix: rule.prefix.clone().into(),
            rest_min: rule.length_min,
            name: rule.name.clone().into(),
            check: Check::Length,
        });
        // Of two rules with the same prefix the workspace's is found.
        let shapes: Vec<_> = own.chain(built_in).collect();
        let prefixes = shapes.iter().map(|shape| shape.prefix.as_ref());
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(prefixes.chain([KEY_BLOCK_BEGIN, MASK_BEGIN]))
            .expect("the prefixes are few and short");
        Self { shapes, finder }
    }

    pub(super) fn next(&self, place: Place<'_>, rules: &Rules) -> Option<Secret<'_>> {
        let Place { text, mut from, kept } = place;
        while let Some(found) = self.finder.find(Input::new(text).span(from..text.len())) {
            looked_at(found.end() - from);
            from = found.end();
            let Some(shape) = self.shapes.get(found.pattern().as_usize()) else {
                match key_block(text, found.range()) {
                    Some(at) => return Some(Secret { at, name: PRIVATE_KEY }),
                    // Inside of a mask there is nothing to find.
                    None => from += self.mask_length(&text[found.start()..]),
                }
                continue;
            };
            // Behind a secret stands its mask, which is no part of a word.
            let before = &text[kept..found.start()];
            if let Some(at) = shape.secret_at(text, before, found.range())
                && !rules.allows(&text[at.clone()])
            {
                return Some(Secret { at, name: &shape.name });
            }
        }
        None
    }

    /// Bytes of what follows the beginning of a mask, if it is one that is made here.
    fn mask_length(&self, text: &str) -> usize {
        let name = text.strip_prefix(MASK_BEGIN).and_then(name_of);
        let ours = |name: &&str| {
            [ENV_VALUE, URL_PASSWORD, PRIVATE_KEY].contains(name)
                || self.shapes.iter().any(|shape| shape.name == **name)
        };
        name.filter(ours).map_or(0, |name| name.len() + 1)
    }
}

impl Shape {
    /// Returns where the secret with this prefix is, if it is one.
    fn secret_at(&self, text: &str, before: &str, prefix: Range<usize>) -> Option<Range<usize>> {
        let mut start = prefix.start;
        if self.check == Check::BehindNumber {
            let digits = before.bytes().rev().take(NUMBER.end() + 1);
            let count = digits.take_while(u8::is_ascii_digit).count();
            if !NUMBER.contains(&count) {
                return None;
            }
            start -= count;
        }
        let of_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if before[..before.len() - (prefix.start - start)].ends_with(of_word) {
            return None;
        }
        let rest = &text.as_bytes()[prefix.end..];
        let length = rest.iter().take_while(|b| self.of_secret(**b)).count();
        looked_at(length);
        let fits = match self.check {
            Check::Length | Check::Word | Check::BehindNumber => length >= self.rest_min,
            Check::Exactly => {
                length == self.rest_min && rest[..length].iter().any(u8::is_ascii_digit)
            }
            Check::ExactlyHex => length == self.rest_min,
            Check::UserAndPassword => {
                length >= self.rest_min && has_a_colon_inside(&rest[..length])
            }
        };
        let stays = matches!(self.check, Check::Word | Check::UserAndPassword);
        fits.then_some(if stays { prefix.end } else { start }..prefix.end + length)
    }

    fn of_secret(&self, byte: u8) -> bool {
        match self.check {
            Check::Exactly => byte.is_ascii_alphanumeric(),
            Check::ExactlyHex => byte.is_ascii_alphanumeric(),
            Check::UserAndPassword => byte.is_ascii_alphanumeric() || b"+/=".contains(&byte),
            Check::Word => byte.is_ascii_alphanumeric() || b"_-./+=~".contains(&byte),
            Check::Length | Check::BehindNumber => {
                byte.is_ascii_alphanumeric() || b"_-./".contains(&byte)
            }
        }
    }
}

/// Whether Base64 stands for printable text of which some is a colon.
fn has_a_colon_inside(base64: &[u8]) -> bool {
    let (mut bits, mut count, mut colon) = (0_u32, 0, false);
    for byte in base64.iter().copied().filter(|b| *b != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            let letter = (bits >> count & 0xff) as u8;
            colon |= letter == b':';
            if letter < b' ' {
                return false;
            }
        }
    }
    colon
}

/// Returns where a private key is; a block that was cut off ends with the text.
fn key_block(text: &str, begin: Range<usize>) -> Option<Range<usize>> {
    let after = text[begin.clone()].eq(KEY_BLOCK_BEGIN).then_some(begin.end)?;
    let of_kind = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b' ';
    let kind = text.as_bytes()[after..].iter().take(KEY_BLOCK_KIND_MAX).take_while(|b| of_kind(b));
    let kind = &text[after..after + kind.count()];
    looked_at(kind.len());
    let dashed = text[after + kind.len()..].starts_with(DASHES);
    // One that was cut off inside of its name is as good as its name.
    if !kind.contains(KEY_BLOCK_KIND) || !(dashed || after + kind.len() == text.len()) {
        return None;
    }
    let Some(at) = text[after..].find(KEY_BLOCK_END) else {
        return Some(begin.start..text.len());
    };
    let tail = after + at + KEY_BLOCK_END.len();
    let close = text[tail..].find(DASHES).map_or(text.len(), |n| tail + n + DASHES.len());
    looked_at(close - after);
    Some(begin.start..close)
}
