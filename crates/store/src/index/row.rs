//! What the index wants to know of a record. How to find it in a line is its caller's knowledge.

use std::borrow::Cow;

use crate::log::Position;

/// The indexed facts of one record.
#[derive(Clone, Debug, Default)]
pub struct Row<'a> {
    /// Its number.
    pub seq: u64,
    /// When it was recorded, in microseconds since 1970.
    pub at: i64,
    /// What kind of record it is.
    pub kind: &'a str,
    /// What it is counted as in statistics, if not as its kind.
    pub counts_as: Option<&'a str>,
    /// The workflow it belongs to.
    pub workflow: Option<[u8; 16]>,
    /// The handoff it is about.
    pub handoff: Option<[u8; 16]>,
    /// Who passed the work.
    pub from: Option<&'a str>,
    /// Who the work was passed to.
    pub to: Option<&'a str>,
    /// Who acted.
    pub actor: Option<&'a str>,
    /// The file whose tag it is about.
    pub file: Option<Cow<'a, str>>,
    /// The command that caused it. Only its first eight bytes are kept.
    pub command: Option<[u8; 16]>,
    /// The workflow's title, when this record starts it.
    pub title: Option<Cow<'a, str>>,
    /// The workflow's outcome, when this record closes it.
    pub closes: Option<&'a str>,
    /// Where the handoff stands after this record.
    pub handoff_state: Option<&'a str>,
}

/// Finds the indexed facts in a line. `None` leaves the record out of the index.
pub trait Extract: for<'a> Fn(&'a [u8]) -> Option<Row<'a>> + Send + 'static {}

impl<F: for<'a> Fn(&'a [u8]) -> Option<Row<'a>> + Send + 'static> Extract for F {}

/// Returns the first eight bytes of an id as a number that sorts as the id does.
///
/// SQLite has signed integers only, so the top bit is turned round.
pub(super) fn key(uuid: &[u8; 16]) -> i64 {
    let (head, _) = uuid.split_at(8);
    let head = u64::from_be_bytes(head.try_into().expect("eight of sixteen bytes"));
    (head ^ 1 << 63) as i64
}

/// Returns a sequence number or offset as SQLite's kind of number.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Reads such a number back. A negative one is damage.
pub(super) fn read_number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

/// Reads a place in the log from two columns.
pub(super) fn read_position(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Position> {
    let (segment, offset) = (read_number(row, column)?, read_number(row, column + 1)?);
    Ok(Position { segment, offset })
}
