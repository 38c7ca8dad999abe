//! `baton list`: workflows, or handoffs, one a line.

use baton_engine::view::{HandoffLine, WorkflowLine};
use baton_protocol::id::AgentId;
use clap::Args;

use crate::client::Query;
use crate::failure::Failure;
use crate::session::Session;
use crate::value::at_least_one;
use crate::verbs::rows;

/// List workflows, or handoffs
///
/// What is open comes first to mind, so it is all that is listed unless you ask for --all.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton list
  baton list --all --limit 20
  baton list --handoffs --agent builder")]
pub(crate) struct List {
    /// Also what is over
    #[arg(long)]
    all: bool,
    /// Handoffs of open workflows instead of workflows
    #[arg(long)]
    handoffs: bool,
    /// Only handoffs from or to this agent
    #[arg(long, value_name = "AGENT", requires = "handoffs")]
    agent: Option<AgentId>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one())]
    limit: u32,
}

impl List {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let which = if self.all { "all" } else { "open" };
        if self.handoffs { self.handoffs(session, which) } else { self.workflows(session, which) }
    }

    fn workflows(&self, session: &Session, which: &str) -> Result<(), Failure> {
        let out = session.out;
        let query = Query::new("/v1/workflows").with("status", Some(which));
        let reply = session.client.read(query.with("limit", Some(self.limit)))?;
        out.answer(&reply, |page| {
            let lines: Vec<WorkflowLine> = reply.read()?;
            if out.quiet {
                lines.iter().for_each(|line| page.line(line.id));
            } else if lines.is_empty() {
                page.line(if self.all { "no workflow yet" } else { "no workflow is open" });
            } else {
                page.table(rows::workflows(&lines, page.now));
            }
            Ok(())
        })
    }

    fn handoffs(&self, session: &Session, which: &str) -> Result<(), Failure> {
        let out = session.out;
        let query = Query::new("/v1/handoffs").with("state", Some(which));
        let query = query.with("agent", self.agent.as_ref()).with("limit", Some(self.limit));
        let reply = session.client.read(query)?;
        out.answer(&reply, |page| {
            let lines: Vec<HandoffLine> = reply.read()?;
            if out.quiet {
                lines.iter().for_each(|line| page.line(line.id));
            } else if lines.is_empty() {
                page.line(if self.all { "no handoff yet" } else { "no handoff is open" });
            } else {
                page.table(rows::handoffs(&lines, page.now));
            }
            Ok(())
        })
    }
}
