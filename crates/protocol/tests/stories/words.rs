//! How a story says things.

use baton_protocol::handoff::Detail;
use baton_protocol::id::CapabilityId;
use baton_protocol::time::{Allowance, Timestamp};
use serde_json::json;

/// Writes a long line as several, so that it can be read beside its script.
pub(crate) fn wrap(told: &mut String, line: &str) {
    const WIDTH: usize = 78;
    let mut width = 0;
    for (n, word) in line.split(' ').enumerate() {
        if n > 0 && width + 1 + word.chars().count() > WIDTH {
            told.push_str("\n    ");
            width = 4;
        } else if n > 0 {
            told.push(' ');
            width += 1;
        }
        told.push_str(word);
        width += word.chars().count();
    }
    told.push('\n');
}

/// A moment on the story's clock, as commands write it.
pub(crate) fn moment(at: Option<&str>) -> Option<Timestamp> {
    Some(at?.parse::<Allowance>().expect("a time").after(Timestamp::default()))
}

/// The word that programs use for it.
pub(crate) fn word(of: impl serde::Serialize) -> String {
    json!(of).as_str().expect("a word").to_owned()
}

pub(crate) fn secs(at: Timestamp) -> String {
    format!("{}s", at.as_micros() / 1_000_000)
}

pub(crate) fn freed(paths: &[baton_protocol::lock::FilePath]) -> String {
    let names: Vec<_> = paths.iter().map(ToString::to_string).collect();
    if names.is_empty() { String::new() } else { format!(" releasing {}", names.join(", ")) }
}

pub(crate) fn said(detail: &Detail) -> String {
    match detail {
        Detail::Rejected { reason } => format!("rejected ({reason})"),
        Detail::Cancelled { by, .. } => format!("cancelled by {by}"),
        Detail::PassedOn { .. } => "passed on".to_owned(),
        other => other.word().to_owned(),
    }
}

/// What the receiver lacks, if anything.
pub(crate) fn lacking(gap: &[CapabilityId]) -> String {
    let gap: Vec<_> = gap.iter().map(ToString::to_string).collect();
    if gap.is_empty() { String::new() } else { format!(" lacking {}", gap.join(", ")) }
}
