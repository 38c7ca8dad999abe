//! Reads artifacts, also those that people and other programs wrote by hand.
//!
//! What is missing is taken as empty, what is unknown is left out with a note; but no limit is
//! passed on the way in either.

use baton_protocol::id::AgentId;
use baton_protocol::limits::{COMPACT_BYTES_MAX, COMPACT_TOKENS_MAX};
use serde_json::{Map, Value};

use super::clean::{clean, weight_up_to};
use super::{Artifact, Draft, Field, VERSION};
use crate::Tokenizer;
use crate::profile::agent_named;

/// An artifact that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadArtifact {
    /// The artifact.
    pub artifact: Artifact,
    /// What was there and is not part of it, one sentence each.
    pub notes: Vec<String>,
}

/// Why a text is no artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Too long to be looked at.
    #[error("{found} bytes; expected at most {COMPACT_BYTES_MAX}")]
    Bytes {
        /// How long it is.
        found: usize,
    },
    /// Not YAML.
    #[error("line {line}: {why}")]
    Yaml {
        /// Where.
        line: u64,
        /// What the parser says.
        why: String,
    },
    /// Something that must be there and is not.
    #[error("{field} is missing; expected {expected}")]
    Missing {
        /// What.
        field: String,
        /// What was expected in its place.
        expected: &'static str,
    },
    /// Something of the wrong kind.
    #[error("{field} is {found}; expected {expected}")]
    Kind {
        /// What.
        field: String,
        /// What is there.
        found: String,
        /// What was expected in its place.
        expected: &'static str,
    },
    /// A list with too many entries.
    #[error("{field} has {found} entries; expected at most {allowed}")]
    TooMany {
        /// Which.
        field: Field,
        /// How many it has.
        found: usize,
        /// How many it may have.
        allowed: usize,
    },
    /// A text over its limit.
    #[error("{field} is {found} tokens long; expected at most {allowed}")]
    TooLong {
        /// Which.
        field: Field,
        /// How long it is.
        found: usize,
        /// How long it may be.
        allowed: usize,
    },
    /// All of it together is over the limit.
    #[error("the artifact is {found} tokens long; expected at most {COMPACT_TOKENS_MAX}")]
    Whole {
        /// How long it is.
        found: usize,
    },
}

impl Artifact {
    /// Reads an artifact. The limits are those of the artifact as we would write it: comments and
    /// unknown keys, which nobody is given, do not count.
    pub fn read(yaml: &str, tokenizer: Tokenizer) -> Result<ReadArtifact, ReadError> {
        if yaml.len() > COMPACT_BYTES_MAX {
            return Err(ReadError::Bytes { found: yaml.len() });
        }
        let mut notes = Vec::new();
        let mut file = Keys::of(parsed(yaml)?, "", &mut notes)?;
        let handoff = file.take("handoff").ok_or(ReadError::Missing {
            field: "handoff".to_owned(),
            expected: "one key `handoff:` with the rest below it",
        })?;
        file.rest_is_unknown();
        let mut keys = Keys::of(handoff, "handoff.", &mut notes)?;
        let from_agent = keys.agent(Field::FromAgent)?;
        let mut draft = Draft::between(from_agent, keys.agent(Field::ToAgent)?);
        for (field, texts) in draft.lists() {
            *texts = keys.texts(field)?;
        }
        draft.next_action = keys.text(Field::NextAction.name())?;
        let timestamp = keys.text("timestamp")?;
        let timestamp = match timestamp.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| ReadError::Kind {
                field: "timestamp".to_owned(),
                found: format!("`{text:.60}`"),
                expected: "ISO 8601 in UTC such as 2026-02-23T17:00:00Z",
            })?),
        };
        let source = Some(keys.text("source_sha256")?).filter(|text| is_sha256(text));
        let consumed = matches!(keys.take("consumed"), Some(Value::Bool(true)));
        let version = keys.text("version")?;
        let story = keys.take("story_context").filter(|story| !story.is_null());
        keys.rest_is_unknown();
        if !matches!(version.as_str(), "" | VERSION) {
            notes.push(format!("version {version:.20} is read as {VERSION}"));
        }
        let story = story.unwrap_or_else(|| Value::Object(Map::new()));
        let mut keys = Keys::of(story, "handoff.story_context.", &mut notes)?;
        for (field, text) in draft.singles() {
            if field != Field::NextAction {
                *text = keys.text(field.name())?;
            }
        }
        keys.rest_is_unknown();
        let artifact = Self { draft, timestamp, consumed, source };
        artifact.within_limits(tokenizer)?;
        Ok(ReadArtifact { artifact, notes })
    }

    fn within_limits(&self, tokenizer: Tokenizer) -> Result<(), ReadError> {
        let mut draft = self.draft.clone();
        let check = |field: Field, text: &str| {
            let allowed = field.tokens_max();
            let found = weight_up_to(text, allowed, tokenizer);
            if found > allowed {
                return Err(ReadError::TooLong { field, found, allowed });
            }
            Ok(())
        };
        for (field, texts) in draft.lists() {
            let (found, allowed) = (texts.len(), field.entries_max());
            if found > allowed {
                return Err(ReadError::TooMany { field, found, allowed });
            }
            texts.iter().try_for_each(|text| check(field, text))?;
        }
        for (field, text) in draft.singles() {
            check(field, text)?;
        }
        check(Field::FromAgent, draft.from_agent.as_str())?;
        check(Field::ToAgent, draft.to_agent.as_str())?;
        match tokenizer.count(&self.to_yaml()) {
            found if found > COMPACT_TOKENS_MAX => Err(ReadError::Whole { found }),
            _ => Ok(()),
        }
    }
}

fn parsed(yaml: &str) -> Result<Value, ReadError> {
    serde_saphyr::from_str(yaml).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line().max(1));
        let said = error.without_snippet().to_string();
        let why = said.split(" at line ").next().unwrap_or(&said).lines().next().unwrap_or("");
        ReadError::Yaml { line, why: why.trim_start_matches("error: ").to_owned() }
    })
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The keys of one mapping, taken one by one; what is left in the end was unknown.
struct Keys<'a> {
    map: Map<String, Value>,
    path: &'static str,
    notes: &'a mut Vec<String>,
}

impl<'a> Keys<'a> {
    fn of(value: Value, path: &'static str, notes: &'a mut Vec<String>) -> Result<Self, ReadError> {
        match value {
            Value::Object(map) => Ok(Self { map, path, notes }),
            other => Err(ReadError::Kind {
                field: match path.trim_end_matches('.') {
                    "" => "the file".to_owned(),
                    path => path.to_owned(),
                },
                found: kind(&other).to_owned(),
                expected: "keys with values",
            }),
        }
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key)
    }

    fn rest_is_unknown(self) {
        let path = self.path;
        let unknown = self.map.keys().map(|key| format!("{path}{key:.60} is not part of it"));
        self.notes.extend(unknown);
    }

    fn text(&mut self, key: &str) -> Result<String, ReadError> {
        let value = self.take(key).unwrap_or(Value::Null);
        self.as_text(key, value)
    }

    fn as_text(&self, key: &str, value: Value) -> Result<String, ReadError> {
        match value {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(clean(&text)),
            // Who writes by hand writes `story_id: 4` without quotes.
            Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
            Value::Array(_) | Value::Object(_) => Err(ReadError::Kind {
                field: format!("{}{key}", self.path),
                found: kind(&value).to_owned(),
                expected: "a text",
            }),
        }
    }

    fn texts(&mut self, field: Field) -> Result<Vec<String>, ReadError> {
        let key = field.name();
        let list = match self.take(key).unwrap_or(Value::Null) {
            Value::Null => Vec::new(),
            Value::Array(list) => list,
            other => {
                return Err(ReadError::Kind {
                    field: format!("{}{key}", self.path),
                    found: kind(&other).to_owned(),
                    expected: "a list of texts",
                });
            }
        };
        let texts = list.into_iter().map(|value| self.as_text(key, value));
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        // The template comes with an empty entry in each list.
        Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
    }

    fn agent(&mut self, field: Field) -> Result<AgentId, ReadError> {
        let text = self.text(field.name())?;
        let field = format!("{}{field}", self.path);
        if text.is_empty() {
            return Err(ReadError::Missing { field, expected: "the name of an agent" });
        }
        agent_named(&text).map_err(|_| ReadError::Kind {
            field,
            found: format!("`{text:.60}`"),
            expected: "the name of an agent, such as dev or @dev",
        })
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// As s4 has it: by hand, without version, time and hash.
    const BY_HAND: &str = r#"
# between two agents
handoff:
  from_agent: "@sm"
  to_agent: dev
  story_context:
    story_id: 4
    story_path: docs/stories/4.md
    branch: main
  decisions:
    - ""
  blockers:
  next_action: "Build: it"
"#;

    fn check(yaml: &str, said: Expect) {
        let told = match Artifact::read(yaml, Tokenizer::default()) {
            Ok(read) => format!("{}\n{}", read.notes.join("\n"), read.artifact.to_yaml()),
            Err(error) => error.to_string(),
        };
        said.assert_eq(&told);
    }

    #[test]
    fn what_a_person_wrote_is_read() {
        check(
            BY_HAND,
            expect![[r#"

            handoff:
              version: "1.0"
              from_agent: "sm"
              to_agent: "dev"
              story_context:
                story_id: "4"
                story_path: "docs/stories/4.md"
                story_status: ""
                current_task: ""
                branch: "main"
              decisions: []
              files_modified: []
              blockers: []
              next_action: "Build: it"
              consumed: false
        "#]],
        );
    }

    #[test]
    fn nothing_of_a_persona_gets_through() {
        let more = "  persona: {role: Scrum Master}\n  commands: [help]\n  greeting: Hi!\n";
        let read = Artifact::read(&format!("{BY_HAND}{more}"), Tokenizer::default());
        let read = read.expect("an artifact");
        let told = read.notes.join("\n");
        expect![[r#"
            handoff.commands is not part of it
            handoff.greeting is not part of it
            handoff.persona is not part of it"#]]
        .assert_eq(&told);
        let written = read.artifact.to_yaml();
        for word in ["persona", "Scrum", "commands", "help", "greeting", "Hi!"] {
            assert!(!written.contains(word), "{word} in {written}");
        }
    }

    #[test]
    fn a_mistake_names_its_field_and_what_was_expected() {
        check("handoff: [", expect!["line 1: unclosed bracket '['"]);
        check("- a", expect!["the file is a list; expected keys with values"]);
        check(
            "from_agent: sm",
            expect!["handoff is missing; expected one key `handoff:` with the rest below it"],
        );
        check(
            "handoff:\n  to_agent: dev",
            expect!["handoff.from_agent is missing; expected the name of an agent"],
        );
        check(
            &BY_HAND.replace("@sm", "S M"),
            expect![
                "handoff.from_agent is `S M`; expected the name of an agent, such as dev or @dev"
            ],
        );
        check(
            &BY_HAND.replace("story_id: 4", "story_id: [4]"),
            expect!["handoff.story_context.story_id is a list; expected a text"],
        );
        check(
            &BY_HAND.replace("blockers:", "blockers: one"),
            expect!["handoff.blockers is a text; expected a list of texts"],
        );
        let many = format!("blockers: [{}]", "a, ".repeat(4));
        check(
            &BY_HAND.replace("blockers:", &many),
            expect!["blockers has 4 entries; expected at most 3"],
        );
        let long = BY_HAND.replace("Build: it", &"build it ".repeat(40));
        check(&long, expect!["next_action is 82 tokens long; expected at most 56"]);
        check(
            &BY_HAND.replace("to_agent: dev", "to_agent: dev\n  timestamp: soon"),
            expect!["timestamp is `soon`; expected ISO 8601 in UTC such as 2026-02-23T17:00:00Z"],
        );
        check(&"#".repeat(COMPACT_BYTES_MAX + 1), expect!["65537 bytes; expected at most 65536"]);
    }
}
