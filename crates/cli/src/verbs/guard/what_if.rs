//! `baton what-if`: what another policy would have made of recorded handoffs.

use baton_engine::view;
use clap::Args;
use serde_json::json;

use super::from_file;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::Page;
use crate::show::time::{absolute, both};
use crate::value::When;

/// Decide past handoffs again under another policy
///
/// Each is decided by itself in the world as it was right before it was recorded; what would have
/// followed from a difference is not told. Nothing is recorded. It ends with 0 whether anything
/// differs or not; `--json` counts the differences.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton policy > stricter.toml
  baton what-if --policy stricter.toml
  baton what-if --policy stricter.toml --since 24h
  baton what-if --policy stricter.toml --json | jq .by_kind")]
pub(crate) struct WhatIf {
    /// The other rules, in TOML, as `baton policy` prints them
    #[arg(long, value_name = "FILE")]
    policy: String,
    /// Only handoffs since then: a duration ago, or UTC
    #[arg(long, value_name = "WHEN", default_value = "7d")]
    since: When,
}

impl WhatIf {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let policy = from_file(&self.policy)?;
        let asked = json!({ "policy": policy, "since": self.since.ago(session.out.begun) });
        let reply = session.client.post("/v1/what-if", &asked)?;
        session.out.answer(&reply, |page| {
            told(page, &reply.read()?);
            Ok(())
        })
    }
}

fn told(page: &mut Page, found: &view::WhatIf) {
    let view::WhatIf { since, handoffs, differ, untold, by_kind, rows, .. } = found;
    let began = both(*since, page.now);
    if !rows.is_empty() {
        for row in rows {
            let at = absolute(row.at);
            let (id, from, to) = (row.handoff.short(), &row.from_agent, &row.to_agent);
            page.line(format!("{at}  {id}  {from} to {to}"));
            page.line(format!("    {} -> {}", row.then, row.would));
            if let Some(why) = &row.why {
                page.line(format!("    because {why}"));
            }
        }
        page.line("");
    }
    page.line(format!("{differ} of {handoffs} handoffs since {began} would be decided otherwise"));
    for (kind, count) in by_kind {
        page.line(format!("  {count:>6}  {kind}"));
    }
    let listed = rows.len() as u64;
    if listed < *differ {
        page.line(format!("the first {listed} are listed"));
    }
    if *untold > 0 {
        page.line(format!("{untold} could not be told: their own rules decide them otherwise now"));
    }
}
