//! Names that say that a value is secret: `DB_PASSWORD`, `clientSecret`, `api-key`.

use super::rules::Rules;

/// How sure a name makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sure {
    /// Its value is a secret unless it plainly is none.
    Strong,
    /// Its value is a secret if it looks like one: a token may also be a word of a text.
    Weak,
    /// Only an environment variable is called so and means a secret.
    EnvironmentOnly,
}

const STRONG: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
    "clientsecret",
];
const WEAK: &[&str] = &[
    "token",
    "auth",
    "credential",
    "credentials",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "bearer",
    "authorization",
];
/// What stands before `key` when a key is a secret.
const KEYS: &[&str] = &[
    "api",
    "access",
    "private",
    "secret",
    "encryption",
    "signing",
    "master",
    "account",
    "auth",
    "service",
    "deploy",
    "webhook",
    "role",
];
/// What stands before `token` when it is a word, a place in a list or a count.
const NO_TOKENS: &[&str] = &[
    "next",
    "page",
    "max",
    "min",
    "num",
    "cancellation",
    "cancel",
    "continuation",
    "eos",
    "bos",
    "pad",
    "unk",
    "stop",
    "special",
    "first",
    "last",
    "current",
    "prev",
    "previous",
    "per",
];
/// What may follow the word without changing what it says.
const SUFFIXES: &[&str] = &[
    "prod",
    "production",
    "dev",
    "staging",
    "stage",
    "test",
    "live",
    "old",
    "new",
    "base",
    "value",
    "main",
    "primary",
    "secondary",
    "raw",
    "plain",
];

/// Whether, and how surely, a name says that its value is secret.
pub(super) fn says_secret(name: &str, rules: &Rules) -> Option<Sure> {
    let all = words(name);
    if rules.names.iter().any(|own| all.ends_with(own)) {
        return Some(Sure::Strong);
    }
    let adds_nothing = |word: &&String| {
        SUFFIXES.contains(&word.as_str()) || word.bytes().all(|b| b.is_ascii_digit())
    };
    let length = all.len() - all.iter().rev().take_while(adds_nothing).count();
    let all = &all[..length];
    if rules.names.iter().any(|own| all.ends_with(own)) {
        return Some(Sure::Strong);
    }
    let (last, before) = all.split_last()?;
    let before = before.last().map(String::as_str);
    match last.as_str() {
        last if STRONG.contains(&last) => Some(Sure::Strong),
        // `PGPASSWORD` and `rootpasswd` are written as one word.
        last if last.ends_with("password") || last.ends_with("passwd") => Some(Sure::Strong),
        "key" if before.is_some_and(|word| KEYS.contains(&word)) => Some(Sure::Strong),
        "pwd" if before.is_some() => Some(Sure::Strong),
        "token" if before.is_some_and(|word| NO_TOKENS.contains(&word)) => None,
        last if WEAK.contains(&last) => Some(Sure::Weak),
        "pass" | "pw" if before.is_some() => Some(Sure::EnvironmentOnly),
        _ => None,
    }
}

/// The words of an identifier, in lower case: `clientSecret` and `CLIENT_SECRET` have the same.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let bytes = name.as_bytes();
    for (n, byte) in bytes.iter().enumerate() {
        let before = n.checked_sub(1).map(|n| bytes[n]);
        let after = bytes.get(n + 1);
        let hump = byte.is_ascii_uppercase()
            && before.is_some_and(|b| {
                // `dbPassword`, and the P of `DBPassword`.
                b.is_ascii_lowercase()
                    || b.is_ascii_digit()
                    || b.is_ascii_uppercase() && after.is_some_and(u8::is_ascii_lowercase)
            });
        let number = byte.is_ascii_digit() && before.is_some_and(|b| b.is_ascii_alphabetic());
        if !byte.is_ascii_alphanumeric() || hump || number {
            words.push(String::new());
        }
        if let (true, Some(word)) = (byte.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
