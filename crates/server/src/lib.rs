//! The coordinator: the engine behind HTTP routes on a Unix socket, one for each workspace.
//!
//! It knows who calls and speaks JSON; every decision is the engine's.

mod caller;
mod idle;
mod marks;
mod routes;
mod serve;
mod socket;
mod wire;

pub use serve::{Options, ServeError, serve};
pub use socket::Socket;
