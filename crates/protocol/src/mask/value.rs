//! Whether a value under a secret name is a secret: no placeholder, no reference, no code.

use super::MASK_BEGIN;
use super::names::{Sure, says_secret};
use super::rules::Rules;

/// Characters that a secret has at least.
const SECRET_CHARS_MIN: usize = 6;
/// Characters of what looks random.
const RANDOM_CHARS_MIN: usize = 8;

/// Words that stand where a secret would, in lower case and without marks.
const PLACEHOLDERS: &[&str] = &[
    "always",
    "another",
    "anystring",
    "basic",
    "bearer",
    "boolean",
    "bytes",
    "changeit",
    "changeme",
    "default",
    "denied",
    "digest",
    "disabled",
    "dummy",
    "empty",
    "enabled",
    "example",
    "expired",
    "false",
    "forbidden",
    "foobar",
    "granted",
    "hidden",
    "ignored",
    "include",
    "inherit",
    "insecure",
    "integer",
    "invalid",
    "masked",
    "missing",
    "never",
    "noauth",
    "nothing",
    "nullable",
    "number",
    "oauth",
    "oauth2",
    "object",
    "omitted",
    "optional",
    "placeholder",
    "prompt",
    "redacted",
    "removed",
    "replaceme",
    "required",
    "sample",
    "secret",
    "secretstring",
    "string",
    "testing",
    "undefined",
    "unknown",
    "unset",
    "varchar",
    "verified",
];
/// Parts of texts that tell a reader to fill something in.
const FILL_IN: &[&str] = &[
    "your-",
    "your_",
    "your ",
    "yourpass",
    "yoursecret",
    "yourtoken",
    "yourkey",
    "changeme",
    "change-me",
    "change_me",
    "replace-me",
    "replace_me",
    "placeholder",
    "redacted",
    "xxxx",
    "****",
    "....",
    "example-",
    "example_",
    "-here",
    "_here",
    "insert-",
    "insert_",
    "todo",
    "dummy",
];
/// How a value begins that says where the secret is.
const ELSEWHERE: &[&str] = &[
    "env:",
    "env.",
    "vault:",
    "file:",
    "op://",
    "ref+",
    "arn:aws:secretsmanager",
    "ssm:",
    "secrets.",
    "process.env",
    "projects/",
    "keychain:",
    "secret://",
];

/// Whether a string that stands as it is under a name is a secret.
pub(super) fn is_secret_literal(value: &str, name: Sure) -> bool {
    if is_no_secret(value) || value.contains(char::is_whitespace) || is_path(value) {
        return false;
    }
    match name {
        Sure::Strong => !is_capitalised_word(value),
        Sure::Weak => is_random(value),
        Sure::EnvironmentOnly => false,
    }
}

/// Whether the value of an environment variable, `NAME=value` without spaces, is a secret.
pub(super) fn is_secret_in_environment(value: &str, name: Sure) -> bool {
    let number = value.bytes().all(|b| b.is_ascii_digit());
    let counts = number && name != Sure::Strong;
    !is_no_secret(value) && !counts && !is_path(value) && !is_call(value)
}

/// Whether what stands without quotes behind a name is a secret. Here it may be code or prose.
pub(super) fn is_secret_bare(value: &str, name: Sure, ends_a_statement: bool) -> bool {
    let of_code = |b: u8| b"<>(){}".contains(&b);
    let begins_no_value = value.starts_with(['&', '*', '!', '[', '|', '-', '.', '=', '@', '%']);
    if is_no_secret(value) || begins_no_value || value.bytes().any(of_code) {
        return false;
    }
    let identifier = value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_path(value) || is_call(value) || is_member(value) || ends_a_statement && identifier {
        return false;
    }
    // A sentence may end here.
    let inner = value.trim_end_matches(['!', '?']).as_bytes();
    let has = |of: fn(&u8) -> bool| inner.iter().any(of);
    match name {
        Sure::Strong => has(u8::is_ascii_digit) || has(|b| b"!@#$%^&*+=?~".contains(b)),
        Sure::Weak => is_random(value),
        Sure::EnvironmentOnly => false,
    }
}

/// Whether a value only says where to find one: `${DB_PASSWORD}`, `<password>`, `{{ token }}`.
pub(super) fn is_reference(value: &str) -> bool {
    let name = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let inside = |open: char, close: char| value.starts_with(open) && value.ends_with(close);
    value.strip_prefix('$').is_some_and(|rest| name(rest) && !rest.starts_with(char::is_numeric))
        || ["${", "{{", "#{", "$(", "%(", "<%"].iter().any(|mark| value.contains(mark))
        || inside('<', '>')
        || inside('{', '}')
        || value.strip_prefix('{').is_some_and(name)
        || inside('%', '%')
        || value.contains(MASK_BEGIN.trim_end())
        || value.bytes().all(|b| b"*xX.-_?#".contains(&b))
}

fn is_no_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let few = value.chars().take(SECRET_CHARS_MIN).count() < SECRET_CHARS_MIN;
    let no_digits = !value.bytes().any(|b| b.is_ascii_digit());
    let identifier = value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let begins = |begin: &str| lower.starts_with(begin);
    few || is_reference(value)
        || PLACEHOLDERS.contains(&lower.as_str())
        || FILL_IN.iter().any(|part| lower.contains(part))
        || ELSEWHERE.iter().any(|begin| begins(begin))
        || value.contains("://")
        // `password = get_password` and `--token TOKEN` name a secret once more.
        || no_digits && identifier && says_secret(value, &Rules::default()).is_some()
}

/// A file: it begins like one and is made of words, which what is random is not.
fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~/", "C:\\"].iter().any(|begin| value.starts_with(begin));
    begins && is_words(value)
}

/// `os.environ["X"]`, `next_token()`, `Optional[str]`: letters, and a bracket that follows.
fn is_call(value: &str) -> bool {
    let of_path = |b: &u8| b.is_ascii_alphanumeric() || b"_.:>?!-".contains(b);
    let length = value.bytes().take_while(of_path).count();
    let opens = value.as_bytes().get(length).is_some_and(|b| b"([{".contains(b));
    let closes = value.len() == length + 1 || value.ends_with([')', ']', '}', '?', '(', '[']);
    length > 0 && opens && closes && !value.starts_with(|c: char| c.is_ascii_digit())
}

/// `config.name`, `self.token2`, `Kind::Secret`.
fn is_member(value: &str) -> bool {
    let parts = value.split(['.', ':', '>', '?']).filter(|part| !part.is_empty() && *part != "-");
    let mut count = 0;
    let of_code = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
            && is_words(part)
    };
    let all = parts.inspect(|_| count += 1).all(of_code);
    all && count > 1
}

/// Whether every part is letters and perhaps a short number, as in `aws-us-east-1`.
fn is_words(value: &str) -> bool {
    value.split(|c: char| !c.is_alphanumeric()).all(|part| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        letters.chars().all(char::is_alphabetic) && part.len() - letters.len() <= 4
    })
}

fn is_random(value: &str) -> bool {
    let has = |of: fn(&u8) -> bool| value.as_bytes().iter().any(of);
    value.chars().count() >= RANDOM_CHARS_MIN
        && !value.contains(char::is_whitespace)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !is_words(value)
}

/// What a form says beside its field: `Password`.
fn is_capitalised_word(value: &str) -> bool {
    let mut letters = value.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase)
}
