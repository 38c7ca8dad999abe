//! Makes coding agents work with Baton: writes what belongs into their files, and takes it back.
//!
//! What was there before is kept beside a receipt, so that taking back leaves every file as it
//! was, byte for byte. Nothing is written before every file has been read and understood.

mod apply;
pub(crate) mod clients;
mod edit;
mod files;
mod homes;
mod receipt;
mod remove;
mod word;

use std::path::{Path, PathBuf};

use baton_protocol::id::AgentId;
use clap::ValueEnum;

pub(crate) use apply::{Done, Planned, check, setup};
pub(crate) use homes::Homes;
pub(crate) use remove::{Fate, remove};
pub(crate) use word::{Word, in_path};

use self::edit::Taken;
use self::receipt::Receipt;
use crate::failure::{Exit, Failure};
use crate::workspace::Workspace;

/// A program for coding with agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    ClaudeCode,
    Codex,
    Gemini,
    #[value(name = "opencode")]
    OpenCode,
}

impl Client {
    pub(crate) const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::OpenCode];

    /// Its name at the command line, and the agent that its sessions are unless one is named.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    pub(crate) fn agent(self) -> Result<AgentId, Failure> {
        self.name().parse().map_err(|error| {
            Failure::failed(format!("{}: {error}", self.name()), "name an agent with --agent")
        })
    }

    /// What it takes in its settings that is not JSON: Claude Code and Gemini CLI were seen to;
    /// Codex is taken to be as strict as can be, OpenCode to read what it documents.
    fn takes(self) -> Taken {
        let (comments, trailing_commas, bom) = match self {
            Self::ClaudeCode => (false, false, true),
            Self::Codex => (false, false, false),
            Self::Gemini => (true, false, false),
            Self::OpenCode => (true, true, true),
        };
        Taken { comments, trailing_commas, bom }
    }

    /// What people type to start it.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }
}

/// For whom a client is set up.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// For one workspace: its files can be given to others with the project.
    Project(PathBuf),
    /// For everything that this user does.
    Global,
}

/// Where one client is set up, or is to be.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) client: Client,
    pub(crate) scope: Scope,
    pub(crate) homes: Homes,
    /// The workspace of the place where the user stands, if there is one.
    pub(crate) here: Option<PathBuf>,
}

impl Site {
    /// Where the receipts of this scope lie.
    fn receipts(&self) -> PathBuf {
        match &self.scope {
            Scope::Project(root) => of_project(root),
            Scope::Global => self.homes.receipts(),
        }
    }

    /// Where the receipts of the other scope lie, if there is one: both may share a file, as when
    /// the workspace is the user's home.
    fn other_receipts(&self) -> Option<PathBuf> {
        match &self.scope {
            Scope::Project(_) => Some(self.homes.receipts()),
            Scope::Global => self.here.as_deref().map(of_project),
        }
    }

    /// Whether the client was set up here by this user.
    pub(crate) fn is_known(&self) -> Result<bool, Failure> {
        Receipt::read(&self.receipts(), self.client).map(|receipt| receipt.is_some())
    }

    /// What was wished for when it was set up; what one would wish for if it was not.
    pub(crate) fn wish(&self) -> Result<Wish, Failure> {
        Ok(match Receipt::read(&self.receipts(), self.client)? {
            Some(Receipt { agent, program, .. }) => {
                Wish { agent, word: Word { program, warning: None } }
            }
            None => Wish { agent: self.client.agent()?, word: Word::of(&self.scope) },
        })
    }

    /// A path as people know it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let (base, before) = match &self.scope {
            Scope::Project(root) => (root.as_path(), ""),
            Scope::Global => (self.homes.home.as_path(), "~/"),
        };
        match path.strip_prefix(base) {
            Ok(rest) => format!("{before}{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

fn of_project(root: &Path) -> PathBuf {
    root.join(Workspace::FOLDER).join("setup")
}

/// What the user wants to have set up.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) agent: AgentId,
    /// How `baton` is called.
    pub(crate) word: Word,
}

/// A file stands in the way.
fn refused(shown: &str, why: impl std::fmt::Display) -> Failure {
    Failure::new(
        Exit::Refused,
        "broken-file",
        format!("cannot change {shown}: {why}"),
        "correct that file and try again; nothing was written",
    )
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
