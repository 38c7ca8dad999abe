//! What a collector's answer means for the spans it was about, as OTLP over HTTP has it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::header::RETRY_AFTER;
use hyper::{Response, StatusCode};

/// The longest pause that a collector can ask for.
const ASKED_MAX: Duration = Duration::from_secs(60 * 60);

/// What becomes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The collector has it.
    Taken,
    /// It is sent again, after this long if the collector said how long.
    Later { status: StatusCode, after: Option<Duration> },
    /// The collector will never take it, so it is not sent again.
    Never { status: StatusCode },
}

impl Answer {
    pub(super) fn of<T>(response: &Response<T>, now: SystemTime) -> Self {
        let status = response.status();
        if status.is_success() {
            return Self::Taken;
        }
        match status.as_u16() {
            429 | 502 | 503 | 504 => {
                let said = response.headers().get(RETRY_AFTER).and_then(|text| text.to_str().ok());
                Self::Later { status, after: said.and_then(|text| pause(text, now)) }
            }
            _ => Self::Never { status },
        }
    }
}

/// How long a `Retry-After` header says to wait: in seconds, or until a moment.
fn pause(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let asked = match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Duration::from_secs(text.parse().unwrap_or(u64::MAX)),
        false => {
            let until = httpdate::parse_http_date(text).ok()?;
            until.duration_since(now).unwrap_or_default()
        }
    };
    Some(asked.min(ASKED_MAX))
}

/// The answer to the last batch: the exporter keeps it to itself and tells only that there was none
/// it liked.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<Option<Answer>>>);

impl Heard {
    pub(super) fn note(&self, answer: Answer) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    /// What was answered since this was last asked; nothing if no answer came.
    pub(super) fn take(&self) -> Option<Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a batch that is answered with `status` at the beginning of 2026.
    fn told(status: u16, wait: Option<&str>) -> String {
        let now = httpdate::parse_http_date("Thu, 01 Jan 2026 00:00:00 GMT").expect("a moment");
        let mut response = Response::builder().status(status);
        if let Some(wait) = wait {
            response = response.header(RETRY_AFTER, wait);
        }
        match Answer::of(&response.body(()).expect("a response"), now) {
            Answer::Taken => "taken".to_owned(),
            Answer::Later { after: None, .. } => "later".to_owned(),
            Answer::Later { after: Some(after), .. } => format!("after {}s", after.as_secs()),
            Answer::Never { status } => format!("never: {}", status.as_u16()),
        }
    }

    #[test]
    fn only_what_may_pass_is_a_reason_to_send_again() {
        for status in [200, 202] {
            assert_eq!(told(status, None), "taken");
        }
        for status in [429, 502, 503, 504] {
            assert_eq!(told(status, None), "later");
        }
        for status in [301, 400, 401, 403, 404, 408, 413, 500, 501] {
            assert_eq!(told(status, Some("1")), format!("never: {status}"));
        }
    }

    #[test]
    fn a_collector_says_how_long_to_wait_but_not_for_ever() {
        for (said, then) in [
            ("7", "after 7s"),
            ("Thu, 01 Jan 2026 00:00:30 GMT", "after 30s"),
            ("Wed, 31 Dec 2025 23:59:00 GMT", "after 0s"),
            ("99999999", "after 3600s"),
            ("99999999999999999999", "after 3600s"),
            ("+7", "later"),
            ("Fri, 01 Jan 2027 00:00:00 GMT", "after 3600s"),
            ("soon", "later"),
            ("-1", "later"),
        ] {
            assert_eq!(told(503, Some(said)), then, "{said}");
        }
    }
}
