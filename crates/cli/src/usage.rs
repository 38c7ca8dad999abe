//! A command line that makes no sense, told to people as `clap` words it and to programs as JSON.

use std::ffi::OsString;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::error::{ContextValue, ErrorKind};

use crate::failure::{Exit, Failure};
use crate::show::text::cut;
use crate::tagging::told::QUOTE;
use crate::verbs::TAG_VERBS;

const HINT: &str = "`baton help` lists the verbs, and `baton VERB --help` what each one takes";

/// Says what is wrong with the command line. Help and version come the same way and are no error.
pub(crate) fn told(error: clap::Error, json: bool) -> ExitCode {
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let of_tags = is_of_tags(std::env::args_os());
    if (json || of_tags) && !asked_for {
        let failure = failure(error);
        let failure = if of_tags { of_a_tag_verb(failure) } else { failure };
        failure.tell(json, ColorChoice::Never);
        return ExitCode::from(failure.exit as u8);
    }
    let error = shortened(error);
    // Nobody is left to tell when standard error itself is gone.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8))
}

/// Whether JSON was asked for, as far as a command line that makes no sense can tell.
pub(crate) fn wants_json(args: impl Iterator<Item = OsString>) -> bool {
    args.take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// Whether a verb for tags was meant, as far as can be told.
fn is_of_tags(args: impl Iterator<Item = OsString>) -> bool {
    let read = crate::args::command().ignore_errors(true).try_get_matches_from(args);
    read.is_ok_and(|it| it.subcommand_name().is_some_and(|verb| TAG_VERBS.contains(&verb)))
}

/// Most often a tag is not in quotes, and the shell took it and the rest for a comment.
fn of_a_tag_verb(mut failure: Failure) -> Failure {
    let about_a_tag = ["<TAG>", "<OLD", "<NEW>"].iter().any(|it| failure.sentence.contains(it));
    if about_a_tag && failure.hint == HINT {
        failure.hint = QUOTE.to_owned();
    }
    failure.of_tags()
}

/// What was typed may be a whole file by mistake: its beginning is enough to know it by.
fn shortened(mut error: clap::Error) -> clap::Error {
    let shorter: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| {
            let short = match value {
                ContextValue::String(text) => ContextValue::String(cut(text)),
                ContextValue::Strings(texts) => {
                    ContextValue::Strings(texts.iter().map(|text| cut(text)).collect())
                }
                _ => return None,
            };
            (short != *value).then_some((kind, short))
        })
        .collect();
    for (kind, value) in shorter {
        error.insert(kind, value);
    }
    error
}

fn failure(error: clap::Error) -> Failure {
    let error = shortened(error);
    let hint = HINT;
    let verbless =
        [ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ErrorKind::MissingSubcommand];
    if verbless.contains(&error.kind()) {
        return Failure::new(Exit::Usage, "usage", "no verb is given", hint);
    }
    let text = error.render().to_string();
    let (mut said, mut tips) = (Vec::new(), Vec::new());
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.take_while(|line| !line.starts_with("Usage:")) {
        match line.strip_prefix("tip: ") {
            Some(tip) => tips.push(tip),
            None if line.starts_with("For more information") => (),
            None => said.push(line.trim_start_matches("error: ")),
        }
    }
    let hint = if tips.is_empty() { hint.to_owned() } else { tips.join("; ") };
    Failure::new(Exit::Usage, "usage", said.join(" "), hint)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(args: &[&str], said: Expect) {
        let words = std::iter::once("baton").chain(args.iter().copied());
        let error = crate::args::command().try_get_matches_from(words).expect_err("nonsense");
        let failure = failure(error);
        assert_eq!((failure.exit, failure.code.as_str()), (Exit::Usage, "usage"));
        said.assert_eq(&format!("{}\n{}\n", failure.sentence, failure.hint));
    }

    #[test]
    fn nonsense_is_one_sentence_and_one_hint() {
        check(
            &["lst"],
            expect![[r#"
            unrecognized subcommand 'lst'
            some similar subcommands exist: 'stop', 'list'
        "#]],
        );
        check(
            &["--json"],
            expect![[r#"
            no verb is given
            `baton help` lists the verbs, and `baton VERB --help` what each one takes
        "#]],
        );
        check(
            &["list", "--limit", "0"],
            expect![[r#"
            invalid value '0' for '--limit <N>': 0 is not in 1..=4294967295
            `baton help` lists the verbs, and `baton VERB --help` what each one takes
        "#]],
        );
        check(
            &["pass", "3f2a"],
            expect![[r#"
                the following required arguments were not provided: --reason <TEXT>
                `baton help` lists the verbs, and `baton VERB --help` what each one takes
            "#]],
        );
    }

    #[test]
    fn a_long_value_is_not_echoed_whole() {
        let long = "x ".repeat(100_000);
        for args in [
            &["accept", &long][..],
            &["list", "--limit", &long],
            &["inbox", "--agent", &long],
            &["agent", "add", "a", "--capability", &format!("rust:{long}")],
            &["vars", "3f2a", &long],
            &["lock", "3f2a", "a", "--for", &long],
            &[&long],
            &["list", &format!("--{long}")],
        ] {
            let words = std::iter::once("baton").chain(args.iter().copied());
            let error = crate::args::command().try_get_matches_from(words).expect_err("nonsense");
            let told = shortened(error).render().to_string();
            assert!(told.len() < 1_200, "{} bytes: {told:.300}", told.len());
        }
    }

    #[test]
    fn json_is_asked_for_before_a_bare_double_dash() {
        let asks = |args: &[&str]| wants_json(args.iter().map(OsString::from));
        assert!(asks(&["baton", "lst", "--json"]));
        assert!(!asks(&["baton", "start", "--", "--json"]));
    }
}
