//! A SHA-256 digest and its spelling. It names blobs and seals lines; it never keeps a secret.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// A SHA-256 digest, written as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The length of the written form.
    pub const HEX_LENGTH: usize = 64;

    /// Digests `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Takes a digest that was made elsewhere.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the digest's bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Writes the digest out without allocating.
    pub fn hex(&self) -> [u8; Self::HEX_LENGTH] {
        let mut hex = [0; Self::HEX_LENGTH];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        hex
    }

    /// Reads the written form. Capital letters are refused, so that one digest has one spelling.
    pub fn from_hex(hex: &[u8]) -> Result<Self, HashError> {
        if hex.len() != Self::HEX_LENGTH {
            return Err(HashError::Length { found: hex.len() });
        }
        let mut bytes = [0; 32];
        // Every record is read back for the index and for the tree, so the usual case is told once
        // for the whole text.
        let mut wrong = 0;
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
            wrong |= high | low;
            *byte = high << 4 | low & 15;
        }
        if wrong & NO_DIGIT == 0 {
            return Ok(Self(bytes));
        }
        let bad = hex.iter().find(|byte| VALUES[usize::from(**byte)] == NO_DIGIT);
        Err(HashError::Digit { found: bad.map_or('?', |byte| char::from(*byte)) })
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// What stands for a byte that is no digit.
const NO_DIGIT: u8 = 0x80;

/// What each byte is worth as a digit.
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        values[DIGITS[value] as usize] = value as u8;
        value += 1;
    }
    values
};

impl serde::Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let hex = self.hex();
        to.serialize_str(std::str::from_utf8(&hex).expect("hexadecimal digits are ASCII"))
    }
}

impl<'de> serde::Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        Self::from_hex(text.as_bytes()).map_err(serde::de::Error::custom)
    }
}

/// Why a text is not a hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    /// It is too long or too short.
    #[error("a hash has 64 digits, found {found}")]
    Length {
        /// How many bytes there were.
        found: usize,
    },
    /// It has a character that is no lowercase hexadecimal digit.
    #[error("a hash is written in 0-9 and a-f, found {found:?}")]
    Digit {
        /// The first such character.
        found: char,
    },
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.hex();
        f.pad(std::str::from_utf8(&hex).expect("hexadecimal digits are ASCII"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        Self::from_hex(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_has_one_spelling() {
        let hash = Hash::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        assert_eq!(text.to_uppercase().parse::<Hash>(), Err(HashError::Digit { found: 'B' }));
        assert_eq!("ba".parse::<Hash>(), Err(HashError::Length { found: 2 }));
    }
}
