//! OpenCode, which knows no hooks in its settings, but plugins.

use super::super::edit::Edit;
use super::super::edit::json::Slot;
use super::super::edit::node::{Node, quoted};
use super::super::{Scope, Site, Wish};
use super::{Piece, block, server_args, shared_skill};

const PLUGIN: &str = include_str!("../templates/opencode-plugin.js");

pub(super) fn pieces(site: &Site, wish: &Wish) -> Vec<Piece> {
    let (config, folder, memory) = match &site.scope {
        Scope::Project(root) => (root.clone(), root.join(".opencode"), root.clone()),
        Scope::Global => {
            let folder = site.homes.opencode.clone();
            (folder.clone(), folder.clone(), folder)
        }
    };
    let commented = config.join("opencode.jsonc");
    let plain = config.join("opencode.json");
    // It reads both; ours goes where the user writes.
    let settings = if commented.exists() && !plain.exists() { commented } else { plain };
    let mut command = vec![wish.word.program.clone()];
    command.extend(server_args(wish));
    let node = Node::object([("type", Node::text("local")), ("command", Node::texts(&command))]);
    let plugin = PLUGIN
        .replace("\"PROGRAM\"", &quoted(&wish.word.program))
        .replace("\"AGENT\"", &quoted(wish.agent.as_str()));
    vec![
        Piece {
            path: settings,
            what: "the MCP server",
            edit: Edit::Json(vec![Slot::Server { among: "mcp", node }]),
        },
        Piece {
            path: folder.join("plugins").join("baton.js"),
            what: "the plugin that calls our hooks",
            edit: Edit::Whole(plugin),
        },
        block(memory.join("AGENTS.md")),
        shared_skill(site, &site.homes.home),
    ]
}
