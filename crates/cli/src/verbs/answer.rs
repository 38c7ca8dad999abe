//! `baton accept`, `reject` and `defer`: a receiver's answer to a handoff.

use baton_engine::view::Package;
use baton_protocol::command::{self, Command};
use baton_protocol::event::Event;
use baton_protocol::text::Text;
use baton_protocol::time::Allowance;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::show::Page;
use crate::show::time::{both, now};
use crate::value::{Id, When};
use crate::verbs::rows;
use crate::verbs::told::told;

/// Take a handoff, and print what comes with it
///
/// The answer holds your fence: a number that you show with everything you do to this work. It
/// ends when somebody else takes over, so a holder that was given up for dead cannot overwrite
/// its successor. With --json the whole package is printed, history and all.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton accept 7be1
  baton accept 7be1 --eta 20m
  export BATON_FENCE=$(baton accept 7be1 --json | jq .fence)")]
pub(crate) struct Accept {
    /// Which handoff
    #[arg(value_name = "HANDOFF")]
    handoff: Id,
    /// When you expect to be done: a duration from now, or UTC
    #[arg(long, value_name = "WHEN")]
    eta: Option<When>,
}

impl Accept {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let handoff = session.handoff(&self.handoff)?;
        let estimated_completion = self.eta.map(|eta| eta.ahead(out.begun));
        let accept = command::Accept { estimated_completion, ..command::Accept::of(handoff) };
        let (submitted, answer) = session.submit(Command::Accept(accept))?;
        let accepted = answer.events.iter().find_map(|event| match event {
            Event::Accepted { handoff, .. } => Some(*handoff),
            _ => None,
        });
        let Some(handoff) = accepted.or(answer.events.is_empty().then_some(handoff)) else {
            return told(session, (&submitted, &answer), handoff, |_| None);
        };
        let reply = session.client.read(format!("/v1/handoffs/{handoff}/package"))?;
        let mut package: Package = reply.read()?;
        package.fence = package.fence.or(answer.fence);
        if out.json {
            // A sequential handoff is over once it is taken, so only the answer knows the fence.
            return out.value(&package);
        }
        if out.quiet {
            return out.page(|page| {
                page.line(package.fence.map(|fence| fence.to_string()).unwrap_or_default());
                Ok(())
            });
        }
        out.page(|page| {
            describe(page, &package);
            Ok(())
        })?;
        session.next(&next(&package));
        Ok(())
    }
}

fn describe(page: &mut Page, package: &Package) {
    let handoff = &package.handoff;
    let line = &handoff.line;
    let task = &handoff.context.task_id;
    page.line(format!("accepted {} from {}", line.id.short(), line.from_agent));
    page.field_if("fence", package.fence);
    page.field("workflow", format!("{} {}", line.workflow.short(), line.title));
    if *task != line.workflow.to_string() {
        page.field("task", task);
    }
    page.field("reason", &line.reason);
    page.field("type", &line.kind);
    page.field_if("rationale", handoff.audit.decision_rationale.as_ref());
    rows::trail(page, handoff.escalation.as_ref());
    page.field_if("due back", line.wake_at.map(|at| both(at, page.now)));
    let limits = &handoff.context.constraints;
    page.field_if("budget", limits.budget.map(|tokens| format!("{tokens} tokens")));
    page.field_if("deadline", limits.deadline.map(|at| both(at, page.now)));
    rows::variables(page, &handoff.context.context_variables);
    rows::artifacts(page, &handoff.context.artifacts);
    let messages = handoff.context.conversation_history.as_ref().and_then(|h| h.as_array());
    page.field_if(
        "history",
        messages.map(|messages| format!("{} messages; --json prints them", messages.len())),
    );
}

/// The commands that come next, ready to be pasted.
fn next(package: &Package) -> Vec<String> {
    let line = &package.handoff.line;
    let (workflow, handoff) = (line.workflow.short(), line.id.short());
    let fence = package.fence.map(|fence| format!(" --fence {fence}")).unwrap_or_default();
    let mut commands = vec![format!("baton progress {workflow}{fence} --note TEXT")];
    if package.handoff.escalation.is_some() {
        return vec![
            format!("baton decide {handoff}{fence} DECISION"),
            format!("baton escalate {workflow}{fence} --reason QUESTION --rationale WHY"),
        ];
    }
    if !package.handoff.return_protocol.expected && line.kind == "broadcast" {
        return vec![format!("baton show {workflow}")];
    }
    if line.kind == "sequential" {
        commands.push(format!("baton pass {workflow}{fence} --to AGENT --reason TEXT"));
        commands.push(format!("baton complete {workflow}{fence}"));
    } else {
        commands.push(format!("baton return {handoff}{fence} --text TEXT"));
    }
    commands
}

/// Turn a handoff away
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton reject 7be1 --reason \"this needs a database administrator\"")]
pub(crate) struct Reject {
    /// Which handoff
    #[arg(value_name = "HANDOFF")]
    handoff: Id,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Text,
}

impl Reject {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let handoff = session.handoff(&self.handoff)?;
        let reject = command::Reject { handoff, reason: self.reason };
        let (reply, answer) = session.submit(Command::Reject(reject))?;
        told(session, (&reply, &answer), handoff, |event| match event {
            Event::Rejected { handoff, .. } => {
                Some((handoff.to_string(), format!("rejected {}", handoff.short())))
            }
            _ => None,
        })
    }
}

/// Ask for time before answering; the handoff comes back by itself
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton defer 7be1 --reason \"in the middle of a release\" --for 30m")]
pub(crate) struct Defer {
    /// Which handoff
    #[arg(value_name = "HANDOFF")]
    handoff: Id,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Text,
    /// For how long [default: 5m]
    #[arg(long = "for", value_name = "DURATION")]
    span: Option<Allowance>,
}

impl Defer {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let handoff = session.handoff(&self.handoff)?;
        let defer = command::Defer { handoff, reason: self.reason, span: self.span };
        let (reply, answer) = session.submit(Command::Defer(defer))?;
        told(session, (&reply, &answer), handoff, |event| match event {
            Event::Deferred { handoff, until, .. } => {
                let back = both(*until, now());
                let sentence = format!("deferred {}; it comes back {back}", handoff.short());
                Some((handoff.to_string(), sentence))
            }
            _ => None,
        })
    }
}
