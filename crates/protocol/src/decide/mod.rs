//! Decisions: whether what is asked may happen, and what happens then.
//!
//! Pure: the world and the time are handed in, events and effects come out. One command, one file.

mod accept;
mod agent;
mod arrival;
mod artifact;
mod cancel;
mod check;
mod complete;
mod course;
mod defer;
mod goto;
mod group;
mod guard;
mod health;
mod holder;
mod lock;
mod machine;
mod news;
mod pass;
mod policy;
mod progress;
mod prune;
mod raise;
mod reassign;
mod reject;
mod retry;
mod returning;
mod route;
mod settle;
mod start;
mod tag;
mod undelivered;
mod variables;
mod wake;
mod why_not;

pub use goto::plain;
pub use guard::approval::content_hash;
pub use guard::limits::begun_under;
pub use guard::reroute::{Moves, asked_again};
pub use machine::{Judged, Said, Stirred, advance, rests, stirred};

use crate::command::{Actor, Command, Submission};
use crate::event::{Decision, StreamId};
use crate::refusal::{Refusal, Unmoved};
use crate::time::Timestamp;
use crate::world::World;

/// Refuses what only rules can decide, where nobody asked them.
fn unjudged(world: &World, ask: &Submission, now: Timestamp) -> Result<Decision, Refusal> {
    match stirred(world, ask, now)? {
        Some(work) => {
            let tried = Vec::new();
            let (definition, state) = (work.machine.definition.clone(), work.machine.state.clone());
            let signal = work.signal.clone();
            Err(Unmoved::NoRuleHolds { definition, state, signal, tried }.into())
        }
        None => {
            let name = "that it follows".to_owned();
            Err(Unmoved::UnknownDefinition { name }.into())
        }
    }
}

/// Decides what `ask` leads to in this world at this moment.
pub fn decide(world: &World, ask: &Submission, now: Timestamp) -> Result<Decision, Refusal> {
    if ask.actor == Actor::Viewer {
        return Err(Refusal::ViewOnly);
    }
    let decided = ruled(world, ask, now);
    if let Err(refusal) = &decided {
        let (name, code) = (ask.command.name(), refusal.code());
        let known = Command::refusals(name).iter().any(|codes| codes.contains(&code));
        debug_assert!(known, "`{name}` is refused as {code}, which its description does not say");
    }
    decided
}

fn ruled(world: &World, ask: &Submission, now: Timestamp) -> Result<Decision, Refusal> {
    match &ask.command {
        Command::Start(start) => start::decide(world, ask, start, now),
        Command::Pass(pass) => pass::decide(world, ask, pass, now),
        Command::Accept(accept) => accept::decide(world, ask, accept, now),
        Command::Reject(reject) => reject::decide(world, ask, reject, now),
        Command::Defer(defer) => defer::decide(world, ask, defer, now),
        Command::Progress(progress) => progress::decide(world, ask, progress, now),
        Command::Return(give) => returning::decide(world, ask, give, now),
        Command::Goto(_) => goto::decide(world, ask, now),
        Command::Complete(complete) => complete::decide(world, ask, complete, now),
        Command::Cancel(cancel) => cancel::handoff(world, ask, cancel),
        Command::CancelWorkflow(cancel) => cancel::workflow(world, ask, cancel),
        Command::Reassign(reassign) => reassign::decide(world, ask, reassign, now),
        Command::ReportHealth(report) => health::decide(world, ask, report),
        Command::SetVariables(set) => variables::decide(world, ask, set, now),
        Command::AddArtifact(add) => artifact::add(world, ask, add, now),
        Command::MarkArtifact(mark) => artifact::mark(world, ask, mark),
        Command::Lock(lock) => lock::lock(world, ask, lock, now),
        Command::Unlock(unlock) => lock::unlock(world, ask, unlock),
        Command::Register(profile) => agent::register(world, ask, profile),
        Command::IssueToken(issue) => agent::issue_token(world, ask, issue, now),
        Command::RevokeToken(revoke) => agent::revoke_token(world, ask, revoke),
        Command::Wake(wake) => wake::decide(world, ask, wake, now),
        Command::WakeHold(wake) => wake::hold(world, ask, wake, now),
        Command::Undelivered(lost) => undelivered::decide(world, ask, lost, now),
        Command::Checked(checked) => check::decide(world, ask, checked, now),
        Command::Settle(settle) => settle::decide(world, ask, settle),
        Command::Prune(prune) => prune::decide(world, ask, prune, now),
        Command::SetPolicy(policy) => policy::set(world, ask, policy),
        Command::ResetBreaker(reset) => policy::reset_breaker(world, ask, reset),
        Command::Approve(yes) => guard::approval::approve(world, ask, yes, now),
        Command::Deny(no) => guard::approval::deny(world, ask, no, now),
        Command::SetLimits(set) => policy::set_limits(world, ask, set),
        Command::FallBack(fall) => policy::fall_back(world, ask, fall),
        Command::ReportTag(moved) => tag::report(ask, moved),
        Command::Define(definition) => machine::define(world, ask, definition),
        // Whoever can judge rules looks whether they stir something first.
        Command::FailStep(_) | Command::RaiseSignal(_) | Command::MoveTo(_) => {
            unjudged(world, ask, now)
        }
        Command::Stir(stir) => {
            let stream = StreamId::Workflow(stir.workflow);
            Ok(Decision { stream, events: Vec::new(), effects: Vec::new() })
        }
    }
}
