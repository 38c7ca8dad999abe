//! `baton workflow move`: a person moves work that is stuck.

use baton_protocol::command::{Command, MoveTo};
use baton_protocol::definition::StateName;
use baton_protocol::text::Text;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::value::Id;
use crate::verbs::step::moved;
use crate::verbs::told::told;

/// Move work to another state, along a declared transition
///
/// For a person who sets right what rules did not foresee. Agents report results, and the rules
/// decide; only the operator moves work by hand.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton workflow move 3f2a searching_flights --reason \"the client called\"")]
pub(crate) struct Move {
    /// Which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// To which state
    #[arg(value_name = "STATE")]
    state: StateName,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Text,
}

impl Move {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let to = MoveTo { workflow, state: self.state, reason: self.reason };
        let (reply, answer) = session.submit(Command::MoveTo(to))?;
        told(session, (&reply, &answer), workflow, |event| moved(workflow, event))?;
        session.next(&[format!("baton show {}", workflow.short())]);
        Ok(())
    }
}
