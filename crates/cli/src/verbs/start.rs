//! `baton start`: begins a workflow.

use std::num::NonZeroU32;
use std::path::Path;

use baton_protocol::command::{self, Command, Follows};
use baton_protocol::definition::NameError;
use baton_protocol::event::Event;
use baton_protocol::handoff::{Constraints, Priority};
use baton_protocol::policy::{Asked, Money};
use baton_protocol::text::Text;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::value::{Assignment, When, changes, word};
use crate::verbs::told::told;
use crate::verbs::workflow::Source;

/// Begin a workflow
///
/// Whoever starts it holds it, with fence 1, until it is passed on and accepted.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton start \"Add a login page\"
  baton start \"Fix the flaky test\" --priority high --var branch=main --deadline 2h
  baton start \"Migrate the database\" --class complex --max-cost 4.50
  baton start \"Fly Ada to Van Nuys\" --workflow charter
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
    /// How much work it is, which limits handoffs, tokens and agents; auto looks at the title
    #[arg(
        long,
        value_name = "CLASS",
        value_parser = word::<Asked>(&["simple", "medium", "complex", "auto"])
    )]
    class: Option<Asked>,
    /// Handoffs that its agents may begin; only the operator may ask for more than the policy gives
    #[arg(long, value_name = "N")]
    max_handoffs: Option<u32>,
    /// Money that it may cost, by the prices of the policy
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<Money>,
    /// Let agents pass it on although the policy says that each works alone
    #[arg(long)]
    enable_handoffs: bool,
    /// The definition it follows: its name, name@version, or a file that is made known first
    #[arg(long, value_name = "DEFINITION")]
    workflow: Option<String>,
    /// Do not let agents pass it on
    #[arg(long, conflicts_with = "enable_handoffs")]
    independent: bool,
}

impl Start {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let deadline = self.deadline.map(|when| when.ahead(out.begun));
        let definition =
            self.workflow.as_deref().map(|named| follows(session, named)).transpose()?;
        let defined = definition.is_some();
        let (reply, answer) = session.submit(Command::Start(command::Start {
            title: self.title,
            priority: self.priority,
            variables: changes(self.var)?,
            constraints: Constraints {
                budget: self.budget,
                deadline,
                cost: self.max_cost,
                handoffs: self.max_handoffs,
            },
            class: self.class,
            enable_handoffs: match (self.enable_handoffs, self.independent) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            },
            definition,
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
        match defined {
            true => session.next(&[format!("baton show {}", id.short())]),
            false => session.next(&[format!("baton pass {} --to AGENT --reason TEXT", id.short())]),
        }
        Ok(())
    }
}

/// The definition that is meant. A file is made known first.
fn follows(session: &Session, named: &str) -> Result<Follows, Failure> {
    if named.ends_with(".yaml") || named.ends_with(".yml") {
        let definition = Source::read(Path::new(named))?.definition;
        let (name, version) = (definition.workflow.clone(), Some(definition.version));
        session.submit(Command::Define(Box::new(definition)))?;
        return Ok(Follows { name, version });
    }
    let (name, version) = match named.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (named, None),
    };
    let wrong = |why: String| {
        Failure::usage(format!("--workflow: {why}"), "`baton workflow list` shows them")
    };
    let name = name.parse().map_err(|error: NameError| wrong(error.to_string()))?;
    let version = version.map(|text| text.parse::<NonZeroU32>()).transpose();
    let version = version.map_err(|_| wrong(format!("`{named}` has no number after the @")))?;
    Ok(Follows { name, version })
}
