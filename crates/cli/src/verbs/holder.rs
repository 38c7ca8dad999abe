//! `baton progress`, `return` and `complete`: what a holder does with the work it has.

use baton_protocol::artifact::Produced;
use baton_protocol::command::{self, Command, ContextUpdates, Percent, ResultContent, ReturnAudit};
use baton_protocol::event::Event;
use baton_protocol::handoff::{ContentType, Detail, ReturnStatus};
use baton_protocol::id::Fence;
use baton_protocol::text::Text;
use clap::Args;
use serde_json::Value;

use crate::failure::Failure;
use crate::session::Session;
use crate::value::{Assignment, Id, Product, body, body_file, changes, word};
use crate::verbs::step::moved;
use crate::verbs::told::told;
use crate::verbs::used::Used;

/// Say how it goes, which also renews your file locks
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton progress 3f2a --fence 2 --note \"tests pass, docs to do\" --percent 80
  BATON_FENCE=2 baton progress 3f2a")]
pub(crate) struct Progress {
    /// Which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// The number of your hold
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: u64,
    /// In words
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
    /// In hundredths, 0 to 100
    #[arg(long, value_name = "N", value_parser = percent)]
    percent: Option<Percent>,
}

fn percent(text: &str) -> Result<Percent, String> {
    let number = text.trim_end_matches('%').parse::<u64>();
    let number = number.map_err(|_| "not a percentage; expected 0 to 100".to_owned())?;
    Percent::try_from(number).map_err(|error| error.to_string())
}

impl Progress {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let (reply, answer) = session.submit(Command::Progress(command::Progress {
            workflow,
            fence: Fence(self.fence),
            note: self.note,
            percent: self.percent,
        }))?;
        let workflow = answer.workflow.unwrap_or(workflow);
        told(session, (&reply, &answer), workflow, |event| match event {
            Event::Progressed { .. } => {
                Some((workflow.to_string(), format!("noted for {}", workflow.short())))
            }
            _ => None,
        })
    }
}

/// Bring the result of a subtask back
///
/// Returning the same again is answered as the first time; a different second result is refused.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton return 7be1 --fence 2 --text \"looks good, one nit\"
  baton return 7be1 --fence 2 --status failed --notes \"the API is down\"
  baton return 7be1 --fence 2 --json-body result.json --var branch=login \\
      --artifact src/login.rs:code --tokens 1200")]
pub(crate) struct Return {
    /// Which handoff
    #[arg(value_name = "HANDOFF")]
    handoff: Id,
    /// The number of your hold
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: u64,
    /// Whether it is what was asked for
    #[arg(
        long,
        value_name = "STATUS",
        default_value = "success",
        value_parser = word::<ReturnStatus>(&["success", "partial", "failed", "timeout"])
    )]
    status: ReturnStatus,
    /// The result in words
    #[arg(long, value_name = "TEXT", group = "body")]
    text: Option<String>,
    /// The result as JSON from a file, or - for stdin
    #[arg(long, value_name = "FILE", group = "body")]
    json_body: Option<String>,
    /// The id or path of the artifact that is the result
    #[arg(long, value_name = "REF", group = "body")]
    artifact_ref: Option<String>,
    /// A variable that it changed; the value is JSON if it reads as JSON, else text
    #[arg(long, value_name = "NAME=VALUE")]
    var: Vec<Assignment>,
    /// A product: a path or URI, and its type if it is not a mere file
    #[arg(long, value_name = "PATH[:TYPE]")]
    artifact: Vec<Product>,
    #[command(flatten)]
    used: Used,
    /// Anything else that the audit should know
    #[arg(long, value_name = "TEXT")]
    notes: Option<Text>,
}

impl Return {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let handoff = session.handoff(&self.handoff)?;
        let give = self.command(session, handoff)?;
        let (reply, answer) = session.submit(Command::Return(Box::new(give)))?;
        told(session, (&reply, &answer), handoff, |event| match event {
            Event::Completed { handoff, result: Some(_), .. }
            | Event::Failed { handoff, detail: Detail::Error { .. }, .. } => {
                Some((handoff.to_string(), format!("returned {}", handoff.short())))
            }
            Event::Returned { handoff, .. } => {
                Some((handoff.to_string(), format!("returned {}; its checks run", handoff.short())))
            }
            _ => None,
        })
    }

    fn command(
        self,
        session: &Session,
        handoff: baton_protocol::id::HandoffId,
    ) -> Result<command::GiveBack, Failure> {
        let result = match (self.text, self.json_body, self.artifact_ref) {
            (Some(text), ..) => Some(content(ContentType::Text, Value::String(text), "--text")?),
            (_, Some(file), _) => {
                Some(ResultContent { content_type: ContentType::Json, body: body_file(&file)? })
            }
            (.., Some(which)) => {
                let which = Value::String(which);
                Some(content(ContentType::ArtifactRef, which, "--artifact-ref")?)
            }
            (None, None, None) => None,
        };
        let place = session.place();
        let artifacts = self.artifact.into_iter().map(|product| product.produced(&place));
        let artifacts_produced = artifacts.collect::<Result<Vec<Produced>, _>>()?;
        Ok(command::GiveBack {
            handoff,
            fence: Fence(self.fence),
            status: self.status,
            result,
            context_updates: ContextUpdates {
                variables_changed: changes(self.var)?,
                artifacts_produced,
                report: None,
            },
            audit: ReturnAudit {
                tokens_consumed: self.used.tokens,
                output_tokens: self.used.output_tokens,
                model: self.used.model,
                notes: self.notes,
            },
        })
    }
}

fn content(content_type: ContentType, value: Value, name: &str) -> Result<ResultContent, Failure> {
    Ok(ResultContent { content_type, body: body(value, name)? })
}

/// End a workflow, or the step at hand
///
/// Its last holder says that the work is done. Every handoff of it must be over.
/// In work that follows a definition it is the step that is done: the rules look at
/// the result and say who goes on.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton complete 3f2a --fence 2
  baton complete 3f2a --fence 2 --note \"shipped in 1.4\" --result-json report.json")]
pub(crate) struct Complete {
    /// Which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
    /// What came of it, in words
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
    /// What came of it, as JSON from a file, or - for stdin
    #[arg(long, value_name = "FILE")]
    result_json: Option<String>,
    #[command(flatten)]
    used: Used,
}

impl Complete {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let (reply, answer) = session.submit(Command::Complete(command::Complete {
            workflow,
            fence: self.fence.map(Fence),
            result: self.result_json.as_deref().map(body_file).transpose()?,
            note: self.note,
            used: self.used.said(),
            context_updates: ContextUpdates::default(),
        }))?;
        let workflow = answer.workflow.unwrap_or(workflow);
        told(session, (&reply, &answer), workflow, |event| match event {
            Event::Closed { ending, .. } => {
                let sentence = format!("{} {}", ending.word(), workflow.short());
                Some((workflow.to_string(), sentence))
            }
            // In work with a definition one step is done, and the rules say what follows.
            other => moved(workflow, other),
        })?;
        session.next(&[format!("baton show {}", workflow.short())]);
        Ok(())
    }
}
