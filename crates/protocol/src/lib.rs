//! The rules of a handoff: ids, states, commands, events, refusals, `decide` and `evolve`.
//!
//! Everything here is plain data and pure functions. No I/O, no clock, no randomness, no async:
//! whoever calls hands in the time and keeps what comes out.

pub mod account;
pub mod agent;
pub mod artifact;
pub mod audit;
pub mod command;
pub mod course;
mod decide;
pub mod definition;
pub mod effect;
pub mod event;
mod evolve;
pub mod handoff;
mod hex;
pub mod id;
pub mod limits;
pub mod lock;
pub mod machine;
mod mask;
pub mod open;
pub mod planted;
pub mod policy;
mod queue;
pub mod reach;
pub mod refusal;
pub mod retention;
#[cfg(feature = "schema")]
mod schema;
pub mod tag;
pub mod text;
pub mod time;
pub mod trace;
pub mod variables;
pub mod workflow;
mod world;

pub use decide::{
    Judged, Moves, Said, Stirred, advance, asked_again, begun_under, content_hash, decide, plain,
    rests, stirred,
};
pub use evolve::evolve;
pub use mask::{Masks, Rules, RulesError, RulesSet, count_masks, count_masks_in, mask};
pub use world::{Timer, World};
