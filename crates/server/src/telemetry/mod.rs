//! Traces for a collector, by OTLP over HTTP: one span a handoff, from its beginning to its end.
//!
//! Spans are made from the ledger, behind everybody's back: nobody waits for a collector, and one
//! that is away hears of everything once it is back, also if the coordinator was restarted. Where
//! no collector is configured, none of this runs.

mod answer;
mod http;
mod span;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use baton_engine::{Engine, causes};
use opentelemetry_otlp::{
    ExporterBuildError, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::task::JoinHandle;

use self::answer::{Answer, Heard};

/// Spans that are sent at once.
const BATCH: u32 = 256;
/// How long spans gather before they are sent.
const PACE: Duration = Duration::from_millis(500);
/// The pauses after a failure, the first and the longest.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// The file that says up to which record spans were sent.
const CURSOR: &str = "traces.cursor";

/// Sends spans for as long as the ledger works, if a collector is configured.
pub(crate) fn start(engine: &Arc<Engine>, data: &Path, configured: Option<&str>) -> JoinHandle<()> {
    let engine = engine.clone();
    let cursor = Cursor(data.join(CURSOR));
    let endpoint = endpoint(configured, |name| std::env::var(name).ok());
    tokio::spawn(async move {
        let Some(endpoint) = endpoint else { return };
        let heard = Heard::default();
        match exporter(&endpoint, heard.clone()) {
            Ok(exporter) => {
                tracing::info!(endpoint = shown(&endpoint), "traces go to a collector");
                let refusing = AtomicU16::new(0);
                Sender { engine, exporter, heard, refusing, cursor }.run().await;
            }
            Err(error) => {
                tracing::error!(%error, endpoint = shown(&endpoint), "no traces are sent");
            }
        }
    })
}

/// Where spans go, if anywhere. The environment has the last word.
fn endpoint(configured: Option<&str>, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let named = |name: &str| env(name).filter(|text| !text.trim().is_empty());
    if named("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return None;
    }
    let below = |base: &str| format!("{}/v1/traces", base.trim_end_matches('/'));
    named("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        .or_else(|| named("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| below(&base)))
        .or_else(|| configured.map(below))
}

/// The endpoint without what somebody may have hidden in it.
fn shown(endpoint: &str) -> String {
    let (scheme, rest) = endpoint.split_once("://").unwrap_or(("", endpoint));
    let rest = rest.split(['?', '#']).next().unwrap_or("");
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    format!("{scheme}://{rest}")
}

fn exporter(endpoint: &str, heard: Heard) -> Result<SpanExporter, ExporterBuildError> {
    let client = http::Client::new(heard);
    // Its own retries sleep on a thread that others work on.
    let once = RetryPolicy::disabled();
    let builder = SpanExporter::builder().with_http().with_http_client(client);
    let builder = builder.with_retry_policy(once);
    let mut exporter = builder.with_endpoint(endpoint).build()?;
    let mut resource = Resource::builder();
    if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("baton");
    }
    exporter.set_resource(&resource.build());
    Ok(exporter)
}

struct Sender {
    engine: Arc<Engine>,
    exporter: SpanExporter,
    heard: Heard,
    /// The status with which the collector refused the last batch, or 0.
    refusing: AtomicU16,
    cursor: Cursor,
}

/// Why spans were not sent, and how long to wait if the collector said so.
struct Unsent {
    why: String,
    after: Option<Duration>,
}

impl Unsent {
    fn because(why: impl ToString) -> Self {
        Self { why: why.to_string(), after: None }
    }
}

impl Sender {
    async fn run(self) {
        let mut changes = self.engine.changes();
        let mut after = self.cursor.read(self.engine.recorded());
        let mut pause = RETRY;
        loop {
            changes.mark_unchanged();
            match self.send(after).await {
                Ok(last) => {
                    pause = RETRY;
                    if last == after && changes.changed().await.is_err() {
                        return;
                    }
                    after = last;
                    tokio::time::sleep(PACE).await;
                }
                Err(Unsent { why, after: asked }) => {
                    tracing::warn!(why, "could not send traces; they are sent later");
                    tokio::time::sleep(rest(asked, pause)).await;
                    // A collector that says how long to wait is there.
                    if asked.is_none() {
                        pause = (pause * 2).min(RETRY_MAX);
                    }
                }
            }
        }
    }

    /// Sends the spans that ended after the record `after`. Returns up to which record.
    async fn send(&self, after: u64) -> Result<u64, Unsent> {
        let found = self.engine.spans(after, BATCH).await;
        let (spans, last) = found.map_err(|failure| Unsent::because(causes(&failure)))?;
        if !spans.is_empty() {
            self.export(spans.iter().map(span::data).collect()).await?;
        }
        if last > after {
            self.cursor.write(last).map_err(Unsent::because)?;
        }
        Ok(last)
    }

    /// Sends a batch. One that the collector will never take is over as well: sent again, it would
    /// keep all that comes after it from getting there.
    async fn export(&self, batch: Vec<SpanData>) -> Result<(), Unsent> {
        let spans = batch.len();
        let sent = self.exporter.export(batch).await;
        match self.heard.take() {
            Some(Answer::Taken) => {
                self.refusing.store(0, Ordering::Relaxed);
                Ok(())
            }
            Some(Answer::Never { status }) => {
                let status = status.as_u16();
                // Said once, and not for each batch of a collector that refuses them all.
                if self.refusing.swap(status, Ordering::Relaxed) != status {
                    tracing::warn!(status, spans, "the collector refused traces; they are dropped");
                }
                Ok(())
            }
            Some(Answer::Later { status, after }) => {
                Err(Unsent { why: format!("the collector answered {status}"), after })
            }
            None => sent.map_err(Unsent::because),
        }
    }
}

/// How long to wait before spans are sent again: as long as the collector asked for, if it did.
fn rest(asked: Option<Duration>, pause: Duration) -> Duration {
    asked.unwrap_or(pause).max(PACE)
}

/// Remembers up to which record spans were sent.
struct Cursor(PathBuf);

impl Cursor {
    /// Where to go on. Whoever begins to trace begins with what comes.
    fn read(&self, recorded: u64) -> u64 {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let known = text.trim().parse().ok().filter(|known| *known <= recorded);
        known.unwrap_or_else(|| {
            if let Err(error) = self.write(recorded) {
                tracing::warn!(%error, "a crash may lose traces");
            }
            recorded
        })
    }

    fn write(&self, last: u64) -> io::Result<()> {
        let aside = self.0.with_extension("new");
        fs::write(&aside, format!("{last}\n"))?;
        fs::rename(aside, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_left_alone_for_as_long_as_it_asks() {
        let seconds = Duration::from_secs;
        assert_eq!(rest(Some(seconds(7)), seconds(1)), seconds(7));
        assert_eq!(rest(None, seconds(2)), seconds(2));
        assert_eq!(rest(Some(Duration::ZERO), seconds(2)), PACE);
    }

    #[test]
    fn the_environment_has_the_last_word_on_where_traces_go() {
        let ask = |configured, env: &[(&str, &str)]| {
            endpoint(configured, |name| {
                env.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
            })
        };
        let some = |text: &str| Some(text.to_owned());
        let base = "OTEL_EXPORTER_OTLP_ENDPOINT";
        assert_eq!(ask(None, &[]), None);
        assert_eq!(ask(Some("http://a:1/"), &[]), some("http://a:1/v1/traces"));
        assert_eq!(ask(Some("http://a:1"), &[(base, "")]), some("http://a:1/v1/traces"));
        assert_eq!(ask(Some("http://a:1"), &[(base, "http://b:2")]), some("http://b:2/v1/traces"));
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:3/own");
        assert_eq!(ask(None, &[(base, "http://b:2"), own]), some("http://c:3/own"));
        assert_eq!(ask(Some("http://a:1"), &[("OTEL_SDK_DISABLED", "true")]), None);
    }

    #[test]
    fn the_log_does_not_tell_what_is_hidden_in_an_endpoint() {
        assert_eq!(shown("https://me:word@x.example/v1?key=1"), "https://x.example/v1");
    }

    #[test]
    fn a_cursor_goes_on_where_it_was_and_never_ahead_of_the_ledger() {
        let folder = tempfile::tempdir().expect("a folder");
        let cursor = Cursor(folder.path().join(CURSOR));
        assert_eq!(cursor.read(7), 7, "without a cursor only what comes is sent");
        assert_eq!(cursor.read(9), 7);
        assert_eq!(cursor.read(3), 3, "the ledger was restored from an older copy");
    }
}
