//! `baton mcp`: a session of a coding agent, over its standard input and output.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anstream::ColorChoice;
use baton_mcp::{Ask, Asker, Desk, Hold, Pieces, SessionError, Told, Unheard};
use baton_protocol::id::AgentId;
use clap::Args;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use http_body_util::BodyStream;
use serde_json::Value;

use crate::args::Global;
use crate::caller::Caller;
use crate::client::Remote;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::line::Line;
use crate::noted;
use crate::place::Place;
use crate::workspace::{NO_WORKSPACE, Workspace};

/// How long one request may take beside what it was told to wait.
const ANSWER_WITHIN: Duration = Duration::from_secs(70);

/// Serve MCP to a coding agent over stdin and stdout
///
/// A client such as Claude Code starts this for each session; `baton setup` tells it how. The
/// session acts as one agent, by that agent's own token, and starts the coordinator if need be.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton mcp --agent claude-code
  claude mcp add baton -- baton mcp --agent claude-code")]
pub(crate) struct Mcp {
    /// Which agent this session is [default: `agent` in .baton/config.toml]
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentId>,
}

impl Mcp {
    /// Reads the line that `baton setup` writes, by hand: what it takes to know all other lines
    /// would stay in the memory of every session. Whatever else is said is not for here.
    pub(crate) fn quick(words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
        let agent = line(words)?;
        if std::env::var_os("BATON_URL").is_some() || io::stdin().is_terminal() {
            return None;
        }
        let named = std::env::var_os("BATON_WORKSPACE").map(PathBuf::from);
        Some(match session(named.as_deref(), agent) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                failure.tell(false, ColorChoice::Auto);
                ExitCode::from(failure.exit as u8)
            }
        })
    }

    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let Some(address) = &global.url else {
            return session(global.workspace.as_deref(), self.agent);
        };
        let caller = Identity::given(self.agent.as_ref())?.caller;
        let agent = Remote::new(Line::Network(address.clone()), caller);
        serve(Over { agent, person: None, place: None, holds: None })
    }
}

/// Reads `baton mcp [--agent NAME]`, and no other line.
fn line(words: impl Iterator<Item = OsString>) -> Option<Option<AgentId>> {
    let words: Vec<_> = words.skip(1).map(OsString::into_string).collect::<Result<_, _>>().ok()?;
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["mcp"] => Some(None),
        ["mcp", "--agent", agent] => Some(Some(agent.parse().ok()?)),
        _ => None,
    }
}

/// Holds a session in the workspace that was named, or in the nearest.
fn session(named: Option<&Path>, agent: Option<AgentId>) -> Result<(), Failure> {
    match Workspace::find(named) {
        Ok(workspace) => serve(Over::socket(&workspace, agent)?),
        // A person who types it hears that there is none; a client is told so in its own words.
        Err(failure)
            if named.is_none() && failure.code == NO_WORKSPACE && !io::stdin().is_terminal() =>
        {
            let Failure { sentence, .. } = failure;
            hold(baton_mcp::serve_nowhere(format!(
                "Baton has nothing to offer here: {sentence}. If the user wants to pass work \
                 on with Baton in this folder, they run `baton init` and start a new session."
            )))
        }
        Err(failure) => Err(failure),
    }
}

/// Holds a session at a desk until the client leaves.
fn serve(desk: Over) -> Result<(), Failure> {
    // Sessions that ended hold nothing any more.
    desk.note(&[]);
    hold(baton_mcp::serve_stdio(Arc::new(desk)))
}

fn hold(session: impl Future<Output = Result<(), SessionError>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::failed(format!("cannot set up I/O: {error}"), "close some programs")
    })?;
    runtime.block_on(session).map_err(|error| {
        let hint = match &error {
            SessionError::NotBegun(_) => {
                "a client that speaks MCP starts this; see `baton setup --list`"
            }
            SessionError::BrokeOff(_) => "start it again",
        };
        Failure::failed(error.to_string(), hint)
    })
}

/// A desk that is reached over a line.
struct Over {
    agent: Remote,
    /// The person who started this session, unless an agent did.
    person: Option<Remote>,
    /// Where paths are typed from; elsewhere nobody can tell.
    place: Option<Place>,
    /// Where it is noted what this session holds, for its hooks.
    holds: Option<PathBuf>,
}

impl Over {
    fn socket(workspace: &Workspace, named: Option<AgentId>) -> Result<Self, Failure> {
        let Identity { agent, caller } = Identity::made(workspace, named.as_ref())?;
        let line = || Line::Socket(workspace.clone());
        // Whoever was given a token was started as an agent; so was whoever carries the mark.
        let marked = i32::try_from(std::process::id()).is_ok_and(baton_server::is_marked);
        let given = std::env::var_os("BATON_TOKEN").is_some();
        let person = (!marked && !given).then(|| Remote::new(line(), Caller::Operator));
        Ok(Self {
            agent: Remote::new(line(), caller),
            person,
            place: Some(Place::new(workspace.root())),
            holds: Some(noted::path(workspace, &agent)),
        })
    }
}

fn unheard(failure: Failure) -> Unheard {
    Unheard { sentence: failure.sentence, hint: failure.hint }
}

async fn asked(remote: &Remote, ask: Ask) -> Result<Told, Unheard> {
    let body = ask.body.map(|body| body.to_string());
    let told = remote.ask(&ask.path, body, ask.key, ANSWER_WITHIN).await;
    let (status, text) = told.map_err(unheard)?;
    Ok(Told { status, body: serde_json::from_str(&text).unwrap_or(Value::Null) })
}

impl Desk for Over {
    fn ask<'a>(&'a self, _: &'a Asker, ask: Ask) -> BoxFuture<'a, Result<Told, Unheard>> {
        asked(&self.agent, ask).boxed()
    }

    fn listen<'a>(&'a self, _: &'a Asker, path: String) -> BoxFuture<'a, Result<Pieces, Unheard>> {
        async move {
            let body = self.agent.listen(&path).await.map_err(unheard)?;
            let pieces = BodyStream::new(body).filter_map(async |frame| match frame {
                Ok(frame) => frame.into_data().ok().map(Ok),
                Err(error) => Some(Err(io::Error::other(error))),
            });
            Ok(pieces.boxed())
        }
        .boxed()
    }

    fn as_person(&self, ask: Ask) -> BoxFuture<'_, Option<Result<Told, Unheard>>> {
        async move { Some(asked(self.person.as_ref()?, ask).await) }.boxed()
    }

    fn has_person(&self) -> bool {
        self.person.is_some()
    }

    fn file(&self, path: &str) -> Result<String, Unheard> {
        match &self.place {
            Some(place) => place.file(path).map(String::from).map_err(unheard),
            None => Ok(path.to_owned()),
        }
    }

    fn note(&self, holds: &[Hold]) {
        if let Some(path) = &self.holds {
            // Only hooks read it, and without it they hold nobody up.
            let _ = noted::note(path, holds);
        }
    }

    fn held_beside(&self, handoff: &str) -> bool {
        self.holds.as_ref().is_some_and(|path| noted::is_beside(path, handoff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_line_that_setup_writes_is_read_by_hand() {
        let read = |text: &str| line(text.split(' ').map(OsString::from));
        assert_eq!(read("baton mcp"), Some(None));
        assert_eq!(read("baton mcp --agent coder"), Some("coder".parse().ok()));
        for other in [
            "baton",
            "baton inbox",
            "baton mcp --help",
            "baton mcp --agent",
            "baton mcp --agent A!",
            "baton mcp --agent coder --workspace .",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
