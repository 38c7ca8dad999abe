//! How an agent is asked whether it is well.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::reach::{Argv, Url};

/// What succeeds while an agent is well.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a program and its arguments as a list, or {http: ADDRESS}"
)]
pub enum HealthCheck {
    /// A command, as words, that ends with 0.
    Command(Argv),
    /// An address that answers with 200 to 299.
    Http {
        /// Where.
        http: Url,
    },
}

impl fmt::Display for HealthCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(argv) => argv.fmt(f),
            Self::Http { http } => http.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_check_is_words_or_an_address() {
        let read = |json| serde_json::from_value::<HealthCheck>(json);
        let words = serde_json::json!(["test", "-e", "up"]);
        let command = read(words.clone()).expect("a command");
        assert_eq!(serde_json::to_value(&command).expect("json"), words);
        let http = read(serde_json::json!({ "http": "https://example.org/health" }));
        assert_eq!(http.expect("an address").to_string(), "https://example.org/health");
        for bad in [serde_json::json!([]), serde_json::json!({ "http": "file:///etc" })] {
            assert!(read(bad.clone()).is_err(), "{bad} was taken");
        }
    }
}
