//! The key by which a caller names its asking, so that asking twice is asking once, and what else
//! the head of a request says about a change.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use baton_engine::view::Answer;
use baton_protocol::command::Command;
use baton_protocol::limits::KEY_BYTES_MAX;
use baton_protocol::trace::TraceParent;

use super::Problem;

/// The `Idempotency-Key` of a request, if it has one, the span that it is asked from, and how much
/// its caller wants to hear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Key {
    text: Option<String>,
    from: Option<TraceParent>,
    /// Only what a caller needs to go on.
    brief: bool,
}

impl Key {
    /// A key as a caller may choose it.
    pub(crate) fn checked(key: &str) -> Result<Self, Problem> {
        let printable = key.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
        match printable && (1..=KEY_BYTES_MAX).contains(&key.len()) {
            true => Ok(Self { text: Some(key.to_owned()), ..Self::default() }),
            false => {
                let detail =
                    format!("not a key; expected 1 to {KEY_BYTES_MAX} printable ASCII bytes");
                Err(Problem::bad_input(Some("Idempotency-Key".to_owned()), detail))
            }
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The key of one of several askings that one request needs.
    pub(crate) fn part(&self, part: &str) -> Self {
        let text = self.text.as_ref().map(|key| format!("{key} {part}"));
        Self { text, ..self.clone() }
    }

    /// As much of an answer as the caller wants to hear.
    pub(crate) fn cut(&self, mut answer: Answer) -> Answer {
        if self.brief {
            answer.events = Vec::new();
        }
        answer
    }

    /// Lets a command be part of the trace that its request is part of, unless it says otherwise.
    pub(crate) fn follow(&self, command: &mut Command) {
        let place = match command {
            Command::Pass(pass) => &mut pass.context.traceparent,
            Command::Accept(accept) => &mut accept.traceparent,
            _ => return,
        };
        *place = place.or(self.from);
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let key = match parts.headers.get("idempotency-key") {
            Some(key) => Self::checked(key.to_str().unwrap_or(""))?,
            None => Self::default(),
        };
        // A header that names no span is as good as none: that is what its standard asks for.
        let from = parts.headers.get("traceparent");
        let from = from.and_then(|header| header.to_str().ok()?.parse().ok());
        Ok(Self { from, brief: wants_little(&parts.headers), ..key })
    }
}

/// Whether there is a `Prefer: return=minimal`, among whatever else is preferred.
fn wants_little(headers: &HeaderMap) -> bool {
    let preferred = headers.get_all("prefer").iter().filter_map(|header| header.to_str().ok());
    let mut each = preferred.flat_map(|header| header.split(',')).filter_map(|one| {
        let (name, value) = one.split(';').next()?.split_once('=')?;
        Some((name.trim(), value.trim().trim_matches('"')))
    });
    each.any(|(name, value)| name.eq_ignore_ascii_case("return") && value == "minimal")
}
