//! Where a piece of work belongs in a distributed trace, in the form of W3C Trace Context.
//!
//! Nothing is drawn at random: the span of a handoff is named by the handoff's id, and its trace
//! by whoever passed it or else by the workflow's id.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::hex::hex;
use crate::id::{HandoffId, WorkflowId};

/// A trace and a span in it, as the header `traceparent` carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceParent {
    trace: [u8; 16],
    span: [u8; 8],
    sampled: bool,
}

/// A text that names no span.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a traceparent; expected a form like \
     00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)]
pub struct TraceParentError {
    text: String,
}

impl TraceParent {
    /// The span of a handoff. `given` is what it was passed under, if anything was given.
    pub fn of_handoff(given: Option<Self>, workflow: WorkflowId, handoff: HandoffId) -> Self {
        let trace = given.map_or(*workflow.as_bytes(), |given| given.trace);
        let mut span = [0; 8];
        span.copy_from_slice(&handoff.as_bytes()[..8]);
        Self { trace, span, sampled: given.is_none_or(|given| given.sampled) }
    }

    /// The trace.
    pub fn trace(&self) -> [u8; 16] {
        self.trace
    }

    /// The span.
    pub fn span(&self) -> [u8; 8] {
        self.span
    }

    /// Whether whoever began the trace wants to have its spans.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// The trace as traces and the audit name it.
    pub fn trace_id(&self) -> String {
        hex(&self.trace)
    }

    /// The span as traces and the audit name it.
    pub fn span_id(&self) -> String {
        hex(&self.span)
    }
}

/// The bytes that `N` pairs of lowercase digits stand for, unless all are zero.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let fits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(fits) {
        return None;
    }
    let mut bytes = [0; N];
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * n..2 * n + 2], 16).ok()?;
    }
    Some(bytes)
}

fn read(text: &str) -> Option<TraceParent> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    // Later versions may say more; what they say first means the same.
    let whole = version != "00" || parts.next().is_none();
    let [version] = bytes::<1>(version)?;
    let [flags] = bytes::<1>(flags)?;
    let (trace, span) = (bytes(trace)?, bytes(span)?);
    let named = trace != [0; 16] && span != [0; 8];
    let read = TraceParent { trace, span, sampled: flags & 1 == 1 };
    (whole && version != 0xff && named).then_some(read)
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        read(text).ok_or_else(|| TraceParentError { text: text.chars().take(80).collect() })
    }
}

impl TryFrom<String> for TraceParent {
    type Error = TraceParentError;

    fn try_from(text: String) -> Result<Self, TraceParentError> {
        text.parse()
    }
}

impl From<TraceParent> for String {
    fn from(parent: TraceParent) -> Self {
        parent.to_string()
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-0{}", hex(&self.trace), hex(&self.span), u8::from(self.sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_reads_as_it_is_written_and_nothing_else_is_one() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let read: TraceParent = text.parse().expect("the standard's example");
        assert_eq!(read.to_string(), text);
        assert!(read.is_sampled());
        let later = format!("cc{}-more", &text[2..]);
        assert_eq!(later.parse(), Ok(read), "a later version may say more");
        for wrong in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-ää7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert!(wrong.parse::<TraceParent>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_handoff_is_a_span_of_the_trace_that_it_was_passed_under() {
        let (workflow, handoff) = (WorkflowId::from_bytes([7; 16]), HandoffId::from_bytes([9; 16]));
        let own = TraceParent::of_handoff(None, workflow, handoff);
        assert_eq!(own.to_string(), format!("00-{}-{}-01", "07".repeat(16), "09".repeat(8)));
        let given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00".parse().ok();
        let under = TraceParent::of_handoff(given, workflow, handoff);
        assert_eq!(under.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!((under.span_id(), under.is_sampled()), ("09".repeat(8), false));
    }
}
