//! Passwords inside addresses: `https://user:password@host`. The password goes, the rest stays.

use super::rules::Rules;
use super::{Place, Secret, URL_PASSWORD, looked_at, value};

const AFTER_SCHEME: &str = "://";
/// Bytes that may stand before the `@`.
const USER_BYTES_MAX: usize = 400;

pub(super) fn next(place: Place<'_>, rules: &Rules) -> Option<Secret<'static>> {
    let Place { text, mut from, .. } = place;
    while let Some(at) = text[from..].find(AFTER_SCHEME) {
        looked_at(at);
        let begin = from + at + AFTER_SCHEME.len();
        if let Some(secret) = password(text, begin, rules) {
            return Some(secret);
        }
        from = begin;
    }
    None
}

fn password(text: &str, begin: usize, rules: &Rules) -> Option<Secret<'static>> {
    let scheme = text.as_bytes()[..begin - AFTER_SCHEME.len()].last()?;
    let ends = |b: &u8| {
        b.is_ascii_whitespace() || b"/?#\"'`<>\\[](){}|,;".contains(b) || b.is_ascii_control()
    };
    let bytes = &text.as_bytes()[begin..];
    let length = bytes.iter().take(USER_BYTES_MAX).take_while(|b| !ends(b)).count();
    looked_at(length);
    let user = &bytes[..length];
    // The last one: a password may hold an @, a host may not.
    let at = user.iter().rposition(|b| *b == b'@')?;
    let colon = user[..at].iter().position(|b| *b == b':')?;
    let range = begin + colon + 1..begin + at;
    // Both ends stand at ASCII, so this is a place between letters.
    let password = &text[range.clone()];
    let host = user.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    let secret = scheme.is_ascii_alphanumeric() && host && !password.is_empty();
    let told = value::is_reference(password) || rules.allows(password);
    (secret && !told).then_some(Secret { at: range, name: URL_PASSWORD })
}
