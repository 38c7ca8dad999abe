//! The picture of a workflow: who passed what to whom, how it went, and what came back.
//!
//! [`Flow`] is what is drawn. [`Picture`] makes of it a graph that fits a page, however much there
//! is; one layered layout places it, and four drawings show it. Nothing here reads a clock, does
//! I/O or knows the ledger: the engine makes a `Flow` from records.

mod cards;
mod dot;
pub mod drawn;
mod fold;
mod layout;
mod mermaid;
mod model;
mod picture;
mod standing;
mod svg;
mod terminal;
mod text;
mod words;

pub use dot::dot;
pub use mermaid::mermaid;
pub use model::{
    Flow, FlowAgent, FlowBroadcast, FlowEnd, FlowHandoff, FlowKind, FlowReturn, FlowStatus,
    FlowTry, Holding, Party,
};
pub use picture::{Card, Edge, Node, NodeKind, Picture, Room, Words};
pub use standing::Standing;
pub use svg::svg;
pub use terminal::terminal;
