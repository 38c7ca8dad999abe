//! `baton top`: agents, queues and running work, live in the terminal.

use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::top;

/// Watch agents, queues and running work
///
/// It looks again every second. Tab goes from list to list, the arrows or j and k along it, Enter
/// shows all there is to know of a row, ? tells the keys, q quits. Without a terminal, or with
/// --once, it prints what there is as text and ends.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton top
  baton top --once
  baton top --url https://baton.example:7800")]
pub(crate) struct Top {
    /// Print it once as plain text
    #[arg(long)]
    once: bool,
}

impl Top {
    pub(crate) fn run(self, session: Session) -> Result<(), Failure> {
        top::run(session, self.once)
    }
}
