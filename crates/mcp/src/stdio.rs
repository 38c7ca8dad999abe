//! A session over standard input and output. It is here and not where it is started, so that all of
//! it lies together: pages of the program that a session does not need stay out of its memory.

use std::sync::Arc;

use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::service::ServerInitializeError;
use rmcp::{ServerHandler, ServiceExt};
use tokio::task::JoinError;

use crate::{Desk, Server};

/// Why a session did not go on until the client left.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Nobody said what a client of MCP says first.
    #[error("no session began: {0}")]
    NotBegun(Box<ServerInitializeError>),
    /// It ended in the middle.
    #[error("the session broke off: {0}")]
    BrokeOff(JoinError),
}

/// Holds a session at this desk until the client leaves.
pub async fn serve_stdio(desk: Arc<dyn Desk>) -> Result<(), SessionError> {
    hold(Server::new(desk)).await
}

/// Holds a session where there is no desk: it says why, and has nothing to offer.
pub async fn serve_nowhere(why: String) -> Result<(), SessionError> {
    hold(Nowhere { why }).await
}

/// A client that was told of us for all its folders starts us in those that are not ours, too. It
/// would tell a person about a server that fails, and a model about tools that do nothing.
struct Nowhere {
    why: String,
}

impl ServerHandler for Nowhere {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::default())
            .with_server_info(Implementation::new("baton", env!("CARGO_PKG_VERSION")))
            .with_instructions(&self.why)
    }
}

async fn hold(server: impl ServerHandler) -> Result<(), SessionError> {
    let session = match server.serve(rmcp::transport::stdio()).await {
        Ok(session) => session,
        // A client that leaves before it said anything wanted nothing.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(SessionError::NotBegun(Box::new(error))),
    };
    session.waiting().await.map(drop).map_err(SessionError::BrokeOff)
}
