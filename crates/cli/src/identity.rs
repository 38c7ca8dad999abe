//! Who a session of a coding agent acts as, and the credential that says so.
//!
//! Such a session acts by its agent's token, as every agent does, and never as the person whose
//! terminal it runs in. The token lies in `.baton/sessions/`, readable by that person only. The
//! first session makes it, so that nobody has to configure anything; one that the operator revoked
//! is not made again.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;

use baton_protocol::agent::{Grant, Profile};
use baton_protocol::command::Command;
use baton_protocol::id::AgentId;
use serde::Deserialize;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::caller::Caller;
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::line::Line;
use crate::workspace::Workspace;

/// An agent, and how its requests prove that it is the one.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) agent: AgentId,
    pub(crate) caller: Caller,
}

impl Identity {
    /// Who the session is, by what lies on this machine: BATON_TOKEN, or the token of the agent
    /// that was named, of the mark, or of the workspace's default. Nothing if that agent has no
    /// token yet.
    pub(crate) fn known(
        workspace: &Workspace,
        named: Option<&AgentId>,
    ) -> Result<Option<Self>, Failure> {
        if std::env::var_os("BATON_TOKEN").is_some() {
            return Self::given(named).map(Some);
        }
        let agent = who(workspace, named)?;
        let token = match fs::read_to_string(workspace.agent_token(&agent)) {
            Ok(token) => token.trim().to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(workspace, &agent, &error)),
        };
        let caller = Caller::Bearer { token, on_behalf: None };
        // A file that a crash left without its token is as good as none.
        let whole = bearer(&caller).is_ok_and(|whose| whose == agent);
        Ok(whole.then_some(Self { agent, caller }))
    }

    /// Who the session is by the token that it was given, as it is elsewhere.
    pub(crate) fn given(named: Option<&AgentId>) -> Result<Self, Failure> {
        let caller = Caller::from_env(None)?;
        let agent = bearer(&caller)?;
        same(named, &agent).map(|()| Self { agent, caller })
    }

    /// The same; an agent without a token gets one, and one that is not known is made known, if a
    /// person started this session.
    pub(crate) fn made(workspace: &Workspace, named: Option<&AgentId>) -> Result<Self, Failure> {
        if let Some(known) = Self::known(workspace, named)? {
            return Ok(known);
        }
        let agent = who(workspace, named)?;
        let path = workspace.agent_token(&agent);
        let folder = path.parent().unwrap_or(workspace.root());
        let broken = |error: io::Error| unusable(workspace, &agent, &error);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(broken)?;
        // Of two sessions that begin at once, one makes the token and the other finds it.
        let turn = File::create(folder.join("lock")).map_err(broken)?;
        turn.lock().map_err(broken)?;
        if let Some(known) = Self::known(workspace, Some(&agent))? {
            return Ok(known);
        }
        let operator = Client::new(Line::Socket(workspace.clone()), Caller::from_env(None)?, None)?;
        let token = token(&operator, &agent)?;
        // Whoever reads it meanwhile finds all of it or nothing; only its owner may.
        let mut file = NamedTempFile::new_in(folder).map_err(broken)?;
        file.write_all(token.as_bytes()).map_err(broken)?;
        file.persist(&path).map_err(|error| broken(error.error))?;
        Ok(Self { agent, caller: Caller::Bearer { token, on_behalf: None } })
    }

    /// Speaks to the workspace's coordinator as this agent.
    pub(crate) fn client(&self, workspace: &Workspace) -> Result<Client, Failure> {
        Client::new(Line::Socket(workspace.clone()), self.caller.clone(), None)
    }
}

/// The agent that was named, that this process is marked as, or that the workspace says.
fn who(workspace: &Workspace, named: Option<&AgentId>) -> Result<AgentId, Failure> {
    let mark = std::env::var("BATON_AGENT").ok().filter(|mark| !mark.is_empty());
    let mark = mark.map(|mark| mark.parse::<AgentId>()).transpose().map_err(|error| {
        Failure::usage(format!("BATON_AGENT: {error}"), "set it to an agent's name")
    })?;
    if let Some(mark) = &mark {
        same(named, mark)?;
    }
    let agent = match named.cloned().or(mark) {
        Some(agent) => agent,
        None => workspace.settings()?.agent.ok_or_else(|| {
            Failure::usage(
                "it is not said which agent this session is",
                "name it with --agent NAME, or set `agent = \"NAME\"` in .baton/config.toml",
            )
        })?,
    };
    if agent.is_operator() {
        let hint = "name the agent that it is; the operator is the person at the terminal";
        return Err(Failure::usage("a session is never the operator", hint));
    }
    Ok(agent)
}

/// Whose token it is; every token says so.
fn bearer(caller: &Caller) -> Result<AgentId, Failure> {
    let token = match caller {
        Caller::Bearer { token, .. } => token.as_str(),
        Caller::Operator | Caller::OperatorAs(_) => "",
    };
    let name = token.strip_prefix("bt1_").and_then(|rest| rest.split('_').next());
    let agent = name.and_then(|name| name.parse::<AgentId>().ok());
    agent.filter(|agent| !agent.is_operator()).ok_or_else(|| {
        Failure::usage(
            "BATON_TOKEN is not the token of an agent",
            "a session acts as an agent: set it to what `baton token create --agent NAME` printed",
        )
    })
}

/// A session is one agent and never another.
fn same(named: Option<&AgentId>, known: &AgentId) -> Result<(), Failure> {
    match named {
        Some(named) if named != known => Err(Failure::new(
            Exit::Refused,
            "operator-only",
            format!("this process is agent {known} and cannot speak for {named}"),
            format!("leave out --agent, or say --agent {known}"),
        )),
        Some(_) | None => Ok(()),
    }
}

fn unusable(workspace: &Workspace, agent: &AgentId, error: &io::Error) -> Failure {
    let path = workspace.agent_token(agent);
    let sentence = format!("cannot use {}: {error}", path.display());
    Failure::failed(sentence, "check the folder's permissions and the space on its disk")
}

#[derive(Deserialize)]
struct Created {
    token: String,
}

fn token(operator: &Client, agent: &AgentId) -> Result<String, Failure> {
    match operator.read(format!("/v1/agents/{agent}")) {
        Ok(_) => (),
        Err(failure) if failure.exit == Exit::NotFound => {
            let profile = Profile::named(agent.clone());
            operator.command(&Command::Register(Box::new(profile)))?;
        }
        Err(failure) => return Err(failure),
    }
    let ask = json!({ "agent": agent, "grant": Grant::Act });
    let created: Created = operator.post("/v1/tokens", &ask)?.read()?;
    Ok(created.token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_whose_it_is_and_nobody_speaks_for_another() {
        let of = |token: &str| Caller::Bearer { token: token.to_owned(), on_behalf: None };
        let coder: AgentId = "claude-code".parse().expect("a name");
        assert_eq!(bearer(&of("bt1_claude-code_abc_def")), Ok(coder.clone()));
        for wrong in ["bt1_operator_x", "x", "bt1__x"] {
            assert_eq!(bearer(&of(wrong)).map_err(|failure| failure.exit), Err(Exit::Usage));
        }
        assert_eq!(same(None, &coder), Ok(()));
        assert_eq!(same(Some(&coder), &coder), Ok(()));
        let other: AgentId = "codex".parse().expect("a name");
        assert_eq!(same(Some(&other), &coder).map_err(|failure| failure.exit), Err(Exit::Refused));
    }
}
