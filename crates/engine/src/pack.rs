//! What travels of a conversation: packed before it is decided, so that what is recorded, approved
//! and received is the same.

use std::process::Stdio;
use std::time::Duration;

use baton_context::Tokenizer;
use baton_context::history::{self, About, Plan};
use baton_context::message::{Message, NotAMessage};
use baton_protocol::command::{Command, History, Messages, Pass, Submission};
use baton_protocol::count_masks_in;
use baton_protocol::handoff::TransferMode;
use baton_protocol::limits::SUMMARISER_WITHIN;
use baton_protocol::reach::Argv;
use baton_protocol::refusal::Refusal;
use baton_protocol::text::{Body, BodyJson};
use baton_protocol::time::Allowance;
use baton_store::LedgerError;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::engine::{Engine, SubmitError};

/// Bytes of a summariser's answer; whatever it says beyond is not read.
const SUMMARY_BYTES_MAX: u64 = 256 * 1024;

/// How conversations are packed in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packing {
    /// What tokens are counted with.
    pub tokenizer: Tokenizer,
    /// A program that makes a summary: the conversation in, a text out.
    pub summariser: Option<Argv>,
    /// How long it has.
    pub within: Allowance,
}

impl Default for Packing {
    fn default() -> Self {
        let (tokenizer, summariser) = Default::default();
        Self { tokenizer, summariser, within: SUMMARISER_WITHIN }
    }
}

impl Engine {
    /// The same engine, packing conversations so.
    #[must_use]
    pub fn with_packing(mut self, packing: Packing) -> Self {
        self.packing = packing.into();
        self
    }

    /// Packs the conversation of a pass.
    pub(crate) async fn pack(&self, mut submission: Submission) -> Result<Submission, SubmitError> {
        let Command::Pass(pass) = &mut submission.command else { return Ok(submission) };
        let Some(History { messages: Messages::Given(given), transfer, .. }) =
            &pass.context.conversation_history
        else {
            return Ok(submission);
        };
        let plan = Plan::new(transfer, pass.kind.transfer_mode(), self.packing.tokenizer);
        let messages = given.as_value().as_array().cloned().unwrap_or_default();
        let masked = count_masks_in(given.as_value()).values().sum();
        let (summary, note) = match plan.mode {
            TransferMode::Summary => self.summarised(&messages).await?,
            TransferMode::Full | TransferMode::RelevantOnly => (None, None),
        };
        let about = Words::of(pass);
        // The first time, the vocabulary is unpacked; a long conversation takes its time as well.
        let packed = tokio::task::spawn_blocking(move || {
            history::pack(messages, &plan, &about.borrowed(), summary)
        });
        let mut packed = packed.await.map_err(broken)?.map_err(refused)?;
        packed.transferred.notes.extend(note);
        packed.transferred.masked = masked;
        let json = BodyJson::try_from(Value::Array(packed.messages)).map_err(|error| {
            let why = format!("what would travel of the conversation is {error}");
            Refusal::BadHistory { why: why + "; set max_tokens, or transfer_mode relevant_only" }
        })?;
        let history = History::packed(Body::Inline(json), Some(packed.transferred));
        pass.context.conversation_history = Some(history);
        Ok(submission)
    }

    /// What the configured summariser makes of a conversation, or what to note of why it did not.
    async fn summarised(
        &self,
        messages: &[Value],
    ) -> Result<(Option<String>, Option<String>), SubmitError> {
        let Some(argv) = &self.packing.summariser else { return Ok((None, None)) };
        let told = told(messages).map_err(refused)?;
        let within = Duration::from_micros(self.packing.within.as_micros().unsigned_abs());
        Ok(match tokio::time::timeout(within, run(argv, told)).await {
            Ok(Ok(summary)) => (Some(summary), None),
            Ok(Err(why)) => (None, Some(format!("the summariser {why}; this is an extract"))),
            Err(_) => {
                let within = self.packing.within;
                let why = format!("the summariser did not answer within {within}");
                (None, Some(why + "; this is an extract"))
            }
        })
    }
}

/// What a handoff is about, kept for another thread.
struct Words {
    task: String,
    reason: String,
    files: Vec<String>,
}

impl Words {
    fn of(pass: &Pass) -> Self {
        let context = &pass.context;
        Self {
            task: context.task_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            reason: pass.reason.to_string(),
            files: context.artifacts.iter().map(|made| made.path.to_string()).collect(),
        }
    }

    fn borrowed(&self) -> About<'_> {
        About { task: &self.task, reason: &self.reason, files: &self.files }
    }
}

/// A conversation as plain text: who said what.
fn told(messages: &[Value]) -> Result<String, NotAMessage> {
    let mut text = String::new();
    for (index, value) in messages.iter().enumerate() {
        let message = Message::read(index, value.clone())?;
        for part in message.parts.iter().filter(|part| !part.text.is_empty()) {
            text.push_str(&format!("{}: {}\n\n", message.role, part.text));
        }
    }
    Ok(text)
}

/// Runs a summariser: the conversation in, its summary out.
async fn run(argv: &Argv, conversation: String) -> Result<String, String> {
    let mut command = tokio::process::Command::new(argv.program());
    command
        .args(argv.arguments())
        // A process that Baton starts is never the operator.
        .env("BATON_AGENT", "summariser")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("could not start: {error}"))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // One that has read enough may stop reading.
            let _ = stdin.write_all(conversation.as_bytes()).await;
        }
    };
    let read = async {
        let mut said = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(SUMMARY_BYTES_MAX).read_to_end(&mut said).await?;
        }
        Ok::<_, std::io::Error>(said)
    };
    let ((), said) = tokio::join!(write, read);
    let said = said.map_err(|error| format!("could not be heard: {error}"))?;
    let status = child.wait().await.map_err(|error| format!("was lost: {error}"))?;
    let text = String::from_utf8_lossy(&said).trim().to_owned();
    match (status.success(), text.is_empty()) {
        (true, false) => Ok(baton_protocol::mask(&text).into_owned()),
        (true, true) => Err("said nothing".to_owned()),
        (false, _) => Err(format!("ended with {status}")),
    }
}

fn refused(error: NotAMessage) -> SubmitError {
    Refusal::BadHistory { why: format!("conversation_history: {error}") }.into()
}

fn broken(error: tokio::task::JoinError) -> SubmitError {
    let what = "packing a conversation broke off".to_owned();
    SubmitError::Failed(LedgerError::Failed { what, source: Box::new(error) })
}
