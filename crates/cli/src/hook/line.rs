//! The command line of a hook, read by hand: what `baton setup` writes, and nothing more.

use std::ffi::OsString;
use std::path::PathBuf;

use baton_protocol::id::AgentId;

use super::{Moment, Program, Session};

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Hook(Moment, Option<Program>, Session),
    Statusline(Session),
    /// A hook, but not one that we know, and why.
    Senseless(String),
}

/// Reads the words; nothing if they are no hook, or ask for help.
pub(super) fn read(words: impl Iterator<Item = OsString>) -> Option<Line> {
    let mut words = words.skip(1).map(|word| word.to_string_lossy().into_owned());
    let hooks = match words.next()?.as_str() {
        "hook" => true,
        "statusline" => false,
        _ => return None,
    };
    let (mut moment, mut program, mut session) = (None, None, Session::default());
    session.workspace = std::env::var_os("BATON_WORKSPACE").map(PathBuf::from);
    let mut wrong = None;
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-h" | "--help" | "help") {
            return None;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => {
                (name.to_owned(), Some(value.to_owned()))
            }
            Some(_) | None => (word, None),
        };
        let mut value = || value.clone().or_else(|| words.next()).unwrap_or_default();
        let read = match name.as_str() {
            "--agent" => {
                value().parse::<AgentId>().map(|agent| session.agent = Some(agent)).is_ok()
            }
            "--client" => value().parse().map(|client| program = Some(client)).is_ok(),
            "--workspace" => {
                session.workspace = Some(PathBuf::from(value()));
                true
            }
            name if hooks && moment.is_none() => {
                name.parse().map(|known| moment = Some(known)).is_ok()
            }
            _ => false,
        };
        if !read {
            wrong = Some(format!("`{name}` makes no sense here"));
        }
    }
    Some(match (wrong, hooks, moment) {
        (Some(wrong), ..) => Line::Senseless(wrong),
        (None, true, Some(moment)) => Line::Hook(moment, program, session),
        (None, true, None) => Line::Senseless("no event is named".to_owned()),
        (None, false, _) => Line::Statusline(session),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_known_by_its_words_and_nothing_else_is() {
        let read = |line: &str| read(line.split(' ').map(OsString::from));
        let coder = Session { agent: "coder".parse().ok(), ..Session::default() };
        let stop = |session: &Session| Some(Line::Hook(Moment::Stop, None, session.clone()));
        assert_eq!(read("baton hook stop --agent coder"), stop(&coder));
        assert_eq!(read("baton hook --agent=coder stop"), stop(&coder));
        assert_eq!(read("baton statusline --agent coder"), Some(Line::Statusline(coder.clone())));
        let codex = Some(Line::Hook(Moment::Stop, Some(Program::Codex), coder));
        assert_eq!(read("baton hook stop --client codex --agent coder"), codex);
        for senseless in [
            "hook",
            "hook stopp",
            "hook stop --client vi",
            "hook stop --agent",
            "hook \
                          stop now",
            "hook stop --agent A!",
            "hook stop --x",
            "statusline x",
        ] {
            let line = read(&format!("baton {senseless}"));
            assert!(matches!(line, Some(Line::Senseless(_))), "{senseless}: {line:?}");
        }
        for other in ["baton", "baton inbox", "baton hook --help", "baton hook stop -h", "baton -q"]
        {
            assert_eq!(read(other), None, "{other}");
        }
        for word in Moment::WORDS {
            assert!(word.parse::<Moment>().is_ok(), "{word}");
        }
        for word in Program::WORDS {
            assert!(word.parse::<Program>().is_ok(), "{word}");
        }
    }
}
