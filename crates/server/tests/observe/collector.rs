//! A collector that takes traces, by OTLP over HTTP.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::sync::mpsc;

/// How long a span may take to come.
const WITHIN: Duration = Duration::from_secs(30);

/// The attributes that are texts, whatever the library calls their type.
macro_rules! texts {
    ($attributes:expr) => {{
        let texts = $attributes.iter().filter_map(|one| {
            let said = format!("{:?}", one.value.as_ref()?.value.as_ref()?);
            let text = said.strip_prefix("StringValue(\"")?.strip_suffix("\")")?;
            Some((one.key.clone(), text.to_owned()))
        });
        texts.collect::<BTreeMap<String, String>>()
    }};
}

/// A span as tests look at it.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) span: String,
    pub(crate) parent: String,
    pub(crate) links: Vec<(String, String)>,
    pub(crate) events: Vec<String>,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) failed: String,
    pub(crate) service: String,
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

/// A status, and how long to wait as its header says it.
pub(crate) type No = (u16, Option<&'static str>);

/// A collector that listens.
pub(crate) struct Collector {
    url: String,
    told: mpsc::UnboundedReceiver<Told>,
    refused: mpsc::UnboundedReceiver<Told>,
}

impl Collector {
    pub(crate) async fn open() -> Self {
        Self::refusing(&[]).await
    }

    /// One that answers the first requests with these, one each, and takes the rest.
    pub(crate) async fn refusing(first: &[No]) -> Self {
        let first = Arc::new(Mutex::new(VecDeque::from(first.to_vec())));
        let (tell, told) = mpsc::unbounded_channel();
        let (refuse, refused) = mpsc::unbounded_channel();
        let take = move |body: Bytes| async move {
            let no = first.lock().expect("a list").pop_front();
            let to = if no.is_some() { refuse } else { tell };
            // Nobody listens once the test is over.
            spans_in(body).into_iter().for_each(|span| drop(to.send(span)));
            no.map_or_else(|| StatusCode::OK.into_response(), said)
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let routes = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, told, refused }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// The next span that comes.
    pub(crate) async fn next(&mut self) -> Told {
        let next = tokio::time::timeout(WITHIN, self.told.recv()).await;
        next.expect("a span in time").expect("a span")
    }

    /// The next span that it did not take.
    pub(crate) async fn next_refused(&mut self) -> Told {
        let next = tokio::time::timeout(WITHIN, self.refused.recv()).await;
        next.expect("a span in time").expect("a span")
    }
}

fn said((status, wait): No) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    match wait {
        Some(wait) => (status, [(header::RETRY_AFTER, wait)]).into_response(),
        None => status.into_response(),
    }
}

fn spans_in(body: Bytes) -> Vec<Told> {
    let sent = ExportTraceServiceRequest::decode(body).expect("OTLP");
    let mut told = Vec::new();
    for resource in sent.resource_spans {
        let of = resource.resource.map(|resource| resource.attributes).unwrap_or_default();
        let service = texts!(of).remove("service.name").unwrap_or_default();
        let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
        told.extend(spans.map(|span| told_of(&span, &service)));
    }
    told
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn told_of(span: &Span, service: &str) -> Told {
    Told {
        name: span.name.clone(),
        trace: hex(&span.trace_id),
        span: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        links: span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id))).collect(),
        events: span.events.iter().map(|event| event.name.clone()).collect(),
        attributes: texts!(span.attributes),
        failed: span.status.as_ref().map(|status| status.message.clone()).unwrap_or_default(),
        service: service.to_owned(),
        began: span.start_time_unix_nano,
        ended: span.end_time_unix_nano,
    }
}
