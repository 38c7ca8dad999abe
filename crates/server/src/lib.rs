//! The coordinator: the engine behind HTTP routes on a Unix socket, one for each workspace.
//!
//! It knows who calls and speaks JSON; every decision is the engine's.

mod answer;
mod caller;
mod commands;
mod idle;
mod marks;
mod problem;
mod reads;
mod routes;
mod serve;

pub use serve::{Options, ServeError, serve};

/// Where the coordinator listens, inside the workspace's data folder.
pub const SOCKET: &str = "run/baton.sock";
