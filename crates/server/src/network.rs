//! Listening on the network: where, with what secrecy, and for whom. What would leave the door open
//! by mistake refuses to start.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_engine::Engine;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::serve::ServeError;

/// How a coordinator is reached over the network.
#[derive(Clone, Debug)]
pub struct Network {
    /// Where it listens.
    pub listen: Listen,
    /// By which certificate it is known, if it speaks TLS.
    pub tls: Option<Tls>,
    /// Whether it may speak in clear text to other machines, because something else protects it.
    pub clear_text: bool,
    /// The names, besides `localhost` and addresses, under which callers may ask for it.
    pub hosts: Vec<String>,
}

/// Where to listen.
#[derive(Clone, Copy, Debug)]
pub enum Listen {
    /// Here and nowhere else.
    At(SocketAddr),
    /// Here, or at another port if this one is taken.
    Near(SocketAddr),
}

impl Listen {
    fn address(self) -> SocketAddr {
        match self {
            Self::At(address) | Self::Near(address) => address,
        }
    }

    async fn bind(self) -> io::Result<TcpListener> {
        match (self, TcpListener::bind(self.address()).await) {
            (Self::Near(address), Err(error)) if error.kind() == io::ErrorKind::AddrInUse => {
                TcpListener::bind(SocketAddr::new(address.ip(), 0)).await
            }
            (Self::At(_) | Self::Near(_), bound) => bound,
        }
    }
}

/// A certificate and its key, as PEM files.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate, and those between it and a root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// A door to the network that is open.
pub(crate) struct Opened {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) url: String,
}

impl Network {
    /// Opens the door, if nothing speaks against it.
    pub(crate) async fn open(&self, engine: &Engine) -> Result<Opened, ServeError> {
        let address = self.listen.address();
        let refuse = |why: &str, hint: &'static str| {
            let why = format!("will not listen at {address}: {why}");
            Err(ServeError::Unsafe { why, hint })
        };
        if !is_local(address.ip()) {
            if self.tls.is_none() && !self.clear_text {
                return refuse(
                    "other machines would send their tokens in clear text",
                    "give --tls-cert and --tls-key, or --clear-text if something else protects it",
                );
            }
            let tokens = engine.tokens_in_force().await;
            if tokens.map_err(ServeError::of_ledger)? == 0 {
                return refuse(
                    "there is no token yet, so nobody could call",
                    "make one first: baton token create --agent NAME",
                );
            }
        }
        let tls = self.tls.as_ref().map(Tls::acceptor).transpose()?;
        let failed = |source| ServeError::Io { doing: format!("listen at {address}"), source };
        let listener = self.listen.bind().await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let url = format!("{}://{bound}", if tls.is_some() { "https" } else { "http" });
        Ok(Opened { listener, tls, url })
    }
}

fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

impl Tls {
    fn acceptor(&self) -> Result<TlsAcceptor, ServeError> {
        let wrong = |path: &Path, why: &dyn std::fmt::Display| {
            let why = format!("cannot use {}: {why}", path.display());
            let hint = "give a certificate and its private key as PEM files";
            ServeError::Unsafe { why, hint }
        };
        let certificates = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(&self.certificate, &error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|e| wrong(&self.key, &e))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
            .map_err(|error| wrong(&self.certificate, &error))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
