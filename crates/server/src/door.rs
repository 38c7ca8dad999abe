//! Doors: where callers come in. Every connection has its limits, and all end together.
//!
//! Each door has room of its own, so that a crowd at one does not keep anybody from the other.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

use crate::caller::Peer;

/// Connections at one door.
const CONNECTIONS_MAX: u32 = 2_048;
/// How long a connection may say nothing, or take to say what it asks for.
const SILENCE_MAX: Duration = Duration::from_secs(75);
/// How long an answer may lie unread.
const UNREAD_MAX: Duration = Duration::from_secs(30);
/// How long a handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// The pause when the system has no more connections to give.
const PAUSE: Duration = Duration::from_millis(100);

/// What every door leads to.
#[derive(Clone)]
pub(crate) struct House {
    router: Router,
    stopping: watch::Receiver<bool>,
    room: Arc<Semaphore>,
    /// How long the other side may read nothing of what is sent to it.
    unread_max: Duration,
}

impl House {
    pub(crate) fn new(router: Router, stopping: watch::Receiver<bool>) -> Self {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
        Self { router, stopping, room, unread_max: UNREAD_MAX }
    }

    /// Lets callers in through `door` until the house closes, then waits for those inside.
    pub(crate) async fn open(self, door: Door) {
        let mut stopping = self.stopping.clone();
        let closes = async { drop(stopping.wait_for(|stopping| *stopping).await) };
        let mut closes = pin!(closes);
        loop {
            let room = self.room.clone().acquire_owned();
            let next = async { (room.await, door.accept().await) };
            let (room, arrival) = tokio::select! {
                () = &mut closes => break,
                next = next => next,
            };
            let Ok(arrival) = arrival else {
                // Most often too many open files; somebody will leave.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let house = self.clone();
            tokio::spawn(async move {
                house.receive(arrival).await;
                drop(room);
            });
        }
        // Whoever comes now hears at once that nobody is here, and need not wait for those inside.
        drop(door);
        let _ = self.room.acquire_many(CONNECTIONS_MAX).await;
    }

    async fn receive(self, arrival: Arrival) {
        match arrival {
            Arrival::Socket(stream) => {
                let peer = Peer::of(&stream);
                self.converse(stream, peer).await;
            }
            Arrival::Clear(stream) => self.converse(stream, Peer::Network).await,
            Arrival::Tls(stream, tls) => {
                let greeted = tokio::time::timeout(HANDSHAKE_MAX, tls.accept(stream));
                // Whoever fails to greet has no way to be told why.
                if let Ok(Ok(stream)) = greeted.await {
                    self.converse(stream, Peer::Network).await;
                }
            }
        }
    }

    async fn converse(mut self, stream: impl AsyncRead + AsyncWrite + Unpin, peer: Peer) {
        let routes = TowerToHyperService::new(self.router);
        let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let answer = routes.call(request.map(Body::new));
            async move { answer.await as Result<_, Infallible> }
        });
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.unread_max));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(SILENCE_MAX)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ = &mut connection => return,
            _ = self.stopping.wait_for(|stopping| *stopping) => (),
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// A way in.
pub(crate) enum Door {
    /// The workspace's socket.
    Socket(UnixListener),
    /// The network, in clear text.
    Clear(TcpListener),
    /// The network, over TLS.
    Tls(TcpListener, TlsAcceptor),
}

/// Somebody at a door.
enum Arrival {
    Socket(UnixStream),
    Clear(TcpStream),
    Tls(TcpStream, TlsAcceptor),
}

impl Door {
    async fn accept(&self) -> io::Result<Arrival> {
        let prompt = |(stream, _): (TcpStream, _)| {
            // Small answers go out at once; where that cannot be, they go out a little later.
            let _ = stream.set_nodelay(true);
            stream
        };
        Ok(match self {
            Self::Socket(listener) => Arrival::Socket(listener.accept().await?.0),
            Self::Clear(listener) => Arrival::Clear(listener.accept().await.map(prompt)?),
            Self::Tls(listener, tls) => {
                Arrival::Tls(listener.accept().await.map(prompt)?, tls.clone())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn whoever_does_not_read_its_answer_is_let_go() {
        let page = "a page that is too long for what lies between\n".repeat(100);
        let router = Router::new().route("/", get(async || page));
        let stopping = watch::Sender::new(false);
        let mut house = House::new(router, stopping.subscribe());
        house.unread_max = Duration::from_millis(1);
        let (mut caller, ours) = tokio::io::duplex(1_024);
        caller.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("it is sent");
        house.converse(ours, Peer::Network).await;
        let mut read = Vec::new();
        caller.read_to_end(&mut read).await.expect("the connection is over");
        assert!(read.starts_with(b"HTTP/1.1 200"), "it was answered, and did not read it");
        assert!(read.len() <= 1_024);
    }
}
