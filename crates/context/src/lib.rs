//! What travels with a handoff, and how little of it.
//!
//! Everything here is a pure function of what it is given: messages, an agent's notes, a transcript
//! as text. Reading files, asking git and starting a summariser is for those who call it, and so is
//! the ledger.

mod compact;
pub mod history;
pub mod message;
mod pairing;
mod profile;
mod rank;
mod tokens;
mod transcript;

pub use compact::{
    Artifact, Compact, Cut, Door, Draft, Field, ReadArtifact, ReadError, Story, TooLong,
};
pub use pairing::REPAIRS_MAX;
pub use profile::{AgentProfile, ProfileForm, agent_named};
pub use tokens::{Tokenizer, UnknownTokenizer, WORD_BYTES_MAX};
pub use transcript::{Found, Transcript, TranscriptKind};
