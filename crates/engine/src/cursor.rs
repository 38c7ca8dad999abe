//! Where a page of a list ends, as a text that a caller gives back.

use std::fmt;
use std::str::FromStr;

use baton_protocol::time::Timestamp;

/// The last row of a page: when it began, which one it is, and how far the index was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub(crate) at: Timestamp,
    pub(crate) id: [u8; 16],
    /// The first record of the last closed workflow that was told, 0 before any was.
    pub(crate) before: u64,
}

/// A text that is not a cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor")]
pub struct CursorError;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = u128::from_be_bytes(self.id);
        write!(f, "{:x}.{id:032x}.{:x}", self.at.as_micros(), self.before)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let mut parts = text.split('.').map(|part| u128::from_str_radix(part, 16).ok());
        let mut next = || parts.next().flatten().ok_or(CursorError);
        let at = i64::try_from(next()?).map_err(|_| CursorError)?;
        let id = next()?.to_be_bytes();
        let before = u64::try_from(next()?).map_err(|_| CursorError)?;
        let whole = parts.next().is_none();
        whole.then_some(Self { at: Timestamp::from_micros(at), id, before }).ok_or(CursorError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let at = Timestamp::from_micros(1_772_366_400_000_001);
        let cursor = Cursor { at, id: [7; 16], before: 12 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for bad in ["", "1", "1.2", "1.2.3.4", "x.2.3", "-1.2.3", "1.2.ffffffffffffffffff"] {
            assert_eq!(bad.parse::<Cursor>(), Err(CursorError), "{bad:?}");
        }
    }
}
