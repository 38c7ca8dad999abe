//! Every code that a problem can have, and the status it goes out with.

use baton_protocol::refusal::{Refusal, RefusalKind};

/// The codes that are not refusals by the rules.
const OWN: &[(&str, u16)] = &[
    ("unauthorized", 401),
    ("not-found", 404),
    ("no-such-route", 404),
    ("no-such-variable", 404),
    ("no-such-method", 405),
    ("too-slow", 408),
    ("ambiguous-id", 409),
    ("not-a-question", 409),
    ("too-large", 413),
    ("not-json", 415),
    ("bad-input", 422),
    ("wrong-host", 421),
    ("wrong-origin", 403),
    ("too-fast", 429),
    ("too-many-requests", 429),
    ("too-many-streams", 429),
    ("failed", 500),
    ("stopped", 503),
    ("stopping", 503),
    ("disk-full", 507),
];

/// The status that a refusal of this kind goes out with.
pub(crate) fn status(kind: RefusalKind) -> u16 {
    match kind {
        RefusalKind::NotFound => 404,
        RefusalKind::Forbidden => 403,
        RefusalKind::Invalid => 422,
        RefusalKind::Conflict => 409,
    }
}

/// The status that a code goes out with, unless a route says otherwise.
pub(super) fn status_of(code: &str) -> Option<u16> {
    let refusals = Refusal::CODES.iter().map(|(code, kind)| (*code, status(*kind)));
    OWN.iter().copied().chain(refusals).find(|(known, _)| *known == code).map(|(_, status)| status)
}
