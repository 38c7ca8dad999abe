//! `baton events`: what happens, as messages between agents.

use std::ops::ControlFlow;

use anstyle::{AnsiColor, Style};
use baton_engine::view::{Message, MessageType};
use baton_protocol::id::{AgentId, WorkflowId};
use baton_protocol::limits::PAGE_ROWS_MAX;
use baton_protocol::time::Allowance;
use clap::Args;
use serde_json::{Value, json};

use crate::client::{Heard, Listened, Query};
use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::show::Output;
use crate::show::text::Plain;
use crate::show::time::absolute;
use crate::value::{Id, at_least_one};
use crate::verbs::audit;

/// How many are shown when nobody says.
const SHOWN: u32 = 20;
/// The width of the types that are there most.
const TYPE_WIDTH: usize = 17;

/// Tell what happens, as messages between agents
///
/// Without --since and --last the newest 20 are told; with --follow only what comes. --follow goes
/// on when the coordinator is started anew, and tells everything once. With an agent's token, or
/// --as AGENT, it tells what that agent hears: what it passes, gets and gets back.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton events
  baton events --follow --type AGENT_HANDOFF,TASK_FAILED
  baton events --follow --workflow 3f2a --until TASK_COMPLETED
  baton events --since 0 --json | jq -r .type | sort | uniq -c
  baton events --follow --as builder")]
pub(crate) struct Events {
    /// Go on with what comes, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// Only of this type, such as AGENT_HANDOFF; may come several times, or with commas
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = kind)]
    types: Vec<MessageType>,
    /// Only about handoffs that this agent passes or gets
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentId>,
    /// Only of this workflow
    #[arg(long, value_name = "WORKFLOW")]
    workflow: Option<Id>,
    /// All after the message with this number; 0 means all of history
    #[arg(long, value_name = "SEQ", conflicts_with = "last")]
    since: Option<u64>,
    /// The newest so many, at most 1000
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    last: Option<u32>,
    /// End with the first message of this type
    #[arg(long, value_name = "TYPE", value_parser = kind, requires = "follow")]
    until: Option<MessageType>,
    /// End after so many messages
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    count: Option<u32>,
    /// How long to follow at most; then it ends with 5
    #[arg(long, value_name = "DURATION", requires = "follow")]
    timeout: Option<Allowance>,
}

/// A type as people type it.
fn kind(text: &str) -> Result<MessageType, String> {
    serde_json::from_value(Value::from(text.to_ascii_uppercase())).map_err(|e| e.to_string())
}

impl Events {
    pub(crate) fn run(mut self, session: &Session) -> Result<(), Failure> {
        let workflow = match self.workflow.take() {
            Some(id) => {
                // Of one that nobody knows there is nothing to hear, however long one listens.
                session.find(&id)?;
                Some(session.workflow(&id)?)
            }
            None => None,
        };
        if !self.types.is_empty() {
            // What is waited for must be heard.
            self.types.extend(self.until.filter(|until| !self.types.contains(until)));
        }
        let mut teller = Teller { out: session.out, until: self.until, left: self.count };
        if self.follow {
            return self.follow(session, workflow, &mut teller);
        }
        let path = self.query("/v1/messages", workflow);
        let path = match self.since {
            Some(since) => path.with("cursor", Some(since)).with("limit", Some(PAGE_ROWS_MAX)),
            None => path.with("last", Some(self.last.unwrap_or(SHOWN))),
        };
        let mut next = Some(String::from(path));
        while let Some(path) = next {
            let reply = session.client.read(path)?;
            for message in reply.read::<Vec<Message>>()? {
                if teller.tell(&message, None)?.is_break() {
                    return Ok(());
                }
            }
            next = reply.next;
        }
        Ok(())
    }

    fn query(&self, path: &str, workflow: Option<WorkflowId>) -> Query {
        let types: Vec<_> = self.types.iter().map(|kind| word(*kind)).collect();
        Query::new(path)
            .with("workflow", workflow)
            .with("agent", self.agent.as_ref())
            .with("type", Some(types.join(",")).filter(|types| !types.is_empty()))
    }

    fn follow(
        &self,
        session: &Session,
        workflow: Option<WorkflowId>,
        teller: &mut Teller,
    ) -> Result<(), Failure> {
        // Where it begins is known before it listens: a coordinator that dies before the first
        // message is asked to go on from there, not from whatever is newest then.
        let last = self.last.unwrap_or(1);
        let path = self.query("/v1/messages", workflow).with("last", Some(last));
        let newest: Vec<Message> = session.client.read(path)?.read()?;
        let after = self.since.or(newest.last().map(|message| message.seq)).unwrap_or(0);
        for message in newest.iter().filter(|_| self.last.is_some()) {
            if teller.tell(message, None)?.is_break() {
                return Ok(());
            }
        }
        let away = || session.out.note("the coordinator went away; waiting for it to come back");
        let within = self.timeout.map(|timeout| timeout.as_duration());
        let path = self.query("/v1/events", workflow);
        let heard = |heard: Heard| {
            let message = serde_json::from_str(&heard.data).map_err(|error| {
                Failure::failed(
                    format!("cannot read what the coordinator told: {error}"),
                    "another version of baton may be running here: `baton stop`, then try again",
                )
            })?;
            teller.tell(&message, Some(&heard.data))
        };
        match session.client.listen(path, after, within, away, heard)? {
            Listened::Enough | Listened::Interrupted => Ok(()),
            Listened::TimeUp => {
                let timeout = self.timeout.map(|timeout| timeout.to_string()).unwrap_or_default();
                Err(Failure::new(
                    Exit::NoAnswer,
                    "no-answer",
                    format!("not heard in {timeout}"),
                    "listen longer, or leave out --timeout",
                ))
            }
        }
    }
}

/// Prints one message after the other, until it is enough.
struct Teller {
    out: Output,
    until: Option<MessageType>,
    left: Option<u32>,
}

impl Teller {
    fn tell(&mut self, message: &Message, raw: Option<&str>) -> Result<ControlFlow<()>, Failure> {
        let line = match (self.out.json, raw) {
            (true, Some(raw)) => raw.to_owned(),
            (true, None) => serde_json::to_string(message).unwrap_or_default(),
            (false, _) if self.out.quiet => message.id.clone(),
            (false, _) => line(message),
        };
        let read = self.out.stream(&format!("{line}\n"))?;
        self.left = self.left.map(|left| left.saturating_sub(1));
        let enough = !read || self.left == Some(0) || self.until == Some(message.kind);
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// A message on one line for people.
fn line(message: &Message) -> String {
    let target = message.target_agent.as_ref().map(|agent| format!(" > {agent}"));
    let who = format!("{}{}", message.source_agent, target.unwrap_or_default());
    let workflow = message.context.request_id.map(|id| format!(" {}", id.short()));
    let said = words(message);
    let said = if said.is_empty() { said } else { format!(": {said}") };
    let (dim, style) = (Style::new().dimmed(), style(message.kind));
    let kind = word(message.kind);
    format!(
        "{dim}{:>5} {}{dim:#} {style}{kind:TYPE_WIDTH$}{style:#} {}{dim}{}{dim:#}{}",
        message.seq,
        absolute(message.timestamp),
        Plain::line(&who),
        workflow.unwrap_or_default(),
        Plain::line(&said),
    )
}

/// What is worth saying of it.
fn words(message: &Message) -> String {
    match &message.payload.handoff {
        Some(handoff) if message.kind == MessageType::AgentHandoff => handoff.reason.clone(),
        Some(_) | None => audit::words(&message.payload.event),
    }
}

fn word(kind: MessageType) -> String {
    json!(kind).as_str().unwrap_or_default().to_owned()
}

fn style(kind: MessageType) -> Style {
    let color = match kind {
        MessageType::AgentHandoff => AnsiColor::Cyan,
        MessageType::TaskCompleted => AnsiColor::Green,
        MessageType::TaskFailed | MessageType::Error => AnsiColor::Red,
        MessageType::TaskCancelled | MessageType::HandoffRejected => AnsiColor::Yellow,
        _ => return Style::new(),
    };
    Style::new().fg_color(Some(color.into()))
}
