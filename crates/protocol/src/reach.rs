//! How work gets to an agent.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::{URL_BYTES_MAX, WORD_BYTES_MAX, WORDS_MAX};
use crate::mask::is_secret;

/// How work gets to an agent.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Reach {
    /// It asks for its inbox.
    #[default]
    Pull,
    /// A process, started with these words.
    Command {
        /// The program and its arguments.
        argv: Argv,
    },
    /// A web service.
    Http {
        /// Where it listens.
        url: Url,
    },
    /// A remote agent that speaks A2A.
    A2a {
        /// Where its card is.
        url: Url,
    },
    /// A session in a terminal.
    Tmux,
}

impl Reach {
    /// The same for eyes that need not know: by which way, and not with which words.
    pub fn veiled(&self) -> Self {
        match self {
            Self::Pull => Self::Pull,
            Self::Tmux => Self::Tmux,
            Self::Command { .. } => Self::Command { argv: Argv(vec!["[hidden]".to_owned()]) },
            Self::Http { url } => Self::Http { url: url.host_only() },
            Self::A2a { url } => Self::A2a { url: url.host_only() },
        }
    }
}

/// A program and its arguments, as words. No shell ever reads them.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Argv(Vec<String>);

/// Words that are not a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{why}; expected a program and its arguments, at most {WORDS_MAX} words of \
         {WORD_BYTES_MAX} bytes without NUL"
)]
pub struct ArgvError {
    why: &'static str,
}

impl Argv {
    /// The program.
    pub fn program(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[String] {
        self.0.get(1..).unwrap_or(&[])
    }
}

impl fmt::Display for Argv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

impl TryFrom<Vec<String>> for Argv {
    type Error = ArgvError;

    fn try_from(words: Vec<String>) -> Result<Self, ArgvError> {
        let why = match words.as_slice() {
            [] => "no words",
            [program, ..] if program.is_empty() => "a program without a name",
            all if all.len() > WORDS_MAX => "too many words",
            all if all.iter().any(|word| word.len() > WORD_BYTES_MAX) => "a word that is too long",
            all if all.iter().any(|word| word.contains('\0')) => "a word with a NUL in it",
            all if all.iter().any(|word| is_secret(word)) => "a word that looks like a secret",
            _ => return Ok(Self(words)),
        };
        Err(ArgvError { why })
    }
}

impl From<Argv> for Vec<String> {
    fn from(argv: Argv) -> Self {
        argv.0
    }
}

/// An address on the web. Whether anybody answers there shows when it is called.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Url(Box<str>);

/// A text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address; expected http:// or https://, at most {URL_BYTES_MAX} bytes, no spaces")]
pub struct UrlError;

impl TryFrom<String> for Url {
    type Error = UrlError;

    fn try_from(text: String) -> Result<Self, UrlError> {
        let web = text.starts_with("http://") || text.starts_with("https://");
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        match web && plain && text.len() <= URL_BYTES_MAX && !is_secret(&text) {
            true => Ok(Self(text.into())),
            false => Err(UrlError),
        }
    }
}

impl Url {
    /// The same without what comes before and after the host, where keys may be.
    fn host_only(&self) -> Self {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("http", ""));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        let host = authority.rsplit('@').next().unwrap_or("");
        Self(format!("{scheme}://{host}").into())
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Url> for String {
    fn from(url: Url) -> Self {
        url.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_words_that_a_process_can_start_with() {
        let argv = |words: &[&str]| {
            Argv::try_from(words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            argv(&["notify-send", "hello"]).map(|a| a.program().to_owned()),
            Ok("notify-send".to_owned())
        );
        assert!(argv(&[]).is_err() && argv(&["", "x"]).is_err() && argv(&["a", "b\0c"]).is_err());
        assert!(argv(&["a", &"x".repeat(WORD_BYTES_MAX + 1)]).is_err());
        assert!(argv(&["a"; WORDS_MAX + 1]).is_err());
    }

    #[test]
    fn an_address_is_of_the_web_and_of_limited_length() {
        let url = |text: &str| Url::try_from(text.to_owned());
        assert!(url("https://example.org/hook?x=1").is_ok());
        for bad in ["", "example.org", "file:///etc/passwd", "http://a b"] {
            assert!(url(bad).is_err(), "{bad:?} was taken");
        }
        assert!(url(&format!("http://{}", "x".repeat(URL_BYTES_MAX))).is_err());
    }
}
