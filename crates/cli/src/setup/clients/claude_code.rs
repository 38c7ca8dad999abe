//! Claude Code.

use super::super::edit::Edit;
use super::super::edit::json::Slot;
use super::super::edit::node::Node;
use super::super::{Client, Scope, Site, Wish};
use super::{Hook, Piece, block, server, skill};

/// Seconds that a hook may take; each is done in a few milliseconds, or gives up.
const SECONDS: u32 = 5;
/// A packet is made from a whole transcript.
const PACKET_SECONDS: u32 = 30;
/// The tools that change files.
const EDITORS: &str = "Edit|Write|MultiEdit|NotebookEdit";

const HANDOFF: &str = include_str!("../templates/claude-handoff.md");
const INBOX: &str = include_str!("../templates/claude-inbox.md");

const HOOKS: [Hook; 9] = [
    hook("SessionStart", "session-start", None),
    hook("UserPromptSubmit", "user-prompt", None),
    hook("PreToolUse", "pre-tool-use", Some(EDITORS)),
    hook("PostToolUse", "post-tool-use", None),
    Hook { timeout: PACKET_SECONDS, ..hook("PreCompact", "pre-compact", None) },
    hook("Stop", "stop", None),
    // What a session still holds is given back when it ends; the input tells one from the other.
    Hook { timeout: PACKET_SECONDS, ..hook("SessionEnd", "stop", None) },
    hook("SubagentStart", "subagent-start", None),
    hook("SubagentStop", "subagent-stop", None),
];

const fn hook(event: &'static str, ours: &'static str, matcher: Option<&'static str>) -> Hook {
    Hook { event, ours, matcher, timeout: SECONDS }
}

pub(super) fn pieces(site: &Site, wish: &Wish) -> Vec<Piece> {
    let (servers, folder, memory) = match &site.scope {
        Scope::Project(root) => (root.join(".mcp.json"), root.join(".claude"), root.clone()),
        Scope::Global => {
            let folder = site.homes.claude.clone();
            (site.homes.claude_json.clone(), folder.clone(), folder)
        }
    };
    let mut settings: Vec<_> =
        HOOKS.iter().map(|hook| hook.slot(Client::ClaudeCode, wish)).collect();
    let line = wish.word.line(&["statusline", "--agent", wish.agent.as_str()]);
    let node = Node::object([("type", Node::text("command")), ("command", Node::text(line))]);
    settings.push(Slot::Status { node });
    let command = |name: &str, text: &str| Piece {
        path: folder.join("commands").join(name),
        what: "a slash command",
        edit: Edit::Whole(text.to_owned()),
    };
    vec![
        Piece { path: servers, what: "the MCP server", edit: Edit::Json(vec![server(wish)]) },
        Piece {
            path: folder.join("settings.json"),
            what: "hooks and the status line",
            edit: Edit::Json(settings),
        },
        block(memory.join("CLAUDE.md")),
        skill(folder.join("skills")),
        command("handoff.md", HANDOFF),
        command("inbox.md", INBOX),
    ]
}
