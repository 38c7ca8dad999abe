//! `baton goto`: where the work goes next, said with a command object.

use baton_engine::view::{Found, HandoffView};
use baton_protocol::command::{Command, CommandObject};
use baton_protocol::event::Event;
use baton_protocol::handoff::Detail;
use baton_protocol::id::{AgentId, Fence, WorkflowId};
use baton_protocol::text::Text;
use clap::{ArgGroup, Args};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::session::Session;
use crate::value::{Assignment, Id, changes, json_file};
use crate::verbs::passed;
use crate::verbs::told::told;

/// Say where your work goes next, with a command object
///
/// {"goto": AGENT | "END" | [{"agent", "task"}, ...], "update": {"context", "artifacts",
/// "workflow_state", "metrics", and keys of your own}, "timeout", "aggregation", "graph"}
///
/// Whoever owns the work passes it on to one agent, sends tasks out and waits for them, or ends
/// it. Whoever holds a subtask delegates it, sends parts of it out, or returns it.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("what").required(true)),
    override_usage = "baton goto [OPTIONS] <ID> <FILE|--object JSON|--to AGENT|--end>",
    after_long_help = "\
Examples:
  baton goto 3f2a --fence 2 next.json
  ./think | baton goto 3f2a --fence 2 -
  baton goto 3f2a --fence 2 --to builder --reason \"the plan is done\"
  baton goto 7be1 --end --var verdict=good
  baton goto 3f2a --object '{\"goto\": [[\"scout\", {\"task\": \"Redis\"}],
      [\"scout\", {\"task\": \"caching\"}]], \"timeout\": \"30m\"}'")]
pub(crate) struct Goto {
    /// Which work, or the handoff that brought it to you
    #[arg(value_name = "WORKFLOW|HANDOFF")]
    id: Id,
    /// The command object as JSON from a file, or - for stdin
    #[arg(value_name = "FILE", group = "what")]
    file: Option<String>,
    /// The command object itself, as JSON
    #[arg(long, value_name = "JSON", group = "what")]
    object: Option<String>,
    /// To this agent
    #[arg(long, value_name = "AGENT", group = "what")]
    to: Option<AgentId>,
    /// To the end
    #[arg(long, group = "what")]
    end: bool,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
    /// Why; beside --to or --end
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["file", "object"])]
    reason: Option<Text>,
    /// A variable to write; beside --to or --end
    #[arg(long, value_name = "NAME=VALUE", conflicts_with_all = ["file", "object"])]
    var: Vec<Assignment>,
}

impl Goto {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let (workflow, held) = work(session, &self.id)?;
        let fence = self.fence.map(Fence).or(held);
        let object = CommandObject::read(self.json()?).map_err(|error| {
            let hint = "`baton goto --help` shows what a command object looks like";
            Failure::usage(format!("not a command object: {error}"), hint)
        })?;
        let command = Command::Goto(Box::new(object.about(workflow, fence)));
        let (reply, answer) = session.submit(command)?;
        if answer.has("initiated") {
            return passed::told(session, &reply, &answer);
        }
        told(session, (&reply, &answer), workflow, |event| match event {
            Event::Closed { ending, .. } => {
                let sentence = format!("{} {}", ending.word(), workflow.short());
                Some((workflow.to_string(), sentence))
            }
            Event::Completed { handoff, result: Some(_), .. }
            | Event::Failed { handoff, detail: Detail::Error { .. }, .. } => {
                Some((handoff.to_string(), format!("returned {}", handoff.short())))
            }
            _ => None,
        })?;
        session.next(&[format!("baton show {}", workflow.short())]);
        Ok(())
    }

    /// The object as JSON, from wherever it was given.
    fn json(self) -> Result<Value, Failure> {
        if let Some(file) = self.file {
            return json_file(&file);
        }
        if let Some(text) = self.object {
            return serde_json::from_str(&text).map_err(|error| {
                let hint = "quote it for the shell, or give a file";
                Failure::usage(format!("--object is not JSON: {error}"), hint)
            });
        }
        let goto = self.to.map_or_else(|| json!("END"), |agent| json!(agent));
        let mut update = json!({ "context": changes(self.var)? });
        if let Some(reason) = self.reason {
            update["reason"] = json!(reason);
        }
        Ok(json!({ "goto": goto, "update": update }))
    }
}

/// The work that is meant, and the hold that came by the handoff, if one is named.
fn work(session: &Session, id: &Id) -> Result<(WorkflowId, Option<Fence>), Failure> {
    match session.find(id)? {
        Found::Workflow(workflow) | Found::Broadcast(workflow, _) => Ok((workflow, None)),
        Found::Handoff(handoff) => {
            let reply = session.client.read(format!("/v1/handoffs/{handoff}"))?;
            let view: HandoffView = reply.read()?;
            Ok((view.line.workflow, view.line.fence))
        }
    }
}
