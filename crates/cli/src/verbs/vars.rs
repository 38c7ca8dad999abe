//! `baton vars`: what a workflow knows.

use baton_engine::view::WorkflowView;
use baton_protocol::command::{self, Command};
use baton_protocol::event::Event;
use baton_protocol::id::Fence;
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::session::Session;
use crate::show::table::Table;
use crate::value::{Assignment, Id, changes};
use crate::verbs::told::told;

/// Show a workflow's variables, or write them
///
/// Some names have a meaning: task_status (pending, in_progress, blocked, complete, failed),
/// task_priority (critical, high, normal, low) and decisions_made (a list that writes are
/// appended to). task_id and files_in_progress are kept by Baton. Any other name is yours. A
/// write over a value that somebody else changed since you looked is refused.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton vars 3f2a
  baton vars 3f2a task_status=in_progress branch=login --fence 2
  baton vars 3f2a decisions_made='\"use argon2\"' --fence 2
  baton vars 3f2a port=8080 --if-version 4 --fence 2")]
pub(crate) struct Vars {
    /// Of which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// What to write; the value is JSON if it reads as JSON, else text
    #[arg(value_name = "NAME=VALUE")]
    changes: Vec<Assignment>,
    /// Write only if the variable is still at this version
    #[arg(long, value_name = "N", requires = "changes")]
    if_version: Option<u64>,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
}

impl Vars {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        if self.changes.is_empty() {
            let reply = session.client.read(format!("/v1/workflows/{workflow}"))?;
            return show(session, &reply.read()?);
        }
        let changes = changes(self.changes)?;
        let (reply, answer) = session.submit(Command::SetVariables(command::SetVariables {
            workflow,
            fence: self.fence.map(Fence),
            changes,
            if_version: self.if_version,
        }))?;
        let workflow = answer.workflow.unwrap_or(workflow);
        told(session, (&reply, &answer), workflow, |event| match event {
            Event::VariablesSet { changes, .. } => {
                let count = changes.len();
                let variables = if count == 1 { "variable" } else { "variables" };
                Some((workflow.to_string(), format!("wrote {count} {variables}")))
            }
            _ => None,
        })
    }
}

/// Of the whole workflow only what concerns variables.
fn show(session: &Session, view: &WorkflowView) -> Result<(), Failure> {
    let out = session.out;
    if out.json {
        return out.value(&json!({
            "context_variables": view.context_variables,
            "variable_versions": view.variable_versions,
        }));
    }
    out.page(|page| {
        let mut table = Table::new(&["NAME", "VALUE", "VERSION"], &[1]);
        let nothing = serde_json::Map::new();
        let all = view.context_variables.as_object().unwrap_or(&nothing);
        let custom = all.get("custom").and_then(Value::as_object).unwrap_or(&nothing);
        let named = all.iter().filter(|(name, _)| *name != "custom");
        for (name, value) in named.chain(custom) {
            let version = view.variable_versions.get(name);
            let version = version.map_or_else(|| "-".to_owned(), ToString::to_string);
            table.row([name.clone(), value.to_string(), version]);
        }
        if table.is_empty() {
            page.line("no variable is set");
        } else {
            page.table(table);
        }
        Ok(())
    })
}
