//! `baton cancel`: takes a handoff back, or calls a whole workflow off.

use baton_engine::view::{Answer, Found};
use baton_protocol::command::{self, Command};
use baton_protocol::event::Event;
use baton_protocol::handoff::Detail;
use baton_protocol::text::Text;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::value::Id;
use crate::verbs::told::{Said, told};

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
        let (command, asked) = match session.find(&self.id)? {
            Found::Broadcast(workflow, _) => {
                let hint =
                    format!("`baton show {}` lists its copies; cancel those", workflow.short());
                return Err(Failure::usage("a broadcast is taken back copy by copy", hint));
            }
            Found::Handoff(handoff) => {
                let cancel = Command::Cancel(command::Cancel { handoff, reason });
                (cancel, handoff.to_string())
            }
            Found::Workflow(workflow) => {
                let cancel = command::CancelWorkflow { workflow, reason };
                (Command::CancelWorkflow(cancel), workflow.to_string())
            }
        };
        let (reply, answer) = session.submit(command)?;
        let said = cancelled(&answer);
        told(session, (&reply, &answer), asked, |_| said.clone())
    }
}

/// What was called off: the workflow, with whatever belonged to it, or one handoff.
fn cancelled(answer: &Answer) -> Option<Said> {
    let closed = |event: &Event| match event {
        Event::Closed { ending, .. } => Some(ending.word()),
        _ => None,
    };
    if let Some(how) = answer.events.iter().find_map(closed) {
        let id = answer.workflow?;
        return Some((id.to_string(), format!("{how} workflow {}", id.short())));
    }
    // What was asked for ends last, after all that hung from it.
    answer.events.iter().rev().find_map(|event| match event {
        Event::Failed { handoff, detail: Detail::Cancelled { .. }, .. } => {
            Some((handoff.to_string(), format!("cancelled handoff {}", handoff.short())))
        }
        _ => None,
    })
}
