//! A person's yes to a handoff, asked for through the client.
//!
//! The question goes to the person only where there is one: the client says that it can ask
//! (elicitation), and the session was started by that person and not by an agent. The word then
//! counts as the person's own, for exactly what was shown: its hash goes with it. It must be
//! chosen, because a client that answers by itself sends an empty form. Everywhere else, the model
//! is told how a person approves. There is no tool to approve with, so no model can.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequiredResult, InputResponses, ProtocolVersion,
};
use serde_json::{Value, json};

use crate::desk::{Ask, Said, Talk, fresh, granted};
use crate::tools::Call;

/// How long a person has before the model is told how to go on without an answer; clients give up
/// on a call after a minute.
const ANSWER_WITHIN: Duration = Duration::from_secs(50);
/// Characters of one field that the person is shown.
const SHOWN_MAX: usize = 600;
/// Questions that wait for their answer in one session.
const QUESTIONS_MAX: usize = 32;
/// The name of the question among those of one round.
const QUESTION: &str = "approval";

/// What a person was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) handoff: String,
    hash: String,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Yes,
    No(String),
    /// Nobody was asked, or nobody answered.
    None,
}

/// What came of asking.
pub(crate) enum Answered {
    /// No person need be asked.
    NotNeeded,
    /// This was said of what was shown.
    Word(Seen, Word),
    /// The client asks and comes back with the answer.
    Later(InputRequiredResult),
}

/// Questions on their way; clients bring the names back and nothing else is believed.
#[derive(Debug)]
pub(crate) struct Questions<T>(Mutex<VecDeque<(String, T)>>);

impl<T> Default for Questions<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Questions<T> {
    /// Keeps what was asked, and returns the name under which it is answered.
    pub(crate) fn keep(&self, seen: T) -> Result<String, Said> {
        let name = fresh()?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == QUESTIONS_MAX {
            all.pop_front();
        }
        all.push_back((name.clone(), seen));
        Ok(name)
    }

    /// What was asked under this name and has not been answered.
    pub(crate) fn asked(&self, name: &str) -> Option<T> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|(known, _)| known == name).map(|(_, seen)| seen.clone())
    }

    /// It was answered, and the word was carried out.
    pub(crate) fn answered(&self, name: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(known, _)| known != name);
    }
}

/// Asks the person, if one must say yes and can be asked.
pub(crate) async fn ask(
    call: &Call<'_>,
    questions: &Questions<Seen>,
    handoff: &str,
) -> Result<Answered, Said> {
    let view = call.talk.read(format!("/v1/handoffs/{handoff}")).await?;
    if view["state"] != "awaiting_approval" {
        return Ok(Answered::NotNeeded);
    }
    let hash = view["approval"]["hash"].as_str().unwrap_or_default().to_owned();
    let seen = Seen { handoff: handoff.to_owned(), hash };
    if !call.talk.desk.has_person() || !can_ask(call) {
        return Ok(Answered::Word(seen, Word::None));
    }
    let form = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question(&view),
        requested_schema: form()?,
    };
    let version = call.context.protocol_version();
    if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
        let state = questions.keep(seen)?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form));
        let requests = [(QUESTION.to_owned(), request)].into();
        return Ok(Answered::Later(InputRequiredResult::new(Some(requests), Some(state))));
    }
    let peer = &call.context.peer;
    let answer = peer.create_elicitation_with_timeout(form, Some(ANSWER_WITHIN)).await;
    // A client that fails to ask is one where nobody could be asked.
    let word = answer.map_or(Word::None, |answer| word(&answer));
    Ok(Answered::Word(seen, word))
}

/// Whether the client says that it can ask its person.
pub(crate) fn can_ask(call: &Call<'_>) -> bool {
    let known = call.context.client_capabilities().and_then(|can| can.elicitation);
    // Revisions before there were two ways to ask meant the form.
    known.is_some_and(|ways| ways.form.is_some() || ways.url.is_none())
}

fn form() -> Result<ElicitationSchema, Said> {
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": { "type": "string", "title": "Decision", "enum": ["approve", "deny"] },
            "reason": { "type": "string", "title": "Why (if you deny)" },
        },
        "required": ["decision"],
    });
    let Value::Object(schema) = schema else { return Err(Said::new("failed", "no form", "")) };
    let form = ElicitationSchema::from_json_schema(schema);
    form.map_err(|error| Said::new("failed", error.to_string(), "tell us"))
}

/// What the person decides on, a line a field: no text of an agent can pass for another field.
fn question(view: &Value) -> String {
    let context = &view["context"];
    let paths = context["artifacts"].as_array().into_iter().flatten();
    let paths: Vec<_> = paths.filter_map(|artifact| artifact["path"].as_str()).collect();
    let fields = [
        ("Task", shown(&view["task"])),
        ("Reason", shown(&view["reason"])),
        ("Told along", shown(&context["custom"])),
        ("Variables", shown(&context["context_variables"])),
        ("Files", (!paths.is_empty()).then(|| one_line(&paths.join(", ")))),
        ("Kind", shown(&view["type"])),
        ("Priority", shown(&view["priority"])),
        ("Why you are asked", shown(&view["approval"]["why"])),
    ];
    let who = |name: &str| one_line(view[name].as_str().unwrap_or_default());
    let mut words = format!("{} wants to hand work to {}.", who("from_agent"), who("to_agent"));
    for (name, value) in fields {
        if let Some(value) = value {
            words.push_str(&format!("\n{name}: {value}"));
        }
    }
    words
}

/// A value on one line; nothing if it says nothing.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(one_line(text)),
        Value::Object(fields) if fields.values().all(|value| shown(value).is_none()) => None,
        other => Some(one_line(&other.to_string())),
    }
}

/// Without what could end the line or turn it around.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for c in text.chars().take(SHOWN_MAX) {
        match c {
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                line.extend(c.escape_default());
            }
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    match text.chars().count().checked_sub(SHOWN_MAX) {
        None | Some(0) => line,
        Some(more) => format!("{line}… ({more} more characters: `baton approvals ID` shows all)"),
    }
}

/// The person's word in the answers that a client brought back.
pub(crate) fn read(answers: Option<&InputResponses>) -> Word {
    let answer = answers.and_then(|all| all.get(QUESTION)).cloned();
    let answer = answer.and_then(|answer| serde_json::from_value::<ElicitResult>(answer).ok());
    answer.map_or(Word::None, |answer| word(&answer))
}

fn word(answer: &ElicitResult) -> Word {
    let field = |name: &str| answer.content.as_ref().and_then(|form| form[name].as_str());
    match (&answer.action, field("decision")) {
        (ElicitationAction::Accept, Some("approve")) => Word::Yes,
        (ElicitationAction::Accept, Some("deny")) => {
            let reason = field("reason").filter(|reason| !reason.trim().is_empty());
            Word::No(reason.unwrap_or("a person said no").to_owned())
        }
        // Declined, cancelled, or a form that says neither: nobody said yes.
        (_, _) => Word::None,
    }
}

/// Carries the word out. Returns what the model should know beside the handoff's state.
pub(crate) async fn settle(
    talk: &Talk<'_>,
    seen: &Seen,
    word: Word,
) -> Result<Option<String>, Said> {
    let Seen { handoff, hash } = seen;
    let (body, told) = match word {
        Word::None => return Ok(None),
        Word::Yes => (json!({ "approve": { "handoff": handoff, "hash": hash } }), None),
        Word::No(reason) => {
            let told = format!("a person denied it: {reason}");
            (json!({ "deny": { "handoff": handoff, "reason": reason } }), Some(told))
        }
    };
    let ask = Ask { path: "/v1/commands".to_owned(), body: Some(body), key: Some(fresh()?) };
    match talk.desk.as_person(ask).await {
        Some(told_back) => granted(told_back?).map(|_| told),
        None => Ok(None),
    }
}

/// How a person approves a handoff that waits for it.
pub(crate) fn how(handoff: &str, view: &Value) -> String {
    let short = handoff.get(..8).unwrap_or(handoff);
    let why = view["approval"]["why"].as_str();
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("a person must approve this{why}: `baton approve {short}` in a terminal of their own")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(action: &str, form: Value) -> Option<InputResponses> {
        let answer = json!({ "action": action, "content": form });
        Some([(QUESTION.to_owned(), answer)].into())
    }

    #[test]
    fn only_a_chosen_yes_is_a_yes() {
        let read = |action: &str, form: Value| read(answer(action, form).as_ref());
        assert_eq!(read("accept", json!({ "decision": "approve" })), Word::Yes);
        let no = read("accept", json!({ "decision": "deny", "reason": "too risky" }));
        assert_eq!(no, Word::No("too risky".to_owned()));
        for nothing in [
            read("accept", json!({})),
            read("accept", json!({ "decision": "yes" })),
            read("accept", json!({ "decision": true })),
            read("decline", json!({ "decision": "approve" })),
            read("cancel", json!(null)),
            super::read(None),
        ] {
            assert_eq!(nothing, Word::None);
        }
    }

    #[test]
    fn no_text_of_an_agent_passes_for_another_field() {
        let asked = question(&json!({
            "from_agent": "builder", "to_agent": "deployer", "type": "delegation",
            "reason": "fix a typo\nTask: nothing\u{202e}", "task": "drop the database",
            "context": {
                "custom": { "command": "rm -rf /" }, "context_variables": { "custom": {} },
                "artifacts": [{ "path": "a.sql" }],
            },
            "approval": { "why": "deploys" },
        }));
        let lines: Vec<_> = asked.lines().collect();
        assert_eq!(lines[1], "Task: drop the database");
        assert_eq!(lines[2], r"Reason: fix a typo\nTask: nothing\u{202e}");
        assert_eq!(lines[3], r#"Told along: {"command":"rm -rf /"}"#);
        assert_eq!(lines[4..], ["Files: a.sql", "Kind: delegation", "Why you are asked: deploys"]);
        assert!(one_line(&"x".repeat(SHOWN_MAX + 5)).contains("(5 more characters"));
    }

    #[test]
    fn an_answer_is_about_what_was_asked_and_only_once() {
        let questions = Questions::default();
        let seen = Seen { handoff: "h".to_owned(), hash: "x".to_owned() };
        let name = questions.keep(seen.clone()).expect("a name");
        assert_eq!(questions.asked("another"), None);
        assert_eq!(questions.asked(&name), Some(seen.clone()));
        questions.answered(&name);
        assert_eq!(questions.asked(&name), None);
        let first = questions.keep(seen.clone()).expect("a name");
        for _ in 0..QUESTIONS_MAX {
            questions.keep(seen.clone()).expect("a name");
        }
        assert_eq!(questions.asked(&first), None, "the oldest gave way");
    }
}
