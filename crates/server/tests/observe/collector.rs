//! A collector that takes traces, by OTLP over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
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

/// A collector that listens.
pub(crate) struct Collector {
    url: String,
    told: mpsc::UnboundedReceiver<Told>,
}

impl Collector {
    pub(crate) async fn open() -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        let take = move |body: Bytes| async move {
            let sent = ExportTraceServiceRequest::decode(body).expect("OTLP");
            for resource in sent.resource_spans {
                let of = resource.resource.map(|resource| resource.attributes).unwrap_or_default();
                let service = texts!(of).remove("service.name").unwrap_or_default();
                for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                    // Nobody listens once the test is over.
                    let _ = tell.send(told_of(&span, &service));
                }
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let routes = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, told }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// The next span that comes.
    pub(crate) async fn next(&mut self) -> Told {
        let next = tokio::time::timeout(WITHIN, self.told.recv()).await;
        next.expect("a span in time").expect("a span")
    }
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
