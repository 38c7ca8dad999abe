//! Listens to what happens, on one connection after the other: a coordinator that ends or dies is
//! waited for, and asked to go on behind the last event that was heard.

use std::future::pending;
use std::ops::ControlFlow;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, HeaderValue};
use serde::Deserialize;
use tokio::signal::unix::{SignalKind, signal};

use super::remote::{ANSWER_BYTES_MAX, Ask, broken};
use super::{Client, reading};
use crate::failure::{self, Exit, Failure};
use crate::line::Lost;

/// How long a stream may be silent: it shows every 15 s that it lives.
const SILENT_WITHIN: Duration = Duration::from_secs(60);
/// How long it is waited before the coordinator is looked for again, the first time.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// The longest such wait.
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(1);
/// Bytes of one event.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    id: Option<u64>,
    kind: String,
    /// What it says, exactly as the coordinator said it.
    pub(crate) data: String,
}

/// Why listening ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Listened {
    /// The listener heard what it wanted.
    Enough,
    /// A person or the system said so.
    Interrupted,
    /// The time was up.
    TimeUp,
}

/// The last event of a stream that the coordinator ends.
#[derive(Deserialize)]
struct LastWord {
    code: String,
    detail: String,
    after: Option<u64>,
}

/// Why one connection ended.
enum Over {
    /// The listener heard what it wanted.
    Enough,
    /// The coordinator went away; another one goes on.
    Gone,
}

impl Client {
    /// Hears every event of `path` behind number `after`, until `heard` has enough, the time is up
    /// or a signal comes. When the coordinator goes away, `away` is told, once each time, and no
    /// other is started: whoever stopped it had a reason, and whoever needs it starts it.
    pub(crate) fn listen(
        &self,
        path: impl Into<String>,
        after: u64,
        within: Option<Duration>,
        away: impl Fn(),
        heard: impl FnMut(Heard) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<Listened, Failure> {
        let ask = reading(path.into(), Duration::ZERO);
        self.runtime.block_on(async {
            let mut listener = Listener { client: self, ask, after, met: false, heard };
            tokio::select! {
                () = interrupted() => Ok(Listened::Interrupted),
                () = up(within) => Ok(Listened::TimeUp),
                done = listener.keep_on(away) => done.map(|()| Listened::Enough),
            }
        })
    }
}

/// Until a signal says that it is enough.
async fn interrupted() {
    let [Ok(mut int), Ok(mut term)] =
        [SignalKind::interrupt(), SignalKind::terminate()].map(signal)
    else {
        // Without our own ways to end there are the system's.
        return pending().await;
    };
    tokio::select! {
        _ = int.recv() => (),
        _ = term.recv() => (),
    }
}

async fn up(within: Option<Duration>) {
    match within {
        Some(within) => tokio::time::sleep(within).await,
        None => pending().await,
    }
}

struct Listener<'a, F> {
    client: &'a Client,
    ask: Ask,
    after: u64,
    /// Whether the coordinator answered since it was last missed.
    met: bool,
    heard: F,
}

impl<F: FnMut(Heard) -> Result<ControlFlow<()>, Failure>> Listener<'_, F> {
    /// Listens again and again until it is enough.
    async fn keep_on(&mut self, away: impl Fn()) -> Result<(), Failure> {
        let mut pause = AGAIN_AFTER;
        let mut first = true;
        loop {
            match self.once().await? {
                Ok(Over::Enough) => return Ok(()),
                Err(lost @ Lost::Unreachable(_)) if first => {
                    return Err(self.client.remote.told(lost, &self.ask));
                }
                Ok(Over::Gone) | Err(_) => (),
            }
            if std::mem::take(&mut self.met) || first {
                away();
                pause = AGAIN_AFTER;
            }
            first = false;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(AGAIN_AFTER_MAX);
        }
    }

    /// Listens on one connection. The outer error ends it all, the inner one only this.
    async fn once(&mut self) -> Result<Result<Over, Lost>, Failure> {
        let (answer, connection) = match self.connect().await {
            Ok(connected) => connected,
            Err(lost) => return Ok(Err(lost)),
        };
        let status = answer.status().as_u16();
        let over = match status {
            200..=299 => {
                self.met = true;
                self.hear(answer.into_body()).await
            }
            // It is about to end, or has only just begun.
            500.. => Ok(Ok(Over::Gone)),
            _ => {
                let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
                let body = body.map(|all| all.to_bytes().to_vec()).unwrap_or_default();
                Err(failure::from_reply(status, &String::from_utf8_lossy(&body)))
            }
        };
        connection.abort();
        over
    }

    async fn connect(
        &self,
    ) -> Result<(Response<Incoming>, tokio::task::JoinHandle<hyper::Result<()>>), Lost> {
        let mut request = self.client.remote.request(&self.ask).map_err(|e| broken(&e))?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert("last-event-id", HeaderValue::from(self.after));
        let sent = tokio::time::timeout(self.ask.within, self.client.remote.send(request)).await;
        sent.unwrap_or(Err(Lost::Late))
    }

    async fn hear(&mut self, mut body: Incoming) -> Result<Result<Over, Lost>, Failure> {
        let mut parser = Parser::default();
        loop {
            let frame = match tokio::time::timeout(SILENT_WITHIN, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => return Ok(Err(broken(&error))),
                Ok(None) => return Ok(Ok(Over::Gone)),
                Err(_) => return Ok(Err(Lost::Late)),
            };
            let Some(bytes) = frame.data_ref() else { continue };
            for event in parser.take(bytes)? {
                if event.kind == "end" {
                    return self.ended(&event).map(Ok);
                }
                let id = event.id;
                if (self.heard)(event)?.is_break() {
                    return Ok(Ok(Over::Enough));
                }
                self.after = id.unwrap_or(self.after);
            }
        }
    }

    /// What to do when the coordinator says that this is the end.
    fn ended(&mut self, event: &Heard) -> Result<Over, Failure> {
        let Ok(word) = serde_json::from_str::<LastWord>(&event.data) else { return Ok(Over::Gone) };
        match word.code.as_str() {
            "unauthorized" => Err(Failure::new(
                Exit::Refused,
                &word.code,
                word.detail,
                "a person can make another with `baton token create`",
            )),
            "failed" => Err(Failure::failed(word.detail, "see .baton/run/coordinator.log")),
            _ => {
                self.after = word.after.unwrap_or(self.after);
                Ok(Over::Gone)
            }
        }
    }
}

/// Takes server-sent events out of what comes in pieces.
#[derive(Default)]
struct Parser {
    line: Vec<u8>,
    event: Heard,
}

impl Parser {
    /// The events that are whole with these bytes.
    fn take(&mut self, bytes: &Bytes) -> Result<Vec<Heard>, Failure> {
        let mut whole = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() + self.event.data.len() > EVENT_BYTES_MAX {
                let sentence = format!("an event is longer than {EVENT_BYTES_MAX} bytes");
                return Err(Failure::failed(sentence, "read it with `baton audit log` instead"));
            }
            if self.line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                let text = String::from_utf8_lossy(&line);
                whole.extend(self.line(text.trim_end_matches(['\r', '\n'])));
            }
        }
        Ok(whole)
    }

    fn line(&mut self, line: &str) -> Option<Heard> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Some(event).filter(|event| !event.data.is_empty());
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.event.id = value.parse().ok(),
            "event" => value.clone_into(&mut self.event.kind),
            "data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // A sign of life, or something that a later version says.
            _ => (),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_however_they_come_in_pieces() {
        let text = ": listening\nretry: 1000\n\n\
                    id: 4\nevent: AGENT_HANDOFF\ndata: {\"a\":\"ü\"}\n\n\
                    :\n\nid: 5\r\nevent: end\r\ndata: {}\r\n\r\nid: 6\ndata: half";
        let event = |id, kind: &str, data: &str| Heard {
            id: Some(id),
            kind: kind.to_owned(),
            data: data.to_owned(),
        };
        let expected = [event(4, "AGENT_HANDOFF", "{\"a\":\"ü\"}"), event(5, "end", "{}")];
        for size in 1..=text.len() {
            let mut parser = Parser::default();
            let mut found = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                found.extend(parser.take(&Bytes::copy_from_slice(piece)).expect("short"));
            }
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_not_kept_for_ever() {
        let mut parser = Parser::default();
        let piece = Bytes::from(vec![b'x'; EVENT_BYTES_MAX / 2]);
        assert!(parser.take(&piece).is_ok() && parser.take(&piece).is_ok());
        assert!(parser.take(&piece).is_err());
    }
}
