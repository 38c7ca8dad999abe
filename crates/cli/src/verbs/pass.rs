//! `baton pass`: initiates a handoff.

use baton_engine::view::Answer;
use baton_protocol::agent::Risk;
use baton_protocol::command::{self, Command, History, PassKind, Recipient};
use baton_protocol::handoff::{
    Aggregation, AtCapacity, Check, Constraints, OnRejection, OnTimeout, Priority, Routing,
    TransferMode, Trigger,
};
use baton_protocol::id::{AgentId, Fence};
use baton_protocol::limits::CHECK_WITHIN;
use baton_protocol::policy::Money;
use baton_protocol::text::Text;
use baton_protocol::time::Allowance;
use baton_protocol::variables::VariableName;
use clap::Args;
use serde_json::json;

use crate::client::Reply;
use crate::failure::Failure;
use crate::session::Session;
use crate::value::{Assignment, Id, Product, Skill, When, argv, changes, json_file, word};
use crate::verbs::passed;
use crate::verbs::used::Used;

const KINDS: &[&str] = &["sequential", "delegation", "broadcast", "escalation"];

const TRIGGERS: &[&str] =
    &["explicit_request", "task_completion", "capability_mismatch", "escalation", "timeout"];

/// What the JSON says when it is there. The fence is missing: it may be in the environment.
const SAID_IN_JSON: [&str; 35] = [
    "workflow",
    "to",
    "inform",
    "aggregation",
    "peers_visible",
    "on_rejection",
    "at_capacity",
    "reason",
    "kind",
    "timeout",
    "on_timeout",
    "blocking",
    "check",
    "check_timeout",
    "task",
    "var",
    "share",
    "artifact",
    "history",
    "history_mode",
    "history_messages",
    "history_tokens",
    "budget",
    "max_cost",
    "max_handoffs",
    "tokens",
    "output_tokens",
    "model",
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
/// timeout, and the sender keeps the whole. A broadcast gives a copy of a subtask to each of
/// several; their returns are one result when all, any or a majority succeeded. An escalation asks
/// somebody above for a decision: see `baton escalate`. Without --to, the agent that can do it best
/// gets it. Without WORKFLOW, a new workflow is begun under the reason's words.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton pass 3f2a --to builder --reason \"the design is done\" --fence 1
  baton pass 3f2a --to reviewer --type delegation --timeout 30m \\
      --task \"Review the login form\" --reason \"needs a second pair of eyes\" \\
      --requires security-review:0.7 --artifact src/login.rs:code --share branch
  baton pass --to builder --reason \"Fix the flaky test\"
  baton pass 3f2a --requires rust:0.8 --reason \"whoever knows Rust best\"
  baton pass 3f2a --type broadcast --to ann --to bob --to cleo --timeout 1h \\
      --aggregation majority --reason \"is this design sound?\"
  baton pass 3f2a --to builder --type delegation --timeout 2h \\
      --reason \"fix the parser\" --check \"cargo test -q\" --check-timeout 10m
  baton pass --json-input handoff.json")]
pub(crate) struct Pass {
    /// Which work; absent begins new work
    #[arg(value_name = "WORKFLOW")]
    workflow: Option<Id>,
    /// To whom; several times for a broadcast, absent for whoever can do it best
    #[arg(long, value_name = "AGENT")]
    to: Vec<AgentId>,
    /// Why
    #[arg(long, value_name = "TEXT", required_unless_present = "json_input")]
    reason: Option<Text>,
    /// How
    #[arg(
        long = "type",
        value_name = "TYPE",
        default_value = "sequential",
        value_parser = word::<PassKind>(KINDS)
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
        value_parser = word::<OnTimeout>(&["retry", "escalate", "fail"])
    )]
    on_timeout: OnTimeout,
    /// Do nothing else until it comes back
    #[arg(long)]
    blocking: bool,
    /// A command that must succeed before what comes back counts; several times for several. Words,
    /// no shell: it is started in the workspace when the work is returned
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
    /// How long each of them may take
    #[arg(long, value_name = "DURATION", default_value_t = CHECK_WITHIN, requires = "check")]
    check_timeout: Allowance,
    /// The whole handoff as JSON from a file, or - for stdin, instead of the options
    #[arg(long, value_name = "FILE", conflicts_with_all = SAID_IN_JSON)]
    json_input: Option<String>,
    #[command(flatten)]
    context: Context,
    #[command(flatten)]
    about: About,
    #[command(flatten)]
    routes: Routes,
    #[command(flatten)]
    used: Used,
}

/// Where it goes when there are several, or none that can take it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where it goes")]
struct Routes {
    /// Gets a copy of a broadcast too, and need not return anything
    #[arg(long, value_name = "AGENT")]
    inform: Vec<AgentId>,
    /// When a broadcast has succeeded: when all, any, or a majority of its copies have
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "all",
        value_parser = word::<Aggregation>(&["all", "any", "majority"])
    )]
    aggregation: Aggregation,
    /// Let the recipients of a broadcast know of each other
    #[arg(long)]
    peers_visible: bool,
    /// When the receiver says no or does not answer: ask another that can do it, or fail
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "reroute",
        value_parser = word::<OnRejection>(&["reroute", "fail"])
    )]
    on_rejection: OnRejection,
    /// When the receiver has no room: wait in its queue, or ask another that has
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "queue",
        value_parser = word::<AtCapacity>(&["queue", "reroute"])
    )]
    at_capacity: AtCapacity,
}

impl Routes {
    /// The recipients of a broadcast: those that must return something, then the others.
    fn recipients(&self, to: Vec<AgentId>) -> Vec<Recipient> {
        let expected = to.into_iter().map(|agent| Recipient::of(agent, true));
        let informed = self.inform.iter().cloned();
        expected.chain(informed.map(|agent| Recipient::of(agent, false))).collect()
    }
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
    /// How much of it travels [default: relevant_only; for a delegation or broadcast summary, for
    /// an escalation full]
    #[arg(
        long,
        value_name = "MODE",
        value_parser = word::<TransferMode>(&["full", "summary", "relevant_only"]),
        requires = "history"
    )]
    history_mode: Option<TransferMode>,
    /// Messages of it that travel at most
    #[arg(long, value_name = "N", requires = "history")]
    history_messages: Option<u32>,
    /// Tokens of it that travel at most
    #[arg(long, value_name = "TOKENS", requires = "history")]
    history_tokens: Option<u32>,
    /// Tokens that it may cost
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
    /// Money that it may cost, a slice of what the sender may
    #[arg(long, value_name = "AMOUNT")]
    max_cost: Option<Money>,
    /// Handoffs that its holder may begin, a slice of what the sender may
    #[arg(long, value_name = "N")]
    max_handoffs: Option<u32>,
    /// The latest moment it is of use: a duration from now, or UTC
    #[arg(long, value_name = "WHEN")]
    deadline: Option<When>,
}

impl Context {
    fn history(&self) -> Result<Option<History>, Failure> {
        let Some(file) = &self.history else { return Ok(None) };
        let mut history: History = serde_json::from_value(json_file(file)?).map_err(|error| {
            let hint = "docs/context.md tells which messages travel, and how";
            Failure::usage(format!("{file} is no conversation: {error}"), hint)
        })?;
        let transfer = &mut history.transfer;
        transfer.transfer_mode = self.history_mode.or(transfer.transfer_mode);
        transfer.max_messages = self.history_messages.or(transfer.max_messages);
        transfer.max_tokens = self.history_tokens.or(transfer.max_tokens);
        Ok(Some(history))
    }
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
        passed::told(session, &reply, &answer)
    }

    fn command(self, session: &Session) -> Result<command::Pass, Failure> {
        let Self { context, about, routes, mut to, .. } = self;
        let Some(reason) = self.reason else {
            let sentence = "a handoff needs --reason";
            return Err(Failure::usage(sentence, "see `baton pass --help`"));
        };
        let several = self.kind == PassKind::Broadcast;
        let spread = !routes.inform.is_empty() || routes.aggregation != Aggregation::All;
        if !several && (to.len() > 1 || spread || routes.peers_visible) {
            let sentence = "only a broadcast goes to several";
            return Err(Failure::usage(sentence, "add --type broadcast, or name one receiver"));
        }
        let to_agents = if several { routes.recipients(std::mem::take(&mut to)) } else { vec![] };
        let history = context.history()?;
        let place = session.place();
        let artifacts = context.artifact.into_iter().map(|product| product.produced(&place));
        let deadline = context.deadline.map(|when| when.ahead(session.out.begun));
        Ok(command::Pass {
            workflow: self.workflow.map(|id| session.workflow(&id)).transpose()?,
            fence: self.fence.map(Fence),
            to_agent: to.pop(),
            to_agents,
            aggregation: routes.aggregation,
            peers_visible: routes.peers_visible,
            kind: self.kind,
            reason,
            trigger: about.trigger,
            priority: about.priority,
            context: command::PassContext {
                task_id: context.task,
                conversation_history: history,
                context_variables: changes(context.var)?,
                share: context.share,
                artifacts: artifacts.collect::<Result<_, _>>()?,
                constraints: Constraints {
                    budget: context.budget,
                    deadline,
                    cost: context.max_cost,
                    handoffs: context.max_handoffs,
                },
                traceparent: None,
                ..command::PassContext::default()
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
                checks: checks(&self.check, self.check_timeout)?,
            },
            audit: command::PassAudit {
                decision_rationale: about.rationale,
                risk_level: about.risk,
                used: self.used.said(),
            },
            routing: Routing { on_rejection: routes.on_rejection, at_capacity: routes.at_capacity },
            matched: Default::default(),
            step: None,
        })
    }
}

/// The checks of a handoff. The words are read here; the limit in time is the coordinator's.
fn checks(commands: &[String], timeout: Allowance) -> Result<Vec<Check>, Failure> {
    commands.iter().map(|words| Ok(Check { run: argv(words, "--check")?, timeout })).collect()
}
