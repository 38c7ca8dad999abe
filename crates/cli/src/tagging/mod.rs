//! Work in tagged files: where the files are, who moves their tags, and what is told when a move
//! is turned away.
//!
//! Nothing here needs a coordinator. The files are the truth, so these verbs work in any folder.

pub(crate) mod alerts;
pub(crate) mod awaited;
mod ground;
mod mover;
pub(crate) mod spool;
pub(crate) mod told;
pub(crate) mod work;

pub(crate) use ground::{Ground, shown};
pub(crate) use mover::{as_told, mover};
