//! `baton pass`: initiates a handoff.

use baton_engine::view::Answer;
use baton_protocol::agent::Risk;
use baton_protocol::command::{self, Command, PassKind};
use baton_protocol::event::Event;
use baton_protocol::handoff::{Constraints, OnTimeout, Priority, Trigger};
use baton_protocol::id::{AgentId, Fence};
use baton_protocol::text::Text;
use baton_protocol::time::Allowance;
use baton_protocol::variables::VariableName;
use clap::Args;
use serde_json::json;

use crate::client::Reply;
use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::value::{Assignment, Id, Product, Skill, When, body_file, changes, json_file, word};

const TRIGGERS: &[&str] =
    &["explicit_request", "task_completion", "capability_mismatch", "escalation", "timeout"];

/// What the JSON says when it is there. The fence is missing: it may be in the environment.
const SAID_IN_JSON: [&str; 20] = [
    "workflow",
    "to",
    "reason",
    "kind",
    "timeout",
    "on_timeout",
    "blocking",
    "task",
    "var",
    "share",
    "artifact",
    "history",
    "budget",
    "deadline",
    "requires",
    "autonomy",
    "priority",
    "risk",
    "rationale",
    "trigger",
];

/// Pass work to another agent
///
/// A sequential pass moves the whole work: the receiver owns it from the moment it accepts, and
/// nothing comes back. A delegation moves a subtask: it comes back with `baton return`, within its
/// timeout, and the sender keeps the whole. Without WORKFLOW, a new workflow is begun under the
/// reason's words.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton pass 3f2a --to builder --reason \"the design is done\" --fence 1
  baton pass 3f2a --to reviewer --type delegation --timeout 30m \\
      --task \"Review the login form\" --reason \"needs a second pair of eyes\" \\
      --requires security-review:0.7 --artifact src/login.rs:code --share branch
  baton pass --to builder --reason \"Fix the flaky test\"
  baton pass --json-input handoff.json")]
pub(crate) struct Pass {
    /// Which work; absent begins new work
    #[arg(value_name = "WORKFLOW")]
    workflow: Option<Id>,
    /// To whom
    #[arg(long, value_name = "AGENT", required_unless_present = "json_input")]
    to: Option<AgentId>,
    /// Why
    #[arg(long, value_name = "TEXT", required_unless_present = "json_input")]
    reason: Option<Text>,
    /// How
    #[arg(
        long = "type",
        value_name = "TYPE",
        default_value = "sequential",
        value_parser = word::<PassKind>(&["sequential", "delegation"])
    )]
    kind: PassKind,
    /// The number of your hold
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
    /// How long the subtask may take; a delegation must have it
    #[arg(long, value_name = "DURATION")]
    timeout: Option<Allowance>,
    /// What happens then
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "fail",
        value_parser = word::<OnTimeout>(&["retry", "fail"])
    )]
    on_timeout: OnTimeout,
    /// Do nothing else until it comes back
    #[arg(long)]
    blocking: bool,
    /// The whole handoff as JSON from a file, or - for stdin, instead of the options
    #[arg(long, value_name = "FILE", conflicts_with_all = SAID_IN_JSON)]
    json_input: Option<String>,
    #[command(flatten)]
    context: Context,
    #[command(flatten)]
    about: About,
}

/// What travels with a handoff.
#[derive(Debug, Args)]
#[command(next_help_heading = "What travels with it")]
struct Context {
    /// The subtask in your words
    #[arg(long, value_name = "TEXT")]
    task: Option<Text>,
    /// A variable to write; the value is JSON if it reads as JSON, else text
    #[arg(long, value_name = "NAME=VALUE")]
    var: Vec<Assignment>,
    /// A variable that goes into the delegate's package; a sequential pass moves all.
    /// It is no wall: whoever holds a part of the work may read all its variables
    #[arg(long, value_name = "NAME")]
    share: Vec<VariableName>,
    /// A product: a path or URI, and its type if it is not a mere file
    #[arg(long, value_name = "PATH[:TYPE]")]
    artifact: Vec<Product>,
    /// The conversation so far: a JSON list of messages from a file, or - for stdin
    #[arg(long, value_name = "FILE")]
    history: Option<String>,
    /// Tokens that it may cost
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
    /// The latest moment it is of use: a duration from now, or UTC
    #[arg(long, value_name = "WHEN")]
    deadline: Option<When>,
}

/// What the receiver must be, and what the audit should know.
#[derive(Debug, Args)]
#[command(next_help_heading = "Who may take it, and why")]
struct About {
    /// What the receiver must be able to do, and how well at least
    #[arg(long, value_name = "CAPABILITY[:LEVEL]")]
    requires: Vec<Skill>,
    /// How much autonomy the task needs
    #[arg(long, value_name = "NUMBER")]
    autonomy: Option<u64>,
    /// critical (urgent, P0), high (P1), normal (P2) or low [default: as the workflow]
    #[arg(long)]
    priority: Option<Priority>,
    /// How much can go wrong
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "medium",
        value_parser = word::<Risk>(&["low", "medium", "high"])
    )]
    risk: Risk,
    /// Why you decided so
    #[arg(long, value_name = "TEXT")]
    rationale: Option<Text>,
    /// What set it off
    #[arg(long, value_name = "WHAT", value_parser = word::<Trigger>(TRIGGERS))]
    trigger: Option<Trigger>,
}

impl Pass {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let (reply, answer): (Reply, Answer) = match &self.json_input {
            Some(file) => {
                let whole = json!({ "pass": json_file(file)? });
                let reply = session.client.post("/v1/commands", &whole)?;
                let answer = reply.read()?;
                (reply, answer)
            }
            None => session.submit(Command::Pass(Box::new(self.command(session)?)))?,
        };
        told(session, &reply, &answer)
    }

    fn command(self, session: &Session) -> Result<command::Pass, Failure> {
        let Self { context, about, .. } = self;
        let (Some(to_agent), Some(reason)) = (self.to, self.reason) else {
            let sentence = "a handoff needs --to and --reason";
            return Err(Failure::usage(sentence, "see `baton pass --help`"));
        };
        let place = session.place();
        let artifacts = context.artifact.into_iter().map(|product| product.produced(&place));
        let deadline = context.deadline.map(|when| when.ahead(session.out.begun));
        Ok(command::Pass {
            workflow: self.workflow.map(|id| session.workflow(&id)).transpose()?,
            fence: self.fence.map(Fence),
            to_agent,
            kind: self.kind,
            reason,
            trigger: about.trigger,
            priority: about.priority,
            context: command::PassContext {
                task_id: context.task,
                conversation_history: context.history.as_deref().map(body_file).transpose()?,
                context_variables: changes(context.var)?,
                share: context.share,
                artifacts: artifacts.collect::<Result<_, _>>()?,
                constraints: Constraints { budget: context.budget, deadline },
            },
            validation: command::PassValidation {
                required_capabilities: about.requires.into_iter().map(Into::into).collect(),
                autonomy_budget: about.autonomy,
            },
            return_protocol: command::ReturnProtocol {
                expected: None,
                timeout: self.timeout,
                on_timeout: self.on_timeout,
                blocking: self.blocking,
            },
            audit: command::PassAudit {
                decision_rationale: about.rationale,
                risk_level: about.risk,
            },
        })
    }
}

/// Tells what became of it. A handoff that was turned away at once is recorded, yet not passed.
fn told(session: &Session, reply: &Reply, answer: &Answer) -> Result<(), Failure> {
    let out = session.out;
    let rejected = answer.events.iter().find_map(|event| match event {
        Event::Rejected { by, reason, .. } => Some((by, reason)),
        _ => None,
    });
    if let Some((by, reason)) = rejected {
        if out.json {
            out.raw(&reply.json)?;
        }
        return Err(Failure::new(
            Exit::Refused,
            "rejected",
            format!("{by} cannot take it: {reason}"),
            format!("`baton agent show {by}` lists what it can do"),
        ));
    }
    let terms = answer.events.iter().find_map(|event| match event {
        Event::Initiated { terms, .. } => Some(terms),
        _ => None,
    });
    let Some(terms) = terms else {
        return super::told::told(session, (reply, answer), "", |_| None);
    };
    let (to, short) = (&terms.to_agent, terms.id.short());
    let of = answer.workflow.map(|id| format!(" (workflow {})", id.short())).unwrap_or_default();
    out.done(reply, terms.id, format!("passed to {to} as handoff {short}{of}"))?;
    let gap: Vec<_> = terms.gap.iter().map(ToString::to_string).collect();
    if !gap.is_empty() {
        out.warn(&format!("{to} lacks {}; the gap is recorded", gap.join(", ")));
    }
    session.next(&[format!("baton wait {short}"), format!("baton show {short}")]);
    Ok(())
}
