//! `baton start`: begins a workflow.

use baton_protocol::command::{self, Command};
use baton_protocol::event::Event;
use baton_protocol::handoff::{Constraints, Priority};
use baton_protocol::text::Text;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::value::{Assignment, When, changes};
use crate::verbs::told::told;

/// Begin a workflow
///
/// Whoever starts it holds it, with fence 1, until it is passed on and accepted.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton start \"Add a login page\"
  baton start \"Fix the flaky test\" --priority high --var branch=main --deadline 2h
  id=$(baton start \"Nightly build\" --quiet)")]
pub(crate) struct Start {
    /// What the work is about
    title: Text,
    /// critical (urgent, P0), high (P1), normal (P2) or low
    #[arg(long, default_value = "normal")]
    priority: Priority,
    /// A variable to begin with; the value is JSON if it reads as JSON, else text
    #[arg(long, value_name = "NAME=VALUE")]
    var: Vec<Assignment>,
    /// Tokens that it may cost
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
    /// The latest moment it is of use: a duration from now, or UTC
    #[arg(long, value_name = "WHEN")]
    deadline: Option<When>,
}

impl Start {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let deadline = self.deadline.map(|when| when.ahead(out.begun));
        let (reply, answer) = session.submit(Command::Start(command::Start {
            title: self.title,
            priority: self.priority,
            variables: changes(self.var)?,
            constraints: Constraints { budget: self.budget, deadline },
        }))?;
        let answered = (&reply, &answer);
        let Some(id) = answer.workflow else { return told(session, answered, "", |_| None) };
        let fence = answer.fence.map(|fence| format!(" (fence {fence})")).unwrap_or_default();
        told(session, answered, id, |event| match event {
            Event::Started { title, .. } => {
                Some((id.to_string(), format!("started {}: {title}{fence}", id.short())))
            }
            _ => None,
        })?;
        session.next(&[format!("baton pass {} --to AGENT --reason TEXT", id.short())]);
        Ok(())
    }
}
