//! `baton reassign`: takes work from a stuck holder and gives it to another.

use baton_engine::view::Found;
use baton_protocol::command::{self, Command, Reassigned};
use baton_protocol::event::Event;
use baton_protocol::id::AgentId;
use baton_protocol::text::Text;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::value::Id;
use crate::verbs::told::told;

/// Take work from a stuck holder and give it to another
///
/// Only the operator may. The fence moves on at once: whatever the old holder still does is
/// refused. A handoff goes to the new agent as it was passed; a whole workflow is taken from its
/// owner, what it had passed on is called off, and the new agent gets it to accept. To take a
/// workflow back for yourself, reassign it to `operator`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton reassign 7be1 --to bob --reason \"ann has not been seen since Monday\"
  baton reassign 3f2a --to operator --reason \"I will finish it myself\"")]
pub(crate) struct Reassign {
    /// A workflow or a handoff
    #[arg(value_name = "ID")]
    id: Id,
    /// To whom
    #[arg(long, value_name = "AGENT")]
    to: AgentId,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Text,
}

impl Reassign {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let (what, asked) = match session.find(&self.id)? {
            Found::Broadcast(workflow, _) => {
                let hint = format!("`baton show {}` lists its copies", workflow.short());
                return Err(Failure::usage("a broadcast is reassigned copy by copy", hint));
            }
            Found::Handoff(handoff) => (Reassigned::Handoff(handoff), handoff.to_string()),
            Found::Workflow(workflow) => (Reassigned::Workflow(workflow), workflow.to_string()),
        };
        let reassign = command::Reassign { what, to_agent: self.to, reason: self.reason };
        let (reply, answer) = session.submit(Command::Reassign(reassign))?;
        let passed = answer.events.iter().find_map(|event| match event {
            Event::Initiated { terms, .. } => Some(terms),
            _ => None,
        });
        told(session, (&reply, &answer), asked, |event| match event {
            Event::Reassigned { handoff, to, .. } => {
                let sentence = format!("handoff {} goes to {to} now", handoff.short());
                Some((handoff.to_string(), sentence))
            }
            Event::Reclaimed { by, fence, .. } => Some(match passed {
                Some(terms) => {
                    let (to, short) = (&terms.to_agent, terms.id.short());
                    (terms.id.to_string(), format!("passed to {to} as handoff {short}"))
                }
                None => {
                    let id = answer.workflow.map(|id| id.to_string()).unwrap_or_default();
                    (id, format!("{by} holds it now, with fence {fence}"))
                }
            }),
            _ => None,
        })
    }
}
