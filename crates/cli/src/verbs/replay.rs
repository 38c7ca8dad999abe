//! `baton replay`: a workflow as it was at a moment.

use std::str::FromStr;

use baton_engine::view::Replayed;
use clap::Args;

use crate::client::Query;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::time::both;
use crate::value::{Id, When};
use crate::verbs::show;

/// Show a workflow as it was at any moment
///
/// Ages and due times are told as of that moment. Nothing is decided again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton replay 3f2a --at 2h
  baton replay 3f2a --at 2026-03-01T12:00:00Z
  baton replay 3f2a --at '#812'
  baton replay 3f2a --at 10m --json | jq .context_variables")]
pub(crate) struct Replay {
    /// The workflow, open or over
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// When: a duration ago, UTC, or a record's number from `baton audit log`
    #[arg(long, value_name = "TIME")]
    at: Moment,
}

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// By the clock.
    When(When),
    /// Right after this record.
    Record(u64),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A shell takes an unquoted # for a remark; a bare number can mean nothing else.
        if let Ok(seq) = text.strip_prefix('#').unwrap_or(text).parse() {
            return Ok(Self::Record(seq));
        }
        text.parse().map(Self::When).map_err(|_| {
            "not a moment; expected a duration ago such as 2h, UTC such as 2026-03-01T12:00:00Z, \
             or a record's number such as '#812'"
                .to_owned()
        })
    }
}

impl Replay {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let id = session.workflow(&self.workflow)?;
        let query = Query::new(format!("/v1/workflows/{id}/replay"));
        let query = match self.at {
            Moment::When(when) => query.with("at", Some(when.ago(session.out.begun))),
            Moment::Record(seq) => query.with("seq", Some(seq)),
        };
        let reply = session.client.read(query)?;
        session.out.answer(&reply, |page| {
            let told: Replayed = reply.read()?;
            page.line(format!("as of {}, after record {}", both(told.at, page.now), told.seq));
            page.now = told.at;
            show::workflow(page, &told.workflow, "held then");
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_a_record() {
        let moment = |text: &str| text.parse::<Moment>();
        assert_eq!(moment("#812"), Ok(Moment::Record(812)));
        assert_eq!(moment("812"), Ok(Moment::Record(812)));
        assert!(matches!(moment("3d"), Ok(Moment::When(When::Away(_)))));
        assert!(matches!(moment("2026-03-01T12:00:00Z"), Ok(Moment::When(When::At(_)))));
        for bad in ["", "#", "#x", "soon", "-1"] {
            assert!(moment(bad).is_err(), "{bad:?} was taken");
        }
    }
}
