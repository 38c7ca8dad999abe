//! `baton breaker`: agents that failed too often of late get no new work for a while.

use baton_engine::view::AgentView;
use baton_protocol::command::{Command, ResetBreaker};
use baton_protocol::event::Event;
use baton_protocol::id::AgentId;
use baton_protocol::policy;
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::session::Session;
use crate::show::table::Table;
use crate::show::time::both;
use crate::verbs::told::told;

/// Show circuit breakers, or close one
///
/// An agent that fails a few times in a row gets no new work: its breaker is open. After the
/// cool-down one handoff is let through, and its end decides. docs/guardrails.md tells more.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton breaker
  baton breaker reset builder")]
pub(crate) struct Breaker {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show the breaker of every agent
    #[command(after_long_help = "Examples:\n  baton breaker list")]
    List,
    /// Let an agent have new work again at once
    #[command(after_long_help = "Examples:\n  baton breaker reset builder")]
    Reset {
        /// Which one
        #[arg(value_name = "AGENT")]
        agent: AgentId,
    },
}

impl Breaker {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        match self.what.unwrap_or(What::List) {
            What::List => list(session),
            What::Reset { agent } => {
                let reset = ResetBreaker { agent: agent.clone() };
                let (reply, answer) = session.submit(Command::ResetBreaker(reset))?;
                told(session, (&reply, &answer), &agent, |event| match event {
                    Event::BreakerReset => {
                        Some((agent.to_string(), format!("{agent} gets new work again")))
                    }
                    _ => None,
                })
            }
        }
    }
}

fn list(session: &Session) -> Result<(), Failure> {
    let out = session.out;
    let reply = session.client.read("/v1/agents")?;
    out.answer(&reply, |page| {
        let agents: Vec<AgentView> = reply.read()?;
        if out.quiet {
            let open = |agent: &&AgentView| agent.breaker.word() != "closed";
            agents.iter().filter(open).for_each(|agent| page.line(&agent.profile.id));
            return Ok(());
        }
        let mut table = Table::new(&["AGENT", "BREAKER", "WHY"], &[2]);
        for agent in &agents {
            let why = match agent.breaker {
                policy::Breaker::Closed { failures: 0 } => String::new(),
                policy::Breaker::Closed { failures } => format!("{failures} failed in a row"),
                policy::Breaker::Open { until } => {
                    format!("one may try from {}", both(until, page.now))
                }
                policy::Breaker::HalfOpen { probe } => format!("{} tries", probe.short()),
            };
            let name = agent.profile.id.to_string();
            table.row([name, agent.breaker.word().to_owned(), why]);
        }
        page.table(table);
        Ok(())
    })
}
