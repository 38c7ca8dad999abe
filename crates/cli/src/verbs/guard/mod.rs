//! What people do about the guardrails: the rules, approval, limits, breakers, going on alone.

mod approvals;
mod breaker;
mod limits;
mod policy;
mod what_if;

pub(crate) use policy::from_file;

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

/// Everything about guardrails that can be asked at the command line.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Policy(policy::Policy),
    WhatIf(what_if::WhatIf),
    Approvals(approvals::Approvals),
    Approve(approvals::Approve),
    Deny(approvals::Deny),
    Limits(limits::Limits),
    Breaker(breaker::Breaker),
    FallBack(limits::FallBack),
}

impl Verb {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Policy(policy) => policy.run(session),
            Self::WhatIf(what_if) => what_if.run(session),
            Self::Approvals(approvals) => approvals.run(session),
            Self::Approve(approve) => approve.run(session),
            Self::Deny(deny) => deny.run(session),
            Self::Limits(limits) => limits.run(session),
            Self::Breaker(breaker) => breaker.run(session),
            Self::FallBack(fall) => fall.run(session),
        }
    }
}
