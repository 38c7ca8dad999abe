//! `baton agent health` and `heartbeat`: say that an agent is well, or not, or just there.

use baton_protocol::command::{Command, ReportHealth};
use baton_protocol::event::Event;
use baton_protocol::id::AgentId;
use baton_protocol::text::Text;
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::session::Session;
use crate::verbs::told::told;

/// Say that an agent is well, or not
///
/// After three reports in a row that it is not, no new work goes to it; the first that it is well
/// brings it back, and so does anything that the agent itself does. An agent may speak of itself.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton agent health builder well
  baton agent health builder unwell --note \"its machine is down\"")]
pub(crate) struct Health {
    /// Which one
    #[arg(value_name = "AGENT")]
    agent: AgentId,
    /// How it is
    #[arg(value_name = "HOW")]
    how: How,
    /// What was seen
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum How {
    Well,
    Unwell,
}

impl Health {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let healthy = matches!(self.how, How::Well);
        let agent = self.agent.clone();
        let report = ReportHealth { agent: self.agent, healthy, note: self.note };
        let (reply, answer) = session.submit(Command::ReportHealth(report))?;
        told(session, (&reply, &answer), &agent, |event| match event {
            Event::HealthReported { healthy, .. } => {
                let how = if *healthy { "is well" } else { "is not well" };
                Some((agent.to_string(), format!("noted: {agent} {how}")))
            }
            _ => None,
        })
    }
}

/// Say that an agent is there
///
/// An agent that was added with --heartbeat-every says so at least that often; after three misses
/// no new work goes to it until it is heard of again. Whatever it does with its token counts, too.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  while sleep 20; do baton agent heartbeat builder; done")]
pub(crate) struct Heartbeat {
    /// Which one
    #[arg(value_name = "AGENT")]
    agent: AgentId,
}

impl Heartbeat {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let path = format!("/v1/agents/{}/heartbeat", self.agent);
        session.client.post(&path, &serde_json::json!({}))?;
        match session.out.json {
            true => session.out.value(&serde_json::json!({ "agent": self.agent })),
            false => Ok(()),
        }
    }
}
