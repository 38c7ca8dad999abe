//! Ends an answer's stream while it is still worked on, for the one fixture of the conformance
//! suite that wants it. Only a build with the feature `conformance` has this.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{header, request};
use axum::middleware::Next;
use axum::response::Response;
use baton_mcp::Asker;
use futures_util::StreamExt;
use tokio::sync::Notify;

/// The line on which one request is answered.
#[derive(Clone, Default)]
struct Line(Arc<Notify>);

/// Gives each request a line, and lets its stream end when that is hung up.
pub(super) async fn lead(mut request: Request, next: Next) -> Response {
    let line = Line::default();
    request.extensions_mut().insert(line.clone());
    let (parts, body) = next.run(request).await.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != "text/event-stream") {
        return Response::from_parts(parts, body);
    }
    let hung_up = async move { line.0.notified().await };
    let pieces = body.into_data_stream().take_until(hung_up);
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// Hangs up on whoever asked.
pub(super) fn end(from: &Asker) {
    let asked = from.get::<request::Parts>();
    if let Some(line) = asked.and_then(|asked| asked.extensions.get::<Line>()) {
        line.0.notify_one();
    }
}
