//! Which files a client reads, and what of ours belongs into each.

mod claude_code;
mod codex;
mod gemini;
mod opencode;
#[cfg(test)]
pub(crate) mod samples;

use std::path::{Path, PathBuf};

use super::edit::Edit;
use super::edit::json::Slot;
use super::edit::node::Node;
use super::{Client, Scope, Site, Wish};

/// One file, and what of ours belongs into it.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) path: PathBuf,
    /// What that is, in the words of whoever looks at the list.
    pub(crate) what: &'static str,
    pub(crate) edit: Edit,
}

/// All files of a client.
pub(crate) fn pieces(site: &Site, wish: &Wish) -> Vec<Piece> {
    match site.client {
        Client::ClaudeCode => claude_code::pieces(site, wish),
        Client::Codex => codex::pieces(site, wish),
        Client::Gemini => gemini::pieces(site, wish),
        Client::OpenCode => opencode::pieces(site, wish),
    }
}

/// What every session is told, in as few words as will do. Clients share the file, so it names
/// none.
const BLOCK: &str = include_str!("../templates/block.md");
/// When and how to hand off, for clients that know skills.
const SKILL: &str = include_str!("../templates/skill.md");

fn block(path: PathBuf) -> Piece {
    Piece { path, what: "what every session is told", edit: Edit::Block(BLOCK) }
}

/// The skill where several clients look for it: each of its own would be found twice by some.
fn shared_skill(site: &Site, home: &Path) -> Piece {
    skill(match &site.scope {
        Scope::Project(root) => root.join(".agents/skills"),
        Scope::Global => home.join(".agents/skills"),
    })
}

fn skill(skills: PathBuf) -> Piece {
    let path = skills.join("baton").join("SKILL.md");
    Piece { path, what: "the skill", edit: Edit::Whole(SKILL.to_owned()) }
}

/// What the client runs as our MCP server.
fn server_args(wish: &Wish) -> Vec<String> {
    ["mcp", "--agent", wish.agent.as_str()].map(str::to_owned).to_vec()
}

fn server(wish: &Wish) -> Slot {
    let node = Node::object([
        ("command", Node::text(&wish.word.program)),
        ("args", Node::texts(&server_args(wish))),
    ]);
    Slot::Server { among: "mcpServers", node }
}

/// A hook of a client, and the event of ours that it becomes.
struct Hook {
    event: &'static str,
    ours: &'static str,
    /// For which tools; all if none are named.
    matcher: Option<&'static str>,
    /// How long the client waits, in its own unit.
    timeout: u32,
}

impl Hook {
    fn slot(&self, client: Client, wish: &Wish) -> Slot {
        let words = ["hook", self.ours, "--agent", wish.agent.as_str(), "--client", client.name()];
        let hook = Node::object([
            ("type", Node::text("command")),
            ("command", Node::text(wish.word.line(&words))),
            ("timeout", Node::Number(self.timeout)),
        ]);
        let hooks = ("hooks", Node::List(vec![hook]));
        let node = match self.matcher {
            Some(matcher) => Node::object([("matcher", Node::text(matcher)), hooks]),
            None => Node::object([hooks]),
        };
        Slot::Hook { event: self.event, node }
    }
}
