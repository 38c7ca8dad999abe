//! What people type as arguments, parsed once at the door: `name=value`, `rust:0.8`, `a.rs:code`.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::str::FromStr;

use baton_protocol::agent::{Capability, Proficiency, Requirement};
use baton_protocol::artifact::{ArtifactKind, ArtifactStatus, Location, Produced};
use baton_protocol::id::CapabilityId;
use baton_protocol::limits::REQUEST_BYTES_MAX;
use baton_protocol::reach::Argv;
use baton_protocol::text::{Body, BodyJson, VariableValue};
use baton_protocol::time::{Allowance, Timestamp};
use baton_protocol::variables::{Changes, VariableName};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::place::Place;
use crate::show::text::cut;

/// Takes one of a few words and reads it as the protocol does, so the two never differ.
pub(crate) fn word<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| serde_json::from_value(Value::String(word)))
}

/// An id, or a beginning of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id(String);

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = (1..=36).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if fits {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err("not an id; expected an id from `baton list`, or its first characters".to_owned())
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Id {
    /// The id itself, if it is whole.
    pub(crate) fn whole<T: FromStr>(&self) -> Option<T> {
        self.0.parse().ok()
    }

    /// Whether `id` begins like this.
    pub(crate) fn begins(&self, id: &str) -> bool {
        id.starts_with(&self.0)
    }
}

/// `name=value`. The value is JSON if it reads as JSON, and text otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assignment {
    name: VariableName,
    value: VariableValue,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| "no `=`; expected name=value, such as branch=main".to_owned())?;
        let name = name.parse().map_err(|error| format!("{error}"))?;
        let value = match serde_json::from_str(value) {
            Ok(json) => json,
            // JSON all right, only too deep to be read: to take it as text would hide that.
            Err(error) if error.to_string().starts_with("recursion limit") => {
                return Err("JSON nested too deep".to_owned());
            }
            Err(_) => Value::String(value.to_owned()),
        };
        let value = VariableValue::try_from(value).map_err(|error| error.to_string())?;
        Ok(Self { name, value })
    }
}

/// Puts assignments together; the same name twice is a slip that must not pass silently.
pub(crate) fn changes(assignments: Vec<Assignment>) -> Result<Changes, Failure> {
    let mut changes = Changes::new();
    for Assignment { name, value } in assignments {
        if changes.insert(name.clone(), value).is_some() {
            let sentence = format!("variable {name} is given twice");
            return Err(Failure::usage(sentence, "give each name once"));
        }
    }
    Ok(changes)
}

/// A capability and perhaps how well: `rust` or `rust:0.8`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Skill {
    id: CapabilityId,
    proficiency: Option<Proficiency>,
}

impl FromStr for Skill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, level) = match text.split_once(':') {
            Some((id, level)) => (id, Some(level)),
            None => (text, None),
        };
        let proficiency = level.map(|level| {
            let number = level.parse::<f64>().map_err(|_| {
                format!(
                    "`{}` is not a proficiency; expected 0.0 to 1.0, as in rust:0.8",
                    cut(level)
                )
            })?;
            Proficiency::try_from(number).map_err(|error| error.to_string())
        });
        let id = id.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { id, proficiency: proficiency.transpose()? })
    }
}

impl From<Skill> for Capability {
    fn from(skill: Skill) -> Self {
        Self { id: skill.id, proficiency: skill.proficiency.unwrap_or_default() }
    }
}

impl From<Skill> for Requirement {
    fn from(skill: Skill) -> Self {
        Self { capability_id: skill.id, min_proficiency: skill.proficiency }
    }
}

/// The words for what an artifact is.
pub(crate) const ARTIFACT_KINDS: &[&str] =
    &["file", "code", "document", "test_result", "review_comment"];

/// A path or URI and perhaps what it is: `src/login.rs` or `src/login.rs:code`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) location: String,
    pub(crate) kind: ArtifactKind,
}

impl FromStr for Product {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Only a known word after the last colon is a type; any other colon is part of the path.
        let typed = text.rsplit_once(':').and_then(|(location, word)| {
            let kind = serde_json::from_value(Value::String(word.to_owned())).ok()?;
            Some((location, kind))
        });
        let (location, kind) = typed.unwrap_or((text, ArtifactKind::default()));
        location.parse::<Location>().map_err(|error| error.to_string())?;
        Ok(Self { location: location.to_owned(), kind })
    }
}

impl Product {
    /// Describes it for the ledger; a file of the workspace goes by its path from the root.
    pub(crate) fn produced(self, place: &Place) -> Result<Produced, Failure> {
        let inside = place.file(&self.location).ok().filter(|_| !self.location.contains("://"));
        let location = inside.map_or(self.location, |path| path.as_str().to_owned());
        let path = location.parse().map_err(|error| {
            Failure::usage(format!("--artifact: {error}"), "give a shorter path")
        })?;
        let status = ArtifactStatus::default();
        Ok(Produced { kind: self.kind, path, description: None, status })
    }
}

/// How many at most: none would be an odd thing to ask for.
pub(crate) fn at_least_one() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..)
}

/// A moment, or a span of time from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// The moment itself.
    At(Timestamp),
    /// So long from now, forwards or backwards as the argument means it.
    Away(Allowance),
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.parse().map(Self::At);
        at.or_else(|_| text.parse().map(Self::Away)).map_err(
            |_: baton_protocol::time::TimeError| {
                "not a time; expected a duration such as 2h, or UTC such as 2026-03-01T12:00:00Z"
                    .into()
            },
        )
    }
}

impl When {
    pub(crate) fn ahead(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Away(span) => span.after(now),
        }
    }

    pub(crate) fn ago(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Away(span) => Timestamp::from_micros(now.as_micros() - span.as_micros()),
        }
    }
}

/// Reads JSON from a file, or from standard input when it is called `-`.
pub(crate) fn json_file(name: &str) -> Result<Value, Failure> {
    let unreadable = |error: io::Error| {
        Failure::usage(format!("cannot read {}: {error}", cut(name)), "give a file, or - for stdin")
    };
    // One byte more than allowed tells too much from just enough.
    let most = REQUEST_BYTES_MAX as u64 + 1;
    let mut bytes = Vec::new();
    match name {
        "-" => io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(unreadable)?,
        path => {
            let file = File::open(path).map_err(unreadable)?;
            file.take(most).read_to_end(&mut bytes).map_err(unreadable)?
        }
    };
    if bytes.len() > REQUEST_BYTES_MAX {
        let sentence = format!("{name} is too large: at most {REQUEST_BYTES_MAX} bytes");
        return Err(Failure::usage(sentence, "keep it in a file and pass an artifact instead"));
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::usage(format!("{name} is not JSON: {error}"), "check the file with a JSON tool")
    })
}

/// Reads a result or a history.
pub(crate) fn body_file(name: &str) -> Result<Body, Failure> {
    body(json_file(name)?, name)
}

/// Checks a result or a history.
pub(crate) fn body(value: Value, name: &str) -> Result<Body, Failure> {
    let body = BodyJson::try_from(value).map_err(|error| {
        let hint = "keep it in a file and pass an artifact instead";
        Failure::usage(format!("{name}: {error}"), hint)
    })?;
    Ok(Body::Inline(body))
}

/// The words of a command, without any shell.
pub(crate) fn argv(command: &str, option: &str) -> Result<Argv, Failure> {
    // There is no shell that would take them away: the program would get them, or half a word.
    if command.contains(['"', '\'']) {
        let sentence = format!("{option}: words are split at spaces, and quotes mean nothing here");
        let hint = "put such a command into a script, or give its words as a list in JSON \
                    (`baton agent import`; for --check, --json-input)";
        return Err(Failure::usage(sentence, hint));
    }
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    Argv::try_from(words).map_err(|error| {
        Failure::usage(format!("{option}: {error}"), "give a program and its arguments")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_json_if_it_reads_as_json_and_text_otherwise() {
        let value = |text: &str| text.parse::<Assignment>().map(|a| a.value.as_value().clone());
        assert_eq!(value("n=3"), Ok(json!(3)));
        assert_eq!(value("b=true"), Ok(json!(true)));
        assert_eq!(value("o={\"a\":[1]}"), Ok(json!({"a": [1]})));
        assert_eq!(value("s=\"3\""), Ok(json!("3")));
        assert_eq!(value("url=http://x/?a=b"), Ok(json!("http://x/?a=b")));
        assert_eq!(value("e="), Ok(json!("")));
        let deep = format!("a={}", "[".repeat(1_000));
        for bad in ["novalue", "=x", "a b=1", "9a=1", &deep] {
            assert!(value(bad).is_err(), "{bad:?} was taken");
        }
        let twice = ["a=1", "a=2"].map(|text| text.parse().expect("an assignment"));
        assert!(changes(twice.into()).is_err());
    }

    #[test]
    fn a_capability_may_say_how_well() {
        let skill = |text: &str| text.parse::<Skill>().map(Requirement::from);
        let level = |text: &str| skill(text).map(|r| r.min_proficiency.map(f64::from));
        assert_eq!(level("rust"), Ok(None));
        assert_eq!(level("rust:0.5"), Ok(Some(0.5)));
        for bad in ["", "Rust", "rust:", "rust:much", "rust:1.5", "rust:-1"] {
            assert!(skill(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn only_a_known_word_after_the_last_colon_is_a_type() {
        let parts = |text: &str| text.parse::<Product>().map(|p| (p.location, p.kind));
        let is = |location: &str, kind| Ok((location.to_owned(), kind));
        assert_eq!(parts("src/a.rs:code"), is("src/a.rs", ArtifactKind::Code));
        assert_eq!(parts("src/a.rs"), is("src/a.rs", ArtifactKind::File));
        assert_eq!(parts("a:b"), is("a:b", ArtifactKind::File));
        assert_eq!(parts("https://x:8/y"), is("https://x:8/y", ArtifactKind::File));
        assert_eq!(parts("https://x/y:document"), is("https://x/y", ArtifactKind::Document));
        assert!(parts("").is_err() && parts(":code").is_err());
    }

    #[test]
    fn a_moment_may_be_a_span_from_now() {
        let now = Timestamp::from_micros(3_600_000_000);
        let when = |text: &str| text.parse::<When>().expect("a moment");
        assert_eq!(when("30m").ahead(now), Timestamp::from_micros(5_400_000_000));
        assert_eq!(when("30m").ago(now), Timestamp::from_micros(1_800_000_000));
        assert_eq!(when("1970-01-01T01:00:00Z").ago(now), now);
        assert!("soon".parse::<When>().is_err());
    }

    #[test]
    fn an_id_is_any_beginning_of_one() {
        let id = |text: &str| text.parse::<Id>().map(|id| id.to_string());
        assert_eq!(id("3F2A"), Ok("3f2a".to_owned()));
        for bad in ["", "../x", "h-41", "3f2a91c0-0000-4000-8000-000000000000-1"] {
            assert!(id(bad).is_err(), "{bad:?} was taken");
        }
    }
}
