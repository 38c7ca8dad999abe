//! `baton stats`: counts.

use baton_engine::view;
use clap::Args;

use crate::client::Query;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::table::Table;
use crate::value::Id;

/// Count handoffs, workflows and records
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton stats
  baton stats --workflow 3f2a
  baton stats --json | jq .handoffsByAgent")]
pub(crate) struct Stats {
    /// Only of this workflow
    #[arg(value_name = "WORKFLOW")]
    workflow: Option<Id>,
    /// The same by name
    #[arg(long = "workflow", value_name = "WORKFLOW", conflicts_with = "workflow")]
    named: Option<Id>,
}

impl Stats {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = self.workflow.or(self.named).map(|id| session.workflow(&id)).transpose()?;
        let reply = session.client.read(Query::new("/v1/stats").with("workflow", workflow))?;
        session.out.answer(&reply, |page| {
            let stats: view::Stats = reply.read()?;
            let of = |pending: u64, all: u64, word: &str| format!("{all} ({pending} {word})");
            page.field("handoffs", of(stats.pending_handoffs, stats.total_handoffs, "pending"));
            page.field("workflows", of(stats.open_workflows, stats.total_workflows, "open"));
            if let Some(records) = stats.records {
                page.field("records", records);
            }
            if !stats.handoffs_by_agent.is_empty() {
                page.heading("by agent");
                let mut table = Table::new(&["AGENT", "SENT", "RECEIVED"], &[]);
                for (agent, count) in &stats.handoffs_by_agent {
                    table.row([agent.clone(), count.sent.to_string(), count.received.to_string()]);
                }
                page.table(table);
            }
            if !stats.records_by_type.is_empty() {
                page.heading("by type");
                let mut table = Table::new(&["TYPE", "RECORDS"], &[]);
                for (kind, count) in &stats.records_by_type {
                    table.row([kind.clone(), count.to_string()]);
                }
                page.table(table);
            }
            Ok(())
        })
    }
}
