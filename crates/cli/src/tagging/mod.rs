//! Work in tagged files: where the files are, who moves their tags, and what is told when a move
//! is turned away.
//!
//! Nothing here needs a coordinator. The files are the truth, so these verbs work in any folder.

pub(crate) mod alerts;
mod approval;
pub(crate) mod awaited;
pub(crate) mod daemon;
mod ground;
mod mover;
pub(crate) mod spool;
pub(crate) mod table;
pub(crate) mod tmux;
pub(crate) mod told;
pub(crate) mod work;
pub(crate) mod worker;

pub(crate) use ground::{Ground, shown};
pub(crate) use mover::{as_told, mover};
