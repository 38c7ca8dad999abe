//! Proof that the ledger is what it was: a Merkle tree over all records, and signed checkpoints
//! of it.
//!
//! The tree is derived and may be thrown away; checkpoints may not. Nothing here ever slows or
//! fails the log, and a checkpoint is only ever made over durable records.

pub(crate) mod audit;
pub(crate) mod bundle;
pub(crate) mod checkpoints;
pub(crate) mod key;
pub(crate) mod merkle;
pub(crate) mod note;
mod prover;
pub(crate) mod tree;

pub(crate) use prover::{Anchor, Prover, anchor};
