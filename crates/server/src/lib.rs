//! The coordinator: the engine behind HTTP routes on a Unix socket, one for each workspace.
//!
//! It knows who calls and speaks JSON; every decision is the engine's.

mod answer;
mod caller;
mod commands;
mod door;
mod guard;
mod idle;
mod marks;
mod network;
mod problem;
mod proof;
mod rate;
mod reads;
mod routes;
mod serve;
mod socket;

pub use network::{Listen, Network, Tls};
pub use serve::{Options, ServeError, serve};
pub use socket::Socket;
