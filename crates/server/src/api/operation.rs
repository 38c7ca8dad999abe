//! One operation: what a route does, what it takes, and everything that it can answer.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use baton_protocol::command::Command;
use baton_protocol::id::AgentId;
use baton_protocol::limits::KEY_BYTES_MAX;
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::Section;
use super::codes::status_of;
use super::schemas::Schemas;

/// Writes a schema; the types it names become part of the document.
pub(super) type Describe = Box<dyn Fn(&mut Schemas) -> Value>;

/// What every caller can meet: who is it, and is the coordinator well?
const CALLER: &[&str] = &[
    "unauthorized",
    "operator-only",
    "unknown-agent",
    "bad-input",
    "wrong-origin",
    "wrong-host",
    "too-fast",
    "too-many-requests",
    "failed",
    "stopped",
];
/// What everybody who sends a body can meet.
const BODY: &[&str] = &["too-large", "too-slow", "not-json", "bad-input"];
/// What every change can meet, whatever the rules say.
const CHANGE: &[&str] = &["view-only", "key-reused", "too-many", "disk-full"];

pub(crate) const JSON: &str = "application/json";

/// What a route does, takes and answers.
pub(crate) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) detail: &'static str,
    pub(super) section: Section,
    /// Whether it asks who calls.
    pub(super) asks_who: bool,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Sent>,
    pub(super) answers: Vec<Answered>,
    pub(super) problems: BTreeMap<u16, BTreeSet<&'static str>>,
}

/// A parameter of the path, the query or the head.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: &'static str,
    pub(super) says: &'static str,
    pub(super) schema: Describe,
}

/// A body on its way in.
pub(super) struct Sent {
    pub(super) media: &'static str,
    pub(super) required: bool,
    pub(super) schema: Describe,
    pub(super) example: Option<Value>,
}

/// An answer that is no problem.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) says: &'static str,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) content: Option<(&'static str, Describe)>,
    /// The same as text of these kinds, for those who ask for it.
    pub(super) texts: Vec<&'static str>,
}

pub(crate) fn get(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Method::GET, path, id, summary)
}

pub(crate) fn post(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Method::POST, path, id, summary)
}

pub(crate) fn put(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Method::PUT, path, id, summary)
}

pub(crate) fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Method::DELETE, path, id, summary)
}

impl Operation {
    fn new(method: Method, path: &'static str, id: &'static str, summary: &'static str) -> Self {
        let section = Section { name: "", says: "" };
        let (parameters, body, answers, problems) = Default::default();
        let (detail, asks_who) = ("", true);
        let new = Self {
            method,
            path,
            id,
            summary,
            detail,
            section,
            asks_who,
            parameters,
            body,
            answers,
            problems,
        };
        let schema: Describe = Box::new(|schemas| schemas.taken::<AgentId>());
        let says = "The agent for whom the operator acts.";
        new.refuses(CALLER).header_as("Baton-As", says, schema)
    }

    pub(super) fn within(self, section: Section) -> Self {
        Self { section, ..self }
    }

    /// It answers anybody. Then the coordinator being unwell is all that can go wrong.
    pub(crate) fn for_anybody(mut self) -> Self {
        self.asks_who = false;
        self.problems.clear();
        self.parameters.clear();
        self.refuses(&["wrong-origin", "wrong-host", "failed", "stopped"])
    }

    /// More words on it.
    pub(crate) fn detail(self, detail: &'static str) -> Self {
        Self { detail, ..self }
    }

    /// A part of the path.
    pub(crate) fn path<T: JsonSchema + 'static>(
        mut self,
        name: &'static str,
        says: &'static str,
    ) -> Self {
        let schema: Describe = Box::new(|schemas| schemas.taken::<T>());
        self.parameters.push(Parameter { name, place: "path", says, schema });
        self
    }

    /// The parameters of the query: the fields of `T`.
    pub(crate) fn query<T: JsonSchema + 'static>(mut self) -> Self {
        let schema: Describe = Box::new(|schemas| schemas.fields::<T>());
        self.parameters.push(Parameter { name: "", place: "query", says: "", schema });
        self
    }

    /// A header that may be left out.
    pub(crate) fn header(self, name: &'static str, says: &'static str) -> Self {
        self.header_as(name, says, Box::new(|_| json!({ "type": "string" })))
    }

    fn header_as(mut self, name: &'static str, says: &'static str, schema: Describe) -> Self {
        self.parameters.push(Parameter { name, place: "header", says, schema });
        self
    }

    /// The body, as JSON.
    pub(crate) fn takes<T: JsonSchema + 'static>(self) -> Self {
        self.takes_as(JSON, true, Box::new(|schemas| schemas.taken::<T>()))
    }

    pub(super) fn takes_as(
        mut self,
        media: &'static str,
        required: bool,
        schema: Describe,
    ) -> Self {
        self.body = Some(Sent { media, required, schema, example: None });
        self.refuses(BODY)
    }

    /// The body, as lines of JSON.
    pub(crate) fn takes_lines<T: JsonSchema + 'static>(self) -> Self {
        self.takes_as("application/x-ndjson", true, Box::new(|schemas| schemas.taken::<T>()))
    }

    /// A body as somebody might send it.
    pub(crate) fn example(mut self, example: Value) -> Self {
        if let Some(body) = &mut self.body {
            body.example = Some(example);
        }
        self
    }

    /// The answer, as JSON.
    pub(crate) fn answers<T: JsonSchema + 'static>(self, status: u16, says: &'static str) -> Self {
        self.answers_as::<T>(status, JSON, says)
    }

    /// The answer, as something else.
    pub(crate) fn answers_as<T: JsonSchema + 'static>(
        mut self,
        status: u16,
        media: &'static str,
        says: &'static str,
    ) -> Self {
        let schema: Describe = Box::new(|schemas| schemas.answered::<T>());
        let content = Some((media, schema));
        let (headers, texts) = Default::default();
        self.answers.push(Answered { status, says, headers, content, texts });
        self
    }

    /// The answer, without a body.
    pub(crate) fn answers_nothing(mut self, status: u16, says: &'static str) -> Self {
        let (headers, texts) = Default::default();
        self.answers.push(Answered { status, says, headers, content: None, texts });
        self
    }

    /// The latest answer can come as text of these kinds, too.
    pub(crate) fn or_text(mut self, media: &[&'static str]) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.texts.extend(media);
        }
        self
    }

    /// A header of the latest answer.
    pub(crate) fn with(mut self, name: &'static str, says: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((name, says));
        }
        self
    }

    /// A list that goes on where the answer's `Link` says.
    pub(crate) fn in_pages(self) -> Self {
        self.with("Link", "The next page, as `<…>; rel=\"next\"`; absent on the last one.")
    }

    /// Problems that it can answer with.
    pub(crate) fn refuses(mut self, codes: &[&'static str]) -> Self {
        for code in codes {
            let status =
                status_of(code).unwrap_or_else(|| panic!("no problem has the code {code}"));
            self.problems.entry(status).or_default().insert(code);
        }
        self
    }

    /// A problem that goes out under another status than elsewhere.
    pub(crate) fn refuses_as(mut self, status: u16, code: &'static str) -> Self {
        self.problems.entry(status).or_default().insert(code);
        self
    }

    /// It asks for the command of this name.
    pub(crate) fn changes(self, command: &str) -> Self {
        self.may_be_refused_as(command).keyed()
    }

    /// The rules may say no to it as they do to the command of this name.
    pub(crate) fn may_be_refused_as(mut self, command: &str) -> Self {
        let groups = Command::refusals(command);
        assert!(!groups.is_empty(), "there is no command {command}");
        for codes in groups {
            self = self.refuses(codes);
        }
        self
    }

    /// It is a change, which a caller can name.
    pub(crate) fn keyed(self) -> Self {
        let says = "Names this asking: the same key, asked again, is answered as it was at first.";
        let key = json!({ "type": "string", "pattern": "^[!-~]+$", "maxLength": KEY_BYTES_MAX });
        let trace =
            "The span it is asked from, by W3C Trace Context; a pass and an acceptance keep it.";
        self.refuses(CHANGE)
            .header_as("Idempotency-Key", says, Box::new(move |_| key.clone()))
            .header("traceparent", trace)
            .header(
                "Prefer",
                "`return=minimal`: an answer that tells what was recorded leaves it out.",
            )
    }
}
