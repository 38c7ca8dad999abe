//! The way to a collector: one connection a batch, by the HTTP and TLS that are here anyway.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::answer::{Answer, Heard};

/// How long one batch may take.
const WITHIN: Duration = Duration::from_secs(10);
/// Bytes of a collector's answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Sends batches.
#[derive(Debug)]
pub(super) struct Client {
    /// Made when the first connection needs it: reading what the system trusts takes a while.
    tls: OnceLock<Arc<ClientConfig>>,
    heard: Heard,
}

impl Client {
    pub(super) fn new(heard: Heard) -> Self {
        Self { tls: OnceLock::new(), heard }
    }

    fn connector(&self) -> Result<TlsConnector, HttpError> {
        let config = match self.tls.get() {
            Some(config) => config.clone(),
            None => {
                let config = Arc::new(trusting()?);
                self.tls.get_or_init(|| config).clone()
            }
        };
        Ok(TlsConnector::from(config))
    }

    async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let uri = request.uri().clone();
        let authority = uri.authority().ok_or("the endpoint names no host")?.clone();
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err("the endpoint is neither http:// nor https://".into()),
        };
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
        request.headers_mut().insert(HOST, authority.as_str().parse()?);
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = path.parse()?;
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        if tls {
            let stream = self.connector()?.connect(ServerName::try_from(host)?, stream).await?;
            self.exchange(stream, request).await
        } else {
            self.exchange(stream, request).await
        }
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, HttpError> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with the sender; why, the sender hears.
        let connection = tokio::spawn(connection);
        let answer = sender.send_request(request.map(Full::new)).await?;
        // The status is the answer, also if the words behind it are cut off or too many.
        self.heard.note(Answer::of(&answer, SystemTime::now()));
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
        connection.abort();
        Ok(Response::from_parts(head, body))
    }
}

/// An answer that comes later.
type Later<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for Client {
    // Written as the macro of the trait would write it, which is all that it is needed for.
    fn send_bytes<'own, 'later>(&'own self, request: Request<Bytes>) -> Later<'later>
    where
        'own: 'later,
        Self: 'later,
    {
        Box::pin(async move { tokio::time::timeout(WITHIN, self.send(request)).await? })
    }
}

/// Trusts what the system trusts.
fn trusting() -> Result<ClientConfig, HttpError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
