//! The coordinator: the engine behind HTTP routes, on a Unix socket and on the network, one for
//! each workspace.
//!
//! It knows who calls and speaks JSON; every decision is the engine's. `api` makes routes that
//! describe themselves, `routes` are they, `wire` is what they take and answer with.

mod api;
mod caller;
mod door;
mod guard;
mod idle;
mod marks;
mod mcp;
mod metrics;
mod network;
mod passage;
mod rate;
mod routes;
mod serve;
mod socket;
mod telemetry;
mod tenure;
mod wire;

pub use marks::{ancestors, is_marked};
pub use network::{Listen, Network, Tls};
pub use routes::openapi;
pub use serve::{Options, ServeError, serve};
pub use socket::Socket;
