//! Baton as an MCP server: tools, resources and prompts for whatever speaks MCP.
//!
//! It decides nothing and keeps nothing that matters: every tool is one or two requests to the
//! coordinator's routes, in the name of one agent. Where those requests go is the [`Desk`]'s
//! business: over the workspace's socket for `baton mcp`, straight into the routes for `/mcp`.

mod approval;
mod brief;
mod complete;
mod desk;
mod holds;
mod log;
mod news;
mod prompts;
mod resources;
mod schema;
mod server;
mod tools;

pub use desk::{Ask, Asker, Desk, Told, Unheard};
pub use holds::Hold;
pub use server::Server;
