//! A handoff as OpenTelemetry writes a span.

use std::time::{Duration, SystemTime};

use baton_engine::{Moment, Span};
use baton_protocol::time::Timestamp;
use baton_protocol::trace::TraceParent;
use opentelemetry::trace::{
    Event, Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

/// The span as it is sent. It tells who, when and how it ended, and nothing of what it was about.
pub(super) fn data(span: &Span) -> SpanData {
    let mut links = SpanLinks::default();
    links.links = span.links.iter().map(link).collect();
    let mut events = SpanEvents::default();
    events.events = span.moments.iter().map(event).collect();
    SpanData {
        span_context: context(&span.context, false),
        parent_span_id: span.parent.map_or(SpanId::INVALID, SpanId::from_bytes),
        parent_span_is_remote: span.given,
        span_kind: SpanKind::Internal,
        name: format!("handoff {}", span.kind).into(),
        start_time: time(span.began),
        end_time: time(span.ended),
        attributes: attributes(span),
        dropped_attributes_count: 0,
        events,
        links,
        status: match span.failed {
            Some(why) => Status::error(why),
            None => Status::Ok,
        },
        instrumentation_scope: InstrumentationScope::builder("baton")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build(),
    }
}

fn attributes(span: &Span) -> Vec<KeyValue> {
    vec![
        KeyValue::new("baton.workflow.id", span.workflow.to_string()),
        KeyValue::new("baton.handoff.id", span.handoff.to_string()),
        KeyValue::new("baton.handoff.type", span.kind),
        KeyValue::new("baton.handoff.outcome", span.failed.unwrap_or("completed")),
        KeyValue::new("baton.agent.from", span.from.to_string()),
        KeyValue::new("baton.agent.to", span.to.to_string()),
    ]
}

fn link(accepting: &TraceParent) -> Link {
    Link::new(context(accepting, true), vec![KeyValue::new("baton.link", "accepted")], 0)
}

fn event(moment: &Moment) -> Event {
    let agent = moment.agent.as_ref().map(|agent| KeyValue::new("baton.agent", agent.to_string()));
    Event::new(moment.what, time(moment.at), agent.into_iter().collect(), 0)
}

fn context(place: &TraceParent, remote: bool) -> SpanContext {
    let flags = TraceFlags::default().with_sampled(place.is_sampled());
    let (trace, span) = (TraceId::from_bytes(place.trace()), SpanId::from_bytes(place.span()));
    SpanContext::new(trace, span, flags, remote, TraceState::default())
}

fn time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(at.as_micros()).unwrap_or(0))
}
