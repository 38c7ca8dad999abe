//! `baton escalate` and `baton decide`: a question to somebody above, and the decision that comes
//! back down.

use baton_engine::view::HandoffView;
use baton_protocol::agent::Risk;
use baton_protocol::command::{
    self, Command, ContextUpdates, PassContext, PassKind, ResultContent, ReturnAudit,
};
use baton_protocol::event::Event;
use baton_protocol::handoff::{ContentType, Detail, ReturnStatus};
use baton_protocol::id::{AgentId, Fence, HandoffId};
use baton_protocol::text::Text;
use baton_protocol::time::Allowance;
use clap::Args;
use serde_json::Value;

use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::value::{Id, body, word};
use crate::verbs::told::told;

/// Ask somebody above to decide, and wait for the decision
///
/// The question goes to the next role that somebody has: reviewer, architect, then a person, who is
/// always the last stop. Until the decision comes back your hold is suspended: your fence stays
/// yours, and its time stands still. Whoever is asked may escalate in turn, at most three levels
/// up; each adds its assessment.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton escalate 3f2a --fence 2 --reason \"delete the old accounts?\" \\
      --rationale \"the migration cannot keep both, and I may not delete data\"
  baton escalate 3f2a --fence 2 --to ann --risk high \\
      --reason \"ship without the audit?\" --rationale \"the date is fixed\"")]
pub(crate) struct Escalate {
    /// Which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// The question
    #[arg(long, value_name = "TEXT")]
    reason: Text,
    /// What you think of it, and why you may not decide it
    #[arg(long, value_name = "TEXT")]
    rationale: Text,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
    /// Whom to ask, who must stand above you [default: the next in the chain]
    #[arg(long, value_name = "AGENT")]
    to: Option<AgentId>,
    /// How long a decision may take [default: without limit]
    #[arg(long, value_name = "DURATION")]
    timeout: Option<Allowance>,
    /// How much can go wrong
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "medium",
        value_parser = word::<Risk>(&["low", "medium", "high"])
    )]
    risk: Risk,
}

impl Escalate {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let pass = command::Pass {
            workflow: Some(session.workflow(&self.workflow)?),
            fence: self.fence.map(Fence),
            to_agent: self.to,
            to_agents: Vec::new(),
            aggregation: Default::default(),
            peers_visible: false,
            kind: PassKind::Escalation,
            reason: self.reason,
            trigger: None,
            priority: None,
            context: PassContext::default(),
            validation: Default::default(),
            return_protocol: command::ReturnProtocol {
                timeout: self.timeout,
                ..Default::default()
            },
            audit: command::PassAudit {
                decision_rationale: Some(self.rationale),
                risk_level: self.risk,
                used: None,
            },
            routing: Default::default(),
            matched: Default::default(),
            step: None,
        };
        let (reply, answer) = session.submit(Command::Pass(Box::new(pass)))?;
        super::passed::told(session, &reply, &answer)
    }
}

/// Decide a question that was escalated to you
///
/// Takes the question, if nobody has yet, and sends the decision back down to the one who asked;
/// its suspended work goes on. An agent that took it before shows its fence. A decision that is
/// sent again is answered as the first time.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton decide 7be1 \"keep both for a month, then delete\"
  baton decide 7be1 --no \"not before the audit is done\"")]
pub(crate) struct Decide {
    /// Which question
    #[arg(value_name = "HANDOFF")]
    handoff: Id,
    /// The decision, in words
    #[arg(value_name = "TEXT")]
    decision: String,
    /// The decision is no: the one who asked hears that it failed
    #[arg(long)]
    no: bool,
    /// The number of your hold, if you took the question before; the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
}

impl Decide {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let handoff = session.handoff(&self.handoff)?;
        let fence = match self.fence {
            Some(fence) => Fence(fence),
            None => held(session, handoff)?,
        };
        let content_type = ContentType::Text;
        let words = body(Value::String(self.decision), "TEXT")?;
        let status = if self.no { ReturnStatus::Failed } else { ReturnStatus::Success };
        let give = command::GiveBack {
            handoff,
            fence,
            status,
            result: Some(ResultContent { content_type, body: words }),
            context_updates: ContextUpdates::default(),
            audit: ReturnAudit::default(),
        };
        let (reply, answer) = session.submit(Command::Return(Box::new(give)))?;
        told(session, (&reply, &answer), handoff, |event| match event {
            Event::Completed { handoff, result: Some(_), .. }
            | Event::Failed { handoff, detail: Detail::Error { .. }, .. } => {
                Some((handoff.to_string(), format!("decided {}", handoff.short())))
            }
            _ => None,
        })
    }
}

/// The fence of the asker's hold on the question, taking it first if nobody has.
fn held(session: &Session, id: HandoffId) -> Result<Fence, Failure> {
    let view: HandoffView = session.client.read(format!("/v1/handoffs/{id}"))?.read()?;
    if view.escalation.is_none() {
        return Err(Failure::new(
            Exit::Refused,
            "not-a-question",
            format!("handoff {} is a {}, not a question", id.short(), view.line.kind),
            format!("`baton accept {0}`, then `baton return {0}`", id.short()),
        ));
    }
    let returned = view.result.as_ref().and_then(|result| result["fence"].as_u64()).map(Fence);
    // A process that was given up for dead must not decide with its successor's fence.
    let held = view.line.fence.filter(|_| session.is_operator());
    if let Some(fence) = held.or(returned) {
        return Ok(fence);
    }
    if view.line.fence.is_some() {
        return Err(Failure::new(
            Exit::Refused,
            "fence-required",
            format!("handoff {} was taken before, so the decision needs its fence", id.short()),
            "add --fence N: `baton accept` printed it, and `baton inbox` shows it",
        ));
    }
    let accept = command::Accept::of(id);
    let (_, answer) = session.submit(Command::Accept(accept))?;
    answer.fence.ok_or_else(|| {
        let sentence = format!("handoff {} was not accepted", id.short());
        Failure::new(Exit::Failure, "not-accepted", sentence, "look at `baton show`")
    })
}
