//! What travels with a handoff, and how little of it.
//!
//! Everything here is a pure function of what it is given: messages, an agent's notes, a transcript
//! as text. Reading files, asking git and starting a summariser is for those who call it, and so is
//! the ledger.

pub mod history;
pub mod message;
mod pairing;
mod rank;
mod tokens;

pub use pairing::REPAIRS_MAX;
pub use tokens::{Tokenizer, UnknownTokenizer, WORD_BYTES_MAX};
