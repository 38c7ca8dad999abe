//! `baton approvals`, `approve` and `deny`: what waits for a person, and the answer.

use baton_engine::view::{ApprovalView, HandoffLine, HandoffView};
use baton_protocol::command::{self, Command};
use baton_protocol::event::Event;
use baton_protocol::handoff::Detail;
use baton_protocol::id::HandoffId;
use baton_protocol::text::Text;
use baton_protocol::time::Allowance;
use clap::Args;

use crate::caller::a_person_types;
use crate::client::Query;
use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::show::Page;
use crate::show::time::{both, now};
use crate::value::Id;
use crate::verbs::rows;
use crate::verbs::told::told;

/// Digits of a hash that tell what somebody saw.
const HASH_DIGITS_MIN: usize = 8;

/// List what waits for a decision, or show one
///
/// Questions that agents asked (answer with `baton decide`), and handoffs that the policy lets wait
/// for a person (`baton approve`, `baton deny`). Of one handoff it shows who asked, what would be
/// passed (the content itself, not an agent's words about it) and its hash.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton approvals
  baton approvals 7be1
  baton approvals --json | jq -r '.[].id'")]
pub(crate) struct Approvals {
    /// Which one
    #[arg(value_name = "HANDOFF")]
    handoff: Option<Id>,
}

impl Approvals {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        if let Some(id) = self.handoff {
            let id = session.handoff(&id)?;
            let reply = session.client.read(format!("/v1/handoffs/{id}"))?;
            let view: HandoffView = reply.read()?;
            return out.answer(&reply, |page| {
                content(page, &view);
                Ok(())
            });
        }
        let reply = session.client.read(Query::new("/v1/approvals"))?;
        out.answer(&reply, |page| {
            let lines: Vec<HandoffLine> = reply.read()?;
            if out.quiet {
                lines.iter().for_each(|line| page.line(line.id));
            } else if lines.is_empty() {
                page.line("nothing waits for a decision");
            } else {
                page.table(rows::handoffs(&lines, page.now));
            }
            Ok(())
        })
    }
}

/// Shows what a handoff would pass.
fn content(page: &mut Page, view: &HandoffView) {
    let line = &view.line;
    let id = line.id.short();
    page.line(format!("handoff {id} ({}) is {}", line.kind, line.state));
    page.line(format!("  from     {}", line.from_agent));
    page.line(format!("  to       {}", line.to_agent));
    page.line(format!("  work     {} ({})", line.title, line.workflow.short()));
    page.line(format!("  reason   {}", line.reason));
    page.line(format!("  task     {}", view.context.task_id));
    page.line(format!("  risk     {}", rows::word_of(&view.audit.risk_level)));
    if let Some(ApprovalView { rule, why, until, .. }) = &view.approval {
        let rule = rule.as_ref().map(ToString::to_string).unwrap_or_default();
        page.line(format!("  rule     {rule}: {}", why.as_deref().unwrap_or("approved before")));
        if let Some(until) = until {
            page.line(format!("  until    {}", both(*until, now())));
        }
    }
    let pretty = |value| serde_json::to_string_pretty(value).unwrap_or_default();
    page.line("would pass:");
    for line in pretty(&view.context.context_variables).lines() {
        page.line(format!("  {line}"));
    }
    for artifact in &view.context.artifacts {
        let said = serde_json::to_string(artifact).unwrap_or_default();
        page.line(format!("  artifact {said}"));
    }
    // Both are in the hash and go along.
    if let Some(custom) = told_if_any(&view.context.custom) {
        page.line(format!("  custom   {custom}"));
    }
    if let Some(constraints) = told_if_any(&view.context.constraints) {
        page.line(format!("  limits   {constraints}"));
    }
    if let Some(history) = &view.context.conversation_history {
        page.line(format!("  history  {history}"));
    }
    if let Some(approval) = &view.approval {
        page.line(format!("hash {}", approval.hash));
        if approval.waits {
            let seen: String = approval.hash.chars().take(12).collect();
            let yes = format!("`baton approve {id} --hash {seen}`");
            page.line(format!("{yes} or `baton deny {id} --because TEXT`"));
        }
    }
}

/// What something says, unless it says nothing.
fn told_if_any(value: &impl serde::Serialize) -> Option<String> {
    let value = serde_json::to_value(value).ok()?;
    let says = value.as_object().is_some_and(|fields| !fields.is_empty());
    says.then(|| value.to_string())
}

/// Say yes to a handoff that waits for a person
///
/// Only the operator may, and not to what it passed on itself unless the policy says approve_own.
/// The yes is for exactly what `baton approvals HANDOFF` shows: if that changes before the receiver
/// takes it, it must be approved again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton approve 7be1
  baton approve 7be1 --hash 5f2c…     only if it is still what you saw
  baton approve 7be1 --remember 8h    and let its rule not ask again for 8 hours")]
pub(crate) struct Approve {
    /// Which one
    #[arg(value_name = "HANDOFF")]
    handoff: Id,
    /// The hash of what you saw, or its beginning [default: what it is now]
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// For how long its rule need not ask again
    #[arg(long, value_name = "DURATION")]
    remember: Option<Allowance>,
}

impl Approve {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        a_person_types()?;
        let handoff = session.handoff(&self.handoff)?;
        let hash = hash(session, handoff, self.hash.as_deref())?;
        let approve = command::Approve { handoff, hash, remember: self.remember };
        let (reply, answer) = session.submit(Command::Approve(approve))?;
        told(session, (&reply, &answer), handoff, |event| match event {
            Event::Approved { handoff, standing, .. } => {
                let rest = standing.as_ref().map(|(rule, until)| {
                    format!("; rule {rule} does not ask again until {}", both(*until, now()))
                });
                let sentence = format!("approved {}{}", handoff.short(), rest.unwrap_or_default());
                Some((handoff.to_string(), sentence))
            }
            _ => None,
        })
    }
}

/// The hash of what waits, if it begins as the person said.
fn hash(session: &Session, handoff: HandoffId, seen: Option<&str>) -> Result<String, Failure> {
    if let Some(whole) = seen.filter(|seen| seen.len() == 64) {
        return Ok(whole.to_owned());
    }
    if let Some(short) = seen.filter(|seen| seen.len() < HASH_DIGITS_MIN) {
        let sentence = format!("`{short}` is too short to tell what you saw");
        let hint = format!("give at least {HASH_DIGITS_MIN} digits of the hash, or leave it out");
        return Err(Failure::usage(sentence, hint));
    }
    let view: HandoffView = session.client.read(format!("/v1/handoffs/{handoff}"))?.read()?;
    // Without one there is nothing to approve, which the coordinator says best.
    let hash = view.approval.map(|approval| approval.hash).unwrap_or_default();
    match seen {
        Some(seen) if !hash.starts_with(seen) => Err(Failure::new(
            Exit::Refused,
            "approval-void",
            format!("what handoff {} would pass is not what begins with {seen}", handoff.short()),
            format!("look again: `baton approvals {}`", handoff.short()),
        )),
        Some(_) | None => Ok(hash),
    }
}

/// Say no to a handoff that waits for a person
///
/// The workflow ends, unless the rule says that only the handoff fails.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton deny 7be1 --because \"not on a Friday\"")]
pub(crate) struct Deny {
    /// Which one
    #[arg(value_name = "HANDOFF")]
    handoff: Id,
    /// Why
    #[arg(long, value_name = "TEXT")]
    because: Text,
}

impl Deny {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        a_person_types()?;
        let handoff = session.handoff(&self.handoff)?;
        let deny = command::Deny { handoff, reason: self.because };
        let (reply, answer) = session.submit(Command::Deny(deny))?;
        let ends = answer.events.iter().any(|event| matches!(event, Event::Closed { .. }));
        let rest = if ends { "; the workflow is over" } else { "" };
        told(session, (&reply, &answer), handoff, |event| match event {
            Event::Failed { handoff, detail: Detail::Denied { .. }, .. } => {
                Some((handoff.to_string(), format!("denied {}{rest}", handoff.short())))
            }
            _ => None,
        })
    }
}
