//! Codex.

use super::super::edit::{Edit, toml};
use super::super::{Client, Scope, Site, Wish};
use super::{Hook, Piece, block, server_args, shared_skill};

/// Seconds that a hook may take; each is done in a few milliseconds, or gives up.
const SECONDS: u32 = 5;
/// A packet is made from a whole transcript.
const PACKET_SECONDS: u32 = 30;
/// It gives the end of a session no more, and complains about hooks that ask for it.
const END_SECONDS: u32 = 3;
/// The tools that change files; Codex knows its patches by two other names as well, and takes them
/// through the shell, too.
const EDITORS: &str = "apply_patch|Edit|Write|Bash";

const HOOKS: [Hook; 9] = [
    hook("SessionStart", "session-start", None),
    hook("UserPromptSubmit", "user-prompt", None),
    hook("PreToolUse", "pre-tool-use", Some(EDITORS)),
    hook("PostToolUse", "post-tool-use", None),
    Hook { timeout: PACKET_SECONDS, ..hook("PreCompact", "pre-compact", None) },
    hook("Stop", "stop", None),
    // Older ones do not know it and pass over it.
    Hook { timeout: END_SECONDS, ..hook("SessionEnd", "stop", None) },
    hook("SubagentStart", "subagent-start", None),
    hook("SubagentStop", "subagent-stop", None),
];

const fn hook(event: &'static str, ours: &'static str, matcher: Option<&'static str>) -> Hook {
    Hook { event, ours, matcher, timeout: SECONDS }
}

pub(super) fn pieces(site: &Site, wish: &Wish) -> Vec<Piece> {
    let (folder, memory) = match &site.scope {
        Scope::Project(root) => (root.join(".codex"), root.clone()),
        Scope::Global => (site.homes.codex.clone(), site.homes.codex.clone()),
    };
    let server = toml::Server {
        among: "mcp_servers",
        command: wish.word.program.clone(),
        args: server_args(wish),
    };
    let hooks = HOOKS.iter().map(|hook| hook.slot(Client::Codex, wish)).collect();
    vec![
        Piece {
            path: folder.join("config.toml"),
            what: "the MCP server",
            edit: Edit::Toml(server),
        },
        Piece { path: folder.join("hooks.json"), what: "hooks", edit: Edit::Json(hooks) },
        block(memory.join("AGENTS.md")),
        shared_skill(site, &site.homes.home),
    ]
}
