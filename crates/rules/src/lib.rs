//! Workflow definitions and the rules that people write: read, checked, judged and drawn.
//!
//! Nothing here reads a clock, a file or the world, or knows the ledger. What is judged is handed
//! in, and what it came to goes back; the engine records it.

pub mod approval;
#[cfg(test)]
mod bounded;
pub mod check;
pub mod compiled;
pub mod definition;
pub mod expr;
mod graph;
mod language;
mod render;
#[cfg(test)]
mod testing;

pub use check::{Known, check, check_definition};
pub use compiled::Compiled;
pub use definition::{Positions, Problem, Read, Severity, Span, read};
pub use expr::{ExprError, Expression, Facts};
pub use graph::graph;
pub use render::render;
