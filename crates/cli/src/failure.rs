//! What a verb says when it cannot do what was asked: one sentence, one next step, one exit code.

use std::fmt;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Deserialize;
use serde_json::json;

use crate::show::text::Plain;

/// How the process ends. Documented in `baton help`, stable across releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The disk, the network or the coordinator failed; trying again may help.
    Failure = 1,
    /// The command line or its input makes no sense.
    Usage = 2,
    /// The rules say no.
    Refused = 3,
    /// The named thing is not there.
    NotFound = 4,
    /// Nothing came in the time that was given.
    NoAnswer = 5,
}

/// Why a verb stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// The name that scripts match on; it never changes once released, the sentence may.
    pub(crate) code: String,
    pub(crate) sentence: String,
    pub(crate) hint: String,
    /// Whether it is told as the tag verbs tell it.
    of_tags: bool,
}

impl Failure {
    /// The same, as those who call the tag verbs expect it: `ERROR` comes first, and the exit is 1
    /// whatever the reason, but for the time that is up.
    pub(crate) fn of_tags(mut self) -> Self {
        self.of_tags = true;
        if self.exit != Exit::NoAnswer {
            self.exit = Exit::Failure;
        }
        self
    }

    /// The world failed, not the caller.
    pub(crate) fn failed(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Exit::Failure, "failure", sentence, hint)
    }

    /// What was typed or given in a file makes no sense.
    pub(crate) fn usage(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "bad-input", sentence, hint)
    }

    pub(crate) fn new(
        exit: Exit,
        code: &str,
        sentence: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (sentence, hint) = (sentence.into(), hint.into());
        Self { exit, code: code.to_owned(), sentence, hint, of_tags: false }
    }

    /// Says on standard error what stands in the way, for a person or, with `json`, a program.
    pub(crate) fn tell(&self, json: bool, color: anstream::ColorChoice) {
        let mut err = anstream::AutoStream::new(io::stderr(), color);
        // Nobody is left to tell when standard error itself is gone.
        let _ = if json {
            let Self { code, sentence, hint, .. } = self;
            let said = json!({"error": {"code": code, "message": sentence, "hint": hint}});
            writeln!(err, "{said}")
        } else {
            write!(err, "{self}")
        };
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let cyan = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
        if self.of_tags {
            // Scripts look for the word at the very beginning, so nothing colours it.
            writeln!(f, "ERROR: {}", Plain::line(&self.sentence))?;
        } else {
            writeln!(f, "{red}error{red:#}: {}", Plain::lines(&self.sentence))?;
        }
        writeln!(f, "{cyan} hint{cyan:#}: {}", Plain::lines(&self.hint))
    }
}

/// An error as the coordinator words it (`application/problem+json`).
#[derive(Debug, Deserialize)]
struct Problem {
    #[serde(default)]
    title: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    hint: String,
    #[serde(default)]
    field: Option<String>,
}

/// Reads the coordinator's answer to a request that it did not grant.
pub(crate) fn from_reply(status: u16, body: &str) -> Failure {
    let Ok(problem) = serde_json::from_str::<Problem>(body) else {
        let sentence = format!("the coordinator answered {status} without saying why");
        return Failure::failed(sentence, "see .baton/run/coordinator.log");
    };
    let exit = match status {
        404 => Exit::NotFound,
        400 | 422 if problem.code == "bad-input" => Exit::Usage,
        400..=499 => Exit::Refused,
        _ => Exit::Failure,
    };
    let said = if problem.detail.is_empty() { problem.title } else { problem.detail };
    let sentence = match problem.field {
        Some(field) if !said.contains(&field) => format!("{field}: {said}"),
        Some(_) | None => said,
    };
    let hint = match problem.hint {
        hint if !hint.is_empty() => hint,
        _ if exit == Exit::Failure => "see .baton/run/coordinator.log".to_owned(),
        _ => "`baton help` lists the verbs".to_owned(),
    };
    Failure::new(exit, &problem.code, sentence, hint)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(status: u16, body: &str, said: Expect) {
        let failure = from_reply(status, body);
        let plain = anstream::adapter::strip_str(&failure.to_string()).to_string();
        said.assert_eq(&format!("{plain}exit {}\n", failure.exit as u8));
    }

    #[test]
    fn a_refusal_is_told_as_one_sentence_and_one_next_step() {
        check(
            409,
            r#"{"title":"Conflict","status":409,"code":"already-accepted",
                "detail":"handoff 8c5d is already accepted by builder-2",
                "hint":"run `baton wait 8c5d` to hear how it goes on"}"#,
            expect![[r#"
                error: handoff 8c5d is already accepted by builder-2
                 hint: run `baton wait 8c5d` to hear how it goes on
                exit 3
            "#]],
        );
    }

    #[test]
    fn bad_input_names_its_field_and_is_a_usage_error() {
        check(
            422,
            r#"{"code":"bad-input","detail":"an empty text; expected at least one word",
                "hint":"see `baton pass --help`","field":"pass.reason"}"#,
            expect![[r#"
                error: pass.reason: an empty text; expected at least one word
                 hint: see `baton pass --help`
                exit 2
            "#]],
        );
    }

    #[test]
    fn what_is_not_there_and_what_broke_have_exits_of_their_own() {
        check(
            404,
            r#"{"code":"unknown-agent","detail":"there is no agent ghost",
                "hint":"`baton agent list` shows who there is"}"#,
            expect![[r#"
                error: there is no agent ghost
                 hint: `baton agent list` shows who there is
                exit 4
            "#]],
        );
        check(
            500,
            "<html>",
            expect![[r#"
                error: the coordinator answered 500 without saying why
                 hint: see .baton/run/coordinator.log
                exit 1
            "#]],
        );
    }

    #[test]
    fn the_tag_verbs_keep_their_own_contract() {
        let failure = Failure::new(Exit::Refused, "gone", "a is\ngone", "look").of_tags();
        let plain = anstream::adapter::strip_str(&failure.to_string()).to_string();
        assert_eq!(
            (failure.exit, plain.as_str()),
            (Exit::Failure, "ERROR: a is gone\n hint: look\n")
        );
        let late = Failure::new(Exit::NoAnswer, "no-answer", "late", "wait").of_tags();
        assert_eq!(late.exit, Exit::NoAnswer);
    }

    #[test]
    fn words_from_outside_cannot_take_over_the_terminal() {
        check(
            409,
            r#"{"code":"x","detail":"a\u001b[2Jb","hint":"h"}"#,
            expect![[r#"
                error: a\u{1b}[2Jb
                 hint: h
                exit 3
            "#]],
        );
    }
}
