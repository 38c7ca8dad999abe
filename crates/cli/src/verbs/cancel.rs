//! `baton cancel`: takes a handoff back, or calls a whole workflow off.

use baton_engine::view::Found;
use baton_protocol::command::{self, Command};
use baton_protocol::text::Text;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::value::Id;

/// Take a handoff back, or call a workflow off
///
/// Its holder's fence ends at once: whatever it still does is refused.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton cancel 7be1 --reason \"no longer needed\"")]
pub(crate) struct Cancel {
    /// A workflow or a handoff
    #[arg(value_name = "ID")]
    id: Id,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Text,
}

impl Cancel {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let reason = self.reason;
        let (command, id, what) = match session.find(&self.id)? {
            Found::Handoff(handoff) => {
                let cancel = Command::Cancel(command::Cancel { handoff, reason });
                (cancel, handoff.to_string(), "handoff")
            }
            Found::Workflow(workflow) => {
                let cancel = command::CancelWorkflow { workflow, reason };
                (Command::CancelWorkflow(cancel), workflow.to_string(), "workflow")
            }
        };
        let (reply, _) = session.submit(command)?;
        let short = id.get(..8).unwrap_or(&id);
        session.out.done(&reply, &id, format!("cancelled {what} {short}"))
    }
}
