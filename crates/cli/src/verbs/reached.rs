//! `baton logs` and `baton agent secret`: agents that Baton runs or calls by itself.

use std::io::Write;
use std::time::Duration;

use baton_engine::LogPage;
use baton_protocol::id::{AgentId, HandoffId};
use clap::Args;
use serde::Deserialize;

use crate::client::{Query, Reply};
use crate::failure::Failure;
use crate::session::Session;
use crate::value::Id;
use crate::verbs::wait::SLICE;

/// Show what a command agent says while it works on a handoff
///
/// Standard output and errors as they come. With --follow it goes on until the run is over. Secrets
/// are masked. With --json each part is a line with its text and where the next one begins.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton logs 7be1
  baton logs --follow 7be1")]
pub(crate) struct Logs {
    /// The handoff
    #[arg(value_name = "HANDOFF")]
    handoff: Id,
    /// Go on until the run is over
    #[arg(long, short)]
    follow: bool,
}

impl Logs {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let handoff = session.handoff(&self.handoff)?;
        let mut after = 0;
        loop {
            let wait = if self.follow { SLICE } else { Duration::ZERO };
            let (reply, page) = part(session, handoff, after, wait)?;
            show(session, &reply, &page)?;
            // Without --follow all that is there is shown, which may be several parts.
            let more = if self.follow { !page.over } else { page.next > after };
            if !more {
                return Ok(());
            }
            after = page.next;
        }
    }
}

fn part(
    session: &Session,
    handoff: HandoffId,
    after: u64,
    wait: Duration,
) -> Result<(Reply, LogPage), Failure> {
    let span = Some(format!("{}ms", wait.as_millis())).filter(|_| !wait.is_zero());
    let path = Query::new(format!("/v1/handoffs/{handoff}/log")).with("after", Some(after));
    let reply = session.client.read_waiting(path.with("wait", span), wait)?;
    let page = reply.read()?;
    Ok((reply, page))
}

fn show(session: &Session, reply: &Reply, page: &LogPage) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = match session.out.json {
        true => writeln!(out, "{}", reply.json),
        false => out.write_all(shown(&page.text).as_bytes()),
    };
    written.and_then(|()| out.flush()).map_err(|error| {
        Failure::failed(format!("cannot write the log: {error}"), "check where the output goes")
    })
}

/// A log must not take over the terminal that shows it.
fn shown(text: &str) -> String {
    let safe = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(safe).collect()
}

/// Show the secret that signs what is sent to an agent
///
/// A web service checks with it that a call comes from this workspace: docs/agents.md shows how.
/// The secret follows from the key in .baton/webhook.key; without that file there is a new one.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton agent secret remote")]
pub(crate) struct Secret {
    /// Which one
    #[arg(value_name = "AGENT")]
    agent: AgentId,
}

/// What the coordinator shows.
#[derive(Deserialize)]
struct Shown {
    secret: String,
}

impl Secret {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let reply = session.client.read(format!("/v1/agents/{}/secret", self.agent))?;
        session.out.answer(&reply, |page| {
            let shown: Shown = reply.read()?;
            page.line(shown.secret);
            Ok(())
        })
    }
}
