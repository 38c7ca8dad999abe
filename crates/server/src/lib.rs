//! The coordinator: the engine behind HTTP routes on a Unix socket, one for each workspace.
//!
//! It knows who calls and speaks JSON; every decision is the engine's.

mod answer;
mod caller;
mod commands;
mod idle;
mod marks;
mod problem;
mod proof;
mod reads;
mod routes;
mod runs;
mod serve;
mod socket;

pub use serve::{Options, ServeError, serve};
pub use socket::Socket;
