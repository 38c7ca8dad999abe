//! `baton inbox`: what concerns an agent.

use std::time::{Duration, Instant};

use baton_engine::view;
use baton_protocol::id::AgentId;
use baton_protocol::time::Allowance;
use clap::Args;

use crate::client::{Query, Reply};
use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::show::Page;
use crate::verbs::rows;
use crate::verbs::wait::SLICE;

/// Show what waits for you, what you hold, and what came back
///
/// The most urgent comes first. With --wait it answers as soon as something waits, and exits with
/// 5 when nothing came in that time.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton inbox
  baton inbox --agent builder
  baton inbox --wait 10m --json | jq -r .waiting[0].id")]
pub(crate) struct Inbox {
    /// Whose; otherwise your own
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentId>,
    /// Wait this long for something to come
    #[arg(long, value_name = "DURATION")]
    wait: Option<Allowance>,
}

impl Inbox {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let (reply, inbox) = match self.wait {
            None => self.look(session, None)?,
            Some(wait) => self.wait_for(session, wait)?,
        };
        let out = session.out;
        if out.quiet && !out.json {
            return out.page(|page| {
                inbox.waiting.iter().for_each(|handoff| page.line(handoff.id));
                Ok(())
            });
        }
        out.answer(&reply, |page| {
            describe(page, &inbox);
            Ok(())
        })
    }

    fn look(
        &self,
        session: &Session,
        wait: Option<Duration>,
    ) -> Result<(Reply, view::Inbox), Failure> {
        let path = Query::new("/v1/inbox")
            .with("agent", self.agent.as_ref())
            .with("wait", wait.map(|wait| format!("{}ms", wait.as_millis())));
        let reply = session.client.read_waiting(path, wait.unwrap_or_default())?;
        let inbox = reply.read()?;
        Ok((reply, inbox))
    }

    fn wait_for(
        &self,
        session: &Session,
        wait: Allowance,
    ) -> Result<(Reply, view::Inbox), Failure> {
        let whole = wait.as_duration();
        let begun = Instant::now();
        loop {
            let left = whole.saturating_sub(begun.elapsed());
            let slice = left.clamp(Duration::from_millis(1), SLICE);
            let (reply, inbox) = self.look(session, Some(slice))?;
            if !inbox.waiting.is_empty() {
                return Ok((reply, inbox));
            }
            if begun.elapsed() >= whole {
                return Err(Failure::new(
                    Exit::NoAnswer,
                    "no-answer",
                    format!("nothing came for {} in {wait}", inbox.agent),
                    "wait longer, or look at `baton inbox` without --wait",
                ));
            }
        }
    }
}

fn describe(page: &mut Page, inbox: &view::Inbox) {
    let now = page.now;
    if inbox.waiting.is_empty() {
        page.line(format!("nothing waits for {}", inbox.agent));
    } else {
        page.heading(format!("waits for {} to answer", inbox.agent));
        page.table(rows::received(&inbox.waiting, now));
    }
    if !inbox.queued.is_empty() {
        page.heading(format!("waits until {} has room", inbox.agent));
        page.table(rows::received(&inbox.queued, now));
    }
    if !inbox.holding.is_empty() {
        page.heading("holds");
        page.table(rows::holds(&inbox.holding, now));
    }
    if !inbox.passed.is_empty() {
        page.heading("passed on");
        page.table(rows::sent(&inbox.passed, now));
    }
    if !inbox.results.is_empty() {
        page.heading("came back");
        page.table(rows::sent(&inbox.results, now));
    }
}
