//! The line to a coordinator: the socket of a workspace on this machine, or an address on the
//! network.

use std::io;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Uri;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::workspace::Workspace;

/// How long a socket that is there but has a full queue is tried.
const BUSY_WITHIN: Duration = Duration::from_secs(10);

/// Where the coordinator is.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// At the socket of a workspace, where it is started if need be.
    Socket(Workspace),
    /// Somewhere on the network, where others run it.
    Network(Address),
}

/// Why a question got no answer.
#[derive(Debug)]
pub(crate) enum Lost {
    /// Nobody listens there.
    NobodyThere,
    /// Something on the way does not let us through.
    Unreachable(String),
    /// The connection broke before the answer was whole.
    Broken(String),
    /// It took too long; whether it was done is not known.
    Late,
}

/// Anything that bytes go to and come from.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Line {
    /// Connects to the coordinator.
    pub(crate) async fn connect(&self) -> Result<Box<dyn Stream>, Lost> {
        match self {
            Self::Socket(workspace) => Ok(Box::new(to_socket(workspace).await?)),
            Self::Network(address) => address.connect().await,
        }
    }

    /// What a request says it asks for.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Socket(_) => "baton",
            Self::Network(address) => &address.authority,
        }
    }
}

async fn to_socket(workspace: &Workspace) -> Result<UnixStream, Lost> {
    let unreachable =
        |error: io::Error| Lost::Unreachable(format!("{}: {error}", workspace.root().display()));
    let socket = match workspace.socket() {
        Ok(socket) => socket,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Lost::NobodyThere),
        Err(error) => return Err(unreachable(error)),
    };
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let error = match UnixStream::connect(socket.path()).await {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                return Err(Lost::NobodyThere);
            }
            // More callers at once than the socket's queue holds: it is there, only busy.
            io::ErrorKind::WouldBlock if begun.elapsed() < BUSY_WITHIN => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(50));
            }
            _ => return Err(unreachable(error)),
        }
    }
}

/// An address on the network, as `--url` gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    authority: String,
    host: String,
    port: u16,
    tls: bool,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "expected http://HOST:PORT or https://HOST:PORT, with nothing behind it".to_owned();
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let (tls, port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            Some(_) | None => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        let bare = uri.path() == "/" && uri.query().is_none();
        if !bare || authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(wrong());
        }
        let said = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        if !said.is_empty() && authority.port_u16().is_none() {
            return Err(format!("{said} is no port; expected :1 to :65535"));
        }
        Ok(Self {
            authority: authority.to_string(),
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(port),
            tls,
        })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.authority)
    }
}

impl Address {
    /// Whether everybody in between can read what is said.
    pub(crate) fn is_clear(&self) -> bool {
        !self.tls
    }

    async fn connect(&self) -> Result<Box<dyn Stream>, Lost> {
        let unreachable = |why: &dyn std::fmt::Display| Lost::Unreachable(format!("{self}: {why}"));
        let stream = match TcpStream::connect((self.host.as_str(), self.port)).await {
            Ok(stream) => stream,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(Lost::NobodyThere);
            }
            Err(error) => return Err(unreachable(&error)),
        };
        // Small requests go out at once; where that cannot be, they go out a little later.
        let _ = stream.set_nodelay(true);
        if !self.tls {
            return Ok(Box::new(stream));
        }
        let tls = connector().map_err(|why| unreachable(&why))?;
        let name = ServerName::try_from(self.host.clone()).map_err(|e| unreachable(&e))?;
        let stream = tls.connect(name, stream).await.map_err(|error| unreachable(&error))?;
        Ok(Box::new(stream))
    }
}

/// Trusts what the system trusts, or only what `BATON_CA` names.
fn connector() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    match std::env::var_os("BATON_CA") {
        Some(file) => {
            let file = Path::new(&file);
            let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
            for certificate in CertificateDer::pem_file_iter(file).map_err(|e| wrong(&e))? {
                let certificate = certificate.map_err(|e| wrong(&e))?;
                roots.add(certificate).map_err(|error| wrong(&error))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_a_host_and_a_port() {
        let read = |text: &str| text.parse::<Address>();
        let found = read("http://[::1]:7800/").expect("an address");
        assert_eq!((found.host.as_str(), found.port, found.tls), ("::1", 7800, false));
        let found = read("https://baton.example").expect("an address");
        assert_eq!((found.host.as_str(), found.port, found.tls), ("baton.example", 443, true));
        assert_eq!(found.to_string(), "https://baton.example");
        for wrong in
            ["", "baton.example", "ftp://x", "http://x/v1", "http://x?y", "http://a:b@x", "http://"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read("http://127.0.0.1:99999").is_err_and(|why| why.contains("is no port")));
    }
}
