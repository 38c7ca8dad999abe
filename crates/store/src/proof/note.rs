//! Signed notes and checkpoints, in the formats of C2SP (signed-note, tlog-checkpoint), so that
//! tools of others can check them.
//!
//! ```text
//! baton/3f2a91c07be4d815
//! 1234
//! <the root in base64>
//!
//! — baton/3f2a91c07be4d815 <key id and Ed25519 signature in base64>
//! ```

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::hash::Hash;

/// The longest note that is read; ours are far shorter.
pub(crate) const NOTE_BYTES_MAX: usize = 4096;
/// What says that a key is one for Ed25519.
const ED25519: u8 = 1;
const PRIVATE: &str = "PRIVATE+KEY+";
const DASH: &str = "\u{2014} ";

/// Why a text is no key, no note, or not signed by the key at hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// It does not have the form of a key.
    #[error("not a key; expected name+id+base64, as `baton audit key` prints it")]
    Key,
    /// It does not have the form of a signed checkpoint.
    #[error("not a signed checkpoint")]
    Form,
    /// Another key signed it.
    #[error("it is signed by {found}, not by {expected}")]
    Signer {
        /// Whose signature is there.
        found: String,
        /// Whose is needed.
        expected: String,
    },
    /// It was changed after it was signed, or never was.
    #[error("its signature does not fit")]
    Signature,
}

/// The key that checks signatures. It is no secret: whoever has it can check, and no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    key: VerifyingKey,
}

impl VerifierKey {
    fn id(&self) -> [u8; 4] {
        let mut hasher = Sha256::new();
        hasher.update(self.name.as_bytes());
        hasher.update([b'\n', ED25519]);
        hasher.update(self.key.as_bytes());
        let digest = hasher.finalize();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// The name of whoever signs with it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text of a note that this key signed.
    pub(crate) fn open<'n>(&self, note: &'n str) -> Result<&'n str, NoteError> {
        let (text, signature) = note.split_once("\n\n").ok_or(NoteError::Form)?;
        let text = &note[..text.len() + 1];
        let line = signature.strip_suffix('\n').and_then(|line| line.strip_prefix(DASH));
        let (name, signature) = line.and_then(|l| l.split_once(' ')).ok_or(NoteError::Form)?;
        if name != self.name {
            let found = name.chars().take(100).collect();
            return Err(NoteError::Signer { found, expected: self.name.clone() });
        }
        let bytes = STANDARD.decode(signature).map_err(|_| NoteError::Form)?;
        let (id, signature) = bytes.split_at_checked(4).ok_or(NoteError::Form)?;
        if id != self.id() {
            let found = format!("another key of {name}");
            return Err(NoteError::Signer { found, expected: self.name.clone() });
        }
        let signature = Signature::from_slice(signature).map_err(|_| NoteError::Form)?;
        // Strict: one signature has one spelling, so no byte of it can be changed unseen.
        self.key.verify_strict(text.as_bytes(), &signature).map_err(|_| NoteError::Signature)?;
        Ok(text)
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.id();
        write!(f, "{}+{a:02x}{b:02x}{c:02x}{d:02x}+", self.name)?;
        f.write_str(&STANDARD.encode([&[ED25519], self.key.as_bytes().as_slice()].concat()))
    }
}

impl FromStr for VerifierKey {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, NoteError> {
        let (name, id, bytes) = parts(text.trim())?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| NoteError::Key)?;
        let found = Self { name: name.to_owned(), key };
        let [a, b, c, d] = found.id();
        let fits = id == format!("{a:02x}{b:02x}{c:02x}{d:02x}");
        if fits { Ok(found) } else { Err(NoteError::Key) }
    }
}

fn parts(text: &str) -> Result<(&str, &str, [u8; 32]), NoteError> {
    let mut parts = text.splitn(3, '+');
    let (name, id, key) = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), Some(id), Some(key)) if !name.is_empty() => (name, id, key),
        _ => return Err(NoteError::Key),
    };
    let bytes = STANDARD.decode(key).map_err(|_| NoteError::Key)?;
    let bytes = bytes.strip_prefix(&[ED25519]).ok_or(NoteError::Key)?;
    Ok((name, id, bytes.try_into().map_err(|_| NoteError::Key)?))
}

/// The key that signs. Its text is a secret.
pub(crate) struct Signer {
    name: String,
    key: SigningKey,
}

impl Signer {
    /// Makes a signer from a secret that nobody else knows.
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(secret);
        let digest = Hash::of(key.verifying_key().as_bytes()).to_string();
        Self { name: format!("baton/{}", &digest[..16]), key }
    }

    /// Reads the text that [`Signer::secret`] gave.
    pub(crate) fn read(text: &str) -> Result<Self, NoteError> {
        let rest = text.trim().strip_prefix(PRIVATE).ok_or(NoteError::Key)?;
        let (name, _, secret) = parts(rest)?;
        Ok(Self { name: name.to_owned(), key: SigningKey::from_bytes(&secret) })
    }

    /// The secret as text, to be kept where only its owner can read.
    pub(crate) fn secret(&self) -> String {
        let [a, b, c, d] = self.verifier().id();
        let key = STANDARD.encode([&[ED25519], self.key.as_bytes().as_slice()].concat());
        format!("{PRIVATE}{}+{a:02x}{b:02x}{c:02x}{d:02x}+{key}\n", self.name)
    }

    /// The key that checks what this one signs.
    pub(crate) fn verifier(&self) -> VerifierKey {
        VerifierKey { name: self.name.clone(), key: self.key.verifying_key() }
    }

    /// Signs a text, which ends in a newline and has no empty line, and returns the note.
    pub(crate) fn sign(&self, text: &str) -> String {
        assert!(text.ends_with('\n') && !text.contains("\n\n"), "a note's text ends in a newline");
        let signature = self.key.sign(text.as_bytes());
        let bytes = [self.verifier().id().as_slice(), &signature.to_bytes()].concat();
        format!("{text}\n{DASH}{} {}\n", self.name, STANDARD.encode(bytes))
    }
}

/// What a checkpoint says: the ledger had these records and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// How many records the tree is over.
    pub size: u64,
    /// The root of the tree.
    pub root: Hash,
}

impl Checkpoint {
    /// Signs it.
    pub(crate) fn sign(&self, signer: &Signer) -> String {
        let root = STANDARD.encode(self.root.as_bytes());
        signer.sign(&format!("{}\n{}\n{root}\n", signer.name, self.size))
    }

    /// Reads a note that `key` must have signed.
    pub fn open(note: &str, key: &VerifierKey) -> Result<Self, NoteError> {
        let text = key.open(note)?;
        let said = Self::said(text)?;
        // A tree of another ledger is none of this one, whoever signed it.
        if text.lines().next() == Some(&key.name) { Ok(said) } else { Err(NoteError::Form) }
    }

    /// What a note says, whoever signed it.
    pub(crate) fn said(text: &str) -> Result<Self, NoteError> {
        let mut lines = text.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next())
        else {
            return Err(NoteError::Form);
        };
        let number: u64 = size.parse().map_err(|_| NoteError::Form)?;
        let bytes = STANDARD.decode(root).map_err(|_| NoteError::Form)?;
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| NoteError::Form)?;
        if origin.is_empty() || number.to_string() != size || lines.next() != Some("") {
            return Err(NoteError::Form);
        }
        Ok(Self { size: number, root: Hash::from_bytes(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        Checkpoint { size: 7, root: Hash::of(b"root") }
    }

    #[test]
    fn a_signed_checkpoint_is_read_back_and_any_changed_byte_shows() {
        let signer = Signer::new(&[3; 32]);
        let key = signer.verifier();
        let note = checkpoint().sign(&signer);
        assert_eq!(Checkpoint::open(&note, &key), Ok(checkpoint()));
        for at in 0..note.len() {
            for flip in [1, 3, 0x20, 0x80] {
                let mut bytes = note.clone().into_bytes();
                bytes[at] ^= flip;
                let Ok(bad) = String::from_utf8(bytes) else { continue };
                assert!(Checkpoint::open(&bad, &key).is_err(), "byte {at}: {bad}");
            }
        }
        let other = Signer::new(&[4; 32]).verifier();
        assert!(matches!(Checkpoint::open(&note, &other), Err(NoteError::Signer { .. })));
    }

    #[test]
    fn keys_are_read_back_as_they_are_written() {
        for n in 0..=255 {
            let signer = Signer::new(&[n; 32]);
            let again = Signer::read(&signer.secret()).unwrap();
            assert_eq!(again.verifier(), signer.verifier());
            assert_eq!(signer.verifier().to_string().parse(), Ok(signer.verifier()));
        }
        let signer = Signer::new(&[3; 32]);
        let text = signer.verifier().to_string();
        assert_eq!(text.parse::<VerifierKey>(), Ok(signer.verifier()));
        assert!(text.replace("baton/", "other/").parse::<VerifierKey>().is_err());
        for bad in ["", "a", "a+b", "a+b+c", "PRIVATE+KEY+x"] {
            assert_eq!(bad.parse::<VerifierKey>(), Err(NoteError::Key), "{bad}");
        }
    }

    #[test]
    fn the_notes_are_those_of_the_standard() {
        // The example of golang.org/x/mod/sumdb/note: text, verifier key and signature.
        let key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let text = "If you think cryptography is the answer to your problem,\n\
                    then you don't know what your problem is.\n";
        let note = format!(
            "{text}\n{DASH}PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2\
             pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
        );
        let key: VerifierKey = key.parse().unwrap();
        assert_eq!(key.open(&note), Ok(text));
    }
}
