//! Baton as an MCP server: tools, resources and prompts for whatever speaks MCP.
//!
//! It decides nothing and keeps nothing that matters: every tool is one or two requests to the
//! coordinator's routes, in the name of one agent. Where those requests go is the [`Desk`]'s
//! business: over the workspace's socket for `baton mcp`, straight into the routes for `/mcp`.

mod approval;
mod brief;
mod complete;
mod desk;
#[cfg(feature = "conformance")]
mod fixtures;
mod holds;
mod log;
mod news;
mod prompts;
mod resources;
mod schema;
#[cfg_attr(
    feature = "conformance",
    expect(unreachable_pub, reason = "the fixtures stand before it")
)]
mod server;
mod stdio;
mod tools;

pub use desk::{Ask, Asker, Desk, Pieces, Told, Unheard};
pub use holds::Hold;
pub use stdio::{SessionError, serve_nowhere, serve_stdio};
// The one place where a build for the conformance suite differs: what its sessions are.
#[cfg(feature = "conformance")]
pub use fixtures::Server;
#[cfg(not(feature = "conformance"))]
pub use server::Server;
