//! `baton fail` and `baton signal`: what moves work with a definition beside results.

use baton_protocol::command::{Command, FailStep, RaiseSignal};
use baton_protocol::definition::SignalName;
use baton_protocol::event::Event;
use baton_protocol::id::{Fence, WorkflowId};
use baton_protocol::machine::ErrorReport;
use baton_protocol::open::{Label, OpenKeys};
use baton_protocol::text::{PayloadJson, Text};
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::value::{Assignment, Id, changes, json_file};
use crate::verbs::told::{Said, told};
use crate::verbs::used::Used;

/// Say that the step at hand failed
///
/// For work that follows a definition. The error monitor tries the step again after 2, 4 and 8
/// seconds if the error is retryable, and otherwise ends the work with the reason.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton fail 3f2a --fence 3 --type validation_error --message \"no departure\"
  baton fail 3f2a --fence 3 --type external_service_error --service google_sheets \\
      --message \"quota exceeded\" --retryable")]
pub(crate) struct Fail {
    /// Which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
    /// What kind of error it is, such as external_service_error
    #[arg(long = "type", value_name = "KIND")]
    kind: Label,
    /// What went wrong, in words
    #[arg(long, value_name = "TEXT")]
    message: Text,
    /// Which service failed, if one did
    #[arg(long, value_name = "NAME")]
    service: Option<Label>,
    /// It may go well the next time
    #[arg(long)]
    retryable: bool,
    /// Whatever else is known; rules see it in `result`
    #[arg(long, value_name = "NAME=VALUE")]
    detail: Vec<Assignment>,
    #[command(flatten)]
    used: Used,
}

impl Fail {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let mut more = OpenKeys::default();
        for (name, value) in changes(self.detail)? {
            let wrong = |why: String| Failure::usage(format!("--detail {name}: {why}"), "say less");
            let key = name.as_str().parse().map_err(|_| wrong("not a key".to_owned()))?;
            more.insert(key, value).map_err(|error| wrong(error.to_string()))?;
        }
        let error = ErrorReport {
            error_type: self.kind,
            error_message: self.message,
            service: self.service,
            retryable: self.retryable,
            more,
        };
        let fence = self.fence.map(Fence);
        let (used, context_updates) = (self.used.said(), Default::default());
        let fail = FailStep { workflow, fence, error, context_updates, used };
        let (reply, answer) = session.submit(Command::FailStep(Box::new(fail)))?;
        told(session, (&reply, &answer), workflow, |event| moved(workflow, event))?;
        session.next(&[format!("baton show {}", workflow.short())]);
        Ok(())
    }
}

/// Raise a signal in work that follows a definition
///
/// The rules of the definition say what follows. A signal that a state waits for moves the work
/// once the state's condition holds.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton signal 3f2a QUOTES_RECEIVED
  baton signal 3f2a CUSTOMER_REPLIED --payload reply.json")]
pub(crate) struct Signal {
    /// In which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// Which signal
    #[arg(value_name = "SIGNAL")]
    signal: SignalName,
    /// The number of your hold; the operator needs none
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
    /// What it brings, as JSON from a file, or - for stdin; rules see it as `result`
    #[arg(long, value_name = "FILE")]
    payload: Option<String>,
}

impl Signal {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let payload = match self.payload {
            Some(file) => {
                let payload = PayloadJson::try_from(json_file(&file)?);
                let wrong = |error| Failure::usage(format!("{file}: {error}"), "send less");
                Some(payload.map_err(wrong)?)
            }
            None => None,
        };
        let fence = self.fence.map(Fence);
        let raise = RaiseSignal { workflow, fence, signal: self.signal, payload };
        let (reply, answer) = session.submit(Command::RaiseSignal(Box::new(raise)))?;
        told(session, (&reply, &answer), workflow, |event| moved(workflow, event))?;
        session.next(&[format!("baton show {}", workflow.short())]);
        Ok(())
    }
}

/// What an event says of where the work goes.
pub(crate) fn moved(workflow: WorkflowId, event: &Event) -> Option<Said> {
    let short = workflow.short();
    let sentence = match event {
        Event::Moved(moved) => match &moved.step.rule {
            Some(rule) => format!("{short}: {} → {} (rule {rule})", moved.from, moved.step.state),
            None => format!("{short}: {} → {}", moved.from, moved.step.state),
        },
        Event::StepFailed(failure) => {
            let kind = failure.error.error_type.as_str();
            let next = match failure.retry_at {
                Some(at) => format!("it is tried again at {at}"),
                None => "it is not tried again".to_owned(),
            };
            format!("{short}: {} failed ({kind}); {next}", failure.state)
        }
        _ => return None,
    };
    Some((workflow.to_string(), sentence))
}
