//! Gemini CLI.

use super::super::edit::Edit;
use super::super::{Client, Scope, Site, Wish};
use super::{Hook, Piece, block, server, shared_skill};

/// Milliseconds that a hook may take; each is done in a few, or gives up.
const MILLISECONDS: u32 = 5_000;
/// A packet is made from a whole transcript.
const PACKET_MILLISECONDS: u32 = 30_000;
/// The tools that change files.
const EDITORS: &str = "write_file|replace|edit";

/// It tells nothing of subagents.
const HOOKS: [Hook; 7] = [
    hook("SessionStart", "session-start", None),
    hook("BeforeAgent", "user-prompt", None),
    hook("BeforeTool", "pre-tool-use", Some(EDITORS)),
    hook("AfterTool", "post-tool-use", None),
    Hook { timeout: PACKET_MILLISECONDS, ..hook("PreCompress", "pre-compact", None) },
    hook("AfterAgent", "stop", None),
    Hook { timeout: PACKET_MILLISECONDS, ..hook("SessionEnd", "stop", None) },
];

const fn hook(event: &'static str, ours: &'static str, matcher: Option<&'static str>) -> Hook {
    Hook { event, ours, matcher, timeout: MILLISECONDS }
}

pub(super) fn pieces(site: &Site, wish: &Wish) -> Vec<Piece> {
    let (folder, memory) = match &site.scope {
        Scope::Project(root) => (root.join(".gemini"), root.clone()),
        Scope::Global => (site.homes.gemini.clone(), site.homes.gemini.clone()),
    };
    // It may have been told another home.
    let home = site.homes.gemini.parent().unwrap_or(&site.homes.home);
    let mut settings = vec![server(wish)];
    settings.extend(HOOKS.iter().map(|hook| hook.slot(Client::Gemini, wish)));
    vec![
        Piece {
            path: folder.join("settings.json"),
            what: "the MCP server and hooks",
            edit: Edit::Json(settings),
        },
        block(memory.join("GEMINI.md")),
        shared_skill(site, home),
    ]
}
