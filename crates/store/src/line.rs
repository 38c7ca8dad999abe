//! The stored form of one record: a JSON object on a line that ends in its own hash.
//!
//! ```text
//! {"seq":7,"safe":4,…,"hash":"<64 hex digits>"}\n
//! ```
//!
//! The hash is SHA-256 over every byte of the line before `,"hash":`, so a torn or altered line
//! shows by itself, to us and to anyone with `sha256sum`. Nothing here looks at what a record
//! means; of its fields only the envelope is known.
//!
//! A record that was pruned leaves a stub, whose last field before the seal is the hash that the
//! record had: `…,"pruned":"<64 hex digits>","hash":"<of the stub>"}`. It stands for the record in
//! the chain and in the tree. No other record ends like this: theirs end in `"prev"`.

use serde::Deserialize;

use crate::hash::Hash;

/// The longest line, newline included. Larger bodies belong in blobs.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

const FIELD: &[u8] = b",\"hash\":\"";
const CLOSE: &[u8] = b"\"}";
const PRUNED: &[u8] = b",\"pruned\":\"";
const SEAL_LENGTH: usize = FIELD.len() + Hash::HEX_LENGTH + CLOSE.len();

/// Turns the JSON object at `buffer[start..]` into a stored line and returns its hash.
///
/// # Panics
/// When those bytes are no object with at least one field, or hold a newline: then the caller has
/// a bug, and the line would never be read back.
pub fn seal(buffer: &mut Vec<u8>, start: usize) -> Hash {
    let object = &buffer[start..];
    assert!(
        object.len() > 2 && object.starts_with(b"{") && object.ends_with(b"}"),
        "a record is a JSON object with fields"
    );
    assert!(memchr::memchr(b'\n', object).is_none(), "a record is one line");
    buffer.pop();
    let hash = Hash::of(&buffer[start..]);
    buffer.reserve(SEAL_LENGTH + 1);
    buffer.extend_from_slice(FIELD);
    buffer.extend_from_slice(&hash.hex());
    buffer.extend_from_slice(CLOSE);
    buffer.push(b'\n');
    hash
}

/// Marks the line that is written to `buffer[start..]` as the stub of a record with this hash.
pub(crate) fn seal_stub(buffer: &mut Vec<u8>, start: usize, record: &Hash) {
    assert_eq!(buffer.pop(), Some(b'}'), "a stub is a JSON object");
    buffer.extend_from_slice(PRUNED);
    buffer.extend_from_slice(&record.hex());
    buffer.extend_from_slice(CLOSE);
    seal(buffer, start);
}

/// The hash of the record that a stub stands for; `body` is the line before its seal.
fn pruned(body: &[u8]) -> Option<Hash> {
    let at = body.len().checked_sub(PRUNED.len() + Hash::HEX_LENGTH + 1)?;
    let hex = body[at..].strip_prefix(PRUNED)?.strip_suffix(b"\"")?;
    Hash::from_hex(hex).ok()
}

/// Whether a line that [`check`] has passed is the stub of a pruned record.
pub(crate) fn is_stub(line: &[u8]) -> bool {
    line.len().checked_sub(SEAL_LENGTH).is_some_and(|length| pruned(&line[..length]).is_some())
}

/// The hash of a record as its line says, unchecked. For records that were checked before.
pub(crate) fn said(line: &[u8]) -> Option<Hash> {
    let (body, seal) = line.split_at_checked(line.len().checked_sub(SEAL_LENGTH)?)?;
    let hex = seal.strip_prefix(FIELD)?.strip_suffix(CLOSE)?;
    pruned(body).or_else(|| Hash::from_hex(hex).ok())
}

/// Checks that a line (without its newline) is as it was sealed, and returns the hash of its
/// record: its own, or for a stub the one it stands for.
pub fn check(line: &[u8]) -> Result<Hash, LineError> {
    let body_length = line.len().checked_sub(SEAL_LENGTH).ok_or(LineError::Unsealed)?;
    let (body, seal) = line.split_at(body_length);
    let hex = seal
        .strip_prefix(FIELD)
        .and_then(|seal| seal.strip_suffix(CLOSE))
        .ok_or(LineError::Unsealed)?;
    let stored = Hash::from_hex(hex).map_err(|_| LineError::Unsealed)?;
    let found = Hash::of(body);
    if found != stored {
        return Err(LineError::Altered { stored, found });
    }
    Ok(pruned(body).unwrap_or(found))
}

/// What every record says about its place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Envelope {
    /// Its number: one more than its predecessor's, beginning with 1.
    pub seq: u64,
    /// All records up to this number were synced before this one was written.
    pub safe: u64,
    /// Index and count among the records of one command. Absent: alone, `[0, 1]`.
    #[serde(default)]
    part: Option<[u32; 2]>,
}

impl Envelope {
    /// Reads the envelope of a line that [`check`] has passed.
    pub fn read(line: &[u8]) -> Result<Self, LineError> {
        let envelope: Self = serde_json::from_slice(line).map_err(|_| LineError::Foreign)?;
        let (index, count) = envelope.part();
        if index >= count || envelope.safe >= envelope.seq {
            return Err(LineError::Foreign);
        }
        Ok(envelope)
    }

    /// Returns the index and the count among the records of its command.
    pub fn part(&self) -> (u32, u32) {
        self.part.map_or((0, 1), |[index, count]| (index, count))
    }
}

/// Why a line is not a sealed record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It does not end in a hash: torn, or never a record.
    #[error("the line does not end in its hash")]
    Unsealed,
    /// It is not what was sealed.
    #[error("the line says its hash is {stored}, but it is {found}")]
    Altered {
        /// What the line says.
        stored: Hash,
        /// What its bytes give.
        found: Hash,
    },
    /// It is sealed, but without a sound `seq`, `safe` and `part`.
    #[error("the line has no sound seq, safe and part")]
    Foreign,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(json: &str) -> Vec<u8> {
        let mut buffer = b"before".to_vec();
        let start = buffer.len();
        buffer.extend_from_slice(json.as_bytes());
        seal(&mut buffer, start);
        assert_eq!(buffer.pop(), Some(b'\n'));
        buffer.split_off(start)
    }

    #[test]
    fn a_sealed_line_is_json_and_any_changed_byte_shows() {
        let line = sealed(r#"{"seq":2,"safe":1,"note":"ü"}"#);
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        let hash = Hash::of(r#"{"seq":2,"safe":1,"note":"ü""#.as_bytes());
        assert_eq!(value["hash"], hash.to_string());
        assert_eq!(check(&line), Ok(hash));
        for at in 0..line.len() {
            let mut bad = line.clone();
            bad[at] ^= 1;
            assert!(check(&bad).is_err(), "byte {at}");
            assert!(check(&line[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_stub_stands_for_its_record_and_any_changed_byte_shows() {
        let record = Hash::of(b"the record");
        let mut stub = br#"{"seq":2,"safe":1}"#.to_vec();
        seal_stub(&mut stub, 0, &record);
        stub.pop();
        assert_eq!((check(&stub), said(&stub), is_stub(&stub)), (Ok(record), Some(record), true));
        assert_eq!(Envelope::read(&stub).map(|e| (e.seq, e.safe)), Ok((2, 1)));
        for at in 0..stub.len() {
            let mut bad = stub.clone();
            bad[at] ^= 1;
            assert!(check(&bad).is_err(), "byte {at}");
        }
        let line = sealed(r#"{"seq":2,"safe":1}"#);
        assert_eq!((said(&line), is_stub(&line)), (check(&line).ok(), false));
    }

    #[test]
    fn an_envelope_says_where_a_record_stands() {
        let read = |json: &str| Envelope::read(&sealed(json)).map(|e| (e.seq, e.safe, e.part()));
        assert_eq!(read(r#"{"seq":2,"safe":1,"x":{"seq":9}}"#), Ok((2, 1, (0, 1))));
        assert_eq!(read(r#"{"seq":2,"safe":0,"part":[1,3]}"#), Ok((2, 0, (1, 3))));
        for bad in [
            r#"{"seq":2}"#,
            r#"{"seq":2,"safe":2}"#,
            r#"{"seq":0,"safe":0}"#,
            r#"{"seq":2,"safe":1,"part":[3,3]}"#,
            r#"{"seq":-2,"safe":1}"#,
        ] {
            assert_eq!(read(bad), Err(LineError::Foreign), "{bad}");
        }
    }

    #[test]
    #[should_panic(expected = "one line")]
    fn a_newline_inside_a_record_is_a_bug() {
        sealed("{\"seq\":1,\n\"safe\":0}");
    }
}
